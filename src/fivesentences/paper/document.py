r"""One LaTeX document of a scale's tables and figures, which ``pdflatex paper.tex`` makes a PDF of.

It reads the tables' own .tex files and the figures' .pdf files, so that it shows what goes into a paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import shorten

from fivesentences.config.scales import Scale
from fivesentences.metrics.latex import escape_latex
from fivesentences.paper.figures.drawing import read_texts
from fivesentences.paper.tables.table import Table
from fivesentences.paper.tables.writing import label_of, latex_width
from fivesentences.storage import replacing
from fivesentences.study.exhibits import TableSpec
from fivesentences.study.study import Study

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
    title, caption, notes = read_texts(folder / f"{stem}.json")
    study, _, name = stem.partition("/")
    shown, notes_below = escape_latex(title), " ".join(map(escape_latex, notes))
    yield r"\begin{figure}[H]\centering"
    yield rf"\includegraphics[width=\linewidth,height=.6\textheight,keepaspectratio]{{{stem}.pdf}}"
    yield rf"\caption[{{{shown}}}]{{{shown}. {escape_latex(caption)}}}\label{{{label_of('fig', study, name)}}}"
    yield rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {notes_below}}}"
    yield r"\end{figure}"
