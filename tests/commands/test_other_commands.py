"""`evaluate --inference`, `download`, tables, wrong options, and the help of every command."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from fivesentences import cli
from fivesentences.commands.arguments import Dataset
from fivesentences.commands.features import FormatName
from fivesentences.commands.sheets import Sheet, show
from fivesentences.evaluation import evaluate
from fivesentences.evaluation.protocols import PROTOCOLS
from fivesentences.features.formats import FORMATS
from fivesentences.retrieval import rescore

COMMANDS = [words.split() for commands in cli.COMMANDS.values() for words in commands]


@pytest.mark.parametrize(
    ("inference", "options", "said"),
    [
        ("csls", {}, "csls, k = 10, which"),
        ("csls,k=3", {"k": 3}, "csls, k = 3, which"),
        ("inverted_softmax,beta=20,include_self=true", {"beta": 20, "include_self": True},
         "inverted_softmax, beta = 20, include_self = True, which"),
        ("assignment,captions_per_image=6", {"captions_per_image": 6}, "assignment, captions_per_image = 6, which"),
    ],
)  # fmt: skip
def test_inference_scores_what_the_library_computes(run, folder, inference, options, said):
    similarity, method = np.load("sims.npy"), inference.partition(",")[0]
    np.save("given.npy", similarity.T)
    found = run("evaluate", "given.npy", "--inference", inference, "--transposed", "--json", "o.json")
    assert found.code == 0 and f"by {said}" in " ".join(found.out.split())
    values = json.loads(Path("o.json").read_text())["values"]
    for side in ("i2t", "t2i"):
        wanted = evaluate(rescore(similarity, method, side, **options)).values
        assert [v for v in values if v["direction"] == side] == [v for v in wanted if v["direction"] == side]
    total = sum(value["value"] for value in values if value["metric"] in ("R@1", "R@5", "R@10"))
    assert next(value["value"] for value in values if value["metric"] == "Rsum") == pytest.approx(total)


def test_download_leaves_what_a_person_must_fetch_for_last_and_can_take_one_file_alone(run, folder):
    hand = "{path: d/a.zip, version: v, url: null, licence: l, sha256: null, size: null, fetch_by_hand: Ask for it.}"
    there = "{path: d/b.txt, version: v, url: 'https://nowhere.invalid/b', licence: l, sha256: null, size: null}"
    (folder / "list.yaml").write_text(
        f"datasets: {{d: {{title: D, files: {{photographs: {hand}, captions: {there}}}}}}}"
    )
    (folder / "copies" / "d").mkdir(parents=True)
    (folder / "copies" / "d" / "b.txt").write_text("x")
    digest = hashlib.sha256(b"x").hexdigest()
    (folder / "copies" / "SHA256SUMS").write_text(f"{digest}  d/b.txt\n")
    common = ["download", "d", "--catalogue", "list.yaml", "--mirror", "copies"]
    alone = run(*common, "--data", "alone", "--file", "captions")
    assert alone.code == 0 and Path("alone/d/b.txt").read_text() == "x"
    whole = run(*common, "--data", "whole")
    assert whole.code == 1 and "Ask for it." in str(whole.err) and Path("whole/d/b.txt").read_text() == "x"


def test_choices_are_those_of_the_library():
    assert (set(get_args(Dataset)), set(get_args(FormatName))) == (set(PROTOCOLS), set(FORMATS))


@pytest.mark.parametrize("width", [20, 60, None])
def test_no_number_and_no_label_of_a_table_is_ever_cut(capsys, monkeypatch, width):
    columns = [(side, f"@{k}") for side in ("i2t", "t2i") for k in range(1, 18)] + [("", "sum")]
    rows = [[f"metric {n}", "cider", *(f"{n}{at}.25" for at in range(len(columns)))] for n in range(1, 4)]
    monkeypatch.setattr("sys.stdout.isatty", lambda: width is not None, raising=False)
    monkeypatch.setenv("COLUMNS", str(width or 80))
    show([Sheet(["metric", "phi"], columns, rows, "a title", ["a note"])])
    said = capsys.readouterr().out
    lines = [line.split() for line in said.splitlines()]
    assert all(" ".join(row).split() in lines for row in rows) and "…" not in said


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_shows_an_example(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "120")
    said = run(*command, "--help")
    assert run(*command, "-h").out == said.out
    assert said.code == 0
    shown = " ".join(said.out.replace("│", " ").split())
    assert "Example" in said.out and f"fivesentences {' '.join(command)}" in shown.partition("Example")[2]
    assert re.split(r"\n\s*\n", said.out.strip())[2].strip().startswith("Example")  # below the first sentence
    (listed,) = (commands[" ".join(command)] for commands in cli.COMMANDS.values() if " ".join(command) in commands)
    assert listed.rstrip(".") in shown
