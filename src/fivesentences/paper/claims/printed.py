"""Sizes in print, looked up in the published tables."""

from __future__ import annotations

from pathlib import Path

from fivesentences.errors import InputError
from fivesentences.paper.numbers.published import PublishedRow, published_row, read_published
from fivesentences.study.claims import Printed

DECIMALS = 6  # of a size: enough for every printed one, and few enough to hide what floats add


def size_in_print(printed: Printed, folder: Path) -> float | None:
    """The size that follows from the published table; None for one that stands in the text.

    Args:
        printed: Which cells.
        folder: Of the published tables.

    Raises:
        InputError: If a table, row or number is missing.
    """
    if printed.table is None or printed.a is None:
        return None
    found = _cell(printed, folder / f"{printed.table}.csv", printed.a)
    if printed.b is not None:
        path = folder / f"{printed.b_table or printed.table}.csv"
        found -= _cell(printed, path, printed.b, printed.b_metric, printed.b_direction)
    if printed.c is not None and printed.d is not None:
        path = folder / f"{printed.than_table or printed.table}.csv"
        found -= _cell(printed, path, printed.c) - _cell(printed, path, printed.d)
    return round(found, DECIMALS)


def _cell(printed: Printed, path: Path, row: str, metric: str | None = None, direction: str | None = None) -> float:
    found = published_row(read_published(path), row, f"the claim on {printed.of}")
    key = (printed.direction if direction is None else direction, metric or printed.metric)
    value = _rsum(found) if key == ("", "Rsum") and key not in found.values else found.values.get(key)
    if value is None:
        raise InputError(f"{path}: row {row} has no {' '.join(key).strip()}, which a claim names.")
    return value


def _rsum(row: PublishedRow) -> float | None:
    """The sum of six recalls, where a table prints no sum."""
    parts = [row.values.get((side, f"R@{k}")) for side in ("i2t", "t2i") for k in (1, 5, 10)]
    return None if None in parts else sum(part for part in parts if part is not None)
