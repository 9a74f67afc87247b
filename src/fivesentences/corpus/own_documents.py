"""A user's own documents: a table of categories, and vectors in ``.npy`` files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus.documents import PARTS, Documents, LoadedDocuments, Part
from fivesentences.documents import check_text, read_bytes, text_of
from fivesentences.errors import InputError, did_you_mean

NEEDED = ("document", "category")
OPTIONAL = ("text", "part", "article", "image")
_PART: dict[str, Part] = {name: name for name in PARTS}


def load_own_documents(table: Path, images: Path, texts: Path | None = None) -> LoadedDocuments:
    """Read a CSV with a header and one row per document, and the vectors of the same rows.

    The columns are ``document`` (its id), ``category``, and optionally ``text``, ``part`` (train or test, of all
    documents or of none), ``article`` (what it was cut from; empty: itself) and ``image`` (a file name), in any order;
    others are ignored. The separator is a comma.

    Args:
        table: The CSV, in UTF-8.
        images: ``.npy``, ``[documents, dim]``, memory-mapped.
        texts: ``.npy`` likewise; None: the column ``text`` as words.

    Raises:
        InputError: If a file is missing or damaged, a column or value is missing, an id occurs twice, a part is
            unknown, or the number of vectors is not that of the rows; the sentence names the line.
    """
    table, images = Path(table), Path(images)
    rows = _rows(table, (*NEEDED, "text") if texts is None else NEEDED)
    ids: dict[str, int] = {}
    for line, row in rows:
        name = row["document"]
        if ids.setdefault(name, line) != line:
            raise InputError(f"{table}, line {line}: document '{name}' is in line {ids[name]} too; use another id.")
    parts = [_part(table, line, row.get("part", ""), rows[0]) for line, row in rows]
    documents = Documents(
        ids=tuple(ids),
        categories=tuple(row["category"] for _, row in rows),
        images=tuple(row.get("image", "") for _, row in rows),
        texts=tuple(row.get("text", "") for _, row in rows),
        parts=tuple(parts),
        articles=tuple(row.get("article", "") or row["document"] for _, row in rows),
    )
    of_images = _vectors(images, table, len(rows))
    of_texts = None if texts is None else _vectors(Path(texts), table, len(rows))
    return LoadedDocuments(documents, of_images, of_texts)


def _rows(path: Path, needed: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """Line number and values of each row, stripped."""
    reader = csv.reader(io.StringIO(text_of(read_bytes(path), path), newline=""), strict=True)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        header = [name.strip().casefold() for name in next(reader, [])]
        for column in (*needed, *OPTIONAL):
            count = header.count(column)
            if count > 1 or (count == 0 and column in needed):
                raise _header_error(path, column, header, count)
        line = reader.line_num + 1
        for values in reader:
            where = f"{path}, line {line}"
            if any(value.strip() for value in values):  # spreadsheets write rows of separators alone
                if len(values) != len(header):
                    raise InputError(
                        f"{where}: {len(values)} values for {len(header)} columns; put texts with a comma in double "
                        "quotes."
                    )
                row = {name: check_text(value.strip(), where) for name, value in zip(header, values, strict=True)}
                for column in NEEDED:
                    if not row[column]:
                        raise InputError(f"{where}: {column} is empty; give one, or leave the line out.")
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} is not CSV ({error}).") from None
    if not rows:
        raise InputError(f"{path} has no documents; it must have a line for each.")
    return rows


def _header_error(path: Path, column: str, header: list[str], count: int) -> InputError:
    found = ", ".join(header)[:200] or "nothing"
    if count:
        return InputError(f"the header names the column '{column}' {count} times; it is {found}.", where=path)
    if column == "text":
        cure = "add it, or give a file of vectors as `texts`"
    else:
        cure = did_you_mean(column, header) or f"expected {', '.join(NEEDED)}, and perhaps {', '.join(OPTIONAL)}"
    return InputError(f"the header names no column '{column}'; it is {found}", where=path, cure=cure)


def _part(path: Path, line: int, given: str, first: tuple[int, dict[str, str]]) -> Part | None:
    part = _PART.get(given.casefold())
    if given and part is None:
        raise InputError(
            f"{path}, line {line}: the part is '{given}'; it must be train or test, or the column be left out; "
            "validation documents are drawn by the division."
        )
    if bool(given) != bool(first[1].get("part", "")):
        empty, other = (line, first[0]) if not given else (first[0], line)
        raise InputError(
            f"{path}, line {empty}: the part is empty, but that of line {other} is not; give it in every line or none."
        )
    return part


def _vectors(path: Path, table: Path, n_documents: int) -> NDArray[np.floating]:
    vectors = read_npy(path, "save the vectors with numpy.save")
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise InputError(
            f"it is {vectors.dtype} {list(vectors.shape)}; it must be numbers [documents, dim], a row per line of "
            f"{table}.",
            where=path,
        )
    if len(vectors) != n_documents:
        raise InputError(
            f"it has {len(vectors):,} rows, but {table} has {n_documents:,} documents; give a row per line of it, in "
            "its order.",
            where=path,
        )
    found: NDArray[np.floating] = vectors if vectors.dtype.kind == "f" else vectors.astype(np.float64)
    return found
