"""Regions of every photograph of a folder or archive, written as features with boxes; a killed run resumes."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from fivesentences.arrays import read_npz
from fivesentences.console import Bar
from fivesentences.corpus import Photographs, decoding
from fivesentences.errors import Argument, Cure, InputError
from fivesentences.features.detectors.detector import Detector, detect
from fivesentences.features.files import read_source
from fivesentences.features.formats.record import ImageFeatures, Outline, check_ids
from fivesentences.features.formats.table import all_files, writing_table
from fivesentences.features.identity import contents_of, digest_of, fingerprint_of, folder_of_unfinished
from fivesentences.features.regions import Regions
from fivesentences.storage import replacing

OnCorrupt = Literal["fail", "skip"]
AHEAD = 4  # images that are decoded while the network is busy
NAMED = 5  # corrupt photographs that a sentence names
_ARRAYS = ("features", "boxes", "size")
_RECOGNISED = ("scores", "classes", "attributes", "attribute_scores")


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

    Until everything is written, each finished image is kept in ``.<stem>.regions`` beside ``out``; a call after a kill
    resumes there, if the detector's source, the list and the content of the photographs are the same. Memory does not
    grow with the number of images; the disk needs room for the features twice.

    Args:
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        detector: What finds regions.
        out: The ``.npy``; ``.images.parquet``, ``.regions.parquet`` and ``.source.json`` are written beside it.
        on_corrupt: What to do about photographs that cannot be read or have no region: ``fail`` at the end, with all
            others kept for the next call; or ``skip`` them. Either way they are named.
        storage: Of the features.

    Raises:
        InputError: If the name of the output is no ``.npy``, an id cannot serve as such, photographs are corrupt and
            the policy is ``fail``, no image is left, or ``out`` has features of another source.
    """
    out = Path(out)
    if out.suffix != ".npy":
        raise InputError(f"{out}: features are written as .npy; give a name with this suffix.")
    if on_corrupt not in ("fail", "skip"):
        raise InputError(f"is '{on_corrupt}'; it must be fail or skip.", where=Argument("on_corrupt"))
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

    parts = _Parts(folder_of_unfinished(out, "regions", {**source, **depends}))
    missing = [number for number in range(len(ids)) if not parts.has(number)]
    reasons: dict[int, str] = {}
    treated: Counter[str] = Counter()
    made = 0
    with Bar(f"regions by {detector.source['extractor']}", len(ids), len(ids) - len(missing)) as bar:
        for number, image in _decoded(photographs, [(number, filenames[number]) for number in missing], treated):
            regions = image if isinstance(image, InputError) else _found(image, detector, filenames[number])
            if isinstance(regions, InputError):
                reasons[number] = str(regions)
            elif reason := _problem(regions, filenames[number], storage):
                reasons[number] = reason
            else:
                parts.save(number, regions)
                made += 1
            bar.advance()
    if treated:
        print(f"Of {len(missing):,} photographs: {decoding.words_of(treated)}.", file=sys.stderr, flush=True)
    if reasons and on_corrupt == "fail":
        raise InputError(
            f"{len(reasons):,} of {len(ids):,} photographs have no features, such as: {_some(list(reasons.values()))}",
            where=out,
            cure=Cure("repair them, or pass on_corrupt='skip'", "repair them, or give --on-corrupt skip"),
        )
    left = [number for number in range(len(ids)) if number not in reasons]
    if not left:
        raise InputError(
            f"none of the {len(ids):,} photographs has features: {_some(list(reasons.values()))}", where=out
        )
    note = {**source, **depends, "identity": identity, "skipped": [filenames[number] for number in reasons]}
    _assemble(out, parts, left, [ids[n] for n in left], [filenames[n] for n in left], note, storage)
    parts.remove()
    return Extracted(len(left), made, tuple(reasons.values()))


def _existing(out: Path, identity: str, count: int) -> Extracted:
    """What is to be done if there are features already: nothing, if they are these."""
    note = read_source(out) or {}
    if note.get("identity") == identity and all(path.exists() for path in all_files(out)):
        return Extracted(count - len(note.get("skipped", ())), 0, ())
    raise InputError(
        "it holds features of other photographs, weights or settings", where=out, cure="name another file, or remove it"
    )


