"""Tables in a terminal lose nothing; in a pipe they are as wide as they are."""

from __future__ import annotations

import pytest

from fivesentences.commands.score_sheets import sheets
from fivesentences.commands.sheets import Sheet, fitting, natural_width, show
from fivesentences.evaluation import evaluate


def cells(sheet):
    return [cell for row in sheet.rows for cell in row if cell]


@pytest.fixture
def shown(capsys):
    def lines(*of, width=None):
        capsys.readouterr()
        show(of, width)
        return capsys.readouterr().out.splitlines()

    return lines


def a_sheet(cutoffs):
    columns = [(side, f"@{k}") for side in ("i2t", "t2i") for k in cutoffs] + [("", "sum")]
    rows = [[f"metric {n}", "cider", *(f"{n}{at}.25" for at in range(len(columns)))] for n in range(1, 4)]
    return Sheet(["metric", "phi"], columns, rows, "a title", ["a note"])


@pytest.mark.parametrize("width", [20, 60, 80, 100, None])
@pytest.mark.parametrize("cutoffs", [(1, 5, 10), range(1, 18)])
def test_no_number_and_no_label_is_ever_cut(shown, width, cutoffs):
    sheet = a_sheet(cutoffs)
    said = shown(sheet, width=width)
    words = " ".join(said).split()
    for cell in cells(sheet):
        assert all(word in words for word in cell.split())
    assert "…" not in " ".join(said)
    assert all(f"@{k}" in words for k in cutoffs) and "sum" in words


def test_a_table_too_wide_is_printed_a_direction_at_a_time():
    sheet = a_sheet((1, 5, 10))
    whole = natural_width(sheet)
    assert fitting(sheet, whole) == [sheet]
    first, second = fitting(sheet, whole - 1)
    assert [group for group, _ in first.columns] == ["i2t"] * 3
    assert second.columns == [("t2i", "@1"), ("t2i", "@5"), ("t2i", "@10"), ("", "sum")]
    assert [row[:2] for row in first.rows] == [row[:2] for row in second.rows] == [row[:2] for row in sheet.rows]
    assert [row[2:] + other[2:] for row, other in zip(first.rows, second.rows, strict=True)] == [
        row[2:] for row in sheet.rows
    ]


def test_one_phi_and_three_cutoffs_fit_into_eighty_columns(folder, run):
    import numpy as np

    run("phi", "cider", "captions.txt", "-o", "cider.npy")
    scores = evaluate(np.load("sims.npy") + 0.0, {"cider": np.load("cider.npy")})
    scores.about["similarity"] = "sims.npy"
    for value in scores.values:
        value["value"] = min(value["value"], 99.99) if value["metric"] not in ("Rsum", "Nsum") else 599.99
    assert all(natural_width(sheet) <= 80 for sheet in sheets(scores))


def test_fractions_have_four_decimals_and_a_note(folder, run):
    from pathlib import Path

    Path("categories.txt").write_text("".join(f"{n % 4}\n" for n in range(20)))
    said = run("evaluate", "sims.npy", "--categories", "categories.txt", "--map-cutoffs", "all,R,50")
    shown = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line[:3] in ("mAP", "R-P", "R@k")}
    assert {"mAP", "mAP@50", "mAP@R", "R-P", "R@k"} == set(shown)
    assert all(len(cell.partition(".")[2]) == 4 for name in shown if name != "R@k" for cell in shown[name])
    assert all(len(cell.partition(".")[2]) == 2 for cell in shown["R@k"])
    assert "In percent, except Med r, Mean r: ranks from 1;" in said.out and "fractions of 1" in said.out
