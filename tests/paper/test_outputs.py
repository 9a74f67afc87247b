"""Blocks of pages that hold what a command prints."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.text.outputs import PLACE, WIDTH, Asked, Outputs, asked_by, check_marks
from fivesentences.paper.text.pages import difference, masked

PREPARATIONS = """
preparations:
  scores:
    needs: [made/sims.npy]
    commands: [fivesentences rescore results/made/sims.npy --method csls -k 2 -o csls.npy]
"""
EVALUATE = "fivesentences evaluate csls.npy"


def place(head: str, command: str, old: str = "old\n") -> str:
    return f"<!-- output{head}: {command} -->\n{old}<!-- /output -->"


def asked(head: str, command: str = EVALUATE) -> Asked:
    return asked_by(PLACE.fullmatch(place(head, command)), "page, line 1")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "results" / "made").mkdir(parents=True)
    similarity = np.random.default_rng(0).normal(size=(6, 12)) + np.repeat(np.eye(6), 2, axis=1)
    np.save(tmp_path / "results" / "made" / "sims.npy", similarity)
    (tmp_path / "outputs.yaml").write_text(PREPARATIONS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def outputs(folder):
    with Outputs(folder / "outputs.yaml", folder / "results") as outputs:
        yield outputs


def test_a_block_holds_what_the_command_prints_of_what_its_preparation_made(outputs, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    whole = outputs.block(asked(" scores")).splitlines()
    assert whole[0] == whole[-1] == "```"
    assert whole[1] == "csls.npy: 6 images, 12 captions"
    assert "csls.npy is results/made/sims.npy re-scored by csls, k = 2" in whole[-2]
    assert 40 < max(map(len, whole)) <= WIDTH
    assert not any("\x1b" in line or line != line.rstrip() for line in whole)
    some = outputs.block(asked(f" scores, lines 1 3-4 {len(whole) - 2}")).splitlines()[1:-1]
    assert some == [whole[1], "  ...", *whole[3:5], "  ...", whole[-2]]


def test_a_block_may_hold_a_file_that_the_command_writes(outputs):
    block = outputs.block(asked(" scores, file q.csv, lines 1", "fivesentences evaluate csls.npy --per-query q.csv"))
    assert block.startswith("```\nfile,query,metric,direction,") and block.count("\n") == 3


def test_a_preparation_without_its_results_is_named_before_anything_runs(outputs, folder):
    assert outputs.missing(asked(" scores")) is None
    assert outputs.missing(asked("")) is None
    (folder / "results" / "made" / "sims.npy").unlink()
    assert outputs.missing(asked(" scores")) == "made/sims.npy"


@pytest.mark.parametrize(
    ("head", "command", "said"),
    [
        ("", "rm -rf results", "only fivesentences is run for a page, not 'rm'"),
        ("", "sh -c 'fivesentences metrics'", "not 'sh'"),
        ("", "fivesentences metrics > out.txt", "ends with 2"),
        ("", "fivesentences evaluate 'a.npy", "No closing quotation"),
        ("", "", "only fivesentences"),
        ("", "fivesentences evaluate missing.npy", "ends with 1: Error: missing.npy: there is no such file"),
        (" other", EVALUATE, "there is no preparation 'other'; there are: scores"),
        (" scores, lines 1-99", EVALUATE, "a page asks for line 99"),
        (" scores, file q.csv", EVALUATE, "does not write it"),
        (" scores, lines 4-2", EVALUATE, "page, line 1: lines 4-2: they must rise, from 1"),
        (" scores, lines 0", EVALUATE, "lines 0: they must rise, from 1"),
        (" scores, file ../q.csv", EVALUATE, "'file ../q.csv' is no part of a place"),
        (" scores, all", EVALUATE, "'all' is no part of a place"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(outputs, head, command, said):
    with pytest.raises(InputError, match=said):
        outputs.block(asked(head, command))


@pytest.mark.parametrize(
    "broken", ["<!-- output: fivesentences metrics -->\n", "<!-- output metrics -->\n<!-- /output -->"]
)
def test_a_place_that_does_not_end_is_an_error(broken):
    with pytest.raises(InputError, match=r"1 places begin with .* but 0 are whole"):
        check_marks(f"text\n{broken}", "page.md")


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("R@1   7.50*  9.20", "R@1  17.25   8.70", True),
        ("−0.5 [−1.6, 0.6]", "+0.5 [0.1, 0.6]", True),
        ("p <.0001 │ 1e-5", "p .0233 │ 0.00001", True),
        ("─────\n| --- |", "────────\n| ---- |", True),
        ("R@1 7.5", "R@5 7.5", False),
        ("R@1 7.5 8.5", "R@1 7.5", False),
        ("200 images", "200 pictures", False),
    ],
)
def test_on_another_processor_everything_but_numbers_is_compared(old, new, same, tmp_path):
    assert (masked(old) == masked(new)) == same
    assert (difference(old, new, tmp_path, exactly=False) == "") == same
    assert difference(old, new, tmp_path, exactly=True)


@pytest.fixture
def page(folder, monkeypatch):
    monkeypatch.setattr("fivesentences.machine.cpu_kind", lambda: "Here AVX9")
    page = folder / "page.md"
    shown = place(" scores, lines 1 6", EVALUATE)
    (folder / "results" / "t.csv").write_text("a,b\n1,2.5\n", encoding="utf-8")
    fill = "<!-- fill t.csv where a=1 show {b:.1f} -->?<!-- /fill --> <!-- fill not/made.md -->old<!-- /fill -->"
    page.write_text(f"# Page\n\n{shown}\n\n{fill}\n", encoding="utf-8")
    return page


@pytest.fixture
def fill(run, page, folder):
    def fill(*options: str):
        given = ["--results", str(folder / "results"), "--preparations", str(folder / "outputs.yaml"), "--available"]
        return run("fill", str(page), *given, *options)

    return fill


def test_a_page_is_written_checked_and_its_processor_recorded(fill, page, folder):
    before = fill("--check")
    assert before.code == 1 and "+csls.npy: 6 images, 12 captions" in before.out and "-old" in before.out
    assert fill().code == 0
    text = page.read_text(encoding="utf-8")
    assert "csls.npy: 6 images" in text and "-->2.5<!--" in text and "not/made.md -->old<" in text
    assert json.loads((folder / "outputs.json").read_text())["made_on"] == {"page.md": "Here AVX9"}
    after = fill("--check")
    assert after.code == 0
    assert "places compared exactly: 2" in after.err and "results are not here: 1 (not/made.md: 1)" in after.err
    page.write_text(text.replace("2.5", "2.6"), encoding="utf-8")
    assert fill("--check").code == 1
    assert fill("--check", "--only", "fivesentences *").code == 0


def test_elsewhere_other_numbers_pass_and_it_is_said_and_other_words_fail(fill, page, monkeypatch):
    fill()
    monkeypatch.setattr("fivesentences.machine.cpu_kind", lambda: "There NEON")
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("-->2.5<!--", "-->2.6<!--"), encoding="utf-8")
    other = fill("--check")
    assert other.code == 0
    assert "WITHOUT THEIR NUMBERS, which were made on Here AVX9; this is There NEON: 2" in other.err
    page.write_text(text.replace("csls.npy: 6 images", "csls.npy: 6 pictures"), encoding="utf-8")
    assert fill("--check").code == 1


def test_a_page_of_which_a_part_was_made_keeps_its_record(fill, folder, monkeypatch):
    fill()
    monkeypatch.setattr("fivesentences.machine.cpu_kind", lambda: "There NEON")
    assert fill("--only", "t.csv").code == 0
    (folder / "results" / "made" / "sims.npy").unlink()
    assert fill().code == 0
    assert json.loads((folder / "outputs.json").read_text())["made_on"] == {"page.md": "Here AVX9"}
