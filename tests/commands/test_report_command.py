"""A figure or a table for somebody's own paper, from kept results."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCALE = "config/flickr8k_choice_lite0.yaml"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_figure_is_written_in_the_width_style_and_formats_that_are_asked_for(run, tmp_path):
    style = tmp_path / "own.mplstyle"
    style.write_text('axes.prop_cycle: cycler("color", ["123456"])\n', encoding="utf-8")
    options = ("--width", "3.4", "--style", str(style), "--format", "pdf,svg", "--out", str(tmp_path / "figures"))
    said = run("report", SCALE, "--only", "choice_forest", *options)
    assert said.code == 0, said.err
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["choice_forest.pdf", "choice_forest.svg"]
    drawn = (tmp_path / "figures/choice_forest.svg").read_text(encoding="utf-8")
    assert "#123456" in drawn and 'width="244.8pt"' in drawn


def test_a_table_is_written_alone(run, tmp_path):
    said = run("report", SCALE, "--only", "evidence_choice/choices", "--format", "tex", "--out", str(tmp_path))
    assert said.code == 0, said.err
    assert [path.name for path in tmp_path.iterdir()] == ["choices.tex"]


@pytest.mark.slow
def test_several_are_written_in_a_style_that_comes_with_matplotlib(run, tmp_path):
    names = "choice_forest, evidence_choice/choices"
    said = run("report", SCALE, "--only", names, "--format", "svg,csv", "--out", str(tmp_path))
    assert said.code == 0, said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "choice_forest.csv",
        "choice_forest.svg",
        "choices.csv",
    ]
    said = run("report", SCALE, "--only", "choice_forest", "--style", "ggplot", "--format", "svg", "--out", tmp_path)
    assert said.code == 0 and "#e24a33" in (tmp_path / "choice_forest.svg").read_text(encoding="utf-8").lower()


def test_results_of_another_folder_are_not_read_but_named(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("report", str(ROOT / SCALE), "--only", "choice_forest")
    assert said.code == 1 and str(ROOT) in said.err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--only", "choice_forst"), "did you mean 'choice_forest'?"),
        (("--only", "choice_forest,xyzzy"), "'xyzzy'"),
        (("--only", "xyzzy"), "choice_forest"),
        (("--only", "choice_forest", "--style", "ggplott"), "did you mean 'ggplot'?"),
        (("--only", "choice_forest", "--style", "own.mplstyle"), "own.mplstyle"),
        (("--only", "choice_forest", "--format", "pfd"), "'pfd'"),
        (("--only", "choices", "--format", "pdf"), "choices is a table"),
        (("--only", "choices", "--width", "3"), "choices is a table"),
        (("--only", "choice_forest", "--check"), "--check"),
    ],
)
def test_what_cannot_be_written_is_named(run, tmp_path, options, named):
    said = run("report", SCALE, *options, "--out", str(tmp_path))
    assert said.code == 1 and named in said.err and not list(tmp_path.iterdir())


def test_a_width_out_of_range_is_named(run):
    said = run("report", SCALE, "--only", "choice_forest", "--width", "0.5")
    assert said.code == 2 and "0.5" in said.err and "2" in said.err
