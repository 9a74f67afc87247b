"""`fivesentences phi`: the matrix that it writes, what it says last, and mistakes as one sentence."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from fivesentences.semantics import cider_matrix, read_phi, read_top_k, spice_matrix

CAPTIONS = ["a dog runs", "a brown dog", "two cats sleep", "a cat sleeps", "a\u2028cat", "a red car"]
IMAGE_OF_CAPTION = [0, 0, 1, 1, 2, 2]
TUPLES = [[["dog"]], [["dog"], ["dog", "brown"]], [["cat"]], [["cat"]], [["cat"]], [["car"], ["car", "red"]]]
TWO = ("--per-image", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "captions.txt").write_text("".join(f"{caption}\n" for caption in CAPTIONS))
    return tmp_path


def write_tuples(captions, path, **_):
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"made_by": "a test", "captions": len(captions)}) + "\n")
        for caption in captions:
            file.write(json.dumps({"caption": caption, "tuples": TUPLES[CAPTIONS.index(caption)]}) + "\n")


def test_phi_writes_the_matrix_and_says_what_it_is(folder, run):
    said = run("phi", "cider", "captions.txt", "-o", "made/phi.npy", *TWO)
    assert said.code == 1 and "made does not exist" in said.err and not (folder / "made").exists()
    (folder / "made").mkdir()
    said = run("phi", "cider", "captions.txt", "-o", "made/phi.npy", *TWO)
    assert said.code == 0
    assert said.out.startswith("made/phi.npy: cider, float32 [6 captions, 3 images], in ")
    wanted = cider_matrix(CAPTIONS, IMAGE_OF_CAPTION).astype(np.float32)
    np.testing.assert_array_equal(read_phi(folder / "made" / "phi.npy", CAPTIONS, IMAGE_OF_CAPTION), wanted)
    assert json.loads((folder / "made" / "phi.json").read_text())["captions_file"] == "captions.txt"
    said = run("phi", "cider", "captions.txt", "-o", "quiet.npy", *TWO, "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_top_k_writes_a_store(folder, run):
    said = run("phi", "cider", "captions.txt", "-o", "best", *TWO, "--top-k", "1")
    assert said.code == 0 and "best 1 images of each caption" in said.out
    assert read_top_k(folder / "best", CAPTIONS, IMAGE_OF_CAPTION).images.shape == (6, 1)


def test_spice_parses_once_and_keeps_the_tuples(folder, run, monkeypatch):
    (folder / "made").mkdir()
    parsed = []

    def parse(captions, path, **settings):
        parsed.append(captions)
        write_tuples(captions, path)

    monkeypatch.setattr("fivesentences.semantics.java.parse_captions", parse)
    for name in ("spice", "spice_object"):
        assert run("phi", name, "captions.txt", "-o", f"made/{name}.npy", *TWO).code == 0
    assert parsed == [CAPTIONS]
    wanted = spice_matrix(TUPLES, IMAGE_OF_CAPTION).astype(np.float32)
    np.testing.assert_array_equal(read_phi(folder / "made" / "spice.npy"), wanted)
    assert sorted(path.name for path in (folder / "made").glob("*.gz")) == ["captions.tuples.jsonl.gz"]

    (folder / "captions.txt").write_text("a red car\na brown dog\n")
    again = ("phi", "spice", "captions.txt", "-o", "made/spice.npy", "--per-image", "1")
    said = run(*again)
    assert said.code == 0 and said.err == "" and len(parsed) == 1  # the file holds these captions too
    (folder / "made" / "captions.tuples.jsonl.gz").write_bytes(b"cut off")
    said = run(*again)
    assert said.code == 0 and "parsed again" in said.err and parsed[1:] == [["a red car", "a brown dog"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("cider captions.txt -o phi.npy", "captions.txt holds 6 captions, which is not a multiple of 5"),
        ("cider-p captions.txt -o phi.npy", "one of whitespace, reattached, characters, ptb"),
        ("cider captions.txt -o phi.npy --top-k 3", "name one without .npy"),
        ("cider captions.txt -o phi.npy --per-image 2 --tuples x", "leave --tuples out"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_writes_nothing(folder, run, arguments, sentence):
    said = run("phi", *arguments.split())
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Error: ") and said.err.count("\n") == 1 and sentence in said.err
    assert [path.name for path in folder.iterdir()] == ["captions.txt"]
