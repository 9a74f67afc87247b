"""Finished parts of work on photographs, kept on disk until all of it is done: a killed run computes only the rest."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus.archives import open_zip
from fivesentences.corpus.photographs import Photographs
from fivesentences.errors import InputError
from fivesentences.features.files import all_files
from fivesentences.storage import locked, open_lock, remove_partial, replacing, work_folder, write_json

# Entries of a note on where features come from that describe the images; parts of one extraction differ in them.
OF_IMAGES = frozenset({"identity", "images", "photographs", "skipped"})


class FinishedParts:
    """Arrays of finished parts (some images, one image, some captions) in a hidden folder beside the result.

    The folder ``.<stem>.unfinished/<fingerprint>`` is named after everything that the numbers depend on, so parts made
    with other settings are never used; they are removed. A part is one ``.npz``, which gets its name when it is whole
    and whose checksums are verified when it is read. Use as a context manager, which releases the lock.

    Raises:
        InputError: If another process works on the same file.
    """

    def __init__(self, out: Path, identity: Mapping[str, Any]):
        """Open or create the folder, and remove what a kill has left half written, of the final file too.

        Args:
            out: The final file.
            identity: Everything that the numbers depend on, as JSON.
        """
        self._root = work_folder(_folder_of(out))
        self._lock = open_lock(self._root / "lock")
        if not locked(self._lock):
            self._lock.close()
            raise InputError("another process extracts these features", where=out, cure="wait for it, or end it")
        self.folder = self._root / fingerprint_of(identity)[:16]
        work_folder(self.folder)
        for other in self._root.iterdir():
            if other.is_dir() and not other.is_symlink() and other != self.folder:
                shutil.rmtree(other)
        for partial in self.folder.glob(".*.partial*"):
            partial.unlink()
        remove_partial(*all_files(out))
        write_json(self.folder / "identity.json", dict(identity))

    def __enter__(self) -> FinishedParts:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def __contains__(self, name: str) -> bool:
        return self._load(name) is not None

    def save(self, name: str, **arrays: Any) -> None:
        """Write a part, whole or not at all."""
        with replacing(self._path(name)) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)

    def load(self, name: str, *keys: str) -> dict[str, NDArray[Any]]:
        """Read arrays of a finished part, by default all.

        Raises:
            InputError: If it has been damaged since.
        """
        found = self._load(name, keys)
        if found is None:
            raise InputError("this finished part is missing or damaged", where=self._path(name), cure="run again")
        return found

    @staticmethod
    def clear(out: Path) -> None:
        """Remove the parts of a result that exists, unless a process works with them."""
        root = _folder_of(out)
        if root.is_dir() and not root.is_symlink():
            with open_lock(root / "lock") as lock:
                if locked(lock):
                    shutil.rmtree(root, ignore_errors=True)

    def remove(self) -> None:
        """Remove all parts; to be called when the result exists."""
        shutil.rmtree(self._root)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npz"

    def _load(self, name: str, keys: Sequence[str] = ()) -> dict[str, NDArray[Any]] | None:
        try:
            with np.load(self._path(name), allow_pickle=False) as file:
                return {key: file[key] for key in keys or file.files}
        except Exception:  # a damaged archive fails anywhere in zipfile, zlib or numpy
            return None


def _folder_of(out: Path) -> Path:
    return out.with_name(f".{out.stem}.unfinished")


def fingerprint_of(identity: Mapping[str, Any]) -> str:
    """SHA-256 of everything that some work depends on, as JSON."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def contents_of(photographs: Photographs) -> Iterator[tuple[object, ...]]:
    """Yield what identifies photographs without reading them: checksums in a zip archive, times in a folder."""
    for path in photographs.paths:
        if path.is_dir():
            for name in photographs.names():
                if (path / name).is_file():
                    facts = (path / name).stat()
                    yield name, facts.st_size, facts.st_mtime_ns
        else:
            with open_zip(path) as archive:
                yield from ((entry.filename, entry.file_size, entry.CRC) for entry in archive.infolist())


def digest_of(rows: Iterable[tuple[object, ...]]) -> str:
    """SHA-256 of rows of plain values."""
    total = hashlib.sha256()
    for row in rows:
        total.update(repr(row).encode())
    return total.hexdigest()
