"""Features of a ``<prefix>_precomp`` folder, read where they lie: nothing of their gigabytes is copied.

A split's features are ``<split>_ims.npy`` (SCAN, VSRN, CVSE, SGRAF), a folder ``<split>`` of one ``<index>.npy`` an
image (the SAM fork's training split), or ``<split>.h5`` with the dataset ``feat`` (DAA). A file has one row an image,
or repeats each image's row for every one of its captions, as the releases do for dev and test; its length tells which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError, install
from fivesentences.storage import read_json, replacing, write_json

FORMAT = 1
DATASET = "feat"  # inside an HDF5 file
Kind = Literal["npy", "folder", "hdf5"]


@dataclass(frozen=True)
class Part:
    """The features of one split.

    Attributes:
        path: The file, or the folder of files.
        kind: What it is.
        images: Images of the split.
        stride: Rows of an image; its first one is read.
        shape: Of one image: ``[dim]`` or ``[regions, dim]``.
        dtype: As numpy names it.
        size: Bytes of the file, of the first file of a folder.
    """

    path: str
    kind: Kind
    images: int
    stride: int
    shape: list[int]
    dtype: str
    size: int

    @property
    def files(self) -> Iterator[Path]:
        """The file; of a folder the file of each image, in their order."""
        names = (f"{image}.npy" for image in range(self.images))
        return (Path(self.path) / name for name in names) if self.kind == "folder" else iter([Path(self.path)])

    @cached_property
    def rows(self) -> Any:
        """The stored array, mapped; None for a folder."""
        return None if self.kind == "folder" else _open(Path(self.path), self.kind)

    def take(self, images: npt.NDArray[np.intp]) -> npt.NDArray[np.floating]:
        """Copy the features of some images of the split, in any order."""
        if self.kind == "folder":
            return np.stack([_load(Path(self.path) / f"{image}.npy", self.shape) for image in images])
        if self.kind == "npy":
            return np.asarray(self.rows[images * self.stride])
        unique, back = np.unique(images * self.stride, return_inverse=True)  # HDF5 reads in rising order only
        return np.asarray(self.rows[unique])[back]


class PrecompRows:
    """The splits' features one after the other, read like an array with one row an image.

    Args:
        parts: In the order of the table of images.
    """

    def __init__(self, parts: Sequence[Part]):
        self.parts = list(parts)
        self._ends = np.cumsum([part.images for part in self.parts])
        self.dtype = np.dtype(self.parts[0].dtype)
        self.shape = (int(self._ends[-1]), *self.parts[0].shape)
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: npt.NDArray[np.intp]) -> npt.NDArray[np.floating]:
        """Copy some rows, by their numbers."""
        out = np.empty((len(where), *self.shape[1:]), self.dtype)
        part_of = np.searchsorted(self._ends, where, side="right")
        for number in np.unique(part_of):
            mine = part_of == number
            first = self._ends[number] - self.parts[number].images
            out[mine] = self.parts[number].take(where[mine] - first)
        return out


def describe_precomp(
    folder: Path | str, corpus: Corpus, out: Path, prefix: str | None = None, testall: bool = False
) -> None:
    """Write what ``FeatureTable.open`` reads: which file holds which images, and the table of images beside.

    Args:
        folder: The folder itself or, with ``prefix``, one that holds ``<prefix>_precomp``; as for ``load_precomp``.
        corpus: What that read.
        out: A ``.json``.
        prefix: Such as ``f30k`` or ``coco``.
        testall: Whether the corpus has ``testall`` as its split ``test``.

    Raises:
        InputError: If a split has no features, they are not numbers, or fit neither its images nor its captions.
    """
    folder, parts = Path(folder), []
    if prefix is not None and (folder / f"{prefix}_precomp").is_dir():
        folder = folder / f"{prefix}_precomp"
    splits = [split for split in ("train", "dev", "test") if split in corpus.splits]
    for split in splits:
        name = "testall" if split == "test" and testall else split
        parts.append(_part(folder, name, corpus.split(split)))
    shapes = {(*part.shape, part.dtype) for part in parts}
    if len(shapes) > 1:
        found = ", ".join(f"{split} {part.shape} {part.dtype}" for split, part in zip(splits, parts, strict=True))
        raise InputError(f"{folder}: the splits' features differ ({found}); they must be of one kind.")
    images = pd.concat([corpus.split(split).images[["image_id", "filename"]] for split in splits])
    with replacing(out.with_suffix(".images.parquet")) as temporary:
        images.to_parquet(temporary, index=False)
    write_json(out, {"format": FORMAT, "parts": [asdict(part) for part in parts]})


def read_precomp(path: Path) -> PrecompRows:
    """Open what ``describe_precomp`` wrote.

    Raises:
        InputError: If the description is not one, or a file is not there or not the one that was described.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} does not describe a precomp folder in format {FORMAT}; make it again.")
    parts = [Part(**part) for part in content["parts"]]
    for part in parts:
        file = _sample(Path(part.path), part.kind)
        if not file.is_file() or file.stat().st_size != part.size:
            raise InputError(f"{path}: {file} is not there, or not the file that was described; describe it again.")
    return PrecompRows(parts)


