"""Photographs in zip archives or folders, read one by one."""

from __future__ import annotations

import os
import threading
import zipfile
from pathlib import Path, PurePosixPath

from fivesentences.corpus.archives import entries, is_litter, open_zip, read_entry
from fivesentences.errors import InputError

SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".pnm", ".pbm"}
)


class Photographs:
    """Photographs by filename from zip archives or folders, without unpacking anything.

    A filename is looked up as it is, then below any folder, so ``x.jpg`` finds ``Flicker8k_Dataset/x.jpg``. COCO's
    photographs are in two archives: pass both.

    Objects can be pickled and used from threads and worker processes: only the paths are pickled, and every process
    opens the archives for itself (a forked process must not share its parent's position in the file).

    Raises:
        InputError: If a path is missing, is a damaged or unsafe archive, or contains no photographs.
    """

    def __init__(self, path: Path | str, *more: Path | str):
        self.paths = (Path(path), *(Path(other) for other in more))
        self._forget()
        self._look()  # fail now if a path is wrong, not in a worker an hour later

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._process = -1
        self._archives: dict[Path, zipfile.ZipFile] = {}
        self._places: dict[str, tuple[Path, str]] = {}
        self._by_basename: dict[str, list[str]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"paths": self.paths}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __repr__(self) -> str:
        return f"Photographs({', '.join(repr(str(path)) for path in self.paths)})"

    def __len__(self) -> int:
        return len(self._look())

    def __contains__(self, filename: str) -> bool:
        try:
            self._find(filename)
        except InputError:
            return False
        return True

    def names(self) -> list[str]:
        """Paths of all photographs inside, in archive order; those of a folder are sorted."""
        return list(self._look())

    def read(self, filename: str) -> bytes:
        """The bytes of one photograph; ``decode`` turns them into an image.

        Raises:
            InputError: If there is no such photograph, several photographs have this name, or the archive is damaged.
        """
        place, name = self._find(filename)
        archive = self._archives.get(place)
        if archive is not None:
            return read_entry(archive, name)
        try:
            return (place / name).read_bytes()
        except OSError as error:
            raise InputError(f"{place / name} cannot be read ({error.strerror or error}).") from None

    def _find(self, filename: str) -> tuple[Path, str]:
        places = self._look()
        if filename in places:
            return places[filename]
        wanted = PurePosixPath(filename).parts
        found = [
            name
            for name in self._by_basename.get(wanted[-1] if wanted else "", [])
            if PurePosixPath(name).parts[-len(wanted) :] == wanted
        ]
        shown = " and ".join(str(path) for path in self.paths)
        if not found:
            raise InputError(f"{shown}: there is no photograph '{filename}'.")
        if len(found) > 1:
            raise InputError(f"{shown}: '{filename}' could be '{found[0]}' or '{found[1]}'; name its folder too.")
        return places[found[0]]

    def _look(self) -> dict[str, tuple[Path, str]]:
        """The place of each photograph; a new process looks for itself."""
        if self._process == os.getpid():
            return self._places
        with self._lock:
            if self._process != os.getpid():
                self._archives, self._places, self._by_basename = {}, {}, {}
                for path in self.paths:
                    for name in self._names_in(path):
                        self._places.setdefault(name, (path, name))
                for name in self._places:
                    self._by_basename.setdefault(PurePosixPath(name).name, []).append(name)
                self._process = os.getpid()
        return self._places

    def _names_in(self, path: Path) -> list[str]:
        if path.is_dir():
            names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
            names = [name for name in names if not is_litter(name)]
        else:
            self._archives[path] = open_zip(path)
            names = entries(self._archives[path])
        names = [name for name in names if PurePosixPath(name).suffix.lower() in SUFFIXES]
        if not names:
            raise InputError(f"{path} contains no photographs (files such as .jpg or .png).")
        return names
