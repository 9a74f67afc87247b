"""Regions of every photograph of a folder or archive, written as features with boxes; a killed run resumes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from PIL import Image

from fivesentences.console import Bar
from fivesentences.corpus import Photographs, decoding
from fivesentences.errors import Cure, InputError
from fivesentences.features.detectors.detector import Detector, detect
from fivesentences.features.files import all_files, read_source
from fivesentences.features.formats.record import RECOGNISED, ImageFeatures, Outline, check_ids
from fivesentences.features.formats.table import writing_table
from fivesentences.features.unfinished import FinishedParts, contents_of, digest_of, fingerprint_of
from fivesentences.storage import check_npy

NAMED = 5  # corrupt photographs that a sentence names


@dataclass(frozen=True)
class Detected:
    """Outcome of an extraction.

    Attributes:
        images: Number of images that have features.
        made: Number of those that this call described; the others were there.
        corrupt: Why each photograph that was left out was.
    """

    images: int
    made: int
    corrupt: tuple[str, ...]


def detector_named(name: str, weights: Path | None, flavour: str, settings: dict[str, Any], device: str) -> Detector:
    """Build a detector.

    Args:
        name: ``bottom_up`` or ``faster_rcnn``.
        weights: A file; None: the weights that torchvision downloads.
        flavour: Conversion that the weights of ``bottom_up`` come from.
        settings: Keywords of ``bottom_up.Settings`` or ``faster_rcnn.FasterRCNNSettings``.
        device: ``cpu`` or ``cuda``.

    Raises:
        InputError: If weights are missing or do not fit.
    """
    if name == "faster_rcnn":
        from fivesentences.features.detectors.faster_rcnn import FasterRCNN, FasterRCNNSettings

        return FasterRCNN(weights, FasterRCNNSettings(**settings), device)
    if weights is None:
        raise InputError(
            "bottom_up needs a file of weights, which no library offers for download",
            cure=Cure(
                "name it as weights beside the extractor (docs/detectors.md says where to find one)",
                "give --weights FILE, or --network faster_rcnn, which downloads its own",
            ),
        )
    from fivesentences.features.detectors.bottom_up import BottomUpAttention, Settings

    return BottomUpAttention(weights, flavour, Settings(**settings), device)


def extract_regions(
    photographs: Photographs,
    images: pd.DataFrame,
    detector: Detector,
    out: Path,
    *,
    on_corrupt: Literal["fail", "skip"] = "fail",
    storage: Literal["float32", "float16"] = "float32",
) -> Detected:
    """Write the regions of every photograph in our format with boxes.

    Until everything is written, each finished image is kept in ``.<stem>.unfinished`` beside ``out``; a call after a
    kill resumes there, if the detector's source, the list and the content of the photographs are the same. Memory does
    not grow with the features; the disk needs room for them twice.

    Args:
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        detector: Finds regions.
        out: The ``.npy``; ``.images.parquet``, ``.regions.parquet`` and ``.source.json`` are written beside it.
        on_corrupt: Treatment of photographs that cannot be read or have no region: ``fail`` at the end, with all
            others kept for the next call; or ``skip`` them. Either way they are named.
        storage: Type of the stored features.

    Raises:
        InputError: If the name of the output is not a ``.npy``, an id cannot serve as such, photographs are corrupt and
            ``fail`` is asked for, none has features, or there are other features already.
    """
    out = Path(out)
    check_npy(out, "features")
    ids, filenames = images["image_id"].astype(str).tolist(), images["filename"].astype(str).tolist()
    check_ids(ids, photographs.paths[0])
    source = {**detector.source, "layout": "regions", "storage": storage, "decoding": decoding.VERSION}
    source |= {
        "images": digest_of(zip(ids, filenames, strict=True)),
        "photographs": digest_of(contents_of(photographs)),
    }
    identity = fingerprint_of(source)
    if out.exists():
        note = read_source(out) or {}
        if note.get("identity") == identity and all(path.exists() for path in all_files(out)):
            return Detected(len(ids) - len(note.get("skipped", ())), 0, ())
        what = "it holds features of other photographs, weights or settings"
        raise InputError(what, where=out, cure="name another file")
    reasons: dict[int, str] = {}
    with FinishedParts(out, source) as parts:
        missing = [number for number in range(len(ids)) if _name(number) not in parts]
        with Bar(f"regions by {detector.source['extractor']}", len(ids), len(ids) - len(missing)) as bar:
            wanted = photographs.decoded_ahead([filenames[number] for number in missing], lambda image: image)
            for number, image in zip(missing, wanted, strict=True):
                try:
                    found = _found(image, detector, filenames[number], storage)
                    parts.save(_name(number), **{key: one for key, one in vars(found).items() if one is not None})
                except InputError as error:
                    reasons[number] = str(error)
                bar.advance()
        some = " ".join(list(reasons.values())[:NAMED]).rstrip(".")
        some += f" (and {len(reasons) - NAMED:,} more)" if len(reasons) > NAMED else ""
        if reasons and on_corrupt == "fail":
            what = f"{len(reasons):,} of {len(ids):,} photographs have no features, such as: {some}"
            cure = Cure("repair them, or pass on_corrupt='skip'", "repair them, or give --on-corrupt skip")
            raise InputError(what, where=out, cure=cure)
        if len(reasons) == len(ids):
            raise InputError(f"none of the {len(ids):,} photographs has features: {some}", where=out)
        note = {**source, "identity": identity, "skipped": [filenames[number] for number in reasons]}
        left = [number for number in range(len(ids)) if number not in reasons]
        _assemble(out, parts, {number: (ids[number], filenames[number]) for number in left}, note, storage)
        parts.remove()
    return Detected(len(left), len(missing) - len(reasons), tuple(reasons.values()))


def _name(number: int) -> str:
    return f"{number:08d}"


def _found(image: Image.Image | InputError, detector: Detector, filename: str, storage: str) -> ImageFeatures:
    """Find the regions of an image; InputError if there are none that can be stored."""
    if isinstance(image, InputError):
        raise image
    try:
        found = detect(image, detector)
    except InputError as error:  # such as an image of 1 x 200 pixels
        raise InputError(f"photograph '{filename}': {error}") from None
    if not len(found):
        raise InputError(f"photograph '{filename}': no region was found.")
    with np.errstate(over="ignore"):
        found = replace(found, features=found.features.astype(storage))
    if not np.isfinite(found.features).all():
        raise InputError(f"photograph '{filename}': a feature is not finite as {storage}; damaged weights?")
    return found


def _assemble(
    out: Path, parts: FinishedParts, left: dict[int, tuple[str, str]], note: dict[str, Any], storage: str
) -> None:
    """Write the features of the images that have some, given by number with id and filename."""
    counts = np.array([len(parts.load(_name(number), "boxes")["boxes"]) for number in left], dtype=np.int64)
    first = parts.load(_name(next(iter(left))))
    facts = frozenset({"boxes", "sizes", "filenames"} | (set(RECOGNISED) & first.keys()))
    ids = [image_id for image_id, _ in left.values()]
    outline = Outline(ids, counts, first["features"].shape[1], np.dtype(storage), facts)
    with writing_table(out, outline, note) as add:
        for number, (image_id, filename) in left.items():
            arrays: dict[str, Any] = parts.load(_name(number))
            known = {field.name: arrays[field.name] for field in fields(ImageFeatures) if field.name in arrays}
            known |= {"image_id": image_id, "filename": filename}
            add(ImageFeatures(**known | {name: int(arrays[name]) for name in ("width", "height")}))
