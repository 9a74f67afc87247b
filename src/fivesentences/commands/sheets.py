"""A command's numbers as a table in the terminal, Markdown and LaTeX, and as CSV and JSON for programs."""

from __future__ import annotations

import json as json_module
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

import fivesentences
from fivesentences.commands.arguments import Quiet
from fivesentences.console import working
from fivesentences.errors import InputError, visible
from fivesentences.metrics.sheet import Sheet, latex, markdown
from fivesentences.semantics.phi_file import is_note_beside, note_beside
from fivesentences.storage import check_outputs, replacing, sha256_of, together

if TYPE_CHECKING:
    import pandas as pd

# Usual endings of files, by their form.
ENDINGS = {"json": ".json", "csv": ".csv", "markdown": ".md", "latex": ".tex"}
STDOUT = "-"
ENDLESS = 1_000_000  # columns of a terminal that is wide enough for everything
Read = Sequence[tuple[str, Path | str | None]]  # what each file is that a command reads, and its name as it was given


@dataclass(frozen=True)
class Outputs:
    """Where a command's numbers go.

    Attributes:
        json: Write JSON; - is standard output.
        csv: Write one row per number; - as above.
        markdown: Write the table; - as above.
        latex: Write the table; - as above.
        quiet: No progress bar; no table where one is written to a file.
    """

    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    latex: Path | None = None
    quiet: Quiet = False

    @property
    def files(self) -> dict[str, Path]:
        """The files that were asked for, by their form."""
        asked = {"json": self.json, "csv": self.csv, "markdown": self.markdown, "latex": self.latex}
        return {form: path for form, path in asked.items() if path is not None}

    @property
    def shows_table(self) -> bool:
        """Whether the table is printed, with its notes."""
        return not any(str(path) == STDOUT for path in self.files.values()) and not (self.quiet and self.files)

    def check(
        self,
        read: Read = (),
        others: Mapping[str, Path | None] = MappingProxyType({}),
        folder: Path | None = None,
    ) -> None:
        """Check before anything is read that every file can be written.

        Args:
            read: Every file that the command reads; notes beside phi matrices are added.
            others: Further files that the command writes, by what to call them, such as ``--per-query``.
            folder: A folder that is an output too, such as that of ``--trec``.

        Raises:
            typer.BadParameter: If two go to standard output.
            InputError: If one cannot be written, has the ending of another format, or would overwrite an input or
                another output.
        """
        now()  # refuses a SOURCE_DATE_EPOCH that is no time
        shown = [form for form, path in self.files.items() if str(path) == STDOUT]
        if len(shown) > 1:
            what = f"--{shown[0]} writes to standard output already; name another file."
            raise typer.BadParameter(what, param_hint=f"--{shown[1]}")
        written = {f"--{form}": path for form, path in self.files.items() if form not in shown}
        written |= {name: path for name, path in others.items() if path is not None}
        files = [(what, file_of(file)) for what, file in read if file is not None]
        notes = [note_beside(file) for what, file in files if what == "phi" and is_note_beside(file)]
        check_outputs(written, [*(file for _, file in files), *notes], folder)
        for form, path in self.files.items():
            if path.suffix in {*ENDINGS.values(), ".pdf", ".npy"} and path.suffix != ENDINGS[form]:
                what = f"--{form} writes no {path.suffix} file"
                raise InputError(what, where=path, cure=f"name it {path.with_suffix(ENDINGS[form]).name}")

    def write(
        self,
        sheets: Sequence[Sheet],
        tidy: Callable[[], pd.DataFrame],
        content: dict[str, Any],
        read: Read = (),
        printed: Callable[[], Sheet] | None = None,
    ) -> None:
        """Write what was asked for, and show the table unless ``quiet`` is set or standard output is in use.

        Args:
            sheets: For the terminal, Markdown and LaTeX.
            tidy: Makes the table for CSV.
            content: For JSON, which also says how it was made: version, command line, date, and inputs with digests.
            read: Every file that the command read.
            printed: Makes another table for LaTeX.
        """
        texts: dict[str, Callable[[], str]] = {
            "json": lambda: _json(content | _provenance(read)),
            "csv": lambda: tidy().to_csv(index=False, lineterminator="\n"),
            "markdown": lambda: "\n".join(map(markdown, sheets)),
            "latex": lambda: "\n".join(map(latex, sheets if printed is None else [printed()])),
        }
        with together():
            for form, path in self.files.items():
                if str(path) == STDOUT:
                    sys.stdout.write(texts[form]())
                else:
                    with replacing(path) as temporary:
                        temporary.write_text(texts[form](), encoding="utf-8")
        if self.shows_table:
            show(sheets)


