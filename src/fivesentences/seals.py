"""Checksums by which results that are damaged, swapped or of different runs are told."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fivesentences.documents import check_file, read_json
from fivesentences.errors import InputError
from fivesentences.storage import RECORD, sha256_of, write_json

BLOCK, SIDE = 1 << 20, 256  # bytes that are summed up at a time, as rows of so many words of 8 bytes


def content_of(path: Path | str) -> str:
    """Return the SHA-256 of a file; a process that asks for a large one again does not read it again."""
    check_file(path)
    state = Path(path).stat()
    return _content_of(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@cache
def _content_of(path: Path | str, *state: int) -> str:
    return sha256_of(path)


@cache
def _checksum_of(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return checksum_of_blocks(iter(lambda: file.read(BLOCK), b""))


def checksum_of_blocks(blocks: Iterable[bytes | memoryview]) -> str:
    """Return what ``checksum_of`` does of a file's blocks."""
    import numpy as np  # nobody else here needs it

    total = hashlib.sha256()
    for block in blocks:
        square = np.frombuffer(bytes(block) + bytes(-len(block) % (8 * SIDE)), "<u8").reshape(-1, SIDE)
        for axis in (0, 1):  # words that change places change the sums of their rows or of their columns
            total.update(square.sum(axis=axis, dtype=np.uint64).astype("<u8").tobytes())
        total.update(len(block).to_bytes(8, "little"))
    return total.hexdigest()


def checksum_of(path: Path) -> str:
    """Return a checksum of a file that costs a third of its SHA-256: the SHA-256 of the sums of its blocks.

    Bytes that flip, are missing or come from another file change it; it withstands no forger.
    """
    state = path.stat()
    return _checksum_of(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def check_content(path: Path, noted: str | None, what: str, cure: str) -> None:
    """Compare a file with the SHA-256 that was noted when it was made, if one was.

    Raises:
        InputError: If they differ; the sentence says ``what``.
    """
    if noted is not None and content_of(path) != noted:
        raise InputError(what, where=path, cure=cure)


def seal_of(note: Mapping[str, Any], *files: Path) -> str:
    """Return one SHA-256 of a note, but for its ``sha256``, and of the checksums of the files that it belongs to."""
    text = json.dumps({key: value for key, value in note.items() if key != "sha256"}, sort_keys=True)
    return hashlib.sha256("".join([text, *map(checksum_of, files)]).encode()).hexdigest()


def check_seal(note: Mapping[str, Any], *files: Path, noted: Path, cure: str) -> None:
    """Compare a note and its files with the ``sha256`` in it; notes of earlier versions have none, and pass.

    Args:
        note: The note.
        files: Files that it belongs to, at least one.
        noted: Its file.
        cure: Advice.

    Raises:
        InputError: If they differ: one is damaged, or they are of different results.
    """
    if "sha256" in note and seal_of(note, *files) != note["sha256"]:
        what = f"it differs from what {noted.name} beside it notes: one is damaged, or they are of different results"
        raise InputError(what, where=files[0], cure=cure)


def check_record(folder: Path, names: Collection[str], cure: str) -> None:
    """Check that some outputs in a folder are those that its ``finished.json`` lists.

    Without that record (a folder copied in part, or trained on elsewhere) there is nothing to compare.

    Raises:
        InputError: If the record is damaged, or a file is not the one that it lists.
    """
    path = folder / RECORD
    if not path.is_file():
        return
    record: Any = read_json(path)
    outputs = record.get("outputs") if isinstance(record, dict) else None
    if not isinstance(outputs, dict):
        raise InputError("it does not list the outputs of a run", where=path, cure=cure)
    what, checksums = f"it is not the file that {RECORD} lists for this run", record.get("checksums")
    for name in names:
        if isinstance(checksums, dict) and name in checksums:
            if checksum_of(folder / name) != checksums[name]:
                raise InputError(what, where=folder / name, cure=cure)
        else:  # of an earlier version
            check_content(folder / name, outputs.get(name), what, cure)


def check_made_from(folder: Path, files: Mapping[str, Path], cure: str) -> None:
    """Check that files are those of which the ``finished.json`` in a folder says that its outputs were made from them.

    Args:
        folder: Folder of a run; without that record nothing is compared.
        files: By their names there.
        cure: Advice.

    Raises:
        InputError: If the record is damaged, or a file is not the one that it names.
    """
    record = read_json(folder / RECORD, cure) if (folder / RECORD).is_file() else {}
    for name, path in files.items():
        what = f"it is not the file that {folder / RECORD} names as {name}"
        check_content(path, record.get("made_from", {}).get(name), what, cure)


def check_zip(path: Path) -> None:
    """Compare the checksums in a zip archive, such as ``torch.save`` writes; ``torch.load`` does not look at them.

    Raises:
        BadZipFile: If a part is damaged; files that are no archives pass.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as whole:
            # Of an entry that says it is a folder torch returns memory that nobody has written.
            folders = [entry.filename for entry in whole.infolist() if entry.external_attr & 0x10]
            if damaged := next(iter(folders), None) or whole.testzip():
                raise zipfile.BadZipFile(f"its part {damaged} is damaged")


def write_record(folder: Path, files: Mapping[str, Path], **about: dict[str, str]) -> None:
    """Write the ``finished.json`` that ``check_record`` reads.

    Args:
        folder: The folder.
        files: Files with the content of its outputs, by their names: these, or what will be renamed to them.
        about: What they were ``made_from``, and the SHA-256 of ``outputs``, if known.
    """
    checksums = {name: checksum_of(path) for name, path in files.items()}
    write_json(folder / RECORD, {"made_from": {}, "outputs": {}, **about, "checksums": checksums})
