"""From photographs to one array of features, image by image, so that a killed run can resume."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fivesentences import machine
from fivesentences.config import Layout
from fivesentences.config.types import Crops, Precision
from fivesentences.console import Bar
from fivesentences.corpus import decoding
from fivesentences.corpus.decoding import words_of
from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.table import check_image_id
from fivesentences.errors import InputError, InputErrors
from fivesentences.features import describing
from fivesentences.features.describing import Chunk, Extractor, Task, describe_chunk, prepare_chunk
from fivesentences.features.files import regions_beside, write_images, write_source
from fivesentences.features.progress import FinishedRows, key_of
from fivesentences.features.recipe import GRID_DESCRIPTORS, Recipe
from fivesentences.features.workers import Workers
from fivesentences.storage import replacing, write_json

Storage = Literal["auto", "float32", "float16"]
OnCorrupt = Literal["fail", "skip", "zero"]

# Longer rows are stored as float16: ResNet-152's 7 x 7 x 2048 numbers for COCO's 123,287 images would take 49 GB as
# float32, and a relative error of 0.0005 is far below the variation of the features. Pooled vectors are small.
LONGEST_FLOAT32_ROW = 8192
MOST_NAMED = 50  # photographs that cannot be read, in one message


@dataclass(frozen=True)
class Extracted:
    """What an extraction wrote.

    Attributes:
        shape: Of the array.
        dtype: Likewise.
        corrupt: Why photographs could not be read, by image id; they have no row, or a row of zeros.
    """

    shape: tuple[int, ...]
    dtype: str
    corrupt: dict[str, str]


@dataclass(frozen=True)
class _Images:
    """What is extracted: for each image its id, its filename, and a key for its name and content."""

    ids: tuple[str, ...]
    filenames: tuple[str, ...]
    keys: tuple[bytes, ...]


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
    extractor, its weights and everything else that the numbers depend on). Until all exist, finished rows are kept in
    ``.<stem>.rows`` beside ``out``; a call after a kill resumes from them, and one after photographs were added,
    removed or replaced computes only the rows of those. A row is used only for the extractor, layout, weights, options
    and photograph (name, size, and checksum or time) that it was made from. Memory does not grow with the features.

    On a CPU each worker decodes and describes on one thread; with a CUDA device the workers decode and this process
    describes. The numbers do not depend on the number of workers or on a kill. (Images that are described together
    have an influence on each other's last digits; other ones may be together after photographs were added.) A last
    line on standard error says how many photographs were turned upright, put on white, scaled from 16 bits or had
    several frames (see ``corpus.decoding.decode``), if any; those of an earlier call are not counted.

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
        precision: What a network computes in; features are stored as ``storage`` says.
        on_corrupt: What to do when all others are done and photographs could not be read: ``fail`` names them and
            writes nothing (the rows of the others are kept), ``skip`` leaves them out, ``zero`` writes rows of zeros.
            ``skip`` and ``zero`` name them in ``out.with_suffix(".corrupt.json")`` and on standard error.
        chunk_size: Images per task and so at risk when a run is killed; default: those that are described together.

    Raises:
        InputError: If there are no images, an image is missing or cannot be decoded, the extractor is unknown, its
            weights do not fit or cannot be obtained, or a feature is not finite. Finished rows are kept.
    """
    out = Path(out)
    _check_options({"layout": (layout, Layout), "storage": (storage, Storage), "crops": (crops, Crops)}, out)
    _check_options({"precision": (precision, Precision), "on_corrupt": (on_corrupt, OnCorrupt)}, out)
    _check_columns(images)
    recipe = Recipe(extractor, layout, weights, "cpu", crops, normalise, precision)
    _check_weights(recipe)
    if extractor != GRID_DESCRIPTORS:
        recipe = replace(recipe, device=machine.best_device())
    with Workers(workers) as pool:
        # Workers that can start without this process do so while it looks at the photographs.
        here = extractor != GRID_DESCRIPTORS and (recipe.device != "cpu" or weights is None)
        begun = None if here else pool.begin(describing.begin if workers else describing.facts_of, recipe)
        wanted = _wanted(photographs, images, out)
        built, facts, at_once = _extractor(recipe, begun)
        source = _source(recipe, facts)
        rows = FinishedRows(out, {**source, "storage": storage})
        try:
            if built is not None and built.on_accelerator:
                recipe = replace(recipe, preprocessing=json.dumps(facts["preprocessing"]))
                pool.begin(describing.begin, recipe)
            elif built is not None and weights is None and workers:
                recipe = replace(recipe, weights=_saved_weights(built, rows.folder))
                pool.begin(describing.begin, recipe)
            corrupt = _describe_all(pool, rows, wanted, photographs, recipe, built, storage, chunk_size or at_once)
            describing.forget()  # with workers=0 the network would stay in memory
            return _write(out, rows, wanted, corrupt, on_corrupt, source)
        finally:
            rows.close()


