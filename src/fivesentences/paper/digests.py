"""SHA-256 of files that may be large: each is read once, as long as its size and time stay."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import sha256_of, write_json

FORMAT = "fivesentences.digests 1"
CHECKSUMS = Path("logs/checksums.json")  # of the results of a folder


class Digests:
    """Checksums of files and folders, kept in a file between calls.

    Args:
        cache: Where they are kept; one that is damaged is begun again.
    """

    def __init__(self, cache: Path):
        self._cache = cache
        self._known: dict[str, list[object]] = {}
        try:
            content = read_json(cache) if cache.is_file() else {}
            if isinstance(content, dict) and content.get("format") == FORMAT and isinstance(content["files"], dict):
                self._known = content["files"]
        except InputError:
            pass
        self._changed = False

    def of(self, path: Path) -> str | None:
        """SHA-256 of a file, or of the names and contents in a folder; None if nothing is there."""
        if path.is_dir():
            digest = hashlib.sha256()
            for file in sorted(one for one in path.rglob("*") if one.is_file()):
                digest.update(f"{file.relative_to(path)}\0{self.of(file)}\0".encode())
            return digest.hexdigest()
        if not path.is_file():
            return None
        status = path.stat()
        state = [status.st_size, status.st_mtime_ns]
        known = self._known.get(str(path))
        if isinstance(known, list) and known[:2] == state:
            return str(known[2])
        found = sha256_of(path)
        self._known[str(path)] = [*state, found]
        self._changed = True
        return found

    def save(self) -> None:
        """Keep what was found for the next call."""
        if self._changed:
            write_json(self._cache, {"format": FORMAT, "files": self._known})
