"""What a file is by its content, whatever its name, and whether it is whole: a download may be cut, or a web page."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import math
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from fivesentences.console import Bar
from fivesentences.errors import InputError, reason_of

CHUNK = 1 << 20  # bytes that are unpacked at a time
LARGEST_HEADER = 100 << 20  # bytes of the header of safetensors
LARGEST_JSON = 64 << 20  # bytes that are read to see whether they are whole
SHOWN_AFTER = 2.0  # seconds until a bar is shown
ENCRYPTED = 1  # a flag of an entry
MARKUP = (".xml", ".html", ".svg")  # names of files that are markup
TEXTS = (".txt", ".csv", ".tsv", ".list")  # names of files that are no JSON
# How web pages, errors of hosts and pointers of git-lfs begin, which are never the file that was meant.
_OTHERS = ((b"<!doctype", "a web page"), (b"<html", "a web page"), (b"<head", "a web page"), (b"<script", "a web page"),
           (b"<!--", "a web page"), (b"<?xml", "XML"), (b"<error", "XML"), (b"<", "markup"),
           (b"version https://git-lfs", "a pointer of git-lfs"), (b'{"error', "an error"), (b'{"message', "an error"),
           (b'{"detail', "an error"), (b'{"status', "an error"), (b'{"code', "an error"), (b"{", "JSON"))  # fmt: skip
# Names of files that all begin in a known way, and of JSON. Others say little: torch, fastText and word2vec write .bin.
_NAMED = frozenset([".zip", ".npz", ".jar", ".parquet", ".gz", ".npy", ".h5", ".hdf5", ".rar", ".jpg", ".png"])
_OF_JSON = frozenset([".json", ".jsonl"])
_HDF5 = b"\x89HDF\r\n\x1a\n"


def check_kind(file: Path, name: str, where: Path | str, cure: str, *, unpacking: bool = False) -> None:
    """Check that a file is not something else than what was meant, and that nothing of it is missing.

    Its content says what it is. A zip must have its end, a ``.npy`` the size that its header states, ``.gz``, ``.bz2``
    and ``.xz`` a trailer that agrees, parquet its foot, HDF5 the length in its superblock, a tar its last entry,
    safetensors and MATLAB's files the bytes that they announce, JSON its last bracket. Anything else may be anything
    but markup, an error of a host or a pointer of git-lfs; only where its name is that of a format that begins in one
    way, it must be one that is known.

    Args:
        file: The file.
        name: Its name.
        where: What the error is about.
        cure: Advice.
        unpacking: Read every entry of a zip, too, and compare its CRC.

    Raises:
        InputError: If it is empty, cut, damaged, or something else.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if problem := _foreign(file, suffix):
        raise InputError(f"this is {problem}, and not {suffix or 'what its name says'}", where=where, cure=cure)
    kind = kind_of(file)
    if (kind is None and suffix in _NAMED) or (kind != "JSON" and suffix in _OF_JSON):
        raise InputError(f"this is something else, and not {suffix}", where=where, cure=cure)
    if kind is not None and (kind != "JSON" or suffix in _OF_JSON) and (missing := _missing(file, kind)):
        raise InputError(f"this is not a whole {kind} file ({missing})", where=where, cure=cure)
    if kind == "zip" and unpacking:
        try:
            damaged = _damaged_entry(file)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            damaged = reason_of(error)
        if damaged:
            raise InputError(f"this zip is damaged ({damaged})", where=where, cure=cure)


