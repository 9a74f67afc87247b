"""A command's numbers as a table in the terminal, Markdown and LaTeX, and as CSV and JSON for programs."""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from json import dumps as dump_json
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fivesentences.commands import arguments as given
from fivesentences.commands.provenance import Inputs, now, provenance, with_notes
from fivesentences.console import working
from fivesentences.errors import visible
from fivesentences.metrics.latex import escape_latex, tabular
from fivesentences.paper.text.markdown import escape_markdown, piped
from fivesentences.storage import check_outputs, check_writable, replacing

if TYPE_CHECKING:
    import pandas as pd

STDOUT = "-"
ENDLESS = 1_000_000  # columns of a terminal that is wide enough for everything


class Best(str):
    """A cell that is printed in bold."""


@dataclass(frozen=True)
class Sheet:
    """A table for people.

    Attributes:
        stub: Headings of the columns that say what a row is.
        columns: Group (may be empty) and heading of each column of numbers.
        rows: Cells of each row, stub first, as text.
        title: The text above it.
        notes: The sentences below it.
    """

    stub: Sequence[str]
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()

    @property
    def headings(self) -> list[str]:
        """One heading per column, which includes its group."""
        return [*self.stub, *(f"{group} {name}".strip() for group, name in self.columns)]


@dataclass(frozen=True)
class Outputs:
    """Options that name where a command's numbers go; ``-`` is standard output."""

    json: given.Json = None
    csv: given.Csv = None
    markdown: given.Markdown = None
    latex: given.Latex = None
    quiet: given.Quiet = False

    @classmethod
    def of(cls, *options: Any, inputs: Inputs = ()) -> Outputs:
        """The options of a command that names them one by one, checked."""
        outputs = cls(*options[:5])
        outputs.check(options[5] if len(options) > 5 else inputs)
        return outputs

    @property
    def files(self) -> dict[str, Path]:
        """The files that were asked for, by their form."""
        asked = {"json": self.json, "csv": self.csv, "markdown": self.markdown, "latex": self.latex}
        return {form: path for form, path in asked.items() if path is not None}

    def check(self, inputs: Inputs = (), others: Mapping[str, Path | None] = MappingProxyType({})) -> None:
        """Check before anything is read that every file can be written.

        Args:
            inputs: Every file that the command reads, as in ``provenance``; notes beside them are added.
            others: Further files, which the command writes itself, by what to call them, such as ``--per-query``; none
                goes to standard output.

        Raises:
            typer.BadParameter: If two go to standard output.
            InputError: If one cannot be written, or would overwrite an input or another output.
        """
        if self.json is not None:
            now()  # refuses a SOURCE_DATE_EPOCH that is no time
        more = {name: path for name, path in others.items() if path is not None}
        shown = [form for form, path in self.files.items() if str(path) == STDOUT]
        if len(shown) > 1:
            raise typer.BadParameter(
                f"--{shown[0]} writes to standard output already; name another file.", param_hint=f"--{shown[1]}"
            )
        for name, path in more.items():
            if str(path) == STDOUT:
                raise typer.BadParameter("it is '-'; it takes the name of a file.", param_hint=name)
        written = {f"--{form}": path for form, path in self.files.items() if str(path) != STDOUT} | more
        for path in written.values():
            check_writable(path)
        check_outputs(written, [file for _, one in inputs if one is not None for file in with_notes(one)])

    def provenance(self, inputs: Inputs) -> dict[str, Any]:
        """What a JSON output says about its making; nothing if there is none."""
        if self.json is None:
            return {}
        with working("digests of the inputs"):
            return provenance(inputs)

    def write(self, sheets: Sequence[Sheet], tidy: pd.DataFrame | None, content: dict[str, Any]) -> None:
        """Write what was asked for, and show the table unless ``quiet`` is set or standard output is in use.

        Args:
            sheets: For the terminal, Markdown and LaTeX.
            tidy: For CSV; None if a command has none.
            content: For JSON.

        Raises:
            InputError: If a file cannot be written.
        """
        texts: dict[str, Callable[[], str]] = {
            "json": lambda: dump_json(_finite(content), indent=1, allow_nan=False) + "\n",
            "csv": lambda: "" if tidy is None else tidy.to_csv(index=False, lineterminator="\n"),
            "markdown": lambda: "\n".join(markdown(sheet) for sheet in sheets),
            "latex": lambda: "\n".join(latex(sheet) for sheet in sheets),
        }
        for form, path in self.files.items():
            if str(path) == STDOUT:
                sys.stdout.write(texts[form]())
                continue
            with replacing(path) as temporary:
                temporary.write_text(texts[form](), encoding="utf-8")
        taken = any(str(path) == STDOUT for path in self.files.values())
        if not taken and not (self.quiet and self.files):
            show(sheets)


