"""Digests of a folder or archive of photographs, found quickly where nothing has changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.corpus.archives import open_zip, photographs_in
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import replacing, sha256_of

FORMAT = 1
# A file may change twice within one tick of its clock; what is younger than this is hashed again the next time.
SETTLED = 2_000_000_000  # nanoseconds


@dataclass(frozen=True)
class Identity:
    """Two digests of some photographs.

    Attributes:
        names: Digest of their names: changes when one is added, removed or renamed.
        content: Digest of their names and bytes: also changes when one is edited or replaced, but not when it is
            touched or copied anew.
    """

    names: str
    content: str


def identify(photographs: Path, memory: Path | None = None) -> Identity:
    """Identify the photographs of a folder or a zip archive.

    The bytes of a file are hashed once and remembered with its size, times and inode: 30,000 photographs that have not
    changed take under a second. Of a zip archive, the checksums in its directory are read and nothing is remembered.

    Args:
        photographs: The folder or archive.
        memory: A file that keeps what is remembered; written only if something is new, and not needed to go on.

    Raises:
        InputError: If the path is missing, is a damaged archive, or contains no photographs, or if one cannot be read.
    """
    if not photographs.is_dir():
        with open_zip(photographs) as archive:
            facts_of = {name: archive.getinfo(name) for name in photographs_in(archive)}
        return _identity((name, f"{facts.file_size} {facts.CRC:08x}") for name, facts in facts_of.items())
    known = _remembered(memory)
    now: dict[str, list[Any]] = {}
    for name in photographs_in(photographs):
        path = photographs / name
        try:
            status = path.stat()
            # Not the times alone: `cp -p` keeps them, and the change time and the inode tell.
            state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
            before = known.get(name, [])
            now[name] = before if before[1:] == state else [sha256_of(path), *state]
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror or error}).") from None
    if memory is not None and now != known:
        settled = {name: facts for name, facts in now.items() if facts[3] < time.time_ns() - SETTLED}
        # A folder that cannot be written must not end a dry run; the photographs are hashed again the next time.
        with contextlib.suppress(OSError, InputError), replacing(memory) as temporary:
            temporary.write_text(json.dumps({"format": FORMAT, "files": settled}), encoding="ascii")
    return _identity((name, facts[0]) for name, facts in now.items())


def _identity(rows: Iterable[tuple[str, str]]) -> Identity:
    names, content = hashlib.sha256(), hashlib.sha256()
    for name, digest in sorted(rows):
        names.update(f"{name}\0".encode(errors="surrogateescape"))
        content.update(f"{name}\0{digest}\0".encode(errors="surrogateescape"))
    return Identity(names.hexdigest(), content.hexdigest())


def _remembered(memory: Path | None) -> dict[str, list[Any]]:
    """Return SHA-256, size, times and inode by name; nothing if the file is missing, damaged or of another version."""
    if memory is None:
        return {}
    try:
        stored = read_json(memory)
        files = stored["files"] if stored["format"] == FORMAT else {}
        return {name: facts for name, facts in files.items() if len(facts) == 5}
    except (InputError, LookupError, TypeError, AttributeError):
        return {}
