"""A user's own documents: a table of categories, and vectors in ``.npy`` files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus.csv_rows import csv_rows
from fivesentences.corpus.documents import PARTS, Documents, LoadedDocuments, Part
from fivesentences.errors import InputError

NEEDED = ("document", "category")
OPTIONAL = ("text", "part", "article", "image")
_PART: dict[str, Part | None] = {"": None, **{name: name for name in PARTS}}


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
    rows: dict[str, dict[str, str]] = {}
    parts: list[Part | None] = []
    for where, values in csv_rows(table, (*NEEDED, "text") if texts is None else NEEDED, OPTIONAL):
        row = {name: value.strip() for name, value in values.items()}
        name, part = row["document"], row.get("part", "").casefold()
        for column in NEEDED:
            if not row[column]:
                raise InputError(f"{where}: {column} is empty; give one, or leave the line out.")
        if name in rows:
            raise InputError(f"{where}: document '{name}' is in an earlier line too; use another id.")
        if part not in _PART:
            raise InputError(
                f"{where}: the part is '{part}'; it must be train or test, or the column be left out; validation "
                "documents are drawn by the division."
            )
        if parts and (part == "") != (parts[0] is None):
            raise InputError(f"{where}: the part is '{part}'; give it in every line or none.")
        rows[name] = row
        parts.append(_PART[part])
    if not rows:
        raise InputError(f"{table} has no documents; it must have a line for each.")
    documents = Documents(
        ids=tuple(rows),
        categories=tuple(row["category"] for row in rows.values()),
        images=tuple(row.get("image", "") for row in rows.values()),
        texts=tuple(row.get("text", "") for row in rows.values()),
        parts=tuple(parts),
        articles=tuple(row.get("article", "") or name for name, row in rows.items()),
    )
    of_texts = None if texts is None else _vectors(Path(texts), table, len(rows))
    return LoadedDocuments(documents, _vectors(images, table, len(rows)), of_texts)


def _vectors(path: Path, table: Path, n_documents: int) -> NDArray[np.floating]:
    vectors = read_npy(path, "save the vectors with numpy.save")
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or len(vectors) != n_documents:
        raise InputError(
            f"it is {vectors.dtype} {list(vectors.shape)}; it must be numbers [documents, dim], a row for each of the "
            f"{n_documents:,} documents of {table}, in its order.",
            where=path,
        )
    found: NDArray[np.floating] = vectors if vectors.dtype.kind == "f" else vectors.astype(np.float64)
    return found
