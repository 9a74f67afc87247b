"""What work depends on, in one number, and the folder in which unfinished work waits for more of the same."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fivesentences.corpus.archives import open_zip
from fivesentences.corpus.photographs import Photographs
from fivesentences.features.files import images_beside, regions_beside, source_beside
from fivesentences.storage import remove_partial, write_json

# What the source of features says of the images, not of how they were described: parts of one work differ in it.
OF_IMAGES = frozenset({"identity", "images", "photographs", "skipped"})


def fingerprint_of(identity: Mapping[str, Any]) -> str:
    """SHA-256 of everything that some work depends on, as JSON."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def folder_of_unfinished(out: Path, kind: str, identity: Mapping[str, Any]) -> Path:
    """The folder for what is finished of a file before all of it is: ``.<stem>.<kind>/<fingerprint>`` beside the file.

    It is made if need be. Folders of work that depends on anything else are removed, since they are never continued,
    and so is what a kill has left half written, of the file itself too.

    Args:
        out: The final file.
        kind: What the folder holds.
        identity: Everything that the work depends on, as JSON.
    """
    root = out.with_name(f".{out.stem}.{kind}")
    folder = root / fingerprint_of(identity)[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for other in root.iterdir():
        if other.is_dir() and other != folder:
            shutil.rmtree(other)
    for partial in folder.glob(".*.partial*"):
        partial.unlink()
    remove_partial(out, images_beside(out), regions_beside(out), source_beside(out))
    write_json(folder / "identity.json", dict(identity))
    return folder


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
