"""Tables in a terminal lose nothing; in a pipe they are as wide as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fivesentences.commands.score_sheets import sheets
from fivesentences.commands.sheets import Sheet, show
from fivesentences.evaluation import evaluate


@pytest.mark.parametrize("width", [20, 60, None])
def test_no_number_and_no_label_is_ever_cut(capsys, monkeypatch, width):
    columns = [(side, f"@{k}") for side in ("i2t", "t2i") for k in range(1, 18)] + [("", "sum")]
    rows = [[f"metric {n}", "cider", *(f"{n}{at}.25" for at in range(len(columns)))] for n in range(1, 4)]
    monkeypatch.setattr("sys.stdout.isatty", lambda: width is not None, raising=False)
    monkeypatch.setenv("COLUMNS", str(width or 80))
    show([Sheet(["metric", "phi"], columns, rows, "a title", ["a note"])])
    said = capsys.readouterr().out
    lines = [line.split() for line in said.splitlines()]
    assert all(" ".join(row).split() in lines for row in rows) and "…" not in said


def test_one_phi_and_three_cutoffs_fit_into_eighty_columns(folder, run, capsys):
    scores = evaluate(np.load("sims.npy"), {"cider": np.load("cider.npy")})
    scores.about["similarity"] = "sims.npy"
    capsys.readouterr()
    show([replace(sheet, notes=()) for sheet in sheets(scores)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_fractions_have_four_decimals_and_a_note(folder, run):
    from pathlib import Path

    Path("categories.txt").write_text("".join(f"{n % 4}\n" for n in range(20)))
    said = run("evaluate", "sims.npy", "--categories", "categories.txt", "--map-cutoffs", "all,R,50")
    shown = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line[:3] in ("mAP", "R-P", "R@k")}
    assert {"mAP", "mAP@50", "mAP@R", "R-P", "R@k"} == set(shown)
    assert all(len(cell.partition(".")[2]) == 4 for name in shown if name != "R@k" for cell in shown[name])
    assert all(len(cell.partition(".")[2]) == 2 for cell in shown["R@k"])
    assert "In percent, except Med r, Mean r: ranks from 1;" in said.out and "fractions of 1" in said.out
