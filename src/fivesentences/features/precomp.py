"""Features of a ``<prefix>_precomp`` folder, read in place: none of their gigabytes is copied.

The features of a split are ``<split>_ims.npy`` (SCAN, VSRN, CVSE, SGRAF), a folder ``<split>`` with one ``<index>.npy``
per image (the SAM fork's training split), or ``<split>.h5`` with the dataset ``feat`` (DAA). A file has one row per
image, or repeats each image's row for every one of its captions, as the releases do for dev and test; its length tells
which; ``describing_precomp`` finds out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from fivesentences.arrays import read_npy
from fivesentences.documents import check_file, read_json
from fivesentences.errors import InputError
from fivesentences.features.files import check_kind, open_array, open_hdf5
from fivesentences.storage import sha256_of

FORMAT = 1
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
        modified = last_changed(files)
        return self.sha256 if self.modified == modified else digest_of_files(files, modified)

    @property
    def files(self) -> Iterator[Path]:
        """The file, or the files of a folder in the order of the images."""
        names = (f"{image}.npy" for image in range(self.images))
        return (Path(self.path) / name for name in names) if self.kind == "folder" else iter([Path(self.path)])

    @cached_property
    def rows(self) -> Any:
        """The stored array, memory-mapped; None for a folder."""
        return None if self.kind == "folder" else open_stored(Path(self.path), self.kind)

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
        file = first_file(Path(split.path), split.kind)
        if not file.is_file() or file.stat().st_size != split.size:
            raise InputError(f"{path}: {file} is missing or has changed since it was described; describe it again.")
        stored, rows = open_stored(file, split.kind), [] if split.kind == "folder" else [split.images * split.stride]
        if (list(stored.shape), str(stored.dtype)) != ([*rows, *split.shape], split.dtype):
            raise InputError(
                f"{path}: {file} is {stored.dtype} {list(stored.shape)}, not as described; describe it again."
            )
    return PrecompRows(splits)


def last_changed(files: Iterable[Path]) -> int:
    """Return the nanoseconds at which one of the files last changed."""
    times = []
    for file in files:
        check_file(file)
        times.append(file.stat().st_mtime_ns)
    return max(times)


@cache
def digest_of_files(files: tuple[Path, ...], modified: int) -> str:
    """SHA-256 of files that last changed then: the runs of a job read them once."""
    digests = [sha256_of(file) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def first_file(path: Path, kind: Kind) -> Path:
    """Return the file, or the first one of a folder."""
    return path / "0.npy" if kind == "folder" else path


def open_stored(path: Path, kind: Kind) -> Any:
    """Map the array of a file as it is stored.

    Raises:
        InputError: If it is damaged, or holds no features.
    """
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