def file_of(given: Path | str) -> Path:
    """Return the file of an argument such as ``FILE``, or ``FILE:NAME`` for one of several arrays."""
    path = Path(given)
    return path if path.exists() else path.with_name(path.name.rpartition(":")[0] or path.name)


def _json(content: Any) -> str:
    """Return JSON with null in place of NaN, which JSON lacks."""
    finite = json_module.loads(json_module.dumps(content), parse_constant=lambda constant: None)
    return json_module.dumps(finite, indent=1) + "\n"


def _provenance(read: Read) -> dict[str, Any]:
    inputs = []
    with working("digests of the inputs"):
        for what, file in read:
            if file is not None:
                path = file_of(file)
                digest = sha256_of(path) if path.is_file() else None
                inputs.append({"what": what, "file": str(file), "sha256": digest})
    command = shlex.join(["fivesentences", *sys.argv[1:]])
    date = now().isoformat(timespec="seconds")
    return {"fivesentences": fivesentences.__version__, "command": command, "date": date, "inputs": inputs}


def now() -> datetime:
    """Return the time, or that of SOURCE_DATE_EPOCH, by which builds are made reproducible.

    Raises:
        InputError: If SOURCE_DATE_EPOCH is no time.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC)
    if not (epoch.isdecimal() and len(epoch) < 12):
        raise InputError(f"SOURCE_DATE_EPOCH is '{epoch[:40]}'; it is a number of seconds since 1970, or not set.")
    return datetime.fromtimestamp(int(epoch), UTC)


def show(sheets: Sequence[Sheet]) -> None:
    """Print tables. Numbers and labels are never truncated: a table that is too wide runs over the edge."""
    room = Console().width if sys.stdout.isatty() else ENDLESS
    for number, sheet in enumerate(sheets):
        if sheet.title:
            print("\n" * bool(number), end="")
            _console(room).print(Text(visible(sheet.title), style="bold"))
        table = _table(sheet)
        needed = _console(ENDLESS).measure(table).maximum if sheet.columns else 0  # only text is folded, not numbers
        print()
        console = _console(max(room, needed))
        with console.capture() as drawn:
            console.print(table)
        print("\n".join(line.rstrip() for line in drawn.get().split("\n")), end="")
        print("\n" * bool(sheet.notes), end="")
        for note in sheet.notes:
            _console(room).print(Text(visible(note)), style="dim")


def _console(width: int) -> Console:
    return Console(width=width, height=25)  # without a height rich takes a dumb terminal for one of 80 columns


def _table(sheet: Sheet) -> Table:
    # Narrow, so that ten columns of numbers fit into a terminal of eighty columns.
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    for name in sheet.stub:
        table.add_column(Text(visible(name)), overflow="fold")
    previous = None
    for group, name in sheet.columns:
        shown = visible(name)
        if any(g for g, _ in sheet.columns):
            shown = f"{visible(group) if group != previous else ''}\n{shown}"
        table.add_column(Text(shown), justify="right", no_wrap=True)
        previous = group
    for row in sheet.rows:
        if row:
            table.add_row(*(_cell(cell, len(over)) for cell, over in zip(row, sheet.longest_superscripts, strict=True)))
        else:
            table.add_section()
    return table


def _cell(cell: str, width: int) -> Text:
    """Return a cell with its superscript behind it, in as many letters as the column has."""
    text = Text(visible(cell), style="bold" if getattr(cell, "bold", False) else "")
    return text.append(f" {getattr(cell, 'over', ''):<{width}}", style="not bold") if width else text


def number(value: float | None, digits: int = 2) -> str:
    """Return a number as a table shows it; empty if there is none."""
    return "" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"
