"""A table as a self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from fivesentences.paper.tables.table import Table, spans
from fivesentences.paper.text.numbers import MINUS


def table_page(table: Table) -> str:
    """A page with one table."""
    return environment().get_template("table_page.html").render(table=table)


def environment() -> Environment:
    """The templates of tables and pages, with what they call."""
    found = Environment(
        loader=PackageLoader("fivesentences.paper", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(spans=spans, width=_width)
    return found


def _width(text: str) -> float:
    """Approximate width of a text in a sans-serif font, in em."""
    widths = {MINUS: 0.84} | dict.fromkeys(" .,[]", 0.3)
    return round(0.1 + sum(widths.get(letter, 0.58) for letter in text), 1)
