"""One table as CSV, Markdown, LaTeX and HTML, and one LaTeX document of a scale's tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Literal, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.metrics import sheet
from fivesentences.metrics.latex import escape_latex
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.tables.table import Table
from fivesentences.reproduction.paper.text.names import MINUS
from fivesentences.reproduction.study.exhibits import TableSpec
from fivesentences.reproduction.study.study import Study
from fivesentences.storage import replacing

# Where templates are; styles that the page of one's own model has too are in the library.
TEMPLATES = ("fivesentences.reproduction.paper", "fivesentences.pages")
TABLE_FORMATS = ("csv", "md", "tex", "html", "json")
# Mean widths in points in LaTeX's footnotesize and tiny, and what is between columns and before an uncertainty.
LETTER, SMALL_LETTER, GAP, HAIR = 4.2, 3.6, 7.0, 1.5


def write_table(table: Table, stem: Path | str, formats: Sequence[str] = TABLE_FORMATS) -> None:
    """Write ``stem`` with the suffixes of the formats."""
    stem = Path(stem)
    for suffix, text in (("csv", csv), ("md", markdown), ("tex", latex), ("html", table_page)):
        if suffix in formats:
            with replacing(stem.with_name(f"{stem.name}.{suffix}")) as temporary:
                temporary.write_text(text(table), encoding="utf-8")
    if "json" in formats:
        table.write(stem.with_name(f"{stem.name}.json"))


def csv(table: Table) -> str:
    """Write one line per cell: measure, our number, its uncertainty, the published value and the difference."""
    return table.tidy().to_csv(index=False, lineterminator="\n")


def markdown(table: Table) -> str:
    """Write a GitHub table with one heading line; published values and differences stand in lines below ours."""
    return sheet.markdown(table.laid_out())


def latex(table: Table) -> str:
    r"""Write a ``table*`` for a document that loads booktabs and graphicx, shrunk only where it would leave the page.

    It is never wider than the line, its cells never higher than 55% of a page, and its notes than 30%.
    """
    title = escape_latex(table.title)
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table*}[t]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3.5pt}",
        rf"\caption[{{{title}}}]{{{title}. {escape_latex(table.caption)}}}\medskip",
        rf"\label{{{label_of('tab', table.study, table.name)}}}",
    ]
    if table.groups:
        *cells, end = sheet.tabular(table.laid_out(), "\n")
        lines += [
            r"\resizebox*{!}{\ifdim\totalheight>.55\textheight .55\textheight\else\totalheight\fi}{%",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            *cells,
            f"{end}}}}}",
        ]
    else:
        lines.append(escape_latex(table.empty) + r"\par")
    notes = " ".join(escape_latex(note) for note in table.notes)
    lines += [
        r"\par\smallskip",
        r"\resizebox*{!}{\ifdim\totalheight>.3\textheight .3\textheight\else\totalheight\fi}{%",
        rf"\parbox{{\linewidth}}{{\scriptsize {notes}}}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def table_page(table: Table) -> str:
    """Render one table as a self-contained HTML page: no script, font or picture from elsewhere."""
    return environment().get_template("table_page.html").render(table=table)


def environment() -> Environment:
    """Return the environment of the templates of tables and pages."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(spans=sheet.spans, width=_width)
    return found


def label_of(kind: Literal["tab", "fig"], study: str, name: str) -> str:
    r"""Return the name of a table or figure for ``\ref`` in LaTeX, such as ``tab:five-sentences-table2``."""
    return f"{kind}:{study}-{name}".replace("_", "-")


def latex_width(table: Table) -> float:
    """Estimate the width of a table in LaTeX before it is shrunk, in points; a document turns wide ones."""
    lines = [line for group in table.groups for row in group.rows for line in table.lines(row)]
    names = [max([len(heading), *(len(line.stub[at]) for line in lines)]) for at, heading in enumerate(table.stub)]
    widths = [LETTER * letters + GAP for letters in names]
    for at, (column, room) in enumerate(zip(table.columns, table.widest_beside, strict=True)):
        number = LETTER * max((len(line.cells[at]) for line in lines), default=0)
        beside = SMALL_LETTER * len(room) + HAIR if room else 0
        widths.append(max(LETTER * len(column.headings[-1]), number + beside) + GAP)
    # A heading that is wider than its columns widens them.
    for headings in table.laid_out().upper_headings:
        end = len(table.stub)
        for heading, columns in sheet.spans(headings):
            end += columns
            widths[end - 1] += max(0.0, LETTER * len(heading) + GAP - sum(widths[end - columns : end]))
    return max([sum(widths), *(LETTER * len(group.title) + GAP for group in table.groups)])


