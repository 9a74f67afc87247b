"""Folders with one file per image: ``.npy`` with an array, or ``.npz`` with boxes too, as MILVLG's extractor writes it.

An ``.npz`` holds ``x`` ``[regions, dim]``, ``bbox`` ``[regions, 4]``, ``num_bbox``, ``image_h``, ``image_w``, and
``info``, a pickled dictionary with ``objects_id``, ``objects_conf``, ``attrs_id`` and ``attrs_conf``, which is read
without being run. We write these four as arrays of their own. Features may also be called ``feat`` or ``features``,
and boxes ``boxes``; some releases store features as ``[dim, regions]``, which the number of boxes shows.
"""

from __future__ import annotations

import math
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import npy_header, plain_array, read_npy
from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.features.files import check_kind, images_beside
from fivesentences.features.formats.npy_rows import SUFFIX
from fivesentences.features.formats.plain_pickles import plain_pickle
from fivesentences.features.formats.record import (
    MOST_NUMBERS,
    RECOGNISED,
    ImageFeatures,
    Outline,
    Source,
    check_ids,
    checked,
)
from fivesentences.features.regions import BOX
from fivesentences.storage import inside

Kind = Literal["npy", "npz"]
CURE = "fetch it again"
FEATURES, BOXES = ("x", "feat", "features"), ("bbox", "boxes")
# What MILVLG calls it, and what we do.
INFO = dict(zip(("objects_conf", "objects_id", "attrs_id", "attrs_conf"), RECOGNISED, strict=True))
LARGEST_ENTRY = 1 << 31  # bytes of an array of an npz
LARGEST_INFO = 1 << 24  # bytes


class Folder(Source):
    """A folder with one file of features per image, open for reading.

    An image's id is the path of its file in the folder without the suffix. Images are in the order of their ids, by
    number if all of them are numbers. Every file is opened once when the folder is, for its shape.

    Raises:
        InputError: If the folder holds no such files, or other arrays among them.
    """

    def __init__(self, path: Path):
        self.path = path
        names = _names(path)
        _check_no_arrays_of_all(path, names)
        kinds = {name.suffix for name in names}
        if len(kinds) != 1:
            what = "neither .npy nor .npz files" if not kinds else "both .npy and .npz files"
            raise InputError(f"it holds {what}", where=path, cure="give a folder with one of them per image")
        self._kind = kinds.pop()
        ids = [name.with_suffix("").as_posix() for name in names]
        check_ids(ids, path)
        numbers = all(image_id.isascii() and image_id.isdecimal() and len(image_id) < 20 for image_id in ids)
        order = sorted(range(len(ids)), key=lambda place: (int(ids[place]) if numbers else 0, ids[place]))
        self._files, ids = [path / names[place] for place in order], [ids[place] for place in order]
        shapes = []
        with Bar(f"look through {path.name}", len(ids)) as bar:
            for place, file in enumerate(self._files):
                shape, dtype, facts = self._described(file)
                if not place:
                    first = shape, dtype, facts
                if (len(shape), shape[-1], dtype, facts) != (len(first[0]), first[0][-1], *first[1:]):
                    raise InputError(
                        f"it holds {dtype} {list(shape)} with {_listed(facts)}, but {self._files[0].name} "
                        f"{first[1]} {list(first[0])} with {_listed(first[2])}",
                        where=file,
                        cure="all images need one type, one number of dimensions and the same arrays",
                    )
                shapes.append(shape)
                bar.advance()
        counts = np.array([shape[0] for shape in shapes], np.int64) if len(first[0]) == 2 else None
        self.outline = Outline(ids, counts, first[0][-1], first[1], first[2])

    def read(self, row: int) -> ImageFeatures:
        """The file of one image."""
        file, image_id = self._files[row], self.outline.ids[row]
        if self._kind == ".npy":
            array = read_npy(file, CURE)
            record = ImageFeatures(image_id, np.array(array, array.dtype.newbyteorder("=")))
        else:
            with _Npz(file) as npz:
                record = npz.record(image_id)
        return checked(record, self.outline, row, file)

    def files(self) -> list[Path]:
        """The files of all images."""
        return list(self._files)

    def _described(self, file: Path) -> tuple[tuple[int, ...], np.dtype[Any], frozenset[str]]:
        if self._kind == ".npz":
            with _Npz(file) as npz:
                return npz.shape, npz.dtype, npz.facts
        array = read_npy(file, CURE)
        _check_features(array, file)
        return array.shape, array.dtype.newbyteorder("="), frozenset()


