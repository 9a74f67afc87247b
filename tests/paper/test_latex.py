"""Tables and the document of a scale, compiled by LaTeX."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fivesentences.commands.model_rows import rows_of
from fivesentences.config.metrics import choices_of
from fivesentences.evaluation.comparable import comparable_named
from fivesentences.metrics.latex import escape_latex, latex_row
from fivesentences.metrics.sheet import Marked, Sheet
from fivesentences.metrics.sheet import latex as latex_of_command
from fivesentences.metrics.values import KEYS
from fivesentences.reproduction.paper.tables.table import Table
from fivesentences.reproduction.paper.tables.writing import (
    PORTRAIT,
    TURNED_FROM,
    latex,
    latex_width,
    read_texts,
    write_document,
)
from fivesentences.reproduction.study.exhibits import TableSpec

HOSTILE = (
    r"[50% & a_b #1 {x} ~ ^ \input{missing} \end{document} $y$ `z' <i> | *2 a--b",
    "* −1 ± 2 × 3 · 4 φ ϕ λₐ ζ x² ≥ ≤ → “q” ‘r’ – — … ½ é ï ç ą đ ß Ł ș Ω Α",
    "[\n\t\0two\x07 lines\u200b\u0301 中文 😀 ﬁ\N{NO-BREAK SPACE}Й",
    "] } \\",
    "%",
    "&",
)
ARTICLE = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""


@pytest.fixture(params=["pdflatex", "lualatex"])
def compiled(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., str]:
    """Compiles a document in a folder and gives what LaTeX logged; an error of LaTeX fails the test."""
    engine = shutil.which(request.param)
    if engine is None:
        pytest.skip(f"needs {request.param}: Debian's texlive-latex-recommended")

    def compile(text: str | Path, times: int = 1) -> str:
        path = text if isinstance(text, Path) else tmp_path / "document.tex"
        if isinstance(text, str):
            path.write_text(text, encoding="utf-8")
        command = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name]
        for _ in range(times):
            # Without line breaks in the log; what is generated there belongs to the test.
            environment = os.environ | {"max_print_line": "10000", "TEXMFVAR": str(tmp_path / "texmf-var")}
            done = subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, timeout=300)
        log = path.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
        assert done.returncode == 0 and path.with_suffix(".pdf").stat().st_size > 1000, log[-3000:]
        return log

    return compile


def complaints(log: str) -> list[str]:
    """What a reader would see: text beyond a line or a page, references to nothing, letters that no font has."""
    signs = r"Overfull|too large|undefined (on|references)|multiply defined|Missing character|Too many"
    return [line for line in log.splitlines() if re.search(signs, line)]


def with_texts(thing: Any, texts: dict[str, str]) -> Any:
    """A table whose texts are others, wherever a reader sees them."""
    if isinstance(thing, str):
        return texts.setdefault(thing, HOSTILE[len(texts) % len(HOSTILE)]) if thing else thing
    if isinstance(thing, tuple):
        return tuple(with_texts(one, texts) for one in thing)
    if not is_dataclass(thing):
        return thing
    kept = ("study", "name", "scale", "kind", "keys", "better", "csv")
    return replace(
        thing, **{f.name: with_texts(getattr(thing, f.name), texts) for f in fields(thing) if f.name not in kept}
    )


@pytest.mark.slow
@pytest.mark.latex
def test_all_tables_and_figures_of_a_scale_become_one_document(compiled, everything, everything_written, tmp_path):
    plan, path = everything.plan, tmp_path / "made" / "paper.tex"
    shutil.copytree(everything_written, path.parent)
    write_document(plan.scale, plan.studies, path)
    assert complaints(compiled(path, times=2)) == []
    for suffix, kind, exhibits in (("lot", "table", plan.tables), ("lof", "figure", plan.figures)):
        listed = path.with_suffix(f".{suffix}").read_text(encoding="utf-8")
        assert listed.count(rf"\contentsline {{{kind}}}") == len(exhibits)
        for name, exhibit in exhibits.items():
            heading = exhibit.title if kind == "table" else read_texts(path.parent / f"{name}.json").heading
            assert escape_latex(heading).split("$")[0].split("\\")[0] in listed
    labels = path.with_suffix(".aux").read_text(encoding="utf-8")
    assert r"\newlabel{tab:five-sentences-table2}" in labels and r"\newlabel{fig:knn-margin-hubness}" in labels


@pytest.mark.slow
@pytest.mark.latex
@pytest.mark.parametrize("name", ["five_sentences/table1", "five_sentences/table2", "sched_sam/margin_contrasts"])
def test_texts_of_any_kind_are_printed_and_do_nothing(compiled, everything_written, name):
    table = Table.read(everything_written / f"{name}.json")
    hostile = with_texts(table, {})
    assert hostile != table and len(hostile.groups) == len(table.groups)
    text = latex(hostile)
    assert text.isascii()
    found = [line for line in complaints(compiled(ARTICLE % text)) if "Overfull" not in line]
    assert found == []


@pytest.mark.latex
def test_the_table_of_a_command_compiles_too(compiled):
    rows = [[text, "1.0", Marked("2.0", bold=True)] for text in HOSTILE]
    columns = [(HOSTILE[1], HOSTILE[2]), ("", HOSTILE[4])]
    text = latex_of_command(Sheet([HOSTILE[0]], columns, rows, title="a\nb", notes=["c\nd"]))
    assert complaints(compiled(ARTICLE % rf"\noindent\resizebox{{\linewidth}}{{!}}{{%{chr(10)}{text}}}")) == []


@pytest.mark.latex
def test_the_table_of_models_compiles_with_names_of_any_kind(compiled):
    choices, published = choices_of("R,Rsum,NCS,Nsum"), comparable_named("five-sentences:flickr30k").rows()
    values = published[0].values
    models = {name: {key: value + at for key, value in values.items()} for at, name in enumerate(HOSTILE)}
    compared = {"model": HOSTILE[2], "against": HOSTILE[0], "difference": 1.0, "p_holm": 0}
    tests = pd.DataFrame([dict(zip(KEYS, key, strict=True)) | compared for key in values])
    tests.attrs.update(method="permutation", resamples=9999, pairs=15)
    text = latex_of_command(rows_of(models, published, choices, tests, spelled=True))
    assert text.isascii() and text.count(r"\textsuperscript{a}") >= len(values) and text.count(r"\midrule") == 2
    assert complaints(compiled(ARTICLE % rf"\noindent\resizebox{{\linewidth}}{{!}}{{%{chr(10)}{text}}}")) == []


@pytest.mark.slow
@pytest.mark.latex
def test_tables_fit_two_columns_and_pages_are_turned_for_those_that_are_too_wide(
    compiled, everything, everything_written
):
    written = {
        name: (everything_written / f"{name}.tex").read_text(encoding="utf-8") for name in everything.plan.tables
    }
    tables = {name: Table.read(everything_written / f"{name}.json") for name in written}
    bodies = {name: re.search(r"\\begin\{tabular\}.*\\end\{tabular\}", one, re.DOTALL) for name, one in written.items()}
    boxes = [
        rf"\sbox0{{\footnotesize\setlength{{\tabcolsep}}{{3.5pt}}{body[0]}}}\typeout{{WIDTH {name} \the\wd0}}"
        for name, body in bodies.items()
        if body
    ]
    log = compiled(ARTICLE % "\n".join(["text", *boxes, "\n\\clearpage\n".join(written.values())]))
    assert complaints(log) == []
    measured = dict(re.findall(r"WIDTH (\S+) ([\d.]+)pt", log))
    assert len(measured) == len(boxes)
    for name, width in measured.items():
        assert 0.8 < latex_width(tables[name]) / float(width) < 1.25, name


@pytest.mark.slow
def test_the_document_names_every_table_and_figure_once_in_the_order_of_the_studies(
    everything, everything_written, tmp_path
):
    plan = everything.plan
    shutil.copytree(everything_written, tmp_path / "made")
    write_document(plan.scale, plan.studies, tmp_path / "made" / "paper.tex")
    text = (tmp_path / "made" / "paper.tex").read_text(encoding="utf-8")
    found = re.findall(r"\\(?:input|includegraphics\[.*?\])\{(\w+/\w+)", text)
    expected = [f"{name}/{one.name}" for name, study in plan.studies.items() for one in study.made_at(plan.scale)]
    figures = {name: read_texts(everything_written / f"{name}.json") for name in plan.figures}
    expected = [name for name in expected if name not in figures or not figures[name].empty]
    assert found == expected and any(isinstance(one, TableSpec) for one in plan.exhibits.values())
    turned = set(re.findall(r"\\begin\{landscape\}\\input\{(.+?)\}", text))
    widths = {name: latex_width(Table.read(everything_written / f"{name}.json")) for name in plan.tables}
    assert turned and turned == {name for name, width in widths.items() if width > TURNED_FROM * PORTRAIT}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("é ï ç Ż", r"\'{e} \"{\i} \c{c} \.{Z}"),
        ("λₐ x² ½", r"$\lambda$\textsubscript{a} x\textsuperscript{2} 1/2"),
        ("ą đ ș", "a d s"),
        ("中 😀", "U+4E2D U+1F600"),
        ("a--b – c", "a-{}-b -- c"),
        ("a\n\t b\0", "a b"),
    ],
)
def test_letters_that_latex_lacks_are_written_with_what_it_has(text, printed):
    assert escape_latex(text) == printed


def test_a_row_gives_no_option_to_the_end_of_the_row_above():
    assert latex_row(["[0, 1]", "[2]"]) == r"{[}0, 1] & [2] \\"
    assert latex_row(["*", ""]) == r"{*} &  \\"
