"""Zip archives, read in place, never unpacked, and refused if an entry is unsafe; photographs in one or in a folder."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from fivesentences.corpus.catalogue import forget
from fivesentences.corpus.tar_shards import TarShard, check_entry
from fivesentences.documents import check_file
from fivesentences.errors import InputError, say_once

LARGEST_ENTRY = 2**31  # bytes; the largest entry we know of, Karpathy's COCO file, has 0.15 GB
SUFFIXES = frozenset(  # of photographs
    [".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".pnm", ".pbm"]
)
# Of photographs that are not decoded: of telephones and cameras, and drawings.
UNREAD = frozenset(
    [".heic", ".heif", ".hif", ".avif", ".jxl", ".jp2", ".j2k", ".dng", ".raw", ".cr2", ".cr3", ".nef", ".arw", ".orf",
     ".rw2", ".raf", ".psd", ".svg", ".eps", ".tga"]
)  # fmt: skip
_ALL = SUFFIXES | UNREAD
# Folders of thumbnails and of deleted files; as are all whose names begin with a dot.
_HIDDEN = frozenset(["@eadir", "#recycle", "#snapshot", "$recycle.bin", "lost+found", "system volume information"])
LISTED = "links to what is listed already"
_UTF8_NAMES, _UNICODE_PATH = 0x800, 0x7075  # a flag and an extra field of zip archives


def open_zip(path: Path | str) -> zipfile.ZipFile:
    """Open a zip archive after checking the names of all its entries.

    Raises:
        InputError: If the file is missing, is not a zip archive or is truncated, or if an entry would be unpacked
            outside the target folder. We never unpack, but an archive with such an entry is not what it claims to be.
    """
    path = Path(path)
    check_file(path)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
        what = f"this is not a complete zip archive ({str(error).rstrip('.')})"
        raise InputError(what, where=path, cure="fetch it or pack it again") from None
    _name_in_utf8(archive)
    # zipfile cuts names at a NUL, and what follows, such as .jpg, would vanish; a field in UTF-8 can be another name.
    for name in (name for entry in archive.infolist() for name in (entry.orig_filename, entry.filename)):
        try:
            check_entry(name, path)
        except InputError:
            archive.close()
            raise
    return archive


def entries(archive: zipfile.ZipFile, filename: str | None = None) -> list[str]:
    """List the files inside in archive order, without folders and the litter that macOS adds.

    Args:
        archive: The archive.
        filename: Only files with this name, in whatever folder.
    """
    files = [name for name in archive.namelist() if not name.endswith("/") and not is_litter(name)]
    return [name for name in files if filename is None or PurePosixPath(name).name == filename]


def _name_in_utf8(archive: zipfile.ZipFile) -> None:
    """Correct names that a program wrote in UTF-8 without saying so, which Python reads as code page 437."""
    unknown = []
    for info in archive.infolist():
        if info.flag_bits & _UTF8_NAMES or info.filename.isascii():
            continue
        try:
            name = (_unicode_path(info.extra) or info.orig_filename.encode("cp437")).decode("utf-8")
        except UnicodeError:
            unknown.append(info.filename)
            continue
        if name not in archive.NameToInfo:
            archive.NameToInfo[name] = archive.NameToInfo.pop(info.filename)
            info.filename = name
    if unknown:
        say_once(
            f"{archive.filename}: {len(unknown):,} names do not say their code page and are read as 437, such as "
            f"'{unknown[0]}'; if they are wrong, pack the archive again with names in UTF-8."
        )


def _unicode_path(extra: bytes) -> bytes | None:
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        if kind == _UNICODE_PATH and length > 5:
            return extra[9 : 4 + length]  # behind a version and a checksum
        extra = extra[4 + length :]
    return None


def is_litter(name: str) -> bool:
    """Return True for what does not belong to the data: files of the operating system, thumbnails, deleted files."""
    return any(_is_hidden(part) for part in PurePosixPath(name).parts)


def _is_hidden(part: str) -> bool:
    return part == "__MACOSX" or part.startswith(".") or part.casefold() in _HIDDEN


def photographs_in(
    place: Path | zipfile.ZipFile | TarShard, note: bool = True, seen: set[tuple[int, int]] | None = None
) -> list[str]:
    """List the photographs in a folder and those below it, also behind links, sorted, or in an archive, in its order.

    Each is listed once, by its own place rather than that of a link. Left out are photographs of kinds that are not
    decoded, those in folders of thumbnails and deleted files, and links that lead nowhere or to what is listed.

    Args:
        place: The folder or archive.
        note: Whether a sentence on standard error, once, counts those that are left out.
        seen: Folders and files that were listed before, to which those of this folder are added.

    Raises:
        InputError: If there are none, or a folder cannot be read.
    """
    left: dict[str, list[str]] = {}
    seen = set() if seen is None else seen
    if isinstance(place, Path):
        where, names = str(place), sorted(_photographs_below(place, left, seen))
    else:
        where = str(place.filename)
        names = [name for name in place.namelist() if not name.endswith("/") and is_photograph(name, left)]
    counts = [f"{len(found):,} {what} (such as {min(found)})" for what, found in sorted(left.items())]
    if not names and LISTED not in left:
        others = f"; there are {', '.join(counts)}" if counts else ""
        raise InputError(f"{where} contains no photographs (files such as .jpg or .png){others}.")
    if counts and note:
        cure = (
            "; photographs of these kinds are read once they are saved as JPEG or PNG" if UNREAD & left.keys() else ""
        )
        say_once(f"{where}: left out are {', '.join(counts)}{cure}.")
    return names


def is_photograph(name: str, left: dict[str, list[str]]) -> bool:
    """Return whether a name is that of a photograph to read; photographs to leave out are added to ``left``."""
    pure = PurePosixPath(name)
    suffix, parts = pure.suffix.lower(), pure.parts
    if suffix not in _ALL or "__MACOSX" in parts or parts[-1].startswith("._"):
        return False
    if hidden := next(filter(_is_hidden, parts), None):
        left.setdefault(f"in {hidden}" if hidden != parts[-1] else "hidden", []).append(name)
    elif suffix in UNREAD:
        left.setdefault(suffix, []).append(name)
    else:
        return True
    return False


def _photographs_below(root: Path, left: dict[str, list[str]], seen: set[tuple[int, int]]) -> list[str]:
    """Return paths of the photographs below a folder; pathlib would take five times as long for 30,000 files.

    Links are followed after everything else: what has a place of its own is listed there, and each folder once, so that
    folders full of links to each other have an end.
    """
    names, links = list[str](), dict[str, Path]()  # links to photographs
    folders, linked = [("", root)], list[tuple[str, Path]]()
    try:
        while folders or linked:
            within, folder = folders.pop() if folders else linked.pop(0)
            if (identity := _identity(folder)) in seen:
                left.setdefault(LISTED, []).append(within or str(root))
                continue
            seen.add(identity)
            with os.scandir(folder) as found:
                for entry in sorted(found, key=lambda one: one.name):
                    name, below = f"{within}{entry.name}", Path(entry.path)
                    if _leads_to(entry.is_dir):
                        if _is_hidden(entry.name):
                            _count_hidden(below, name, left)
                        else:
                            (linked if entry.is_symlink() else folders).append((f"{name}/", below))
                    elif is_photograph(name, left):
                        if not _leads_to(entry.is_file):
                            left.setdefault("links that lead nowhere, or devices", []).append(name)
                        elif entry.is_symlink():
                            links[name] = below
                        else:
                            names.append(name)
        files = {_identity(root / name) for name in names} if links else set()
        for name, path in sorted(links.items()):
            if (identity := _identity(path)) in files:
                left.setdefault(LISTED, []).append(name)
            else:
                files.add(identity)
                names.append(name)
    except OSError as error:
        what = f"it cannot be read ({error.strerror or error})"
        raise InputError(what, where=error.filename or root, cure="make it readable, or move it elsewhere") from None
    return names


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _leads_to(kind: Callable[[], bool]) -> bool:
    """Return whether an entry is of a kind; False for links in a circle."""
    try:
        return kind()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise


def _count_hidden(folder: Path, inside: str, left: dict[str, list[str]]) -> None:
    """Add the photographs of a folder that is left out to ``left``, as far as they can be seen."""
    for above, _, names in os.walk(folder):
        for name in names:
            is_photograph(f"{inside}{above[len(str(folder)) :]}/{name}", left)


def read_entry(archive: zipfile.ZipFile, name: str, most: int = LARGEST_ENTRY) -> bytes:
    """Read one entry.

    Args:
        archive: The archive.
        name: The entry.
        most: The largest unpacked size that makes sense, in bytes.

    Raises:
        InputError: If the entry is missing, damaged, encrypted, or unpacks to more than ``most`` or than the memory.
    """
    shown = Path(str(archive.filename)).name
    try:
        size = archive.getinfo(name).file_size
        if size > most:
            raise InputError(f"entry '{name}' unpacks to {size:,} bytes; at most {most:,} are allowed.", where=shown)
        with archive.open(name) as file:
            return file.read(size)  # not read(), which unpacks 2 GB of an entry that states less
    except KeyError:
        raise InputError(f"there is no entry '{name}'.", where=shown) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, MemoryError, ValueError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        what = f"entry '{name}' is damaged or too large ({reason})"
        if isinstance(error, zipfile.BadZipFile | zlib.error | EOFError):
            forget(Path(str(archive.filename)))
        raise InputError(what, where=shown, cure="fetch the archive again") from None
