"""What a set of photographs is, in one number, by which work on other photographs is never continued."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from fivesentences.corpus.archives import open_zip
from fivesentences.corpus.photographs import Photographs


def contents_of(photographs: Photographs) -> Iterator[tuple[object, ...]]:
    """What identifies a set of photographs without reading them: checksums in a zip archive, times in a folder."""
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
    """SHA-256 of some rows of plain values."""
    total = hashlib.sha256()
    for row in rows:
        total.update(repr(row).encode())
    return total.hexdigest()
