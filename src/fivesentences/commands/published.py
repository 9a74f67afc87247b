"""`fivesentences published`: recall and NCS of papers, by the names that `evaluate --beside` takes."""

from __future__ import annotations

import pandas as pd

from fivesentences.commands.model_rows import DEFAULT, rows_of
from fivesentences.commands.sheets import Outputs, Sheet
from fivesentences.config.metrics import choices_of
from fivesentences.metrics.values import KEYS
from fivesentences.paper.numbers.comparable import comparable_named, comparables


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
    sheets, content = [], []
    for one, comparable in found.items():
        rows = comparable.rows()
        table = rows_of({}, rows, choices_of(f"{DEFAULT},Nsum-GT,MedR,MeanR"))
        sheets.append(Sheet(table.stub, table.columns, table.rows, one, comparable.differences(None)))
        content += [
            {
                "name": one,
                "model": row.label,
                "published_in": row.source,
                **dict(zip(KEYS, key, strict=True)),
                "value": value,
            }
            for row in rows
            for key, value in row.values.items()
        ]
    outputs.write(sheets, lambda: pd.DataFrame(content), {"published": content})
