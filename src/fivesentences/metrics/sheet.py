"""A table as a reader sees it, in Markdown and LaTeX; commands show it in the terminal too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fivesentences.metrics.latex import escape_latex, latex_row
from fivesentences.metrics.markdown import escape_markdown, piped


class Marked(str):
    """A cell that may be bold, with a superscript or a smaller text behind it.

    Attributes:
        bold: Whether it is printed in bold.
        over: The superscript.
        beside: The smaller text, such as an uncertainty.
    """

    bold: bool
    over: str
    beside: str

    def __new__(cls, text: str, bold: bool = False, over: str = "", beside: str = "") -> Marked:
        """Create the cell."""
        cell = super().__new__(cls, text)
        cell.bold, cell.over, cell.beside = bold, over, beside
        return cell


@dataclass(frozen=True)
class Sheet:
    """A table for people.

    Attributes:
        stub: Headings of the columns that say what a row is.
        columns: Headings of each column of numbers, uppermost first (may be empty). Neighbours share one that is equal.
        rows: Cells of each row, stub first, as text. A text in place of cells is a title of the rows below, which the
            terminal has not, and an empty row a rule.
        title: The text above it.
        notes: The sentences below it.
        caption: The sentences between the title and the table.
        labels: Headings of each column of numbers in one, for formats without spanning cells; default: one by one.
        empty: Sentence in place of a table without rows.
    """

    stub: Sequence[str]
    columns: Sequence[tuple[str, ...]]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    caption: str = ""
    labels: Sequence[str] = ()
    empty: str = ""

    @property
    def upper_headings(self) -> list[list[str]]:
        """Headings above the lowest, one list per line; lines without any text are left out."""
        return [list(line) for line in zip(*(names[:-1] for names in self.columns), strict=True) if any(line)]

    @property
    def longest_superscripts(self) -> list[str]:
        """The longest superscript of each column."""
        rows = [row for row in self.rows if row and not isinstance(row, str)]
        return [max((getattr(cell, "over", "") for cell in column), key=len) for column in zip(*rows, strict=True)]


def spans(headings: Sequence[str]) -> list[tuple[str, int]]:
    """Count consecutive equal headings: (heading, number of columns)."""
    return [(heading, len(list(same))) for heading, same in itertools.groupby(headings)]


def markdown(sheet: Sheet) -> str:
    """Return a GitHub table with one heading line."""
    labels = [*sheet.stub, *(sheet.labels or (" ".join(names).strip() for names in sheet.columns))]
    lines = [f"### {escape_markdown(sheet.title)}", ""] if sheet.title else []
    lines += [escape_markdown(sheet.caption), ""] if sheet.caption else []
    heading = [piped(map(escape_markdown, labels)), piped(["---"] * len(sheet.stub) + ["---:"] * len(sheet.columns))]
    lines += [escape_markdown(sheet.empty)] if sheet.empty and not sheet.rows else heading
    for row in filter(None, sheet.rows):
        cells = [Marked(row, bold=True), *[""] * (len(labels) - 1)] if isinstance(row, str) else row
        lines.append(piped(map(_in_markdown, cells)))
    lines += ["", *(f"- {escape_markdown(note)}" for note in sheet.notes)] if sheet.notes else []
    return "\n".join(lines) + "\n"


def _in_markdown(cell: str) -> str:
    text = _emphasised(cell, escape_markdown, "**{}**")
    over, beside = getattr(cell, "over", ""), getattr(cell, "beside", "").replace("±", "± ")
    return text + (f"<sup>{over}</sup>" if over else "") + (f" {beside}" if beside else "")


def latex(sheet: Sheet) -> str:
    """Return a ``tabular`` for a document that loads booktabs, with title and notes as comments."""
    title = [sheet.title] if sheet.title else []
    above, below = ([f"% {' '.join(text.split())}" for text in texts] for texts in (title, sheet.notes))
    return "\n".join([r"% needs \usepackage{booktabs}", *above, *tabular(sheet), *below]) + "\n"


def tabular(sheet: Sheet, apart: str = " ") -> list[str]:
    """Return the lines of a ``tabular``; texts beside numbers have columns of their own, which aligns the numbers.

    Args:
        sheet: The table.
        apart: What separates upper headings from the rules below them.
    """
    stub, longest = len(sheet.stub), sheet.longest_superscripts
    has_beside = any(getattr(cell, "beside", "") for row in sheet.rows for cell in row)
    width, form = (2, r"r@{\,}l") if has_beside else (1, "r")
    lines = [rf"\begin{{tabular}}{{@{{}}{'l' * stub}{form * len(sheet.columns)}@{{}}}}", r"\toprule"]
    lines += [_upper(headings, stub, width, apart) for headings in sheet.upper_headings]
    lowest = [escape_latex(names[-1]) for names in sheet.columns]
    lowest = lowest if width == 1 else [rf"\multicolumn{{2}}{{c}}{{{heading}}}" for heading in lowest]
    lines.append(latex_row([*map(escape_latex, sheet.stub), *lowest]))
    lines += [] if isinstance(next(iter(sheet.rows), None), str) else [r"\midrule"]
    for row in sheet.rows:
        if not row:
            lines.append(r"\midrule")
        elif isinstance(row, str):
            title = rf"\textit{{{escape_latex(row)}}}"
            lines += [r"\midrule", rf"\multicolumn{{{stub + width * len(lowest)}}}{{@{{}}l}}{{{title}}} \\"]
        else:
            cells = (_in_latex(cell, over) for cell, over in zip(row, longest, strict=True))
            lines.append(latex_row([part for at, one in enumerate(cells) for part in one[: 1 if at < stub else width]]))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _upper(headings: Sequence[str], stub: int, width: int, apart: str) -> str:
    """Return headings above others in LaTeX, and the rules below them."""
    cells, rules, start = [""] * stub, [], stub + 1
    for heading, columns in spans(headings):
        end = start + width * columns - 1
        cells.append(rf"\multicolumn{{{width * columns}}}{{c}}{{{escape_latex(heading)}}}")
        rules += [rf"\cmidrule(lr){{{start}-{end}}}"] if heading else []
        start = end + 1
    return latex_row(cells) + apart + "".join(rules)


def _in_latex(cell: str, longest: str) -> tuple[str, str]:
    """Return a cell, with room for what the column's longest superscript has more, and the text beside it."""
    over, beside = getattr(cell, "over", ""), escape_latex(getattr(cell, "beside", ""))
    shown = rf"\textsuperscript{{{over}}}" if over else ""
    room = longest[len(over) :]
    shown += rf"\phantom{{\textsuperscript{{{room}}}}}" if room else ""
    return _emphasised(cell, escape_latex, r"\textbf{{{}}}") + shown, rf"{{\tiny {beside}}}" if beside else ""


def _emphasised(cell: str, escape: Callable[[str], str], bold: str) -> str:
    return bold.format(escape(cell)) if getattr(cell, "bold", False) else escape(cell)
