"""One table as CSV, Markdown, LaTeX and HTML: the same numbers, each above the number in print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fivesentences.paper.html import table_sheet
from fivesentences.paper.tables import Cell, Table, TableRow, spans, tidy
from fivesentences.storage import replacing

MINUS, PLUS_MINUS = "\N{MINUS SIGN}", "±"
# What LaTeX would read as a command, and signs that plain pdflatex does not know.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\rightarrow$", "φ": r"$\varphi$",
    "τ": r"$\tau$", MINUS: "$-$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "“": "``", "”": "''", "’": "'",
    "†": r"$\dagger$", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def write_table(table: Table, stem: Path | str) -> None:
    """Write ``stem`` with the suffixes .csv, .md, .tex, .html and .json."""
    stem = Path(stem)
    for suffix, text in (("csv", csv), ("md", markdown), ("tex", latex), ("html", table_sheet)):
        with replacing(stem.with_name(f"{stem.name}.{suffix}")) as temporary:
            temporary.write_text(text(table), encoding="utf-8")
    table.write(stem.with_name(f"{stem.name}.json"))


def csv(table: Table) -> str:
    """One line a cell: what it measures, mean, spread, seeds, print and difference, unrounded."""
    return tidy(table).to_csv(index=False, lineterminator="\n")


def markdown(table: Table) -> str:
    """A GitHub table with one heading line; print and differences in lines of their own below ours."""
    lines = [f"### {table.title}", "", table.caption, ""]
    if table.groups:
        headings = ["Model", "Training", *(column.label for column in table.columns)]
        lines += [_piped(headings), _piped(["---", "---", *("---:" for _ in table.columns)])]
    for group in table.groups:
        lines.append(_piped([f"**{_plain(group.title)}**", *("" for _ in range(len(table.columns) + 1))]))
        for row in group.rows:
            for (model, loss), cells in _lines_of_row(row, _markdown_cell):
                lines.append(_piped([_plain(model), _plain(loss), *cells]))
    if not table.groups:
        lines.append(f"None of its rows is made at the scale {table.scale}.")
    lines += ["", *(f"- {_plain(note)}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def latex(table: Table) -> str:
    r"""A ``table*`` for a document that loads booktabs and graphicx; shrunk only if wider than the page."""
    columns = table.columns
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table*}[t]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3.5pt}",
        rf"\caption{{{escape_latex(f'{table.title}. {table.caption}')}}}\medskip",
        rf"\label{{tab:{table.study.replace('_', '-')}-{table.name.replace('_', '-')}}}",
    ]
    if table.groups:
        lines += [
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{@{{}}ll{'r' * len(columns)}@{{}}}}",
            r"\toprule",
        ]
        families = [column.family for column in columns]
        if len(set(families)) > 1:
            lines += _latex_heading(families)
        lines += _latex_heading([column.direction for column in columns])
        lines.append(" & ".join(["Model", "Training", *(escape_latex(c.heading) for c in columns)]) + r" \\")
    for group in table.groups:
        lines += [
            r"\midrule",
            rf"\multicolumn{{{len(columns) + 2}}}{{@{{}}l}}{{\textit{{{escape_latex(group.title)}}}}} \\",
        ]
        for row in group.rows:
            for stub, cells in _lines_of_row(row, _latex_cell):
                # What has no spread of its own keeps room for one, so that numbers stand below each other.
                room = r"\phantom{\,{\tiny$\pm$0.0}}" if table.spreads else ""
                numbers = [cell.replace(MINUS, "$-$") + (room if cell and "pm" not in cell else "") for cell in cells]
                lines.append(" & ".join([*(escape_latex(text) for text in stub), *numbers]) + r" \\")
    if table.groups:
        lines += [r"\bottomrule", r"\end{tabular}}"]
    else:
        lines.append(escape_latex(f"None of its rows is made at the scale {table.scale}.") + r"\par")
    notes = " ".join(escape_latex(note) for note in table.notes)
    lines += [rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {notes}}}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _lines_of_row(row: TableRow, shown: Callable[[Cell], str]) -> list[tuple[tuple[str, str], list[str]]]:
    """A row as one line, and below it print and the difference where there are any."""
    printed = [_number(cell.published) for cell in row.cells]
    what = "print" if row.same_data else "print, other data"
    if row.kind == "print":
        return [((row.labels[0], what), printed)]
    lines = [(row.labels, [shown(cell) for cell in row.cells])]
    if any(printed):
        lines.append((("", what), printed))
    if any(cell.difference is not None for cell in row.cells):
        lines.append((("", "ours minus print"), [_signed(cell.difference) for cell in row.cells]))
    return lines


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}".replace("-", MINUS)


def _markdown_cell(cell: Cell) -> str:
    mean = f"**{_number(cell.mean)}**" if cell.best else _number(cell.mean)
    return mean if cell.spread is None else f"{mean} {PLUS_MINUS} {cell.spread:.1f}"


def _latex_cell(cell: Cell) -> str:
    mean = rf"\textbf{{{_number(cell.mean)}}}" if cell.best else _number(cell.mean)
    return mean if cell.spread is None else rf"{mean}\,{{\tiny$\pm${cell.spread:.1f}}}"


def _latex_heading(headings: list[str]) -> list[str]:
    cells, rules, start = ["", ""], [], 3
    for heading, width in spans(headings):
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(heading)}}}")
        if heading:
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [" & ".join(cells) + r" \\", "".join(rules)] if rules else []


def _piped(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
