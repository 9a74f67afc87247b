"""`fivesentences published`: recall and NCS of papers, by the names that `evaluate --beside` takes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from fivesentences.commands.model_rows import DEFAULT, rows_of
from fivesentences.commands.sheets import Outputs
from fivesentences.config.metrics import choices_of
from fivesentences.evaluation.comparable import Comparable, comparable_named, comparables
from fivesentences.metrics.sheet import Sheet
from fivesentences.metrics.values import KEYS


def published(name: str | None = None, *, outputs: Outputs) -> None:
    """List recall and NCS that papers published, by the names that "evaluate --beside" takes.

    Every number is as the paper prints it; sentences below a table say how the
    paper scored.

    Args:
        name: One name, such as five-sentences:flickr30k; default: all.

    Examples:

        fivesentences published five-sentences:flickr30k

        fivesentences published --csv published.csv
    """
    outputs.check()
    found = comparables() if name is None else {name: comparable_named(name)}
    content = [
        {
            "name": one,
            "model": row.label,
            "published_in": row.source,
            **dict(zip(KEYS, key, strict=True)),
            "value": value,
        }
        for one, comparable in found.items()
        for row in comparable.rows()
        for key, value in row.values.items()
    ]
    outputs.write(sheets_of(found), lambda: pd.DataFrame(content), {"published": content})


def sheets_of(found: Mapping[str, Comparable]) -> list[Sheet]:
    """Return a table of recall and NCS for each name, with notes on how the paper scored."""
    sheets = []
    for name, comparable in found.items():
        table = rows_of({}, comparable.rows(), choices_of(f"{DEFAULT},Nsum-GT,MedR,MeanR"))
        sheets.append(Sheet(table.stub, table.columns, table.rows, name, comparable.differences(None)))
    return sheets
