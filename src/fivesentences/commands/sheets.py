"""A command's numbers as a table in the terminal, Markdown and LaTeX, and as CSV and JSON for programs."""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fivesentences.errors import InputError
from fivesentences.storage import replacing

if TYPE_CHECKING:
    import pandas as pd

STDOUT = "-"


@dataclass(frozen=True)
class Sheet:
    """A table for people.

    Attributes:
        stub: Headings of the columns that say what a row is.
        columns: Group (may be empty) and heading of each column of numbers.
        rows: Cells of each row, stub first, as text.
        title: Above it.
        notes: Below it, a sentence each.
    """

    stub: Sequence[str]
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()

    @property
    def headings(self) -> list[str]:
        """One heading a column, the group in it."""
        return [*self.stub, *(f"{group} {name}".strip() for group, name in self.columns)]


@dataclass
class Outputs:
    """Where a command's numbers go; ``-`` is standard output.

    Attributes:
        files: Form ("json", "csv", "markdown", "latex") and path of each that was asked for.
        quiet: Nothing on the terminal that was not asked for.
    """

    files: dict[str, Path] = field(default_factory=dict)
    quiet: bool = False

    @classmethod
    def of(
        cls, json_out: Path | None, csv: Path | None, markdown: Path | None, latex: Path | None, quiet: bool
    ) -> Outputs:
        """From a command's options.

        Raises:
            InputError: If two go to standard output.
        """
        asked = {"json": json_out, "csv": csv, "markdown": markdown, "latex": latex}
        files = {form: path for form, path in asked.items() if path is not None}
        if sum(str(path) == STDOUT for path in files.values()) > 1:
            raise InputError("two outputs are '-', standard output; send one of them to a file.")
        return cls(files, quiet)

    def write(self, sheets: Sequence[Sheet], tidy: pd.DataFrame | None, content: dict[str, Any]) -> None:
        """Write what was asked for, and show the table unless quiet or standard output is taken.

        Args:
            sheets: For the terminal, Markdown and LaTeX.
            tidy: For CSV; None where a command has none.
            content: For JSON.

        Raises:
            InputError: If a file cannot be written.
        """
        texts: dict[str, Callable[[], str]] = {
            "json": lambda: json.dumps(_finite(content), indent=1, allow_nan=False) + "\n",
            "csv": lambda: "" if tidy is None else tidy.to_csv(index=False, lineterminator="\n"),
            "markdown": lambda: "\n".join(markdown(sheet) for sheet in sheets),
            "latex": lambda: "\n".join(latex(sheet) for sheet in sheets),
        }
        for form, path in self.files.items():
            if str(path) == STDOUT:
                sys.stdout.write(texts[form]())
                continue
            try:
                with replacing(path) as temporary:
                    temporary.write_text(texts[form](), encoding="utf-8")
            except OSError as error:
                raise InputError(f"{path} cannot be written ({error.strerror}); name another file.") from None
        taken = any(str(path) == STDOUT for path in self.files.values())
        if not taken and not (self.quiet and self.files):
            show(sheets)


def quietly(quiet: bool) -> AbstractContextManager[Any]:
    """Without progress bars on standard error, if quiet; an error still shows, since it is printed outside."""
    return contextlib.redirect_stderr(io.StringIO()) if quiet else contextlib.nullcontext()


def show(sheets: Sequence[Sheet]) -> None:
    """Print tables; in a pipe as wide as they are."""
    console = Console() if sys.stdout.isatty() else Console(width=200)
    for sheet in sheets:
        # Narrow, so that ten columns fit into a terminal of eighty.
        table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
        if sheet.title:
            console.print(Text(sheet.title, style="bold"))
        for name in sheet.stub:
            table.add_column(Text(name), overflow="fold")
        previous = None
        for group, name in sheet.columns:
            shown = f"{group if group != previous else ''}\n{name}" if any(g for g, _ in sheet.columns) else name
            table.add_column(Text(shown), justify="right", no_wrap=True)
            previous = group
        for row in sheet.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        for note in sheet.notes:
            console.print(Text(note), style="dim", soft_wrap=True)


def markdown(sheet: Sheet) -> str:
    """A GitHub table."""
    lines = [f"### {_plain(sheet.title)}", ""] if sheet.title else []
    lines.append(_piped(sheet.headings))
    lines.append(_piped(["---"] * len(sheet.stub) + ["---:"] * len(sheet.columns)))
    lines += [_piped(row) for row in sheet.rows]
    if sheet.notes:
        lines += ["", *(f"- {_plain(note)}" for note in sheet.notes)]
    return "\n".join(lines) + "\n"


def latex(sheet: Sheet) -> str:
    """A ``tabular`` for a document that loads booktabs."""
    from fivesentences.paper.writing import escape_latex

    width = len(sheet.stub)
    lines = [r"% needs \usepackage{booktabs}"]
    lines += [f"% {sheet.title}"] if sheet.title else []
    lines += [rf"\begin{{tabular}}{{@{{}}{'l' * width}{'r' * len(sheet.columns)}@{{}}}}", r"\toprule"]
    if any(group for group, _ in sheet.columns):
        cells, rules, at = [""] * width, [], width + 1
        while at <= width + len(sheet.columns):
            group = sheet.columns[at - width - 1][0]
            end = at
            while end < width + len(sheet.columns) and sheet.columns[end - width][0] == group:
                end += 1
            cells.append(rf"\multicolumn{{{end - at + 1}}}{{c}}{{{escape_latex(group)}}}" if group else "")
            rules += [rf"\cmidrule(lr){{{at}-{end}}}"] if group else []
            at = end + 1
        lines.append(" & ".join(cells) + r" \\ " + "".join(rules))
    lines.append(" & ".join(map(escape_latex, [*sheet.stub, *(name for _, name in sheet.columns)])) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(map(escape_latex, row)) + r" \\" for row in sheet.rows]
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in sheet.notes)]
    return "\n".join(lines) + "\n"


def number(value: float | None, digits: int = 2) -> str:
    """A number as a table shows it; nothing where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.{digits}f}"


def _finite(content: Any) -> Any:
    """NaN as null, since JSON has none."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _piped(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