def _width(text: str) -> float:
    """Estimate the width of a text in a sans-serif font, in em."""
    widths = {MINUS: 0.84} | dict.fromkeys(" .,[]", 0.3)
    return round(0.1 + sum(widths.get(letter, 0.58) for letter in text), 1)


# Points of an A4 page between its margins, and how many times wider a table may be before its page is turned.
PORTRAIT, TURNED_FROM = 484, 1.2
HEADER = 95  # characters of a paper's title that fit above a page
HEAD = r"""% Compile it where it lies, twice: pdflatex {file}.tex. From Debian it needs texlive-latex-recommended.
\documentclass{{article}}
\usepackage[a4paper,margin=2cm]{{geometry}}
\usepackage{{booktabs,float,graphicx,pdflscape}}
\usepackage[labelfont=bf]{{caption}}
\usepackage[hidelinks,pdftitle={{{title}}}]{{hyperref}}
% Nothing floats: tables and figures stand in the order of the studies.
\renewenvironment{{table*}}[1][]{{\begin{{table}}[H]}}{{\end{{table}}}}
\emergencystretch=2em
\pagestyle{{myheadings}}
\begin{{document}}
\title{{{title}}}\author{{}}\date{{}}
\maketitle
\listoftables
\listoffigures
"""


def write_document(scale: Scale, studies: Mapping[str, Study], path: Path) -> None:
    """Write a document beside the folders of the studies, which hold their tables and figures.

    Args:
        scale: The scale.
        studies: Its studies, by the names of their files.
        path: Where; it ends in .tex.

    Raises:
        InputError: If a table or figure of a study has not been made.
    """
    parts = [HEAD.format(file=path.stem, title=escape_latex(scale.title))]
    for name, study in studies.items():
        exhibits = study.made_at(scale)
        if exhibits:
            paper, header = escape_latex(study.paper), escape_latex(shorten(study.paper, HEADER, placeholder=" …"))
            parts.append("\\clearpage\n" + rf"\section*{{{paper}}}\markright{{{header}}}")
        for tables in sorted({isinstance(one, TableSpec) for one in exhibits}):
            parts.append(rf"\addcontentsline{{{'lot' if tables else 'lof'}}}{{section}}{{{paper}}}")
        for one in exhibits:
            stem = f"{name}/{one.name}"
            parts += _table(path.parent, stem) if isinstance(one, TableSpec) else _figure(path.parent, stem)
    with replacing(path) as temporary:
        temporary.write_text("\n".join([*parts, r"\end{document}"]) + "\n", encoding="utf-8")


def _table(folder: Path, stem: str) -> Iterator[str]:
    turned = latex_width(Table.read(folder / f"{stem}.json")) > TURNED_FROM * PORTRAIT
    yield rf"\begin{{landscape}}\input{{{stem}}}\end{{landscape}}" if turned else rf"\input{{{stem}}}"


def _figure(folder: Path, stem: str) -> Iterator[str]:
    texts = read_texts(folder / f"{stem}.json")
    study, _, name = stem.partition("/")
    shown, notes_below = escape_latex(texts.heading), " ".join(map(escape_latex, texts.notes))
    yield r"\begin{figure}[H]\centering"
    if texts.empty:
        yield "Nothing of this figure is made at this scale."
    else:
        yield rf"\includegraphics[width=\linewidth,height=.6\textheight,keepaspectratio]{{{stem}.pdf}}"
    yield rf"\caption[{{{shown}}}]{{{shown}. {escape_latex(texts.below)}}}\label{{{label_of('fig', study, name)}}}"
    yield rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {notes_below}}}"
    yield r"\end{figure}"


class FigureTexts(NamedTuple):
    """Texts of a written figure: title and caption as the study has them, what the data show, and notes."""

    title: str
    caption: str
    notes: list[str]
    message: str
    empty: bool

    @property
    def heading(self) -> str:
        """What the data show; without it the title."""
        return self.message or self.title

    @property
    def below(self) -> str:
        """The caption, behind the title if the heading is another."""
        return f"{self.title}. {self.caption}" if self.message else self.caption


def read_texts(path: Path) -> FigureTexts:
    """Read the texts of a written figure from its .json.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    texts = read_json(path, "draw the figure again")
    try:
        title, caption, notes = str(texts["title"]), str(texts["caption"]), [str(note) for note in texts["notes"]]
    except (KeyError, TypeError):
        raise InputError(f"{path}: these are not the texts of a figure; draw it again.") from None
    return FigureTexts(title, caption, notes, texts.get("message", ""), texts.get("empty", False))
