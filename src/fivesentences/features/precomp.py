"""Features of a ``<prefix>_precomp`` folder, read in place: none of their gigabytes is copied.

The features of a split are ``<split>_ims.npy`` (SCAN, VSRN, CVSE, SGRAF), a folder ``<split>`` with one ``<index>.npy``
per image (the SAM fork's training split), or ``<split>.h5`` with the dataset ``feat`` (DAA). A file has one row per
image, or repeats each image's row for every one of its captions, as the releases do for dev and test; its length tells
which.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from fivesentences.arrays import read_npy
from fivesentences.corpus import Corpus
from fivesentences.corpus.catalogue import precomp_folder
from fivesentences.corpus.precomp import load_precomp
from fivesentences.documents import check_file, read_json
from fivesentences.errors import InputError
from fivesentences.features.files import check_kind, open_array, open_hdf5, write_beside
from fivesentences.storage import replacing, sha256_of, together, write_json

FORMAT = 1
SHARED_WORDS = 0.5  # of the captions of an image, in a folder and in Karpathy's file
Kind = Literal["npy", "folder", "hdf5"]
Positive = Annotated[int, Field(strict=True, gt=0)]


@dataclass(frozen=True, config={"extra": "forbid"})
class SplitFeatures:
    """Where the features of one split are.

    Attributes:
        path: The file, or the folder of files.
        kind: Which of the three layouts it has.
        images: Number of images in the split.
        stride: Rows per image; the first one is read.
        shape: Shape of one image's features: ``[dim]`` or ``[regions, dim]``.
        dtype: Name of the numpy type.
        size: Bytes of the file, or of the first file of a folder.
        modified: Nanoseconds at which a file last changed before it was described.
        sha256: Digest of the content as described, see ``content``.
    """

    path: str
    kind: Kind
    images: Positive
    stride: Positive
    shape: list[Positive]
    dtype: Literal["float16", "float32"]
    size: Positive
    modified: int = 0
    sha256: str = ""

    @property
    def content(self) -> str:
        """SHA-256 of the file, or of a folder's files; COCO's 33 GB are read again only if a file has changed."""
        files = tuple(self.files)
        modified = _modified(files)
        return self.sha256 if self.modified == modified else _sha256(files, modified)

    @property
    def files(self) -> Iterator[Path]:
        """The file, or the files of a folder in the order of the images."""
        names = (f"{image}.npy" for image in range(self.images))
        return (Path(self.path) / name for name in names) if self.kind == "folder" else iter([Path(self.path)])

    @cached_property
    def rows(self) -> Any:
        """The stored array, memory-mapped; None for a folder."""
        return None if self.kind == "folder" else _open(Path(self.path), self.kind)

    def take(
        self, images: npt.NDArray[np.intp], out: npt.NDArray[np.floating] | None = None
    ) -> npt.NDArray[np.floating]:
        """Copy the features of some images of the split, in any order, into ``out`` or a new array."""
        if self.kind == "folder":
            return np.stack([_load(Path(self.path) / f"{image}.npy", self.shape) for image in images], out=out)
        if self.kind == "npy":
            return np.take(self.rows, images * self.stride, axis=0, out=out, mode="clip")
        unique, back = np.unique(images * self.stride, return_inverse=True)  # HDF5 reads in rising order only
        try:
            stored = np.asarray(self.rows[unique])
        except Exception as error:  # a damaged file fails anywhere in the library
            what = f"it is not a readable HDF5 file ({str(error)[:200]})"
            raise InputError(what, where=self.path, cure="fetch it again") from None
        return np.take(stored, back, axis=0, out=out, mode="clip")


class PrecompRows:
    """The features of all splits, one split after the other, one row per image.

    Args:
        splits: In the order of the table of images.
    """

    def __init__(self, splits: Sequence[SplitFeatures]):
        self.splits = list(splits)
        self._ends = np.cumsum([split.images for split in self.splits])
        self.dtype = np.dtype(self.splits[0].dtype)
        self.shape = (int(self._ends[-1]), *self.splits[0].shape)
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def take(
        self, where: npt.NDArray[np.intp], out: npt.NDArray[np.floating] | None = None
    ) -> npt.NDArray[np.floating]:
        """Copy some rows, given by number, into ``out`` or a new array."""
        split_of = np.searchsorted(self._ends, where, side="right")
        starts = self._ends - [split.images for split in self.splits]
        numbers = np.unique(split_of)
        if len(numbers) == 1:  # a training batch: COCO's 38 MB are not copied twice
            (number,) = numbers
            return self.splits[int(number)].take(where - starts[number], out)
        rows = np.empty((len(where), *self.shape[1:]), self.dtype) if out is None else out
        for number in numbers:
            mine = split_of == number
            rows[mine] = self.splits[number].take(where[mine] - starts[number])
        return rows


def describe_precomp(
    folder: Path | str, corpus: Corpus, out: Path, prefix: str | None = None, testall: bool = False
) -> None:
    """Write what ``FeatureTable.open`` reads: which file holds which images, and the table of images beside it.

    A corpus of Karpathy's file calls images otherwise than the folder, and may have more. An image of the folder is
    found by COCO's id, or by its place in the file, and its captions must agree. Others have no features.

    Args:
        folder: The folder itself or, with ``prefix``, one that contains ``<prefix>_precomp``; as for ``load_precomp``.
        corpus: Corpus that ``load_precomp`` read from the folder, or ``load_karpathy`` from its own file.
        out: A ``.json``.
        prefix: Such as ``f30k`` or ``coco``.
        testall: Whether the split ``test`` of the corpus is ``testall``.

    Raises:
        InputError: If a split has no features, or they are not numbers or fit neither its images nor its captions, or
            an image of the folder has other captions in the corpus.
    """
    own = load_precomp(folder, prefix, name=corpus.name, testall=testall)
    names_in_corpus = _names_in(corpus, own, Path(folder))
    folder, corpus = precomp_folder(folder, prefix), own
    names = [name for name in ("train", "dev", "test") if name in corpus.splits]
    parts = {name: corpus.split(name) for name in names}
    splits = [
        _describe(folder, "testall" if name == "test" and testall else name, part) for name, part in parts.items()
    ]
    if len({(*split.shape, split.dtype) for split in splits}) > 1:
        found = ", ".join(f"{name} {split.shape} {split.dtype}" for name, split in zip(names, splits, strict=True))
        raise InputError(f"{folder}: the features of the splits differ ({found}); they must have one shape and type.")
    images = pd.concat([part.images[["image_id", "filename"]] for part in parts.values()])
    with together(), replacing(out) as temporary:
        write_json(temporary, {"format": FORMAT, "parts": [asdict(split) for split in splits]})
        write_beside(out, temporary, images.assign(image_id=images["image_id"].map(names_in_corpus)))


def _names_in(corpus: Corpus, own: Corpus, folder: Path) -> dict[str, str]:
    """Return the corpus's name for each image of the folder.

    Raises:
        InputError: If an image is not in the corpus, or has other captions there.
    """
    known = corpus.images["image_id"].astype(str).tolist()
    ours = own.images["image_id"].astype(str).tolist()
    if set(ours) <= set(known):  # the folder's own corpus, or COCO's ids
        named = dict(zip(ours, ours, strict=True))
    elif all(image.isdigit() and int(image) < len(known) for image in ours):
        named = {image: known[int(image)] for image in ours}
    else:
        strange = next(image for image in ours if image not in set(known))
        raise InputError(
            f"{folder}: image '{strange}' is not among the {len(known):,} of '{corpus.name}'; its _ids.txt must hold "
            "COCO's ids or places in Karpathy's file, and the whole file must be read (no splits)."
        )
    theirs = corpus.table.groupby(corpus.table["image_id"].astype(str), sort=False)["caption"].agg(" ".join)
    for image, captions in own.table.groupby("image_id", sort=False)["caption"].agg(" ".join).items():
        if not share_words(captions, theirs[named[str(image)]]):
            raise InputError(
                f"{folder}: the captions of image '{image}' are not those of '{named[str(image)]}' in '{corpus.name}'; "
                "the folder and the captions are not of the same images: fetch both again."
            )
    return named


def share_words(one: str, other: str) -> bool:
    """Tell whether two texts are the same captions, as far as releases that clean them in their own ways show it."""
    here, there = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(here & there) >= SHARED_WORDS * max(len(here), len(there))


def read_precomp(path: Path) -> PrecompRows:
    """Open features that ``describe_precomp`` described.

    Raises:
        InputError: If the file is not such a description, or a file that it names is missing or has changed.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} does not describe a precomp folder in format {FORMAT}; make it again.")
    try:
        splits = TypeAdapter(list[SplitFeatures]).validate_python(content.get("parts"))
    except ValidationError:
        splits = []
    if not splits or len({(*split.shape, split.dtype) for split in splits}) > 1:
        raise InputError("its list 'parts' is damaged", where=path, cure="describe the precomp folder again")
    for split in splits:
        file = _first_file(Path(split.path), split.kind)
        if not file.is_file() or file.stat().st_size != split.size:
            raise InputError(f"{path}: {file} is missing or has changed since it was described; describe it again.")
        stored, rows = _open(file, split.kind), [] if split.kind == "folder" else [split.images * split.stride]
        if (list(stored.shape), str(stored.dtype)) != ([*rows, *split.shape], split.dtype):
            raise InputError(
                f"{path}: {file} is {stored.dtype} {list(stored.shape)}, not as described; describe it again."
            )
    return PrecompRows(splits)


