"""Archives unpacked into a folder that is whole or absent: zip, tar and, by a program of the system, rar."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from fivesentences.config.datasets import CatalogueFolder
from fivesentences.console import working
from fivesentences.corpus.archives import entries, is_litter, open_zip
from fivesentences.corpus.catalogue import forget
from fivesentences.corpus.unpacked import INSTALL, PROGRAMS, RECORD, programs_for_rar
from fivesentences.documents import check_file
from fivesentences.errors import InputError, cure_of, reason_of
from fivesentences.storage import alone, inside, write_json

_DAMAGED = (zipfile.BadZipFile, zlib.error, tarfile.TarError, EOFError, RuntimeError, ValueError, NotImplementedError)
_AGAIN = "delete it and run again, which fetches it again, or unpack the folder by hand"


class _DamagedArchive(InputError):
    """An archive is not as it was packed."""


def unpack(archives: Sequence[Path], folder: Path, about: CatalogueFolder) -> None:
    """Unpack archives into a folder, which gets its name once everything in it is whole.

    Args:
        archives: Archives, by their content zip (which may contain a further archive of the wanted folder), tar
            (compressed or not) or rar; of several, each gets a subfolder.
        folder: Folder to make; there must be none, or an empty one.
        about: What the catalogue says of it.

    Raises:
        InputError: If an archive is missing, damaged, of another kind, or has unsafe names; if it lacks the wanted
            folder or files; if no program unpacks rar; if the disk is full; or if there is a folder already. Nothing is
            left, and the archives stay.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError("there are files in it already", where=folder, cure="move it elsewhere, or use it as it is")
    work = folder.with_name(f".{folder.name}.unpacking")
    whole = work / "whole"
    with alone(folder.with_name(f".{folder.name}.lock"), f"{folder} is being unpacked by another process; waiting"):
        shutil.rmtree(work, ignore_errors=True)  # of a process that was killed
        try:
            for archive in archives:
                check_file(archive)
                into = whole / archive.name.partition(".")[0] if len(archives) > 1 else whole
                into.mkdir(parents=True)
                with working(f"unpack {archive.name}"):
                    try:
                        _unpack(archive, into, about.within)
                    except _DamagedArchive:
                        forget(archive)
                        raise
            held = {path.name.lower() for path in whole.rglob("*") if path.is_file()}
            if lacking := [name for name in about.holds if name.lower() not in held]:
                raise InputError(
                    f"{'there is' if len(lacking) == 1 else 'there are'} no {', '.join(lacking)} in it",
                    where=", ".join(map(str, archives)),
                    cure=f"the archive has changed: put the folder at {folder} by hand",
                )
            write_json(whole / RECORD, {"archives": {one.name: one.stat().st_size for one in archives}})
            if folder.is_dir():
                folder.rmdir()
            whole.rename(folder)
        except OSError as error:
            what = f"it cannot be unpacked ({error.strerror or reason_of(error)})"
            raise InputError(what, where=folder, cure=cure_of(error, "the archives are kept")) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _unpack(archive: Path, into: Path, within: str | None, is_inner: bool = False) -> None:
    """Unpack one archive, or the folder ``within`` it."""
    with archive.open("rb") as file:
        begins = file.read(8)
    if zipfile.is_zipfile(archive):
        names = _unpack_zip(archive, into, within)
    elif begins.startswith(b"Rar!"):
        names = _unpack_rar(archive, into, within)
    elif begins.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")) or tarfile.is_tarfile(archive):
        names = _unpack_tar(archive, into, within)
    else:
        raise _DamagedArchive("this is not a complete zip, tar or rar archive", where=archive, cure=_AGAIN)
    if not any(into.iterdir()):
        _unpack_inner(archive, names, into, within, is_inner)


def _unpack_inner(archive: Path, names: list[str], into: Path, within: str | None, is_inner: bool) -> None:
    """Unpack an archive named like the wanted folder that lies within a zip archive."""
    inner = [name for name in names if PurePosixPath(name).name.partition(".")[0] == within]
    if is_inner or len(inner) != 1 or not zipfile.is_zipfile(archive):
        above = sorted({PurePosixPath(name).parts[0] for name in names})
        there = f"{', '.join(above[:5])}{', ...' if len(above) > 5 else ''}" or "nothing"
        what = f"there is no folder {within} in it, but {there}" if within else "there are no files in it"
        cure = f"{_AGAIN}; if it is the same again, the archive has changed"
        raise InputError(what, where=archive, cure=cure)
    beside = into.with_name(f"{into.name}.inner{''.join(PurePosixPath(inner[0]).suffixes)}")
    try:
        with open_zip(archive) as outer:
            _copy(partial(outer.open, inner[0]), beside, outer.getinfo(inner[0]).file_size, f"{archive}: '{inner[0]}'")
        found = into / "found"
        found.mkdir()
        _unpack(beside, found, within, is_inner=True)
    except InputError as error:
        raise type(error)(str(error).replace(str(beside), f"{archive}: {inner[0]}")) from None
    finally:
        beside.unlink(missing_ok=True)
    for path in found.iterdir():
        path.rename(into / path.name)
    found.rmdir()