# --- the work -----------------------------------------------------------------------------------------------


def _describe_all(
    pool: Workers,
    rows: FinishedRows,
    wanted: _Images,
    photographs: Photographs,
    recipe: Recipe,
    built: Extractor | None,
    storage: Storage,
    size: int,
) -> dict[int, str]:
    """Describe what is not finished. Returns why images could not be read, by place."""
    on_accelerator = built is not None and built.on_accelerator
    total = len(wanted.ids)
    # Images are described in the same company as in a run without interruption, so that each bit is the same.
    starts = [
        start for start in range(0, total, size) if any(key not in rows for key in wanted.keys[start : start + size])
    ]
    tasks = [Task(start, wanted.filenames[start : start + size], photographs.paths, recipe) for start in starts]
    done = sum(key in rows for key in wanted.keys)
    work: Callable[[Task], Chunk] = prepare_chunk if on_accelerator else describe_chunk
    treated: Counter[str] = Counter()
    corrupt: dict[int, str] = {}
    with Bar(f"{recipe.extractor} {recipe.layout} features", total, done) as bar:
        for task, chunk in pool.map(work, tasks):
            treated += chunk.treated
            corrupt |= {task.chunk + place: reason for place, reason in chunk.corrupt.items()}
            keys = wanted.keys[task.chunk : task.chunk + size]
            new = [place for place, key in enumerate(keys) if key not in rows]
            if chunk.array is not None:
                features = describing.describe(built, chunk.array, recipe) if on_accelerator and built else chunk.array
                good = [place for place in new if place not in chunk.corrupt]
                if good:
                    ids = [wanted.ids[task.chunk + place] for place in good]
                    rows.add([keys[place] for place in good], _stored(features[good], storage, ids, recipe.extractor))
            bar.advance(len(new))
    if treated:
        print(f"Of {total - done:,} photographs: {words_of(treated)}.", file=sys.stderr, flush=True)
    return corrupt


def _write(
    out: Path,
    rows: FinishedRows,
    wanted: _Images,
    corrupt: Mapping[int, str],
    on_corrupt: OnCorrupt,
    source: dict[str, Any],
) -> Extracted:
    """Write the array and what lies beside it, and remove the finished rows.

    Raises:
        InputErrors: One sentence for each photograph that cannot be read, if the policy is to fail or none can.
    """
    if corrupt and (on_corrupt == "fail" or len(corrupt) == len(wanted.ids)):
        named = [InputError(reason) for _, reason in sorted(corrupt.items())[:MOST_NAMED]]
        if len(corrupt) > MOST_NAMED:
            named.append(InputError(f"{len(corrupt) - MOST_NAMED:,} more photographs cannot be read."))
        raise named[0] if len(named) == 1 else InputErrors(named)
    kept = [place for place in range(len(wanted.ids)) if place not in corrupt or on_corrupt == "zero"]
    unread = {wanted.ids[place]: reason for place, reason in sorted(corrupt.items())}
    what = "have no row" if on_corrupt == "skip" else "have rows of zeros"
    beside = out.with_suffix(".corrupt.json")
    out.unlink(missing_ok=True)  # from here to the end, no older array lies beside newer tables
    for older in (regions_beside(out), beside):
        older.unlink(missing_ok=True)
    if corrupt:
        write_json(beside, {"format": "fivesentences.corrupt_photographs 1", "images": unread, "rows": on_corrupt})
        lines = list(unread.values())[:MOST_NAMED]
        more = f"\n... and {len(unread) - MOST_NAMED:,} more" if len(unread) > MOST_NAMED else ""
        said = f"{len(unread):,} of {len(wanted.ids):,} photographs cannot be read and {what} (see {beside.name}):"
        print(said, *lines, sep="\n", end=f"{more}\n", file=sys.stderr, flush=True)
    write_images(
        out,
        pd.DataFrame(
            {"image_id": [wanted.ids[p] for p in kept], "filename": [wanted.filenames[p] for p in kept]}, dtype=str
        ),
    )
    write_source(out, source)
    shape, dtype = rows.assemble([None if place in corrupt else wanted.keys[place] for place in kept])
    rows.remove()
    return Extracted(shape, dtype, unread)


