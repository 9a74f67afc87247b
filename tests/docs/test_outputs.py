"""docs/tools/outputs: what commands print in pages comes from running them."""

from __future__ import annotations

import json
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

loader = SourceFileLoader("outputs", str(Path(__file__).parents[2] / "docs" / "tools" / "outputs"))
outputs = module_from_spec(spec_from_loader("outputs", loader) or pytest.fail("no module"))
loader.exec_module(outputs)

PREPARATIONS = """
preparations:
  scores:
    needs: [made/captions.txt]
    commands: ["fivesentences phi bleu1 results/made/captions.txt --per-image 2 -o scores.npy"]
  given:
    needs: []
    files: [made/captions.txt]
    commands: []
  absent:
    needs: [not/made.npy]
    commands: []
"""
EVALUATE = "fivesentences evaluate scores.npy --transposed"


def output(head: str, command: str = EVALUATE) -> str:
    return f"<!-- output{head}: {command} -->\nold\n<!-- /output -->"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "made").mkdir()
    captions = [f"a {colour} {thing}" for thing in ("dog", "cat", "bird") for colour in ("red", "blue", "old", "wet")]
    (tmp_path / "made" / "captions.txt").write_text("\n".join(captions) + "\n", encoding="utf-8")
    (tmp_path / "outputs.yaml").write_text(PREPARATIONS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Fill a page of some text with some options; its text afterwards, and what was printed."""

    def filled(text, *options):
        page = folder / "page.md"
        page.write_text(text, encoding="utf-8")
        outputs.main([str(page), "--results", str(folder), "--preparations", str(folder / "outputs.yaml"), *options])
        return page.read_text(encoding="utf-8"), "".join(capsys.readouterr())

    return filled


RAN: dict[str, str] = {}


@pytest.fixture
def once(monkeypatch):
    """Commands that print to pages run once for all cases, which print the same."""
    really = outputs._run
    monkeypatch.setattr(outputs, "_run", lambda *given: RAN.get(given[0]) or RAN.setdefault(given[0], really(*given)))


def test_a_block_holds_what_a_command_prints_or_writes(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = run(f"Before.\n{output(' scores')}\nAfter.")[0]
    assert text.startswith("Before.\n<!-- output scores: ") and text.endswith("<!-- /output -->\nAfter.")
    whole = text.splitlines()[2:-2]
    assert whole[0] == whole[-1] == "```" and whole[1] == "scores.npy: 6 images, 12 captions"
    assert not any("\x1b" in line or line != line.rstrip() for line in whole)
    some = run(output(f" scores, lines 1 3-4 {len(whole) - 2}"))[0].splitlines()[2:-2]
    assert some == [whole[1], "  ...", *whole[3:5], "  ...", whole[-2]]
    command = "fivesentences phi bleu1 captions.txt --per-image 2 -o scores.npy --quiet"
    assert run(output(" given, file captions.txt", command))[0].splitlines()[2] == "a red dog"
    written = run(output(" scores, lines 1, file q.csv", f"{EVALUATE} --per-query q.csv"))[0]
    assert written.splitlines()[2].startswith("file,query,metric,direction,")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!-- output: fivesentences metrics -->\n", "output"),
        (output("", "rm -rf results"), "line 1: 'rm -rf results'"),
        (output("", "fivesentences evaluate missing.npy"), "missing.npy"),
        ("a\n\n" + output(" other"), "line 3: ' other'"),
        (output(" absent"), "not/made.npy"),
        (output(" scores, lines 1-99"), "1-99"),
        (output(" scores, lines 4-2"), "4-2"),
        (output(" scores, file ../q.csv"), "scores, file ../q.csv"),
    ],
)
def test_what_cannot_be_filled_is_said_with_its_line(run, once, text, said):
    with pytest.raises(SystemExit, match=said):
        run(text)


def test_a_page_is_checked_exactly_where_it_was_made_and_else_without_its_numbers(run, once, folder, monkeypatch):
    monkeypatch.setattr(outputs.machine, "cpu_kind", lambda: "Here AVX9")
    with pytest.raises(SystemExit):
        run(output(" scores, lines 1"), "--check")
    made, _ = run(output(" scores, lines 1"))
    assert json.loads((folder / "outputs.json").read_text()) == {"page.md": "Here AVX9"}
    assert run(made, "--check")[0] == made
    wrong, words = made.replace("6 images", "7 images"), made.replace("6 images", "6 pictures")
    with pytest.raises(SystemExit):
        run(wrong, "--check")
    monkeypatch.setattr(outputs.machine, "cpu_kind", lambda: "There NEON")
    assert "Here AVX9" in run(wrong, "--check")[1]
    with pytest.raises(SystemExit):
        run(words, "--check")