def _part(folder: Path, name: str, split: Corpus) -> Part:
    candidates: list[tuple[Path, Kind]] = [
        (folder / f"{name}_ims.npy", "npy"),
        (folder / f"{name}.h5", "hdf5"),
        (folder / name, "folder"),
    ]
    path, kind = next(((path, kind) for path, kind in candidates if path.exists()), (None, None))
    if path is None or kind is None:
        raise InputError(f"{folder}: there is neither {', nor '.join(path.name for path, _ in candidates)}.")
    sample = _sample(path, kind)
    if not sample.is_file():
        raise InputError(f"{sample}: there is no such file; a folder of features has one <index>.npy an image.")
    array = _open(sample, kind)
    if kind == "folder":
        rows, shape = sum(1 for _ in path.glob("*.npy")), list(array.shape)
    else:
        rows, shape = array.shape[0], list(array.shape[1:])
    if array.dtype not in (np.float16, np.float32) or len(shape) not in (1, 2):
        raise InputError(
            f"{sample} is {array.dtype} of shape {list(array.shape)}; features are float16 or float32, "
            "[dim] or [regions, dim] an image."
        )
    each = split.n_captions // split.n_images
    strides = {split.n_images: 1, split.n_captions: each} if kind != "folder" else {split.n_images: 1}
    if rows not in strides or split.n_images * each != split.n_captions:
        raise InputError(
            f"{path} has {rows} rows, but the split has {split.n_images} images and {split.n_captions} captions; "
            "captions and features are not of one release."
        )
    return Part(str(path), kind, split.n_images, strides[rows], shape, str(array.dtype), sample.stat().st_size)


def _sample(path: Path, kind: Kind) -> Path:
    return path / "0.npy" if kind == "folder" else path


def _open(path: Path, kind: Kind) -> Any:
    try:
        if kind != "hdf5":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        try:
            import h5py
        except ImportError:
            raise InputError(f"{path} needs h5py", cure=install("hdf5")) from None
        return h5py.File(path, "r")[DATASET]
    except (OSError, ValueError, EOFError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        what = f"an HDF5 file with the dataset '{DATASET}'" if kind == "hdf5" else "a whole .npy array"
        raise InputError(f"{path} is not {what} ({error}); fetch it again.") from None


def _load(path: Path, shape: list[int]) -> npt.NDArray[np.floating]:
    array: npt.NDArray[np.floating] = _open(path, "npy")
    if list(array.shape) != shape:
        raise InputError(f"{path} has the shape {list(array.shape)}, but the first image's is {shape}; fetch it again.")
    return np.array(array)
