"""docs/fill.py: numbers, tables and output of commands in pages come from results."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("fill", ROOT / "docs" / "fill.py")
assert spec is not None and spec.loader is not None
fill = sys.modules["fill"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fill)

TABLE = "### Title\n\nCaption.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- A note.\n"
CSV = (
    'loss,metric,seeds,mean,low\n"far, close",x,1,2,3\nsam,Rsum,30,71.25,-1.5\nsam,Nsum,30,80.04,0.5\n'
    "knn3,Rsum,,1,\nall,Rsum,3,2,-0.0004\n"
)
PREPARATIONS = """
preparations:
  scores:
    needs: [made/sims.npy]
    commands: ["fivesentences evaluate results/made/sims.npy --inference csls,k=2 --rescored csls.npy"]
"""
EVALUATE = "fivesentences evaluate csls.npy"


def place(asked: str, old: str = "old") -> str:
    return f"<!-- fill {asked} -->{old}<!-- /fill -->"


def output(head: str, command: str = EVALUATE) -> str:
    return f"<!-- output{head}: {command} -->\nold\n<!-- /output -->"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "made").mkdir()
    similarity = np.random.default_rng(0).normal(size=(6, 12)) + np.repeat(np.eye(6), 2, axis=1)
    np.save(tmp_path / "made" / "sims.npy", similarity)
    (tmp_path / "t.md").write_text(TABLE, encoding="utf-8")
    (tmp_path / "t.csv").write_text(CSV, encoding="utf-8")
    (tmp_path / "outputs.yaml").write_text(PREPARATIONS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Fill a page of some text with some options; its text afterwards, and what was printed."""

    def filled(text, *options):
        page = folder / "page.md"
        page.write_text(text, encoding="utf-8")
        given = ["--results", str(folder), "--preparations", str(folder / "outputs.yaml")]
        fill.main([str(page), *given, *options])
        return page.read_text(encoding="utf-8"), "".join(capsys.readouterr())

    return filled


RAN: dict[str, str] = {}


@pytest.fixture
def once(monkeypatch):
    """Commands that print to pages run once for all cases, which print the same."""
    really = fill._run

    def run(command, folder):
        if command not in RAN:
            RAN[command] = really(command, folder)
        return RAN[command]

    monkeypatch.setattr(fill, "_run", run)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("t.md", f"\n\n{TABLE.strip()}\n\n"),
        ("t.md table", "\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"),
        ("t.csv where loss=sam, metric=Rsum show {mean:.1f} [{low:+.1f}] of {seeds:.0f}", "71.2 [−1.5] of 30"),
        ("t.csv where mean=1.0 show {loss}", "knn3"),
        ("t.csv where low=-0.0004 show {low:.3f} [{low:.0f}, {low:.4f}]", "0.000 [0, −0.0004]"),
        ("t.csv where loss=far, close, metric=x show {mean:.0f}", "2"),
    ],
)
def test_places_are_filled_again_and_again_and_the_rest_of_the_page_stays(run, asked, shown):
    once, _ = run(f"Before {place(asked)} between {place(asked, '')} after - 1 -2.")
    assert once == f"Before {place(asked, shown)} between {place(asked, shown)} after - 1 -2."
    assert run(once, "--check")[0] == once


def test_a_block_holds_what_a_command_prints_or_writes(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    whole = run(output(" scores"))[0].splitlines()[1:-1]
    assert whole[0] == whole[-1] == "```" and whole[1] == "csls.npy: 6 images, 12 captions"
    assert not any("\x1b" in line or line != line.rstrip() for line in whole)
    some = run(output(f" scores, lines 1 3-4 {len(whole) - 2}"))[0].splitlines()[2:-2]
    assert some == [whole[1], "  ...", *whole[3:5], "  ...", whole[-2]]
    written = run(output(" scores, lines 1, file q.csv", f"{EVALUATE} --per-query q.csv"))[0]
    assert written.splitlines()[2].startswith("file,query,metric,direction,")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (place("u.md"), "page.md, line 1: .*u.md is not there"),
        ("a\n\n" + place("t.csv where loss=sam show {mean}"), "line 3: 2 lines have loss=sam"),
        (place("t.csv where los=sam show {mean}"), "there are: loss, metric"),
        (place("t.csv where loss=knn3 show {mean.__class__.x}"), "cannot be shown"),
        (place("t.csv where loss=knn3 show {low:.1f}"), "cannot be shown"),
        (place("t.csv where loss=knn3"), "is not FILE"),
        ("<!-- fill t.md -->", "1 places begin with '<!-- fill', but 0 are whole"),
        ("<!-- output: fivesentences metrics -->\n", "1 places begin with '<!-- output', but 0 are whole"),
        (output("", "rm -rf results"), "only fivesentences is run"),
        (output("", "fivesentences evaluate missing.npy"), "ends with 1: Error: missing.npy"),
        (output(" other"), "' other' is not PREPARATION"),
        (output(" scores, lines 1-99"), "lines 1-99 are not among"),
        (output(" scores, lines 4-2"), "lines 4-2 are not among"),
        (output(" scores, file ../q.csv"), "is not PREPARATION"),
    ],
)
def test_what_cannot_be_filled_is_said_with_its_line(run, once, text, said):
    with pytest.raises(SystemExit, match=said):
        run(text)


def test_a_page_is_checked_exactly_where_it_was_made_and_else_without_its_numbers(run, once, folder, monkeypatch):
    monkeypatch.setattr(fill.machine, "cpu_kind", lambda: "Here AVX9")
    number = place("t.csv where mean=2, loss=all show {mean:.1f}")
    text = f"{number} {place('not/made.md')}\n{output(' scores, lines 1')}"
    with pytest.raises(SystemExit, match="is not what the results say"):
        run(text, "--check", "--available")
    made, said = run(text, "--available")
    assert "-->2.0<!--" in made and "6 images" in made and "not/made.md -->old<" in made and "1 left alone" in said
    assert json.loads((folder / "outputs.json").read_text()) == {"page.md": "Here AVX9"}
    assert run(made, "--check", "--available")[0] == made
    wrong, words = made.replace("2.0", "2.6"), made.replace("6 images", "6 pictures")
    with pytest.raises(SystemExit):
        run(wrong, "--check", "--available")
    assert run(wrong, "--check", "--available", "--only", "fivesentences *")[0] == wrong
    monkeypatch.setattr(fill.machine, "cpu_kind", lambda: "There NEON")
    assert "WITHOUT ITS NUMBERS, which were made on Here AVX9" in run(wrong, "--check", "--available")[1]
    with pytest.raises(SystemExit):
        run(words, "--check", "--available")
    run(made, "--available", "--only", "t.csv*")  # a part of a page keeps its record
    assert json.loads((folder / "outputs.json").read_text()) == {"page.md": "Here AVX9"}
