"""Regions of every photograph of a folder or archive, written as features with boxes; a killed run resumes."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from PIL import Image

from fivesentences.console import Bar
from fivesentences.corpus import Photographs, decoding
from fivesentences.errors import Cure, InputError
from fivesentences.features.detectors.detector import Detector, Regions, detect
from fivesentences.features.files import all_files, read_source
from fivesentences.features.formats.record import RECOGNISED, ImageFeatures, Outline, check_ids
from fivesentences.features.formats.table import writing_table
from fivesentences.features.unfinished import FinishedParts, contents_of, digest_of, fingerprint_of
from fivesentences.storage import check_npy

OnCorrupt = Literal["fail", "skip"]
AHEAD = 4  # images that are decoded while the network is busy
NAMED = 5  # corrupt photographs that a sentence names


@dataclass(frozen=True)
class Extracted:
    """What an extraction wrote.

    Attributes:
        images: How many images have features.
        made: How many of them by this call; the others were there.
        corrupt: Why each photograph that was left out was.
    """

    images: int
    made: int
    corrupt: tuple[str, ...]


def detector_named(name: str, weights: Path | None, flavour: str, settings: dict[str, Any], device: str) -> Detector:
    """Build a detector.

    Args:
        name: ``bottom_up`` or ``faster_rcnn``.
        weights: A file; None: what torchvision downloads.
        flavour: Whose conversion the weights of ``bottom_up`` are.
        settings: What ``bottom_up.Settings`` or ``faster_rcnn.FasterRCNNSettings`` take.
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
    on_corrupt: OnCorrupt = "fail",
    storage: Literal["float32", "float16"] = "float32",
) -> Extracted:
    """Write the regions of every photograph in our format with boxes.

    Until everything is written, each finished image is kept in ``.<stem>.unfinished`` beside ``out``; a call after a
    kill resumes there, if the detector's source, the list and the content of the photographs are the same. Memory does
    not grow with the features; the disk needs room for them twice.

    Args:
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        detector: What finds regions.
        out: The ``.npy``; ``.images.parquet``, ``.regions.parquet`` and ``.source.json`` are written beside it.
        on_corrupt: What to do about photographs that cannot be read or have no region: ``fail`` at the end, with all
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
    depends = {
        "images": digest_of(zip(ids, filenames, strict=True)),
        "photographs": digest_of(contents_of(photographs)),
    }
    identity = fingerprint_of({**source, **depends})
    if out.exists():
        return _existing(out, identity, len(ids))
    names = [f"{number:08d}" for number in range(len(ids))]
    reasons: dict[int, str] = {}
    treated: Counter[str] = Counter()
    with FinishedParts(out, {**source, **depends}) as parts:
        missing = [number for number, name in enumerate(names) if name not in parts]
        with Bar(f"regions by {detector.source['extractor']}", len(ids), len(ids) - len(missing)) as bar:
            wanted = [filenames[number] for number in missing]
            for number, image in zip(missing, _decoded(photographs, wanted, treated), strict=True):
                regions = _found(image, detector, filenames[number], storage)
                if isinstance(regions, InputError):
                    reasons[number] = str(regions)
                else:
                    known = {name: array for name, array in vars(regions).items() if array is not None}
                    size = np.array((known.pop("width"), known.pop("height")))
                    parts.save(names[number], size=size, **known)
                bar.advance()
        if treated:
            print(f"Of {len(missing):,} photographs: {decoding.words_of(treated)}.", file=sys.stderr, flush=True)
        if reasons and on_corrupt == "fail":
            raise InputError(
                f"{len(reasons):,} of {len(ids):,} photographs have no features, such as: "
                f"{_some(list(reasons.values()))}",
                where=out,
                cure=Cure("repair them, or pass on_corrupt='skip'", "repair them, or give --on-corrupt skip"),
            )
        left = [number for number in range(len(ids)) if number not in reasons]
        if not left:
            raise InputError(
                f"none of the {len(ids):,} photographs has features: {_some(list(reasons.values()))}", where=out
            )
        note = {**source, **depends, "identity": identity, "skipped": [filenames[number] for number in reasons]}
        kept = ([of[number] for number in left] for of in (names, ids, filenames))
        _assemble(out, parts, *kept, note=note, storage=storage)
        parts.remove()
    return Extracted(len(left), len(missing) - len(reasons), tuple(reasons.values()))


def _existing(out: Path, identity: str, count: int) -> Extracted:
    """Return what an earlier call wrote, if the features that exist are the ones that are asked for."""
    note = read_source(out) or {}
    if note.get("identity") == identity and all(path.exists() for path in all_files(out)):
        return Extracted(count - len(note.get("skipped", ())), 0, ())
    raise InputError(
        "it holds features of other photographs, weights or settings", where=out, cure="name another file, or remove it"
    )


def _decoded(
    photographs: Photographs, wanted: Sequence[str], treated: Counter[str]
) -> Iterator[Image.Image | InputError]:
    """Yield photographs in order, a few of them decoded ahead; an error in place of one that is corrupt."""

    def read(filename: str) -> tuple[Image.Image | InputError, Counter[str]]:
        counted: Counter[str] = Counter()
        try:
            return photographs.decoded(filename, counted), counted
        except InputError as error:
            return error, counted

    with ThreadPoolExecutor(2) as pool:
        begun: deque[Future[tuple[Image.Image | InputError, Counter[str]]]] = deque()
        for filename in [*wanted, *[None] * AHEAD]:
            if filename is not None:
                begun.append(pool.submit(read, filename))
            if begun and (filename is None or len(begun) > AHEAD):
                image, counted = begun.popleft().result()
                treated.update(counted)
                yield image


def _found(image: Image.Image | InputError, detector: Detector, filename: str, storage: str) -> Regions | InputError:
    """Return the regions of an image, or why there are none that can be stored."""
    if isinstance(image, InputError):
        return image
    try:
        regions = detect(image, detector)
    except InputError as error:  # such as an image of 1 x 200 pixels
        return InputError(f"photograph '{filename}': {error}")
    if not len(regions):
        return InputError(f"photograph '{filename}': no region was found.")
    with np.errstate(over="ignore"):
        if not np.isfinite(regions.features.astype(storage)).all():
            return InputError(f"photograph '{filename}': a feature is not finite as {storage}; damaged weights?")
    return regions


def _some(reasons: list[str]) -> str:
    more = len(reasons) - NAMED
    return " ".join(reasons[:NAMED]).rstrip(".") + (f" (and {more:,} more)" if more > 0 else "")


def _assemble(
    out: Path, parts: FinishedParts, names: Sequence[str], ids: list[str], filenames: list[str],
    *, note: dict[str, Any], storage: str,
) -> None:  # fmt: skip
    first = parts.load(names[0])
    counts = np.array([len(parts.load(name)["boxes"]) for name in names], dtype=np.int64)
    facts = frozenset({"boxes", "sizes", "filenames"} | (set(RECOGNISED) & first.keys()))
    outline = Outline(ids, counts, first["features"].shape[1], np.dtype(storage), facts)
    with writing_table(out, outline, note) as writer:
        for name, image_id, filename in zip(names, ids, filenames, strict=True):
            arrays: dict[str, Any] = parts.load(name)
            width, height = arrays.pop("size").tolist()
            features = arrays.pop("features").astype(storage)
            writer.add(ImageFeatures(image_id, features, filename, width, height, **arrays))
