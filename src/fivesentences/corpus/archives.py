"""Zip archives, read in place, never unpacked, and refused if an entry is unsafe; photographs in one or in a folder."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fivesentences.documents import check_file
from fivesentences.errors import InputError

LARGEST_ENTRY = 2**31  # bytes; the largest entry we know of, Karpathy's COCO file, has 0.15 GB
SUFFIXES = frozenset(  # of photographs
    [".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".pnm", ".pbm"]
)


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
        raise InputError(what, where=path, cure="delete it and fetch it again") from None
    for entry in archive.infolist():
        name = entry.orig_filename  # zipfile cuts names at a NUL, and what follows, such as .jpg, would vanish
        pure = PurePosixPath(name.replace("\\", "/"))
        if pure.is_absolute() or ".." in pure.parts or ":" in "".join(pure.parts[:1])[1:2] or "\0" in name:
            archive.close()
            what = "has a NUL in its name" if "\0" in name else "would leave the folder"
            raise InputError(f"entry '{name}' {what}; the archive is refused.", where=path.name)
    return archive


def entries(archive: zipfile.ZipFile, filename: str | None = None) -> list[str]:
    """List the files inside in archive order, without folders and the litter that macOS adds.

    Args:
        archive: The archive.
        filename: Only files with this name, in whatever folder.
    """
    files = [name for name in archive.namelist() if not name.endswith("/") and not is_litter(name)]
    return [name for name in files if filename is None or PurePosixPath(name).name == filename]


def is_litter(name: str) -> bool:
    """Return True for files of the operating system, which do not belong to the data."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or bool(parts and (parts[-1].startswith("._") or parts[-1] == ".DS_Store"))


def photographs_in(place: Path | zipfile.ZipFile) -> list[str]:
    """List the photographs in a folder and those below it, sorted, or in an archive, in its order.

    Raises:
        InputError: If there are none.
    """
    if isinstance(place, Path):
        names = sorted(_photographs_below(place))
    else:
        names = [name for name in entries(place) if PurePosixPath(name).suffix.lower() in SUFFIXES]
    if not names:
        where = place if isinstance(place, Path) else place.filename
        raise InputError(f"{where} contains no photographs (files such as .jpg or .png).")
    return names


def _photographs_below(folder: Path) -> Iterator[str]:
    """Yield paths of the photographs below a folder; pathlib would take five times as long for 30,000 files."""
    for above, _, names in os.walk(folder):
        within = "" if Path(above) == folder else f"{Path(above).relative_to(folder).as_posix()}/"
        for name in names:
            inside = f"{within}{name}"
            if Path(name).suffix.lower() in SUFFIXES and not is_litter(inside) and Path(above, name).is_file():
                yield inside


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
        raise InputError(what, where=shown, cure="fetch the archive again") from None
