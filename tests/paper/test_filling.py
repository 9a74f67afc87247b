"""Pages whose numbers come from results."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivesentences.errors import InputError
from fivesentences.paper.text.filling import filled

TABLE = "### Title\n\nCaption.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- A note.\n"
CSV = (
    'loss,metric,seeds,mean,low\n"far, close",x,1,2,3\nsam,Rsum,30,71.25,-1.5\nsam,Nsum,30,80.04,0.5\n'
    "knn3,Rsum,,1,\nall,Rsum,3,2,-0.0004\n"
)


@pytest.fixture
def results(tmp_path):
    (tmp_path / "t.md").write_text(TABLE, encoding="utf-8")
    (tmp_path / "t.csv").write_text(CSV, encoding="utf-8")
    return tmp_path


def place(asked: str, old: str = "old") -> str:
    return f"<!-- fill {asked} -->{old}<!-- /fill -->"


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("t.md", f"\n\n{TABLE.strip()}\n\n"),
        ("t.md table", "\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"),
        ("t.csv where loss=sam, metric=Rsum show {mean:.1f} [{low:+.1f}] of {seeds:.0f}", "71.2 [−1.5] of 30"),
        ("t.csv where metric=Nsum show {loss} {mean:.0f}", "sam 80"),
        ("t.csv where mean=1.0 show {loss}", "knn3"),
        ("t.csv where low=-0.0004 show {low:.3f} [{low:.0f}, {low:.4f}]", "0.000 [0, −0.0004]"),
        ("t.csv where loss=far, close, metric=x show {mean:.0f}", "2"),
    ],
)
def test_places_are_filled_again_and_again_and_the_rest_of_the_page_stays(results, asked, shown):
    page = f"Before {place(asked)} between {place(asked, '')} after - 1 -2."
    once = filled(page, results)
    assert once == f"Before {place(asked, shown)} between {place(asked, shown)} after - 1 -2."
    assert filled(once, results) == once


def test_other_places_than_those_asked_for_keep_what_they_hold_even_without_results(results):
    page = f"{place('t.csv where loss=all show {mean:.0f}')} {place('not/made/yet.md table')}"
    assert filled(page, results, only="t.*") == page.replace(">old<", ">2<", 1)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (place("u.md"), "u.md: there is no such file; page, line 1 asks for it"),
        ("a\n\n" + place("t.csv where loss=sam show {mean}"), "line 3, from .*: 2 lines have loss=sam"),
        (place("t.csv where loss=max show {mean}"), "0 lines have loss=max"),
        (place("t.csv where los=sam show {mean}"), "no column 'los'; there are: loss, metric"),
        (place("t.csv where loss=knn3 show {median}"), "no column 'median'"),
        (place("t.csv where loss=knn3 show {mean.__class__}"), "no column 'mean.__class__'"),
        (place("t.csv where loss=knn3 show {low:.1f}"), "cannot be shown"),
        (place("t.csv where loss=knn3 show {mean"), "is not a format"),
        (place("t.csv where loss=knn3"), "is no place to fill"),
        ("<!-- fill t.md -->", "1 places begin with '<!-- fill ', but 0 end"),
    ],
)
def test_what_cannot_be_filled_is_said_with_its_line(results, page, said):
    with pytest.raises(InputError, match=said):
        filled(page, results)


def test_the_command_writes_a_page_and_checks_it(results, run):
    page = results / "page.md"
    page.write_text(place("t.csv where loss=knn3 show {mean:.1f}"), encoding="utf-8")
    preparations = Path(__file__).parents[2] / "docs" / "outputs.yaml"
    given = ["fill", str(page), "--results", str(results), "--preparations", str(preparations)]
    assert "not what the results say" in run(*given, "--check").err
    assert run(*given).code == 0
    assert page.read_text(encoding="utf-8") == place("t.csv where loss=knn3 show {mean:.1f}", "1.0")
    assert run(*given, "--check").code == 0
