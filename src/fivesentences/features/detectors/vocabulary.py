"""Names of classes and attributes, from the vocabulary files of Visual Genome that the detector was trained with."""

from __future__ import annotations

from pathlib import Path

from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError

LARGEST = 1 << 20  # bytes; the files have a few thousand


def read_vocabulary(path: Path | str, count: int | None = None) -> tuple[str, ...]:
    """Read ``objects_vocab.txt`` or ``attributes_vocab.txt``: line k names class k, from 0, without background.

    A line may hold synonyms separated by commas; the first is the name.

    Args:
        path: The file.
        count: Number of classes of the detector; None where it is unknown.

    Raises:
        InputError: If it is no text file, has another number of lines, or a line without a name or with a control
            character.
    """
    path = Path(path)
    text = text_of(read_bytes(path, LARGEST), path)
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    if count is not None and len(lines) != count:
        raise InputError(
            f"it has {len(lines):,} lines, but the detector has {count:,} classes",
            where=path,
            cure="give the vocabulary that it was trained with, one class per line",
        )
    names = tuple(line.split(",")[0].strip().lower() for line in lines)
    for line, name in enumerate(names, start=1):
        if not name.isprintable():
            raise InputError(
                f"line {line} holds a control character ({name[:40]!r})",
                where=path,
                cure="give a file with one class per line",
            )
    if "" in names:
        raise InputError(
            f"line {names.index('') + 1} has no name", where=path, cure="give a file with one class per line"
        )
    return names
