from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from fivesentences.paper.html import table_sheet
from fivesentences.paper.tables.agreement import build_agreement_table
from fivesentences.paper.tables.runs import build_table
from fivesentences.paper.tables.writing import csv, escape_latex, latex, markdown, write_table
from fivesentences.plan.rows import runs_of_scale


@pytest.fixture(params=["scenes", "paper", "one seed", "agreement"])
def table(request, studies, scale, paper_scale, make_scale, made_up, published, judged_scale, agreement):
    """Knn_margin's table on other data, on the paper's (with differences), and without spread; one with intervals."""
    if request.param == "agreement":
        study = studies["five_sentences"]
        return build_agreement_table("five_sentences", "table1", study, judged_scale, agreement, published)
    chosen = {"scenes": scale, "paper": paper_scale, "one seed": make_scale(seeds=[0])}[request.param]
    frame = made_up(runs_of_scale(studies, chosen).values())
    return build_table("knn_margin", "table1", studies["knn_margin"], chosen, frame, published)


@pytest.fixture
def wide(studies, scale, frame, published):
    return build_table("five_sentences", "table2", studies["five_sentences"], scale, frame, published)


def expected_lines(table) -> list[list[tuple[str, ...]]]:
    """What a reader must find, line by line: (value, spread or interval), (print,) or (difference,) of every cell."""

    def shown(*values: float | None, sign: str = "") -> tuple[str, ...]:
        return tuple(f"{value:{sign}.{table.decimals}f}" for value in values if value is not None)

    lines = []
    for group in table.groups:
        for row in group.rows:
            if row.kind == "ours":
                lines.append([shown(cell.value, cell.spread, cell.low, cell.high) for cell in row.cells])
            if any(cell.published is not None for cell in row.cells):
                lines.append([shown(cell.published) for cell in row.cells])
            if any(cell.difference is not None for cell in row.cells):
                lines.append([shown(cell.difference, sign="+") for cell in row.cells])
    return lines


def numbers_in(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[+-]?\d+\.\d+", text.replace("\N{MINUS SIGN}", "-").replace("$-$", "-")))


class Cells(HTMLParser):
    """The cells of a table's body, by line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.lines.append([])
        if tag == "td":
            self.lines[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "td"

    def handle_data(self, data):
        if self.inside:
            self.lines[-1][-1] += data


def test_csv_gives_back_every_number_unrounded(table):
    frame = pd.read_csv(io.StringIO(csv(table)), dtype={"printed_row": str})
    cells = [cell for group in table.groups for row in group.rows for cell in row.cells]
    assert len(frame) == len(cells)
    for name, attribute in table.csv:
        if attribute:
            ours = [getattr(cell, attribute) for cell in cells]
            assert [None if value != value else value for value in frame[name]] == ours


def test_markdown_gives_back_every_number(table):
    lines = [line[2:-2].split(" | ") for line in markdown(table).splitlines() if line.startswith("|")]
    width = len(table.columns)
    found = [[numbers_in(cell) for cell in line[-width:]] for line in lines if any(map(numbers_in, line[-width:]))]
    assert found == expected_lines(table)


def test_latex_gives_back_every_number(table):
    body = latex(table).split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    lines = [line.removesuffix(r" \\").split(" & ")[2:] for line in body.splitlines() if " & " in line]
    width = 2 if any(table.widest_beside) else 1  # what stands beside a number has a column of its own
    cells = [[" ".join(line[start : start + width]) for start in range(0, len(line), width)] for line in lines]
    assert [[numbers_in(cell) for cell in line] for line in cells] == expected_lines(table)


def test_html_gives_back_every_number(table):
    parser = Cells()
    parser.feed(table_sheet(table))
    found = [[numbers_in(cell.replace("±", " ")) for cell in line[2:]] for line in parser.lines if line]
    assert found == expected_lines(table)


def test_rows_that_only_print_has_are_written_everywhere(wide):
    expected = expected_lines(wide)
    parser = Cells()
    parser.feed(table_sheet(wide))
    assert [[numbers_in(cell.replace("±", " ")) for cell in line[2:]] for line in parser.lines if line] == expected
    assert markdown(wide).count("| CVSE+SAM | print, other data |") == 2
    assert latex(wide).count("CVSE+SAM & print, other data &") == 2


def test_every_heading_line_of_latex_has_as_many_columns_as_the_table(wide):
    text = latex(wide)
    columns = len(re.search(r"\\begin\{tabular\}\{@\{\}(.+)@\{\}\}", text).group(1).replace(r"@{\,}", ""))
    assert columns == 2 + 2 * len(wide.columns)
    for line in text.split(r"\begin{tabular}", 1)[1].split(r"\bottomrule")[0].splitlines():
        if line.endswith(r"\\"):
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert line.count(" & ") + 1 + spanned == columns


def test_latex_has_balanced_braces_and_only_signs_that_pdflatex_knows(wide, table):
    for text in (latex(wide), latex(table)):
        bare = text.replace(r"\{", "").replace(r"\}", "")
        assert bare.count("{") == bare.count("}")
        assert text.isascii()


def test_escaped_latex_holds_no_command_of_the_text():
    assert escape_latex(r"50% & a_b #1 {x} ~ ^ \input{f} $") == (
        r"50\% \& a\_b \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}input\{f\} \$"
    )


def test_labels_cannot_inject_html(studies, scale, frame, published):
    evil = studies["knn_margin"].model_copy(update={"labels": {"vsepp": "<script>alert(1)</script>|*x*"}})
    table = build_table("knn_margin", "table1", evil, scale, frame, published)
    assert "<script" not in table_sheet(table)
    assert "&lt;script&gt;" in table_sheet(table)
    row = next(line for line in markdown(table).splitlines() if "alert" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == len(table.columns) + 3


def test_the_sheet_holds_everything_itself(wide):
    text = table_sheet(wide)
    assert not re.search(r"(src|href)=|@import|url\(|<script|<link", text)


def test_a_table_without_rows_is_written_in_every_form(studies, make_scale, frame, published, tmp_path):
    table = build_table("knn_margin", "table1", studies["knn_margin"], make_scale(roles={}), frame, published)
    write_table(table, tmp_path / "t")
    for suffix in ("md", "tex", "html"):
        assert "None of its rows is made at the scale tiny." in (tmp_path / f"t.{suffix}").read_text(encoding="utf-8")
    assert len(pd.read_csv(tmp_path / "t.csv")) == 0


def test_the_same_table_gives_the_same_bytes(wide, tmp_path):
    for name in ("a", "b"):
        write_table(wide, tmp_path / name)
    for suffix in ("csv", "md", "tex", "html", "json"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