def _describe(folder: Path, name: str, split: Corpus) -> SplitFeatures:
    candidates: list[tuple[Path, Kind]] = [
        (folder / f"{name}_ims.npy", "npy"),
        (folder / f"{name}.h5", "hdf5"),
        (folder / name, "folder"),
    ]
    path, kind = next(((path, kind) for path, kind in candidates if path.exists()), (None, None))
    if path is None or kind is None:
        raise InputError(f"{folder}: there is neither {', nor '.join(path.name for path, _ in candidates)}.")
    file = _first_file(path, kind)
    check_file(file, "a folder of features has one <index>.npy per image")
    array = _open(file, kind)
    if kind == "folder":
        rows, shape = sum(1 for _ in path.glob("*.npy")), list(array.shape)
    else:
        rows, shape = array.shape[0], list(array.shape[1:])
    each = split.n_captions // split.n_images
    strides = {split.n_images: 1, split.n_captions: each} if kind != "folder" else {split.n_images: 1}
    if rows not in strides or split.n_images * each != split.n_captions:
        raise InputError(
            f"{path} has {rows} rows, but the split has {split.n_images} images and {split.n_captions} captions; "
            "the captions and the features must come from the same release."
        )
    dtype, size = str(array.dtype), file.stat().st_size
    described = SplitFeatures(str(path), kind, split.n_images, strides[rows], shape, dtype, size)  # type: ignore[arg-type]
    files = tuple(described.files)
    modified = _modified(files)  # before they are read
    return replace(described, modified=modified, sha256=_sha256(files, modified))


def _modified(files: Iterable[Path]) -> int:
    times = []
    for file in files:
        check_file(file)
        times.append(file.stat().st_mtime_ns)
    return max(times)


@cache
def _sha256(files: tuple[Path, ...], modified: int) -> str:
    """SHA-256 of files that last changed then: the runs of a job read them once."""
    digests = [sha256_of(file) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _first_file(path: Path, kind: Kind) -> Path:
    return path / "0.npy" if kind == "folder" else path


def _open(path: Path, kind: Kind) -> Any:
    if kind == "folder":
        array = read_npy(path, "fetch it again")
        check_kind(array, str(path), images=False)
        return array
    return open_array(path) if kind == "npy" else open_hdf5(path)


def _load(path: Path, shape: list[int]) -> npt.NDArray[np.floating]:
    array = read_npy(path, "fetch it again")
    if list(array.shape) != shape:
        raise InputError(f"{path} has the shape {list(array.shape)}, but the first image has {shape}; fetch it again.")
    return np.array(array)