def _names(folder: Path) -> list[Path]:
    """Paths in the folder of every .npy and .npz; what is hidden or behind a linked folder is left out."""
    names = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if Path(name).suffix in (".npy", ".npz") and not name.startswith("."):
                names.append((Path(place) / name).relative_to(folder))
    return names


def _check_no_arrays_of_all(folder: Path, names: list[Path]) -> None:
    """Check that files are not whole splits, which could be mistaken for images with as many regions as images.

    Raises:
        InputError: If one is.
    """
    for name in names:
        if name.stem.endswith(SUFFIX) or images_beside(folder / name).exists():
            raise InputError(
                f"{name} in it holds the features of many images, not of one", where=folder, cure="name that file"
            )


def _listed(facts: frozenset[str]) -> str:
    return ", ".join(sorted(facts)) or "nothing else"


def _check_features(array: Any, where: Path) -> None:
    check_kind(array, str(where), images=False)
    if not 0 < math.prod(array.shape) <= MOST_NUMBERS:
        raise InputError(f"its shape is {list(array.shape)}; it holds no features that fit here.", where=where)


class _Npz:
    """The npz of one image."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            self._entries = {entry.filename.removesuffix(".npy"): entry for entry in self._zip.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
            raise InputError("this is not a complete .npz file", where=path, cure=CURE) from None
        try:
            self._features = self._first(FEATURES)
            if self._features is None:
                raise InputError(
                    f"it holds no array called {', '.join(FEATURES[:-1])} or {FEATURES[-1]}", where=path, cure=CURE
                )
            shape, self.dtype = self._header(self._features)
            self._boxes = self._first(BOXES)
            facts = set()
            if self._boxes is not None:
                boxes, _ = self._header(self._boxes)
                if len(boxes) != 2 or boxes[1] != BOX or len(shape) != 2:
                    raise InputError(f"'{self._boxes}' is {list(boxes)}; it must be [regions, 4].", where=path)
                self._transposed = shape[0] != boxes[0] == shape[1]
                shape = shape[::-1] if self._transposed else shape
                facts.add("boxes")
            else:
                self._transposed = False
            self.shape: tuple[int, ...] = shape
            check_kind(_Announced(shape, self.dtype), f"{path}: {self._features}", images=False)
            if not 0 < math.prod(shape) <= MOST_NUMBERS:
                raise InputError(
                    f"'{self._features}' is {list(shape)}; it holds no features that fit here.", where=path
                )
            if {"image_h", "image_w"} <= self._entries.keys():
                facts.add("sizes")
            self._info = self._read_info()
            facts |= self._info.keys()
            self.facts = frozenset(facts)
        except BaseException:
            self._zip.close()
            raise

    def record(self, image_id: str) -> ImageFeatures:
        """The image."""
        assert self._features is not None
        features = self._array(self._features)
        if self._transposed:
            features = np.ascontiguousarray(features.T)
        known: dict[str, Any] = dict(self._info)
        if self._boxes is not None:
            known["boxes"] = self._array(self._boxes).astype(np.float32)
        if "sizes" in self.facts:
            known |= {"width": self._number("image_w"), "height": self._number("image_h")}
        if "num_bbox" in self._entries and self._number("num_bbox") != len(features):
            raise InputError(
                f"num_bbox is {self._number('num_bbox')}, but there are {len(features)} vectors",
                where=self.path,
                cure=CURE,
            )
        return ImageFeatures(image_id, features.astype(self.dtype, copy=False), **known)

    def __enter__(self) -> _Npz:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _first(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in self._entries), None)

    def _header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        where = f"{self.path}: {name}"
        try:
            with self._open(name) as file:
                shape, _, dtype = npy_header(file, where, CURE)
        except InputError:
            raise
        except Exception as error:  # a damaged archive fails anywhere in zipfile and zlib
            raise InputError(f"it is damaged ({error})", where=where, cure=CURE) from None
        return shape, dtype.newbyteorder("=")

    def _array(self, name: str) -> NDArray[Any]:
        where = f"{self.path}: {name}"
        try:
            with self._open(name) as file:
                shape, fortran, dtype = npy_header(file, where, CURE)
                size = math.prod(shape) * dtype.itemsize
                if size > LARGEST_ENTRY or size != self._entries[name].file_size - file.tell():
                    raise InputError(
                        f"its header announces {list(shape)}, which is not what follows", where=where, cure=CURE
                    )
                data = file.read(size)
        except InputError:
            raise
        except Exception as error:  # as above
            raise InputError(f"it is damaged ({error})", where=where, cure=CURE) from None
        array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
        return array.astype(dtype.newbyteorder("="), copy=False)

    def _number(self, name: str) -> int:
        array = self._array(name)
        if array.size != 1 or array.dtype.kind not in "iuf" or not float(array.ravel()[0]).is_integer():
            raise InputError(f"'{name}' is {array.dtype} {list(array.shape)}; it must be a number.", where=self.path)
        return int(array.ravel()[0])

    def _read_info(self) -> dict[str, NDArray[Any]]:
        """What was recognised, from arrays of their own or from the pickled dictionary."""
        info: dict[str, Any] = {name: self._array(name) for name in INFO if name in self._entries}
        if not info and "info" in self._entries:
            info = self._pickled_info()
        found = {}
        for name, ours in INFO.items():
            if name in info:
                values = plain_array(info[name], f"{self.path}: '{name}'")
                if values.dtype.kind not in ("iu" if name.endswith("_id") else "f"):
                    raise InputError(f"'{name}' is {values.dtype}.", where=self.path)
                found[ours] = values.astype(np.float32 if values.dtype.kind == "f" else np.int64)
        return found

    def _pickled_info(self) -> dict[str, Any]:
        entry = self._entries["info"]
        if entry.file_size > LARGEST_INFO:
            raise InputError(f"'info' has {entry.file_size:,} bytes; it is refused.", where=self.path)
        try:
            with self._open("info") as file:
                data = file.read(LARGEST_INFO)
        except InputError:
            raise
        except Exception as error:  # as above
            raise InputError(f"'info' is damaged ({error})", where=self.path, cure=CURE) from None
        # An array of one object: a header that says so, and a pickle of the array.
        begin = data.find(b"\n") + 1
        if b"'|O'" not in data[:begin]:
            return {}
        found = plain_pickle(data[begin:], f"{self.path}: info")
        content = found[0] if isinstance(found, list) and len(found) == 1 else None
        return content if isinstance(content, dict) else {}

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(self._entries[name])
        except Exception as error:  # as above
            raise InputError(f"'{name}' is damaged ({error})", where=self.path, cure=CURE) from None


class _Announced:
    """An array of which only the header is known."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]):
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)