def _damaged_entry(file: Path) -> str | None:
    """Name the first entry of a zip whose CRC differs; encrypted ones and those of unknown compression are left out."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        with Bar(f"check {file.name} [bytes]", sum(entry.compress_size for entry in entries), delay=SHOWN_AFTER) as bar:
            for entry in entries:
                try:
                    if not entry.flag_bits & ENCRYPTED:
                        with archive.open(entry) as opened:
                            while opened.read(CHUNK):
                                pass  # to its CRC
                except NotImplementedError:
                    pass
                except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                    return f"entry '{entry.filename[:60]}': {reason_of(error)}"
                bar.advance(entry.compress_size)
    return None


def kind_of(file: Path) -> str | None:
    """Return the format of a file by how it begins; None of others."""
    with file.open("rb") as opened:
        raw = opened.read(1024)
        for kind, begins in _BEGINNINGS.items():
            if raw.startswith(begins):
                return kind
        if raw[257:262] == b"ustar":
            return "tar"
        if _superblock(opened) is not None:
            return "HDF5"
    if raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") and b"\0" not in raw:
        return "JSON"
    return "safetensors" if raw[8:9] == b"{" and 2 <= struct.unpack("<Q", raw[:8])[0] <= LARGEST_HEADER else None


_BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    "zip": (b"PK\x03\x04", b"PK\x05\x06"), "parquet": (b"PAR1",), "gzip": (b"\x1f\x8b",), "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\0",), "npy": (b"\x93NUMPY",), "rar": (b"Rar!",), "JPEG": (b"\xff\xd8",), "PNG": (b"\x89PNG",),
    "MATLAB": (b"MATLAB 5.0",),
}  # fmt: skip


def _foreign(file: Path, suffix: str) -> str | None:
    """Say what a file is that is never meant; None if it may be what is."""
    with file.open("rb") as opened:
        raw = opened.read(1024)
    begins = raw.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    begins = begins.replace(b'{ "', b'{"').replace(b'{\n  "', b'{"')
    found = next((what for begin, what in _OTHERS if begins.startswith(begin)), None if raw else "empty")
    if found == "JSON" and suffix not in TEXTS and suffix not in _NAMED:
        return None
    return None if found != "empty" and suffix in MARKUP else found


def _missing(file: Path, kind: str) -> str | None:
    """Say what a file of a format lacks; None if it is whole, or the format does not tell."""
    if (check := _CHECKS.get(kind)) is None:
        return None
    size = file.stat().st_size
    try:
        with file.open("rb") as opened:
            return check(opened, size)
    except MemoryError:
        raise
    except Exception as error:  # a damaged file fails anywhere in zipfile, tarfile, zlib, lzma or numpy
        return reason_of(error)


def _zip(file: IO[bytes], size: int) -> str | None:
    with zipfile.ZipFile(file) as archive:  # which looks for its end
        for entry in archive.infolist():
            file.seek(max(0, entry.header_offset))
            if entry.header_offset < 0 or file.read(4) != b"PK\x03\x04" or file.tell() + entry.compress_size > size:
                return f"its entry '{entry.filename[:60]}' is not where its end says"
    return None


def _npy(file: IO[bytes], size: int) -> str | None:
    version = np.lib.format.read_magic(file)
    of_version = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if (read := of_version.get(version)) is None:  # (3, 0): of names that are not latin-1
        return None
    shape, _, dtype = read(file)  # a Python literal, which numpy reads as one
    announced = file.tell() + math.prod(shape) * dtype.itemsize
    return _length(size, announced) if not dtype.hasobject else None


def _length(size: int, announced: int) -> str | None:
    return f"it has {size:,} bytes and announces {announced:,}" if size < announced else None


def _unpacked_by(opener: Callable[..., Any]) -> Callable[[IO[bytes], int], str | None]:
    def check(file: IO[bytes], size: int) -> str | None:
        with opener(file) as unpacked:
            while unpacked.read(CHUNK):
                pass  # to the checksum at its end
        return None

    return check


def _parquet(file: IO[bytes], size: int) -> str | None:
    file.seek(max(0, size - 8))
    foot = file.read(8)
    if foot[4:] not in (b"PAR1", b"PARE"):
        return "its foot is missing"
    return None if struct.unpack("<I", foot[:4])[0] + 12 <= size else "its foot is longer than the file"


def _superblock(file: IO[bytes]) -> int | None:
    """Return where the superblock of HDF5 begins: at 0, or behind a block of the user, as in MATLAB's files."""
    for place in (0, 512, 1024, 2048):
        file.seek(place)
        if file.read(len(_HDF5)) == _HDF5:
            return place
    return None


def _hdf5(file: IO[bytes], size: int) -> str | None:
    place = _superblock(file)
    assert place is not None  # which made it HDF5
    file.seek(place + 8)
    head = file.read(120)
    # Version 0 and 1 have the size of an address behind five versions, and four or six more bytes of sizes and flags.
    of_address, first = (head[5], 16 if head[0] == 0 else 20) if head[0] < 2 else (head[1], 4)
    addresses = head[first : first + 4 * of_address]
    base, _, end = (int.from_bytes(addresses[at * of_address : (at + 1) * of_address], "little") for at in range(3))
    return _length(size, end if place == 0 or end > base else base + end)


def _tar(file: IO[bytes], size: int) -> str | None:
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for entry in archive:
            if entry.offset_data + entry.size > size:
                return f"its entry '{entry.name[:60]}' is cut"
        file.seek(archive.offset)  # type: ignore[attr-defined]  # tarfile ends in silence at a damaged header
        return "an entry is damaged" if file.read(tarfile.BLOCKSIZE).strip(b"\0") else None


def _safetensors(file: IO[bytes], size: int) -> str | None:
    (length,) = struct.unpack("<Q", file.read(8))
    if 8 + length > size:
        return _length(size, 8 + length)
    header = json.loads(file.read(length))
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return _length(size, 8 + length + max(ends, default=0))


def _matlab(file: IO[bytes], size: int) -> str | None:
    """Walk the elements of a file of MATLAB 5 to 7.2, each of which announces its bytes."""
    file.seek(126)
    order = "<" if file.read(2) == b"IM" else ">"
    place = 128
    while place < size:
        file.seek(place)
        tag = file.read(8)
        if len(tag) < 8:
            return "its last element is cut"
        place += 8 + struct.unpack(f"{order}II", tag)[1]
    return _length(size, place)


def _json(file: IO[bytes], size: int) -> str | None:
    """Read JSON, or the last of lines of JSON; of what is larger than ``LARGEST_JSON``, look for the last bracket."""
    if size > LARGEST_JSON:
        begins = file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        file.seek(-1024, io.SEEK_END)
        ends = file.read().rstrip()[-1:]
        return None if begins + ends in (b"{}", b"[]") else f"it begins with {begins!r} and ends with {ends!r}"
    text = file.read().decode("utf-8-sig", "replace").strip()
    try:
        json.loads(text)
    except ValueError:
        json.loads(text.rpartition("\n")[2])
    return None


def _png(file: IO[bytes], size: int) -> str | None:
    file.seek(max(0, size - 1024))
    return None if b"IEND\xaeB`\x82" in file.read() else "its last chunk is missing"


_CHECKS: dict[str, Callable[[IO[bytes], int], str | None]] = {
    "zip": _zip, "npy": _npy, "gzip": _unpacked_by(gzip.open), "bzip2": _unpacked_by(bz2.open),
    "xz": _unpacked_by(lzma.open), "parquet": _parquet, "HDF5": _hdf5, "tar": _tar, "safetensors": _safetensors,
    "MATLAB": _matlab, "JSON": _json, "PNG": _png,
}  # fmt: skip
