"""`evaluate --inference`, `download`, tables, wrong options, and the help of every command."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import yaml

from fivesentences import cli
from fivesentences.commands.arguments import Dataset
from fivesentences.commands.sheets import show
from fivesentences.evaluation import evaluate
from fivesentences.evaluation.protocols import PROTOCOLS
from fivesentences.features.formats import FORMATS
from fivesentences.metrics.sheet import Sheet
from fivesentences.reproduction.commands.features import FormatName
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
        wanted = evaluate(rescore(similarity, method, side, **options)).rows
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


def test_download_fetches_all_it_can_and_ends_with_a_list_of_what_failed(run, folder, host):
    host.files = {"/a.txt": b"x", "/c.txt": b"z"}
    urls = {
        "a": f"{host.url}/a.txt",
        "b": f"{host.url}/gone.txt",
        "c": f"{host.url}/c.txt",
        "d": "http://127.0.0.1:9/d",
    }
    other = f"more_urls: ['http://127.0.0.1:9/other'], sha256: {'a' * 64}"
    about = "version: v, licence: l, sha256: null, size: null"
    files = "".join(f"      {name}: {{path: d/{name}.txt, url: '{url}', {about}}}\n" for name, url in urls.items())
    files = files.replace(
        "127.0.0.1:9/d', version: v, licence: l, sha256: null", f"127.0.0.1:9/d', version: v, licence: l, {other}"
    )
    consent = "consent: {name: n, terms: 'https://d.org'}"
    files += f"      e: {{path: d/e.txt, url: '{host.url}/a.txt', {consent}, {about}}}\n"
    Path("list.yaml").write_text(f"datasets:\n  d:\n    title: D\n    files:\n{files}")
    said = run("download", "d", "--catalogue", "list.yaml")
    assert said.code == 1 and sorted(path.name for path in Path("data/d").glob("*.txt")) == ["a.txt", "c.txt"]
    first, second, further, third = str(said.err).strip().splitlines()[-4:]
    assert "d/b.txt: " in first and "404" in first and "put the file in place by hand" in first
    assert "d/d.txt: http://127.0.0.1:9/d: the host refuses" in second and "run again once it answers" in second
    assert "d/d.txt: http://127.0.0.1:9/other: the host refuses" in further
    assert "d/e.txt: " in third and "the owners ask for your consent: read https://d.org" in third


def test_a_mirror_with_four_of_five_files_gives_these_and_says_what_the_fifth_is(run, folder):
    names = ("raw_features.mat", "categories.list")
    about = "version: v, licence: l, sha256: null, size: null"
    members = "".join(
        f"      m{number}: {{path: w/{name}, member_of: archive, url: null, {about}}}\n"
        for number, name in enumerate((*names, "absent.list"))
    )
    Path("list.yaml").write_text(
        f"datasets:\n  w:\n    title: W\n    files:\n"
        f"      archive: {{path: w/all.zip, url: 'http://127.0.0.1:9/all.zip', {about}}}\n{members}"
    )
    Path("copies/w").mkdir(parents=True)
    for name in names:
        Path("copies/w", name).write_bytes(b"MATLAB")
    said = run("download", "w", "--catalogue", "list.yaml", "--mirror", "copies")
    assert said.code == 1 and "w/all.zip: http://127.0.0.1:9/all.zip: the host refuses" in str(said.err)
    assert {path.name for path in Path("data/w").iterdir() if path.suffix != ".sha256"} == set(names)


def test_a_consent_is_given_by_a_person_who_is_shown_the_terms(run, folder, monkeypatch):
    about = "version: v, licence: l, sha256: null, size: null, url: 'http://127.0.0.1:9/a'"
    entry = f"{{path: d/a.txt, consent: {{name: n, terms: 'https://d.org'}}, {about}}}"
    Path("list.yaml").write_text(f"datasets: {{d: {{title: D, files: {{a: {entry}}}}}}}")
    command = ["download", "--catalogue", "list.yaml", "--consent"]
    assert "there are: n" in str(run(*command, "x").err)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    refused = run(*command, "n")
    assert refused.code == 1 and "https://d.org" in refused.out and not Path("data/consents.yaml").exists()
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    assert (
        run(*command, "n").code == 0 and "n: {terms: 'https://d.org', date: " in Path("data/consents.yaml").read_text()
    )
    assert "you have agreed" in run(*command, "n").out


def test_the_table_of_addresses_has_a_line_for_every_file(run, root):
    printed = run("download", "--addresses", "--catalogue", root / "config/datasets.yaml").out
    content = yaml.safe_load((root / "config/datasets.yaml").read_text())["datasets"]
    files = [file for entry in content.values() for file in entry["files"].values()]
    lines = printed.strip().splitlines()
    assert len(lines) == 2 + len(files)
    for line, file in zip(lines[2:], files, strict=True):
        known = [file["path"], file["url"], *file.get("more_urls", []), file.get("token")]
        assert all(one in line for one in known if one)
        assert ("yes" in line.split(" | ")[4]) == (file["sha256"] is not None)
        assert ("consent `" in line) == ("consent" in file) and ("by nobody yet" in line) == bool(file["url"])


def test_choices_are_those_of_the_library():
    assert (set(get_args(Dataset)), set(get_args(FormatName))) == (set(PROTOCOLS), set(FORMATS))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("evaluate sims.npy --dataset flickr30k", 1, "f30k has 1000 images"),
        ("evaluate sims.npy --dataset F30K", 1, "f30k has 1000 images"),
        ("evaluate sims.npy --protocol flickr8k", 1, "flickr8k has 1000 images"),
        (
            "evaluate sims.npy --dataset coco",
            2,
            "'coco' is scored in 3 ways; give one of coco-5k, coco-1k-5fold, coco-1k-f",
        ),
        ("evaluate sims.npy --dataset f3k", 2, "'f3k' is not one of flickr8k, f30k, coco-5k, coco-1k-5fold, coco-1k-f"),
        ("evaluate sims.npy --dataset flickr30", 2, "did you mean 'flickr30k'?"),
        ("captions flickr30k -o c.txt", 1, "the captions of f30k are in"),
        ("captions coco -o c.txt", 1, "the captions of coco-5k are in"),
        ("captions f30k --split half -o c.txt", 2, "'half' is not one of 'train', 'dev', 'test'"),
        ("download f30k --file nothing", 1, "flickr30k has no file 'nothing'"),
        ("download coco-1k-first --file nothing", 1, "coco has no file 'nothing'"),
        ("embed open_clip:x/y --captions flickr30k --images . -o e", 1, "the captions of f30k are in"),
    ],
)
def test_a_dataset_has_one_name_everywhere_and_other_names_mean_it(run, folder, words, code, says):
    said = run(*words.split())
    shown = " ".join(said.err.replace("\u2502", " ").split())
    assert said.code == code and says in shown and "Value error" not in said.err, said.err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("evaluate sims.npy --captions sims.npy", ["sims.npy", "NumPy array"]),
        ("evaluate captions.txt", ["captions.txt", "--captions"]),
        ("evaluate clip", ["clip", "no such file or folder"]),
        ("evaluate simz.npy", ["simz.npy", "'sims.npy'"]),
        ("evaluate sims.npy --dataset f30k", ["sims.npy", "f30k"]),
        ("evaluate sims.npy --metrics NSC", ["'NSC'", "'NCS'"]),
        ("evaluate sims.npy --metrics NCS", ["'NCS'", "--captions FILE"]),
        ("evaluate sims.npy --inference cslz", ["'cslz'", "did you mean 'csls'"]),
        ("evaluate sims.npy --captions captions.txt --metric spcie", ["'spcie'", "did you mean 'spice'"]),
        ("phi captions.txt cider -o o.npy", ["captions.txt", "fivesentences phi cider captions.txt"]),
        ("captioning captions.txt short.txt", ["short.txt", "candidates first"]),
        ("example -o captions.txt", ["captions.txt", "folder"]),
        ("evaluate sims.npy --latex o.pdf", ["o.pdf", "o.tex"]),
        ("evaluate sims.npy --json o.csv", ["o.csv", "o.json"]),
        ("report config/none.yaml", ["config/none.yaml", "clone"]),
        ("doctor config/none.yaml", ["config/none.yaml", "clone"]),
    ],
)
def test_a_slip_is_one_sentence_with_what_was_given_and_what_to_do(run, folder, words, names):
    lines = Path("captions.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("short.txt").write_text("".join(lines[:50]), encoding="utf-8")
    done = run(*words.split())
    assert done.code == 1 and all(name in done.err for name in names), done.err
    assert done.err.count("\n") <= 1 and "on the command line" not in done.err


def test_the_example_names_its_files_where_they_are(run, folder):
    done = run("example", "--out", "new folder")
    assert done.code == 0
    assert "evaluate 'new folder/sims.npy' --captions 'new folder/captions.txt'" in done.out
    assert run("example", "--out", "new folder").code == 0  # the same files again


def test_a_file_with_the_other_name_of_a_dataset_is_read_as_a_file(run, folder):
    Path("coco").write_text("image,caption\n1.jpg,a dog\n2.jpg,a cat\n")
    assert run("captions", "coco", "-o", "c.txt").code == 0
    assert Path("c.txt").read_text() == "a dog\na cat\n"


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
