"""From photographs to one array of features, in parts that a killed run finds again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fivesentences import machine
from fivesentences.config.features import REGIONS, RULES, FeatureSpec
from fivesentences.config.types import Crops, Layout, Precision
from fivesentences.console import Bar
from fivesentences.corpus import decoding
from fivesentences.corpus.photographs import Photographs, note_shared
from fivesentences.errors import InputError, InputErrors
from fivesentences.features import describing
from fivesentences.features.describing import ImageTask
from fivesentences.features.files import write_beside, writing_npy
from fivesentences.features.formats.record import check_ids
from fivesentences.features.recipe import GRID_DESCRIPTORS, Recipe
from fivesentences.features.unfinished import FinishedParts, digest_of
from fivesentences.features.workers import map_in_processes
from fivesentences.storage import check_npy, remove, replacing, together, write_json

Storage = Literal["auto", "float32", "float16"]
OnCorrupt = Literal["fail", "skip", "zero"]

# Longer rows are stored as float16: ResNet-152's 7 x 7 x 2048 numbers for COCO's 123,287 images would take 49 GB as
# float32, and a relative error of 0.0005 is far below the variation of the features. Pooled vectors are small.
LONGEST_FLOAT32_ROW = 8192
MOST_NAMED = 50  # photographs that cannot be read, in one message


@dataclass(frozen=True)
class Extracted:
    """Outcome of an extraction.

    Attributes:
        shape: Shape of the array.
        dtype: Type of its numbers.
        corrupt: Why photographs could not be read, by image id; they have no row, or a row of zeros.
    """

    shape: tuple[int, ...]
    dtype: str
    corrupt: dict[str, str]


def extract_features(
    photographs: Photographs,
    images: pd.DataFrame,
    extractor: str,
    layout: Layout,
    out: Path,
    *,
    workers: int,
    weights: Path | None = None,
    storage: Storage = "auto",
    crops: Crops = "centre",
    normalise: bool = False,
    precision: Precision = "float32",
    on_corrupt: OnCorrupt = "fail",
    chunk_size: int | None = None,
) -> Extracted:
    """Describe every image and write one array with one row per image, in the order of the table.

    Writes ``out`` (``[images, dim]`` for ``global``, ``[images, regions, dim]`` for ``grid``; regions row by row from
    the top left) and, before it, ``out.with_suffix(".images.parquet")`` (image_id, filename) and ``.source.json`` (the
    extractor, its weights and everything else that the numbers depend on). Until all exist, finished parts are kept in
    ``.<stem>.unfinished`` beside ``out``, and a call after a kill computes only the others. A part is used only for the
    extractor, layout, weights, options and photographs (name, size, and checksum or time) that it was made from.
    Memory does not grow with the features.

    On a CPU each worker decodes and describes on one thread; with a CUDA device the workers decode and this process
    describes. The numbers do not depend on the number of workers or on a kill.

    Args:
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        extractor: ``grid_descriptors`` or the name of a timm network, such as ``vgg19`` or ``resnet152``.
        layout: ``global`` or ``grid``.
        out: The ``.npy`` to write.
        workers: Number of worker processes; 0 does the work in this process. On a CPU each holds a copy of the network.
        weights: A safetensors file for a timm network; without it timm downloads its own weights.
        storage: ``auto`` stores rows of more than 8,192 numbers as float16, others as float32.
        crops: ``centre`` (or whatever the weights require) or ``ten``, see ``describing.Recipe``.
        normalise: Scale each vector to length 1.
        precision: Precision of a network's arithmetic; features are stored as ``storage`` says.
        on_corrupt: Treatment of photographs that could not be read, when all others are done: ``fail`` names them and
            writes nothing (the parts of the others are kept), ``skip`` leaves them out, ``zero`` writes rows of zeros.
            ``skip`` and ``zero`` name them in ``out.with_suffix(".corrupt.json")`` and on standard error.
        chunk_size: Images per part and so at risk when a run is killed; default: those that are described together.

    Raises:
        InputError: If there are no images, an image is missing or cannot be decoded, the extractor is unknown, its
            weights do not fit or cannot be obtained, or a feature is not finite. Finished parts are kept.
    """
    out = Path(out)
    check_npy(out, "features")
    if layout not in get_args(Layout):
        raise InputError(f"layout is '{layout}'; it must be one of {', '.join(get_args(Layout))}.")
    device = "cpu" if extractor == GRID_DESCRIPTORS else machine.best_device()
    recipe = Recipe(extractor, layout, weights, device, crops, normalise, precision)
    ids, filenames = images["image_id"].astype(str).tolist(), images["filename"].astype(str).tolist()
    check_ids(ids, "the table of images")
    # The id counts too: two images may share a photograph, and then parts must not share a name.
    states = [(image_id, *photographs.state_of(name)) for image_id, name in zip(ids, filenames, strict=True)]
    built = describing.extractor_of(recipe)
    size, source = chunk_size or built.images_at_once, _source(recipe, built.facts())
    with FinishedParts(out, {**source, "storage": storage}) as parts:
        slices = [slice(start, start + size) for start in range(0, len(ids), size)]
        names = {digest_of(states[rows])[:32]: rows for rows in slices}
        _describe_all(parts, names, ids, filenames, photographs, recipe, storage, workers)
        describing.extractor_of.cache_clear()  # with workers=0 the network would stay in memory
        return _write(out, parts, names, ids, filenames, on_corrupt, source)


def extract_as_configured(
    spec: FeatureSpec,
    photographs: Photographs,
    images: pd.DataFrame,
    out: Path,
    *,
    workers: int,
    weights: Path | None = None,
) -> None:
    """Write the features of every image, see ``extract_features`` and ``detectors.extraction.extract_regions``.

    Args:
        spec: The block of the configuration.
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        out: The ``.npy``.
        workers: Number of processes, if a network describes the images.
        weights: A file; None: the weights that timm or torchvision downloads.

    Raises:
        InputError: As they do, or if ``bottom_up`` has no weights, which no library offers.
    """
    if spec.layout != "regions":
        options: dict[str, Any] = {"weights": weights, "crops": spec.crops, "precision": spec.precision}
        extract_features(photographs, images, spec.extractor, spec.layout, out, workers=workers, **options)
        return
    from fivesentences.features.detectors.extraction import detector_named, extract_regions

    count = spec.regions or REGIONS
    settings: dict[str, Any] = {"least": count, "most": count}
    settings |= {key: value for key, value in (("short", spec.short), ("long", spec.long)) if value is not None}
    if spec.extractor == "bottom_up":
        settings |= {key: getattr(spec, key) or RULES[key] for key in ("selection", "resize")}
    flavour = spec.flavour or RULES["flavour"]
    detector = detector_named(spec.extractor, weights, flavour, settings, machine.device_named("auto"))
    extract_regions(photographs, images, detector, out)


def part_of(images: pd.DataFrame, number: int, parts: int, photographs: Photographs | None = None) -> pd.DataFrame:
    """Return one of so many parts of a table, from 1, which differ by at most one row in length.

    Args:
        images: One row per image; with ``photographs`` also its ``filename`` and ``split``.
        number: Which part; whoever takes the first learns which photographs splits share, see ``note_shared``.
        parts: Number of parts.
        photographs: Where the images are.

    Raises:
        InputError: If there are fewer images than parts.
    """
    if parts > len(images):
        raise InputError(f"{parts} parts of {len(images):,} images are too many; give fewer parts.")
    if photographs is not None and number == 1:
        note_shared(photographs, images["filename"].tolist(), images["split"].tolist())
    return images.iloc[len(images) * (number - 1) // parts : len(images) * number // parts]


def _describe_all(
    parts: FinishedParts,
    names: dict[str, slice],
    ids: Sequence[str],
    filenames: Sequence[str],
    photographs: Photographs,
    recipe: Recipe,
    storage: Storage,
    workers: int,
) -> None:
    """Describe the parts that are not finished; a photograph that could not be read is tried again."""
    missing = {
        name: rows
        for name, rows in names.items()
        if name not in parts or (parts.load(name, "corrupt")["corrupt"] != "").any()
    }
    left = sum(len(ids[rows]) for rows in missing.values())
    extractor = describing.extractor_of(recipe)
    preparer = extractor.preparer if extractor.on_accelerator else None
    tasks = [ImageTask(tuple(filenames[rows]), photographs.paths, recipe, preparer) for rows in missing.values()]
    with Bar(f"{recipe.extractor} {recipe.layout} features", len(ids), len(ids) - left) as bar:
        done = map_in_processes(describing.work, tasks, workers)
        for (name, rows), (_, (array, corrupt)) in zip(missing.items(), done, strict=True):
            reasons = np.array([corrupt.get(place, "") for place in range(len(ids[rows]))])
            if array is not None:
                features = array if preparer is None else describing.describe(recipe, array)
                parts.save(name, corrupt=reasons, features=_stored(features, storage, ids[rows], recipe.extractor))
            else:
                parts.save(name, corrupt=reasons)
            bar.advance(len(reasons))


def _write(
    out: Path,
    parts: FinishedParts,
    names: dict[str, slice],
    ids: Sequence[str],
    filenames: Sequence[str],
    on_corrupt: OnCorrupt,
    source: dict[str, Any],
) -> Extracted:
    """Write the array and what lies beside it, and remove the finished parts.

    Raises:
        InputErrors: One sentence for each photograph that cannot be read, if the policy is to fail or none can.
    """
    reasons = np.concatenate([parts.load(name, "corrupt")["corrupt"] for name in names])
    corrupt = {image_id: str(reason) for image_id, reason in zip(ids, reasons, strict=True) if reason}
    named, beside = list(corrupt.values())[:MOST_NAMED], out.with_suffix(".corrupt.json")
    if len(corrupt) > MOST_NAMED:
        named.append(f"{len(corrupt) - MOST_NAMED:,} more photographs cannot be read.")
    if corrupt and (on_corrupt == "fail" or len(corrupt) == len(ids)):
        raise InputErrors([InputError(reason) for reason in named])
    first = next(found["features"] for found in map(parts.load, names) if "features" in found)
    kept = (reasons == "") | (on_corrupt == "zero")
    with together():
        if not corrupt:
            remove(beside)  # of older features
        else:
            write_json(beside, {"format": "fivesentences.corrupt_photographs 1", "images": corrupt, "rows": on_corrupt})
            what = "have no row" if on_corrupt == "skip" else "have rows of zeros"
            said = f"{len(corrupt):,} of {len(ids):,} photographs cannot be read and {what} (see {beside.name}):"
            print(said, *named, sep="\n", file=sys.stderr, flush=True)
        table = pd.DataFrame({"image_id": ids, "filename": filenames}, dtype=str)
        shape = (int(kept.sum()), *first.shape[1:])
        with replacing(out) as temporary:
            with writing_npy(temporary, shape, first.dtype) as append:
                for name, rows in names.items():
                    found = parts.load(name)
                    features = found.get("features", np.zeros((len(ids[rows]), *first.shape[1:]), first.dtype))
                    features[found["corrupt"] != ""] = 0
                    append(features[kept[rows]])
            write_beside(out, temporary, table[kept].reset_index(drop=True), source)
    parts.remove()
    return Extracted(shape, first.dtype.name, corrupt)


def _source(recipe: Recipe, facts: dict[str, Any]) -> dict[str, Any]:
    """Return everything that the numbers depend on."""
    crops = "one" if recipe.crops == "centre" else "mean over ten: four corners, centre, and their mirror images"
    return {
        "extractor": recipe.extractor,
        "layout": recipe.layout,
        "crops": crops,
        "normalisation": "each vector has length 1" if recipe.normalise else "none",
        "precision": recipe.precision,
        "decoding": decoding.VERSION,
        **facts,
    }


def _stored(
    features: npt.NDArray[np.float32], storage: Storage, ids: Sequence[str], extractor: str
) -> npt.NDArray[Any]:
    """Convert features to the type that they are stored in, checked to be finite."""
    if storage == "auto":
        storage = "float16" if features[0].size > LONGEST_FLOAT32_ROW else "float32"
    with np.errstate(over="ignore"):
        stored = features.astype(storage)
    bad = ~np.isfinite(stored.reshape(len(ids), -1)).all(axis=1)
    if bad.any():
        first = int(bad.argmax())
        reason = "is not finite; the weights or the image are damaged"
        if np.isfinite(features[first]).all():
            reason = "is too large for float16; store the features as float32"
        raise InputError(f"{extractor}: a feature of image '{ids[first]}' {reason}.")
    return stored
