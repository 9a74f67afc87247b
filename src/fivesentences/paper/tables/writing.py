"""One table as CSV, Markdown, LaTeX and HTML: the same numbers, each above the published one."""

from __future__ import annotations

from pathlib import Path

from fivesentences.metrics.latex import escape_latex
from fivesentences.paper.tables.html import table_page
from fivesentences.paper.tables.table import ShownCell, Table, spans
from fivesentences.paper.text.markdown import escape_markdown, piped
from fivesentences.storage import replacing

PLUS_MINUS = "±"


def write_table(table: Table, stem: Path | str) -> None:
    """Write ``stem`` with the suffixes .csv, .md, .tex, .html and .json."""
    stem = Path(stem)
    for suffix, text in (("csv", csv), ("md", markdown), ("tex", latex), ("html", table_page)):
        with replacing(stem.with_name(f"{stem.name}.{suffix}")) as temporary:
            temporary.write_text(text(table), encoding="utf-8")
    table.write(stem.with_name(f"{stem.name}.json"))


def csv(table: Table) -> str:
    """One line per cell: what it measures, our number, its uncertainty, the published value and the difference."""
    return table.tidy().to_csv(index=False, lineterminator="\n")


def markdown(table: Table) -> str:
    """A GitHub table with one heading line; published values and differences in lines of their own below ours."""
    lines = [f"### {table.title}", "", table.caption, ""]
    stub, columns = len(table.stub), len(table.columns)
    if table.groups:
        lines.append(piped([*table.stub, *(escape_markdown(column.label) for column in table.columns)]))
        lines.append(piped(["---"] * stub + ["---:"] * columns))
    else:
        lines.append(table.empty)
    for group in table.groups:
        lines.append(piped([f"**{escape_markdown(group.title)}**", *[""] * (stub + columns - 1)]))
        for row in group.rows:
            for line in table.lines(row):
                lines.append(piped([*map(escape_markdown, line.stub), *map(_markdown_cell, line.cells)]))
    lines += ["", *(f"- {escape_markdown(note)}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def latex(table: Table) -> str:
    r"""A ``table*`` for a document that loads booktabs and graphicx; shrunk only if wider than the page."""
    stub, columns = len(table.stub), len(table.columns)
    # Uncertainties have columns of their own, so that the numbers are aligned.
    width, form = (2, r"r@{\,}l") if any(table.widest_beside) else (1, "r")
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
            rf"\begin{{tabular}}{{@{{}}{'l' * stub}{form * columns}@{{}}}}",
            r"\toprule",
        ]
        for headings in table.upper_headings:
            lines += _latex_heading(headings, stub, width)
        lowest = [escape_latex(column.headings[-1]) for column in table.columns]
        if width == 2:
            lowest = [rf"\multicolumn{{2}}{{c}}{{{heading}}}" for heading in lowest]
        lines.append(" & ".join([*map(escape_latex, table.stub), *lowest]) + r" \\")
    for group in table.groups:
        title = rf"\textit{{{escape_latex(group.title)}}}"
        lines += [r"\midrule", rf"\multicolumn{{{stub + width * columns}}}{{@{{}}l}}{{{title}}} \\"]
        for row in group.rows:
            for line in table.lines(row):
                cells = [text for cell in line.cells for text in _latex_cell(cell)[:width]]
                lines.append(" & ".join([*map(escape_latex, line.stub), *cells]) + r" \\")
    if table.groups:
        lines += [r"\bottomrule", r"\end{tabular}}"]
    else:
        lines.append(escape_latex(table.empty) + r"\par")
    notes = " ".join(escape_latex(note) for note in table.notes)
    lines += [rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {notes}}}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def _markdown_cell(cell: ShownCell) -> str:
    number = f"**{cell.text}**" if cell.best else cell.text
    if not cell.beside:
        return number
    return f"{number} {cell.beside.replace(PLUS_MINUS, f'{PLUS_MINUS} ')}"


def _latex_cell(cell: ShownCell) -> tuple[str, str]:
    """A number and its uncertainty."""
    number, beside = escape_latex(cell.text), escape_latex(cell.beside)
    return rf"\textbf{{{number}}}" if cell.best else number, rf"{{\tiny {beside}}}" if beside else ""


def _latex_heading(headings: list[str], stub: int, width: int) -> list[str]:
    cells, rules, start = [""] * stub, [], stub + 1
    for heading, columns in spans(headings):
        end = start + width * columns - 1
        cells.append(rf"\multicolumn{{{width * columns}}}{{c}}{{{escape_latex(heading)}}}")
        if heading:
            rules.append(rf"\cmidrule(lr){{{start}-{end}}}")
        start = end + 1
    return [" & ".join(cells) + r" \\", "".join(rules)]
