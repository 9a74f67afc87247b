"""A rar archive of files that are stored as they are; no free program writes any, and several read them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

MARK = b"Rar!\x1a\x07\x00"
MAIN, FILE, END = 0x73, 0x74, 0x7B  # kinds of blocks
LONG, UNIX, STORED, VERSION, MODE = 0x8000, 3, 0x30, 20, 0o100644
NEW_YEAR_1980 = 0x00210000  # as DOS counts


def rar_of(files: Mapping[str, bytes]) -> bytes:
    """Return an archive of version 4 with these files by name; the same files give the same bytes."""
    blocks = [MARK, _block(MAIN, 0, bytes(6))]
    for name, content in files.items():
        text = name.replace("/", "\\").encode("ascii")  # the separator of this version, on every system
        size, check = len(content), zlib.crc32(content)
        about = struct.pack("<IIBIIBBHI", size, size, UNIX, check, NEW_YEAR_1980, VERSION, STORED, len(text), MODE)
        blocks += [_block(FILE, LONG, about + text), content]
    return b"".join([*blocks, _block(END, 0x4000, b"")])


def _block(kind: int, flags: int, about: bytes) -> bytes:
    head = struct.pack("<BHH", kind, flags, 7 + len(about)) + about
    return struct.pack("<H", zlib.crc32(head) & 0xFFFF) + head
