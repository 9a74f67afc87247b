"""Rows that are finished, kept on disk image by image: what a killed extraction has done is not computed again."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import zlib
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features.identity import folder_of_unfinished
from fivesentences.storage import locked, replacing, write_json

KEY = 16  # bytes that stand for an image and what it contains
_ENTRY = np.dtype([("key", f"S{KEY}"), ("sum", "<u4")])
_BLOCK = 1 << 24  # bytes that are checked or copied at a time


def key_of(*state: Hashable) -> bytes:
    """What stands for an image: a digest of its name and of what tells that its content has not changed."""
    # Hexadecimal digits: numpy drops zero bytes at the end of a string.
    return hashlib.blake2b(repr(state).encode(), digest_size=KEY // 2).hexdigest().encode()


class FinishedRows:
    """Rows of one shape and type in the order in which they were finished, in a hidden folder beside the final file.

    The folder ``.<stem>.rows/<fingerprint>`` is named after everything that all rows depend on, so that rows made with
    other settings are never used; they are removed. Rows are appended and found again by the key of their image, so
    images may be added, removed or replaced before an extraction is continued. Each is stored with a checksum: what a
    kill or a faulty disk has left incomplete counts as not finished. Memory holds one entry per row, not the rows.

    Raises:
        InputError: If another process works on the same file.
    """

    def __init__(self, out: Path, identity: dict[str, Any]):
        self.out = out
        self._root = out.with_name(f".{out.stem}.rows")
        self._root.mkdir(parents=True, exist_ok=True)
        self._lock: IO[Any] = (self._root / "lock").open("a")
        if not locked(self._lock):
            self._lock.close()
            raise InputError("another process extracts these features", where=out, cure="wait for it, or end it")
        self.folder = folder_of_unfinished(out, "rows", identity)
        self._rows_path, self._index_path, self._kind_path = (
            self.folder / name for name in ("rows.bin", "index.bin", "kind.json")
        )
        self._place: dict[bytes, int] = {}
        self._kind: tuple[np.dtype[Any], tuple[int, ...]] | None = None
        self._count = 0
        self._recover()
        self._index: IO[bytes] = self._index_path.open("ab")
        self._rows: IO[bytes] = self._rows_path.open("ab")

    def __len__(self) -> int:
        """How many rows are finished and whole."""
        return len(self._place)

    def __contains__(self, key: bytes) -> bool:
        return key in self._place

    def add(self, keys: Sequence[bytes], rows: npt.NDArray[Any]) -> None:
        """Append rows and the keys of their images; they are found again even if the process is killed right after."""
        if self._kind is None:
            write_json(self._kind_path, {"dtype": rows.dtype.str, "shape": list(rows.shape[1:])})
            self._kind = rows.dtype, rows.shape[1:]
        entries = np.empty(len(keys), _ENTRY)
        entries["key"] = list(keys)
        entries["sum"] = [zlib.crc32(row.tobytes()) for row in rows]
        self._rows.write(np.ascontiguousarray(rows).tobytes())
        self._rows.flush()  # before the index, which says that they are there
        self._index.write(entries.tobytes())
        self._index.flush()
        for key in keys:
            self._place[key] = self._count
            self._count += 1

    def assemble(self, keys: Sequence[bytes | None]) -> tuple[tuple[int, ...], str]:
        """Write the final array, one row per key, whole or not at all; None stands for a row of zeros.

        Returns:
            Its shape and type.

        Raises:
            ValueError: If a row is missing, or none is there.
        """
        if self._kind is None:
            raise ValueError("no row is finished")
        dtype, shape = self._kind
        size = self._size()
        zeros = bytes(size)
        with replacing(self.out) as temporary, self._rows_path.open("rb") as rows, temporary.open("wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
            np.lib.format.write_array_header_1_0(file, header | {"shape": (len(keys), *shape)})  # type: ignore[no-untyped-call]
            for key in keys:
                if key is None:
                    file.write(zeros)
                    continue
                if key not in self._place:
                    raise ValueError("a row is not finished")
                rows.seek(self._place[key] * size)
                file.write(rows.read(size))
        return (len(keys), *shape), dtype.name

    def close(self) -> None:
        """Close the files and let other processes go on."""
        for file in (self._rows, self._index, self._lock):
            file.close()

    def remove(self) -> None:
        """Close and remove everything; to be called when the final file exists."""
        self.close()
        shutil.rmtree(self._root)

    def _size(self) -> int:
        assert self._kind is not None
        dtype, shape = self._kind
        return int(dtype.itemsize * math.prod(shape))

    def _recover(self) -> None:
        """Find the rows that are whole, and cut what follows the last one that both files have."""
        if self._rows_path.exists() and self._index_path.exists() and self._kind_path.exists():
            self._kind = self._read_kind()
        if self._kind is None:
            for path in (self._rows_path, self._index_path, self._kind_path):
                path.unlink(missing_ok=True)
            return
        index = self._index_path.read_bytes()
        entries = np.frombuffer(index[: len(index) // _ENTRY.itemsize * _ENTRY.itemsize], _ENTRY)
        self._count = min(len(entries), self._rows_path.stat().st_size // self._size())
        os.truncate(self._rows_path, self._count * self._size())
        os.truncate(self._index_path, self._count * _ENTRY.itemsize)
        for place, (entry, row) in enumerate(zip(entries[: self._count], self._stored(), strict=True)):
            if zlib.crc32(row) == entry["sum"]:
                self._place[bytes(entry["key"])] = place

    def _read_kind(self) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
        try:
            kind = read_json(self._kind_path)
            dtype, shape = np.dtype(kind["dtype"]), tuple(int(length) for length in kind["shape"])
        except (InputError, LookupError, TypeError, ValueError):
            return None
        return (dtype, shape) if dtype.kind == "f" and shape and min(shape) > 0 else None

    def _stored(self) -> Iterator[memoryview]:
        size = self._size()
        at_once = max(1, _BLOCK // size)
        with self._rows_path.open("rb") as file:
            for start in range(0, self._count, at_once):
                block = memoryview(file.read(min(at_once, self._count - start) * size))
                yield from (block[place : place + size] for place in range(0, len(block), size))
