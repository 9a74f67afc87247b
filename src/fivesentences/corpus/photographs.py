"""Photographs in zip archives, tar shards or folders, read one by one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import unicodedata
import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from PIL import Image

from fivesentences.corpus.archives import SUFFIXES, UNREAD, is_photograph, open_zip, photographs_in, read_entry
from fivesentences.corpus.decoding import decode
from fivesentences.corpus.labels import check_beside_labels
from fivesentences.corpus.tar_shards import TarShard, is_tar
from fivesentences.documents import read_bytes, similar_name
from fivesentences.errors import InputError, say_once

ORDER = "train dev test"  # in which splits are named
LARGEST_PHOTOGRAPH = 1 << 29  # bytes; the most pixels that are decoded take 300 MB uncompressed


class Photographs:
    """Photographs by filename from zip archives, tar shards or folders, without unpacking anything.

    A filename is looked up as it is, then below any folder, so ``x.jpg`` finds ``Flicker8k_Dataset/x.jpg``. COCO's
    photographs are in two archives: pass both.

    Objects can be pickled and used from threads and worker processes: only the paths are pickled, and every process
    opens the archives for itself (a forked process must not share its parent's position in the file).

    Raises:
        InputError: If a path is missing, is a damaged or unsafe archive, contains no photographs, or is not the archive
            of the drawn scenes whose labels lie beside it.
    """

    def __init__(self, path: Path | str, *more: Path | str):
        self.__setstate__({"paths": (Path(path), *(Path(other) for other in more))})
        self._look(note=True)  # fail now if a path is wrong, not in a worker an hour later
        for archive in self._archives:
            check_beside_labels(archive, "make it again")

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.paths: tuple[Path, ...] = state["paths"]
        self._lock = threading.Lock()
        self._process = -1
        self._archives: dict[Path, zipfile.ZipFile | TarShard] = {}
        self._places: dict[str, tuple[Path, str]] = {}
        self._by_basename: dict[str, list[str]] = {}

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    def __len__(self) -> int:
        return len(self._look())

    def __contains__(self, filename: str) -> bool:
        return len(self._matches(filename)) == 1

    def of_image(self, image_id: str) -> str | None:
        """Return the filename of an image's photograph: the id, or its only one whose name without suffix is the id."""
        named = [image_id] if image_id in self else self._by_stem.get(image_id, [])
        return named[0] if len(named) == 1 else None

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.names():
            found.setdefault(PurePosixPath(name).stem, []).append(name)
        return found

    def names(self) -> list[str]:
        """Return the paths of all photographs inside, in archive order; those of a folder are sorted."""
        return list(self._look())

    def twice(self) -> list[str]:
        """Return the names that several photographs have, in different places or twice in one shard."""
        found, again = set[str](), dict[str, None]()
        self._look()
        for path in self.paths:
            place = self._archives.get(path, path)
            names = photographs_in(place, note=False)
            again |= dict.fromkeys(name for name in names if name in found)
            again |= dict.fromkeys(place.twice if isinstance(place, TarShard) else ())
            found |= set(names)
        return list(again)

    def read(self, filename: str) -> bytes:
        """Read the bytes of one photograph; ``decode`` turns them into an image.

        Raises:
            InputError: If there is no such photograph, several photographs have this name, or the archive is damaged.
        """
        place, name = self._find(filename)
        archive = self._archives.get(place)
        if isinstance(archive, TarShard):
            return archive.read(name, LARGEST_PHOTOGRAPH)
        if archive is not None:
            return read_entry(archive, name, LARGEST_PHOTOGRAPH)
        return read_bytes(place / name, LARGEST_PHOTOGRAPH)

    def decoded(self, filename: str) -> Image.Image:
        """Read one photograph as an RGB image, see ``decoding.decode``.

        Raises:
            InputError: As ``read``, or if it cannot be decoded.
        """
        return decode(self.read(filename), f"{self}: photograph '{filename}'")

    def decoded_ahead(
        self, filenames: Sequence[str], prepare: Callable[[Image.Image], Any], threads: int = 2, ahead: int = 4
    ) -> Iterator[Any]:
        """Yield photographs in order, prepared by a function, while threads decode the next ones.

        Args:
            filenames: Names of the photographs.
            prepare: Applied to each decoded image, in a thread.
            threads: Number of threads.
            ahead: Number of photographs that are decoded ahead.

        Yields:
            What ``prepare`` returned; the ``InputError`` in place of a photograph that cannot be read.
        """

        def read(filename: str) -> Any:
            try:
                return prepare(self.decoded(filename))
            except InputError as error:
                return error

        with ThreadPoolExecutor(threads) as pool:
            begun: deque[Future[Any]] = deque()
            for place in range(len(filenames) + ahead):
                if place < len(filenames):
                    begun.append(pool.submit(read, filenames[place]))
                if place >= ahead:
                    yield begun.popleft().result()

    def state_of(self, filename: str) -> tuple[str, int, int]:
        """Return what tells a photograph from another one of its name without reading it.

        Returns:
            Its path inside, its size in bytes, and its checksum in an archive or the time of its last change.

        Raises:
            InputError: If there is no such photograph, or several photographs have this name.
        """
        place, name = self._find(filename)
        if isinstance(archive := self._archives.get(place), TarShard):
            member = archive.members[name]
            return name, member.size, int(member.mtime)
        if archive is not None:
            entry = archive.getinfo(name)
            return name, entry.file_size, entry.CRC
        try:
            facts = (place / name).stat()
        except OSError as error:
            raise InputError(f"it cannot be read ({error.strerror or error}).", where=place / name) from None
        return name, facts.st_size, facts.st_mtime_ns

    def problem(self, filename: str, place: str = "") -> str:
        """Say what is wrong with a name that is not ``in`` the photographs, and suggest a similar name.

        Args:
            filename: The name.
            place: Words behind the name, such as " in photographs.zip".
        """
        found = self._matches(filename)
        if len(found) > 1:
            return f"'{filename}'{place} could be '{found[0]}' or '{found[1]}'; name its folder too."
        wanted = PurePosixPath(filename.replace("\\", "/")).name
        close = [name for name in self._by_basename if wanted and _folded(name) == _folded(wanted)]
        if wanted in close:  # in another folder than the one that was named
            hint = f"did you mean '{self._by_basename[wanted][0]}'?"
        elif close:
            hint = similar_name(Path(wanted), close[:1]) or f"did you mean '{close[0]}'?"
        elif PurePosixPath(wanted).suffix.lower() in UNREAD:
            hint = "photographs of its kind are not decoded: save it as JPEG or PNG."
        else:
            hint = "add it, or remove its captions."
        return f"there is no photograph '{filename}'{place}; {hint}"

    def _find(self, filename: str) -> tuple[Path, str]:
        found = self._matches(filename)
        if len(found) != 1:
            raise InputError(self.problem(filename), where=str(self))
        place = self._places.get(found[0]) or self._behind_link(found[0])
        assert place is not None  # since it matches
        return place

    def _behind_link(self, filename: str) -> tuple[Path, str] | None:
        """Return the place of a photograph that is listed by its own name, by another one that links give it."""
        pure = PurePosixPath(filename)
        if pure.is_absolute() or ".." in pure.parts or not is_photograph(filename, {}):
            return None
        folders = (path for path in self.paths if path not in self._archives)
        return next(((path, filename) for path in folders if (path / filename).is_file()), None)

    def _matches(self, filename: str) -> list[str]:
        """Return the names that a filename may stand for: itself, or else every name that ends in it."""
        if filename in self._look() or self._behind_link(filename):
            return [filename]
        wanted = PurePosixPath(filename).parts
        some = self._by_basename.get(wanted[-1] if wanted else "", [])
        found = [name for name in some if _parts(name)[-len(wanted) :] == wanted]
        return found

    def _look(self, note: bool = False) -> dict[str, tuple[Path, str]]:
        """Return the place of each photograph; a new process looks for itself."""
        with self._lock:
            if self._process != os.getpid():
                self._archives, self._places, self._by_basename = {}, {}, {}
                seen = set[tuple[int, int]]()
                for path in self.paths:
                    if not path.is_dir():
                        self._archives[path] = TarShard(path) if is_tar(path) else open_zip(path)
                    for name in photographs_in(self._archives.get(path, path), note, seen):
                        self._places.setdefault(name, (path, name))
                for name in self._places:
                    self._by_basename.setdefault(_parts(name)[-1], []).append(name)
                self._process = os.getpid()
        return self._places


def note_shared(photographs: Photographs, filenames: Sequence[str], splits: Sequence[str]) -> None:
    """Say once, on standard error, that photographs of one split are also in another, byte for byte.

    Only photographs of equal size (in archives: and checksum) are read.

    Args:
        photographs: Where the photographs are.
        filenames: ``[images]`` the file of each image.
        splits: ``[images]`` the split of each image.

    Raises:
        InputError: If a photograph is missing.
    """
    alike, equal = defaultdict[Any, list[int]](list), defaultdict[Any, list[int]](list)
    in_archives = not any(path.is_dir() for path in photographs.paths)
    for row, name in enumerate(filenames):
        _, size, checksum = photographs.state_of(name)
        alike[size, checksum if in_archives else None].append(row)
    for (size, _), rows in alike.items():
        for row in rows if len({splits[row] for row in rows}) > 1 else ():
            with contextlib.suppress(InputError):  # a damaged archive is said by whoever needs the photograph
                equal[size, hashlib.sha256(photographs.read(filenames[row])).digest()].append(row)
    shared = defaultdict[tuple[str, ...], list[list[int]]](list)
    for rows in equal.values():
        if len(among := dict.fromkeys(splits[row] for row in rows)) > 1:
            shared[tuple(sorted(among, key=ORDER.find))].append(rows)
    found = [
        f"{len(groups):,} in {' and '.join(among)} (such as {' and '.join(filenames[row] for row in groups[0][:2])})"
        for among, groups in sorted(shared.items())
    ]
    if found:
        what = "the same photographs, byte for byte, are in several splits"
        say_once(f"{photographs}: {what}: {', '.join(found)}; keep each in one, or scores are too good.")


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a path, which some programs of Windows separate by backslashes in archives."""
    return PurePosixPath(name.replace("\\", "/")).parts


def _folded(name: str) -> str:
    """Return what names have in common that differ in case, composition of accents or kind of image."""
    path = PurePosixPath(unicodedata.normalize("NFC", name).casefold())
    return path.stem if path.suffix in SUFFIXES else path.name
