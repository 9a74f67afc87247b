from __future__ import annotations

import io
import re

import pandas as pd
import pytest

from fivesentences.reproduction.paper.rendering import make
from fivesentences.reproduction.paper.tables.table import Table
from fivesentences.reproduction.paper.tables.writing import csv, latex, markdown, table_page


@pytest.fixture(scope="module")
def wide(build, scale) -> Table:
    """A table with rows that only the paper has."""
    return build("five_sentences/table2", scale)


@pytest.fixture(scope="module", params=["other data", "the paper's data", "one seed", "intervals", "wide"])
def table(request, build, make_scale, make_up, judged_by, wide) -> Table:
    """With and without differences, spread, intervals, and rows that only the paper has."""
    if request.param == "wide":
        return wide
    if request.param == "intervals":
        made_up, name = make_up(judged_by("cxc")), "five_sentences/table1"
        return make(made_up.plan.tables[name], made_up.contexts[name], made_up.numbers(name))
    paper = {"roles": {"flickr30k": "flickr30k"}, "datasets": {"flickr30k": {"loader": "karpathy"}}}
    changes = {"one seed": {"seeds": [0]}, "the paper's data": paper | {"features": {"extractor": "vgg19"}}}
    return build("knn_margin/table1", make_scale(**changes.get(request.param, {})))


def expected_lines(table) -> list[list[tuple[str, ...]]]:
    """What a reader must find, line by line: (value, spread or interval), (published,) or (difference,) of a cell."""

    def shown(*values: float | None, sign: str = "") -> tuple[str, ...]:
        return tuple(f"{value:{sign}.{table.decimals}f}" for value in values if value is not None)

    lines = []
    for row in (row for group in table.groups for row in group.rows):
        if row.kind == "ours":
            lines.append([shown(cell.value, cell.spread, cell.low, cell.high) for cell in row.cells])
        if any(cell.published is not None for cell in row.cells):
            lines.append([shown(cell.published) for cell in row.cells])
        if any(cell.difference is not None for cell in row.cells):
            lines.append([shown(cell.difference, sign="+") for cell in row.cells])
    return lines


def markdown_cells(table) -> list[list[str]]:
    lines = [line[2:-2].split(" | ")[-len(table.columns) :] for line in markdown(table).splitlines() if line[:1] == "|"]
    return [line for line in lines if re.search(r"\d\.\d", " ".join(line))]


def latex_cells(table) -> list[list[str]]:
    body = latex(table).split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    lines = [line.removesuffix(r" \\").split(" & ")[2:] for line in body.splitlines() if " & " in line]
    width = 2 if any(table.widest_beside) else 1  # uncertainties have columns of their own
    return [[" ".join(line[start : start + width]) for start in range(0, len(line), width)] for line in lines]


def html_cells(table) -> list[list[str]]:
    lines = re.findall(r"<tr.*?</tr>", table_page(table), re.DOTALL)
    found = [[re.sub(r"<.*?>", " ", cell) for cell in re.findall(r"<td.*?</td>", line, re.DOTALL)] for line in lines]
    return [line[2:] for line in found if line]


@pytest.mark.parametrize("cells", [markdown_cells, latex_cells, html_cells])
def test_every_form_gives_back_every_number(table, cells):
    minus = str.maketrans({"\N{MINUS SIGN}": "-"})
    found = [[cell.replace("$-$", "-").translate(minus) for cell in line] for line in cells(table)]
    assert [[tuple(re.findall(r"[+-]?\d+\.\d+", cell)) for cell in line] for line in found] == expected_lines(table)


def test_csv_gives_back_every_number_unrounded(table):
    frame = pd.read_csv(io.StringIO(csv(table)), dtype={"published_row": str})
    cells = [cell for group in table.groups for row in group.rows for cell in row.cells]
    assert len(frame) == len(cells)
    for name, attribute in table.csv:
        if attribute:
            ours = [getattr(cell, attribute) for cell in cells]
            assert [None if value != value else value for value in frame[name]] == ours


def test_latex_has_balanced_braces_and_only_characters_that_pdflatex_knows(table):
    text = latex(table)
    bare = text.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}") and text.isascii()


def test_labels_cannot_inject_html(build, studies, scale):
    evil = studies["knn_margin"].model_copy(update={"labels": {"vsepp": "<script>alert(1)</script>|*x*"}})
    table = build("knn_margin/table1", scale, study=evil)
    assert "<script" not in table_page(table) and "&lt;script&gt;" in table_page(table)
    row = next(line for line in markdown(table).splitlines() if "alert" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == len(table.columns) + 3


def test_the_page_of_a_table_needs_nothing_else(wide):
    assert not re.search(r"(src|href)=|@import|url\(|<script|<link", table_page(wide))
