"""Chunks of an array on disk: what a killed extraction has finished is not computed again."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fivesentences.storage import replacing, write_json


class Chunks:
    """Consecutive rows of an array as small ``.npy`` files in a hidden folder beside the final file.

    The folder ``.<stem>.chunks/<fingerprint>`` is named after everything that the rows depend on, so that chunks made
    with other settings are never used; they are removed. A chunk gets its name only when it is complete.
    """

    def __init__(self, out: Path, identity: dict[str, Any], rows: int, size: int):
        """Open or create the folder.

        Args:
            out: The final ``.npy``.
            identity: Everything that the numbers depend on, as JSON.
            rows: Rows of the final array.
            size: Rows of a chunk; the last one may be shorter.
        """
        self.out, self.rows, self.size = out, rows, size
        self._root = out.with_name(f".{out.stem}.chunks")
        text = json.dumps({**identity, "rows": rows, "size": size}, sort_keys=True)
        self.folder = self._root / hashlib.sha256(text.encode()).hexdigest()[:16]
        if self._root.is_dir():
            for other in self._root.iterdir():
                if other != self.folder:
                    shutil.rmtree(other) if other.is_dir() else other.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        for partial in [*self.folder.glob(".*.partial*"), *out.parent.glob(f".{out.stem}.*.partial*")]:
            partial.unlink()
        write_json(self.folder / "identity.json", json.loads(text))

    def __len__(self) -> int:
        return -(-self.rows // self.size)

    def rows_of(self, chunk: int) -> slice:
        """The rows of a chunk in the final array."""
        return slice(chunk * self.size, min((chunk + 1) * self.size, self.rows))

    def missing(self) -> list[int]:
        """The chunks that do not exist yet or are damaged."""
        return [chunk for chunk in range(len(self)) if not self._is_whole(chunk)]

    def save(self, chunk: int, array: npt.NDArray[Any]) -> None:
        """Write a chunk, whole or not at all."""
        with replacing(self._path(chunk)) as temporary:
            np.save(temporary, array, allow_pickle=False)

    def assemble(self) -> None:
        """Write the final array from all chunks through a memory map, whole or not at all."""
        first = self._load(0)
        with replacing(self.out) as temporary:
            whole = np.lib.format.open_memmap(
                temporary, mode="w+", dtype=first.dtype, shape=(self.rows, *first.shape[1:])
            )
            for chunk in range(len(self)):
                whole[self.rows_of(chunk)] = self._load(chunk)
            whole.flush()
            del whole

    def remove(self) -> None:
        """Remove the folder; to be called when the final file exists."""
        shutil.rmtree(self._root)

    def _path(self, chunk: int) -> Path:
        return self.folder / f"chunk-{chunk:06d}.npy"

    def _load(self, chunk: int) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = np.load(self._path(chunk), mmap_mode="r", allow_pickle=False)
        return array

    def _is_whole(self, chunk: int) -> bool:
        rows = self.rows_of(chunk)
        try:
            # Only complete files are given a name; this also detects what a faulty disk did to one.
            return bool(len(self._load(chunk)) == rows.stop - rows.start)
        except (OSError, ValueError, EOFError, TypeError):
            return False