def _decoded(
    photographs: Photographs, wanted: Sequence[tuple[int, str]], treated: Counter[str]
) -> Iterator[tuple[int, Image.Image | InputError]]:
    """Photographs in order, a few of them decoded ahead; an error in place of one that is corrupt."""

    def read(filename: str) -> tuple[Image.Image | InputError, Counter[str]]:
        counted: Counter[str] = Counter()
        try:
            return photographs.decoded(filename, counted), counted
        except InputError as error:
            return error, counted

    with ThreadPoolExecutor(2) as pool:
        begun: list[Future[tuple[Image.Image | InputError, Counter[str]]]] = []
        for place, (number, _) in enumerate(wanted):
            while len(begun) < AHEAD and place + len(begun) < len(wanted):
                begun.append(pool.submit(read, wanted[place + len(begun)][1]))
            image, counted = begun.pop(0).result()
            treated.update(counted)
            yield number, image


def _found(image: Image.Image, detector: Detector, filename: str) -> Regions | InputError:
    """The regions of an image, or why there are none."""
    try:
        return detect(image, detector)
    except InputError as error:  # such as an image of 1 x 200 pixels
        return InputError(f"photograph '{filename}': {error}")


def _problem(regions: Regions, filename: str, storage: str) -> str | None:
    """Why the regions of an image cannot be stored; None if they can."""
    if not len(regions):
        return f"photograph '{filename}': no region was found."
    with np.errstate(over="ignore"):
        if not np.isfinite(regions.features.astype(storage)).all():
            return f"photograph '{filename}': a feature is not finite as {storage}; the weights are damaged."
    return None


def _some(reasons: list[str]) -> str:
    more = len(reasons) - NAMED
    return " ".join(reasons[:NAMED]).rstrip(".") + (f" (and {more:,} more)" if more > 0 else "")


def _assemble(
    out: Path,
    parts: _Parts,
    numbers: Sequence[int],
    ids: list[str],
    filenames: list[str],
    note: dict[str, Any],
    storage: str,
) -> None:
    first = parts.load(numbers[0])
    counts = np.array([parts.count(number) for number in numbers], dtype=np.int64)
    facts = frozenset({"boxes", "sizes", "filenames", *first.recognised()})
    outline = Outline(ids, counts, first.features.shape[1], np.dtype(storage), facts)
    with writing_table(out, outline, note) as writer:
        for number, image_id, filename in zip(numbers, ids, filenames, strict=True):
            record = ImageFeatures.of(image_id, filename, parts.load(number))
            writer.add(replace(record, features=record.features.astype(storage)))


class _Parts:
    """The regions of single images as ``.npz`` files in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def has(self, number: int) -> bool:
        """Whether an image is finished; only whole files get their name."""
        return self._path(number).is_file()

    def save(self, number: int, regions: Regions) -> None:
        size = np.array((regions.width, regions.height), dtype=np.int64)
        with replacing(self._path(number)) as temporary, temporary.open("wb") as file:
            np.savez(file, features=regions.features, boxes=regions.boxes, size=size, **regions.recognised())

    def load(self, number: int) -> Regions:
        path = self._path(number)
        with np.load(path, allow_pickle=False) as file:
            names = [name for name in _RECOGNISED if name in file.files]
        features, boxes, size, *known = self._arrays(number, (*_ARRAYS, *names))
        width, height = size.tolist()
        return Regions(features, boxes, width, height, **dict(zip(names, known, strict=True)))

    def count(self, number: int) -> int:
        (boxes,) = self._arrays(number, ("boxes",))
        return len(boxes)

    def remove(self) -> None:
        shutil.rmtree(self.folder.parent)

    def _arrays(self, number: int, names: Sequence[str]) -> list[NDArray[Any]]:
        return read_npz(self._path(number), names, "regions of an image", "remove it and run again")

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.npz"
