"""Chunks of an array on disk: what a killed extraction has finished is not computed again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fivesentences.arrays import new_npy
from fivesentences.features.identity import folder_of_unfinished
from fivesentences.storage import replacing


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
        self.folder = folder_of_unfinished(out, "chunks", {**identity, "rows": rows, "size": size})

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
            whole = new_npy(temporary, first.dtype, (self.rows, *first.shape[1:]))
            for chunk in range(len(self)):
                whole[self.rows_of(chunk)] = self._load(chunk)
            whole.flush()
            del whole

    def remove(self) -> None:
        """Remove the folder; to be called when the final file exists."""
        shutil.rmtree(self.folder.parent)

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