# --- what is extracted, and by what --------------------------------------------------------------------------


def _check_options(options: Mapping[str, tuple[str, Any]], out: Path) -> None:
    for name, (value, known) in options.items():
        if value not in get_args(known):
            raise InputError(f"{name} is '{value}'; it must be one of {', '.join(get_args(known))}.")
    if out.suffix != ".npy":
        raise InputError(f"{out}: features are written as .npy; give a name with this suffix.")


def _check_columns(images: pd.DataFrame) -> None:
    if missing := {"image_id", "filename"} - set(images.columns):
        raise InputError(f"the table of images has no column {' and no column '.join(sorted(missing))}.")


def _check_weights(recipe: Recipe) -> None:
    if recipe.extractor == GRID_DESCRIPTORS and recipe.weights is not None:
        raise InputError(f"{GRID_DESCRIPTORS} has no weights, but {recipe.weights} was given; leave `weights` out.")
    if recipe.weights is not None and not Path(recipe.weights).is_file():
        raise InputError(f"{recipe.weights}: there is no such file of weights.")


def _wanted(photographs: Photographs, images: pd.DataFrame, out: Path) -> _Images:
    """Ids, filenames and keys, after everything has been checked that can be checked before any work."""
    ids, filenames = tuple(images["image_id"].astype(str)), tuple(images["filename"].astype(str))
    if not ids:
        raise InputError(f"{out.name}: there are no images to describe; the table of images is empty.")
    if len(set(ids)) < len(ids):
        twice = images["image_id"][images["image_id"].duplicated()].iloc[0]
        raise InputError(f"image '{twice}' is in the table of images twice; features have one row per image.")
    for image_id in ids:
        check_image_id(image_id, " and ".join(map(str, photographs.paths)))
    return _Images(ids, filenames, tuple(key_of(*photographs.state_of(name)) for name in filenames))


def _extractor(recipe: Recipe, begun: Future[Any] | None) -> tuple[Extractor | None, dict[str, Any], int]:
    """The extractor if this process needs it, its facts, and how many images it takes at once."""
    if begun is not None:
        facts, at_once = begun.result()
        return None, facts, at_once
    # Built here to run here, or to download the weights once instead of in every worker.
    built = describing.extractor_of(recipe)
    return built, built.facts(), built.images_at_once


def _source(recipe: Recipe, facts: dict[str, Any]) -> dict[str, Any]:
    """Everything that the numbers depend on."""
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


def _saved_weights(network: Any, folder: Path) -> Path:
    from fivesentences.features.networks import save_weights

    path = folder / "weights.safetensors"
    if not path.exists():
        with replacing(path) as temporary:
            save_weights(network.module, temporary)
    return path


def _stored(
    features: npt.NDArray[np.float32], storage: Storage, ids: Sequence[str], extractor: str
) -> npt.NDArray[Any]:
    """Features in the type that they are stored in, checked to be finite."""
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