class FolderWriter:
    """Writes one file per image. Made by ``writing_folder``."""

    def __init__(self, folder: Path, kind: Kind):
        self._folder, self._kind = folder, kind

    def add(self, record: ImageFeatures) -> None:
        """Write the file of one image."""
        path = inside(self._folder, f"{record.image_id}.{self._kind}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():  # on a file system that does not tell A from a
            raise InputError(f"two images would be written to {path.name}; their ids differ in case alone.")
        if self._kind == "npy":
            np.save(path, record.features, allow_pickle=False)
            return
        arrays: dict[str, Any] = {"x": record.features}
        if record.boxes is not None:
            arrays |= {"bbox": record.boxes, "num_bbox": len(record.boxes)}
        if record.width is not None:
            arrays |= {"image_w": record.width, "image_h": record.height}
        arrays |= {name: getattr(record, ours) for name, ours in INFO.items() if getattr(record, ours) is not None}
        np.savez(path, **arrays)


@contextmanager
def writing_folder(out: Path, kind: Kind) -> Iterator[FolderWriter]:
    """A writer of a folder with one file per image, which appears when the block ends without an error.

    Raises:
        InputError: If there is such a folder already that is not empty, or it cannot be written.
    """
    if out.is_dir() and any(out.iterdir()):
        raise InputError("this folder is not empty", where=out, cure="name a new one")
    temporary = out.with_name(f".{out.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield FolderWriter(temporary, kind)
        if out.is_dir():
            out.rmdir()
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
