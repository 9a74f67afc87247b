"""How a command's numbers came about: version, command line, date, and a digest of every input."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fivesentences
from fivesentences.errors import InputError
from fivesentences.storage import sha256_of

Inputs = Sequence[tuple[str, Path | str | None]]


def provenance(inputs: Inputs) -> dict[str, Any]:
    """What a JSON output says about its making.

    Args:
        inputs: What each file is ("similarity", "phi", ...), and its name as it was given; those that are None are
            left out.

    Returns:
        fivesentences (the version), command, date (UTC, ISO 8601; that of SOURCE_DATE_EPOCH if it is set), inputs (a
        list of what, file, sha256; no digest of what is no file, such as a pipe).

    Raises:
        InputError: If SOURCE_DATE_EPOCH is no time.
    """
    digests: dict[Path, str | None] = {}
    described = []
    for what, given in inputs:
        if given is None:
            continue
        path = file_of(given)
        if path not in digests:
            digests[path] = sha256_of(path) if path.is_file() else None
        described.append({"what": what, "file": str(given), "sha256": digests[path]})
    return {
        "fivesentences": fivesentences.__version__,
        "command": shlex.join(["fivesentences", *sys.argv[1:]]),
        "date": now().isoformat(timespec="seconds"),
        "inputs": described,
    }


def file_of(given: Path | str) -> Path:
    """The file of an argument such as ``FILE``, or ``FILE:NAME`` for one of several arrays."""
    path = Path(given)
    if not path.exists() and ":" in path.name:
        path = path.with_name(path.name.rpartition(":")[0])
    return path


def with_notes(given: Path | str) -> list[Path]:
    """A file that is read, and the note beside it, which is read too where it exists."""
    path = file_of(given)
    return [path, path.with_suffix(".json")] if path.suffix == ".npy" else [path]  # as phi_file.note_beside


def files_of(what: str, given: Iterable[str] | None) -> list[tuple[str, Path | str | None]]:
    """Inputs of an option that takes ``NAME=FILE`` and may be repeated."""
    found: list[tuple[str, Path | str | None]] = []
    for one in given or ():
        file = one if Path(one).exists() or "=" not in one else one.partition("=")[2]
        found.append((what, file))
    return found


def now() -> datetime:
    """The time, or that of SOURCE_DATE_EPOCH, by which builds are made reproducible.

    Raises:
        InputError: If SOURCE_DATE_EPOCH is no time.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"SOURCE_DATE_EPOCH is '{epoch[:40]}'; it is a number of seconds since 1970, or not set."
        ) from None