def quietly(quiet: bool) -> AbstractContextManager[Any]:
    """Suppress progress bars on standard error if ``quiet``; an error still shows, since it is printed outside."""
    return contextlib.redirect_stderr(io.StringIO()) if quiet else contextlib.nullcontext()


def show(sheets: Sequence[Sheet], width: int | None = None) -> None:
    """Print tables; numbers and labels are never truncated.

    Args:
        sheets: The tables. One that is too wide is printed in parts, one per group of columns; a part that is still
            too wide runs over the edge.
        width: Columns of the terminal; default its own width, and unlimited in a pipe or a file.
    """
    room = width or (Console().width if sys.stdout.isatty() else ENDLESS)
    for number, sheet in enumerate(map(_visible, sheets)):
        if sheet.title:
            if number:
                print()
            _console(room).print(Text(sheet.title, style="bold"))
        for part in fitting(sheet, room):
            # Only text is folded, which loses nothing; a row of numbers stays on its line.
            needed = natural_width(part) if part.columns else 0
            print()
            _console(max(room, needed)).print(_table(part))
        if sheet.notes:
            print()
        for note in sheet.notes:
            _console(room).print(Text(note), style="dim")


def _visible(sheet: Sheet) -> Sheet:
    """The sheet with control characters made visible, which names of files and models may hold."""
    return Sheet(
        [visible(name) for name in sheet.stub],
        [(visible(group), visible(name)) for group, name in sheet.columns],
        [[type(cell)(visible(cell)) for cell in row] for row in sheet.rows],
        visible(sheet.title),
        [visible(note) for note in sheet.notes],
    )


def fitting(sheet: Sheet, room: int) -> list[Sheet]:
    """The sheet; or if it is too wide, one sheet per group of columns, those without a group last."""
    groups = dict.fromkeys(group for group, _ in sheet.columns if group)
    if len(groups) < 2 or natural_width(sheet) <= room:
        return [sheet]
    places = [[at for at, (group, _) in enumerate(sheet.columns) if group == name] for name in groups]
    rest = [at for at, (group, _) in enumerate(sheet.columns) if not group]
    if rest and natural_width(_part(sheet, places[-1] + rest)) <= room:
        places[-1] += rest
    elif rest:
        places.append(rest)
    return [_part(sheet, chosen) for chosen in places]


def natural_width(sheet: Sheet) -> int:
    """The columns of a terminal that a sheet takes if nothing is folded."""
    return _console(ENDLESS).measure(_table(sheet)).maximum


def _console(width: int) -> Console:
    return Console(width=width, height=25)  # without a height rich takes a dumb terminal for one of 80 columns


def _part(sheet: Sheet, places: Sequence[int]) -> Sheet:
    """Some columns of numbers, and the rows that have a number there."""
    stub = len(sheet.stub)
    rows = [[*row[:stub], *(row[stub + at] for at in places)] for row in sheet.rows]
    return replace(sheet, columns=[sheet.columns[at] for at in places], rows=[row for row in rows if any(row[stub:])])


def _table(sheet: Sheet) -> Table:
    # Narrow, so that ten columns of numbers fit into a terminal of eighty columns.
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    for name in sheet.stub:
        table.add_column(Text(name), overflow="fold")
    previous = None
    for group, name in sheet.columns:
        shown = f"{group if group != previous else ''}\n{name}" if any(g for g, _ in sheet.columns) else name
        table.add_column(Text(shown), justify="right", no_wrap=True)
        previous = group
    for row in sheet.rows:
        table.add_row(*(Text(cell, style="bold" if isinstance(cell, Best) else "") for cell in row))
    return table


def markdown(sheet: Sheet) -> str:
    """A GitHub table."""
    lines = [f"### {escape_markdown(sheet.title)}", ""] if sheet.title else []
    lines.append(piped(map(escape_markdown, sheet.headings)))
    lines.append(piped(["---"] * len(sheet.stub) + ["---:"] * len(sheet.columns)))
    lines += [piped(map(_in_markdown, row)) for row in sheet.rows]
    if sheet.notes:
        lines += ["", *(f"- {escape_markdown(note)}" for note in sheet.notes)]
    return "\n".join(lines) + "\n"


def _in_markdown(cell: str) -> str:
    return f"**{escape_markdown(cell)}**" if isinstance(cell, Best) else escape_markdown(cell)


def latex(sheet: Sheet) -> str:
    """A ``tabular`` for a document that loads booktabs."""

    def shown(cell: str) -> str:
        return rf"\textbf{{{escape_latex(cell)}}}" if isinstance(cell, Best) else escape_latex(cell)

    return tabular(sheet.stub, sheet.columns, [list(map(shown, row)) for row in sheet.rows], sheet.title, sheet.notes)


def number(value: float | None, digits: int = 2) -> str:
    """A number as a table shows it; empty if there is none."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.{digits}f}"


def _finite(content: Any) -> Any:
    """The content with null in place of NaN, which JSON lacks."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