def _places(names: Sequence[str], into: Path, within: str | None, archive: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of an archive that is wanted, and where it goes."""
    taken: dict[Path, str] = {}
    for name in names:
        inside(archive, name)  # an archive with a name that would leave the folder is refused, whatever it is
        parts = PurePosixPath(name.replace("\\", "/")).parts
        if within is not None:
            if within not in parts[:-1]:
                continue
            parts = parts[parts.index(within) + 1 :]
        place = inside(into, "/".join(parts))
        if taken.setdefault(place, name) != name:
            raise InputError(f"'{name}' and '{taken[place]}' would be one file", where=archive, cure=_AGAIN)
        yield name, place


def _copy(open_entry: Callable[[], IO[bytes] | None], place: Path, size: int, where: str) -> None:
    """Write one entry to its place, at most as many bytes as the archive says."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if size > (free := shutil.disk_usage(place.parent).free):
        what = f"it has {size / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free"
        raise InputError(what, where=where, cure="make room and run again")
    try:
        entry = open_entry()
        assert entry is not None  # only files are asked for
        with entry, place.open("xb") as file:
            left = size
            while left and (block := entry.read(min(left, 1 << 20))):
                file.write(block)
                left -= len(block)
            if left or entry.read(1):
                raise EOFError(f"{left:,} bytes are missing" if left else "it is longer than the archive says")
    except _DAMAGED as error:
        raise _DamagedArchive(f"it is damaged ({reason_of(error)})", where=where, cure=_AGAIN) from None


def _unpack_zip(archive: Path, into: Path, within: str | None) -> list[str]:
    with open_zip(archive) as opened:
        names = entries(opened)
        for name, place in _places(names, into, within, archive):
            info = opened.getinfo(name)
            if stat.S_ISLNK(info.external_attr >> 16):
                raise InputError(f"entry '{name}' is a link; the archive is refused.", where=archive)
            _copy(partial(opened.open, info), place, info.file_size, f"{archive}: '{name}'")
    return names


def _unpack_tar(archive: Path, into: Path, within: str | None) -> list[str]:
    """Unpack files one after the other: a compressed archive of GBs is read once."""
    names = list[str]()
    try:
        with tarfile.open(archive, "r|*") as opened:
            for entry in opened:
                if (name := entry.name.removeprefix("./")) not in ("", "."):
                    inside(archive, name)
                if entry.isdir() or is_litter(name):
                    continue
                if not entry.isfile():
                    raise InputError(f"entry '{name}' is a link or a device; it is refused.", where=archive)
                names.append(name)
                for _, place in _places([name], into, within, archive):
                    if place.exists():
                        raise InputError(f"'{name}' is in it twice", where=archive, cure=_AGAIN)
                    _copy(partial(opened.extractfile, entry), place, entry.size, f"{archive}: '{name}'")
    except InputError:
        raise
    except _DAMAGED as error:
        raise _DamagedArchive(f"it is damaged ({reason_of(error)})", where=archive, cure=_AGAIN) from None
    return names


def _unpack_rar(archive: Path, into: Path, within: str | None) -> list[str]:
    """Unpack everything into a folder of its own by the first program that can, then take what is wanted."""
    programs = programs_for_rar()
    if not programs:
        what = f"no program here unpacks rar ({', '.join(PROGRAMS)})"
        raise InputError(what, where=archive, cure=f"{INSTALL}, and run again")
    whole, said = into.with_name(f"{into.name}.rar"), list[str]()
    try:
        for program in programs:
            shutil.rmtree(whole, ignore_errors=True)
            whole.mkdir()
            command = [program, *PROGRAMS[program](str(archive.resolve()), str(whole.resolve()))]
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
            if done.returncode == 0:
                break
            lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
            said.append(f"{program}: {lines[-1][:120] if lines else f'exit code {done.returncode}'}")
        else:
            raise _DamagedArchive(f"it cannot be unpacked ({'; '.join(said)})", where=archive, cure=_AGAIN)
        names = sorted(_files_below(whole, archive))
        for name, place in _places(names, into, within, archive):
            place.parent.mkdir(parents=True, exist_ok=True)
            Path(whole, name).rename(place)
        return names
    finally:
        shutil.rmtree(whole, ignore_errors=True)


def _files_below(folder: Path, archive: Path) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(above, name)
            kind = path.lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise InputError(f"'{name}' is a link or a device; the archive is refused.", where=archive)
        yield from (Path(above, name).relative_to(folder).as_posix() for name in names)
