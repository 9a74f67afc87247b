"""phi files: complete or refused, and never mistaken for those of other captions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import (
    Tuples,
    prepare,
    read_phi,
    read_phi_note,
    read_top_k,
    spice_matrix,
    write_phi,
    write_top_k,
)

CAPTIONS = ["a dog runs", "a dog sits", "two cats sleep", "one cat sleeps", "a red car"]
IMAGE_OF_CAPTION = [0, 0, 1, 1, 2]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "dev" / "cider.npy"
    write_phi("cider", CAPTIONS, IMAGE_OF_CAPTION, path)
    return path


class Saved(NamedTuple):
    """A whole matrix or a store of the best images: how it is read, and its files."""

    read: Callable[..., object]
    array: Path
    note: Path


@pytest.fixture(params=["matrix", "store"])
def saved(request, written, tmp_path):
    if request.param == "matrix":
        return Saved(partial(read_phi, written), written, written.with_suffix(".json"))
    best = tmp_path / "best"
    write_top_k("cider", CAPTIONS, IMAGE_OF_CAPTION, best, k=2)
    return Saved(partial(read_top_k, best), best / "scores.npy", best / "note.json")


def test_other_captions_and_other_images_of_the_same_captions_are_refused(saved):
    saved.read(CAPTIONS, IMAGE_OF_CAPTION)
    for captions, image_of_caption, sentence in (
        ([*CAPTIONS[:4], "a blue car"], None, "other captions"),
        (CAPTIONS[:4], None, "5 rows but there are 4 captions"),
        (CAPTIONS, [0, 0, 1, 2, 2], "other images of these captions"),
    ):
        with pytest.raises(InputError, match=sentence):
            saved.read(captions, image_of_caption)
    note = json.loads(saved.note.read_text())
    del note["image_of_caption_sha256"], note["sha256"]  # as of an earlier version
    saved.note.write_text(json.dumps(note))
    with pytest.raises(InputError, match="other images of these captions"):
        saved.read(CAPTIONS, IMAGE_OF_CAPTION)


def test_what_is_damaged_missing_or_of_something_else_is_refused(saved):
    whole, text = saved.array.read_bytes(), saved.note.read_text()
    for damaged in (whole[:-8], whole[:40], b"", b"no array"):
        saved.array.write_bytes(damaged)
        with pytest.raises(InputError, match="recompute phi"):
            saved.read()
    np.save(saved.array, np.zeros((5, 4), dtype=np.float32))
    with pytest.raises(InputError, match=r"float32 \[5, 4\] but its note says float32 \[5, [23]\]"):
        saved.read()
    for broken in ([1, 2], *(json.loads(text) | {"shape": shape} for shape in (None, [5], ["5", 3], {"0": 5}))):
        saved.note.write_text(json.dumps(broken))
        with pytest.raises(InputError, match="not the note"):
            saved.read()
    saved.note.unlink()
    with pytest.raises(InputError, match=r"not complete|no such store"):
        saved.read()
    saved.array.unlink()
    with pytest.raises(InputError, match=r"no such (phi matrix|store)"):
        saved.read()


@pytest.mark.parametrize(
    ("name", "metric", "tokenisation", "idf"),
    [
        ("cider", "cider", "whitespace", "these 5 captions of 3 images"),
        ("bleu4", "bleu4", "whitespace", None),
        ("binary", "binary", None, None),
    ],
)
def test_the_note_says_what_the_matrix_was_made_from(tmp_path, name, metric, tokenisation, idf):
    write_phi(name, CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "phi.npy")
    note = read_phi_note(tmp_path / "phi.npy")
    assert (note["phi"], note["metric"], note["tokenisation"]) == (name, metric, tokenisation)
    assert (note["idf_corpus"], note["tuples"], note["shape"]) == (idf, None, [5, 3])
    text = "".join(f"{caption}\n" for caption in CAPTIONS).encode()
    assert note["captions_sha256"] == hashlib.sha256(text).hexdigest()


def test_spice_is_made_of_the_tuples_and_says_which(tmp_path):
    tuples = Tuples([[("dog",)], [("dog",)], [("cat",)], [("cat",), ("cat", "one")], []], "a test", "5ha")
    write_phi("spice", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "phi.npy", tuples)
    assert read_phi_note(tmp_path / "phi.npy")["tuples"] == {"source": "a test", "sha256": "5ha"}
    wanted = spice_matrix(tuples.of_caption, IMAGE_OF_CAPTION).astype(np.float32)
    assert wanted[0, 0] == 1 and wanted[4].max() == 0
    np.testing.assert_array_equal(read_phi(tmp_path / "phi.npy"), wanted)
    write_phi("spice_count", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "count.npy", tuples)
    np.testing.assert_array_equal(np.argwhere(read_phi(tmp_path / "count.npy")), [[3, 1]])
    assert "0 where the image" in read_phi_note(tmp_path / "count.npy")["undefined"]
    with pytest.raises(InputError, match="tuples of 4 captions but 5 captions"):
        prepare("spice", CAPTIONS, IMAGE_OF_CAPTION, Tuples(tuples.of_caption[:4], "a test", "5ha"))


@pytest.mark.parametrize(
    ("metric", "name", "sentence"),
    [
        ("bertscore", "phi.npy", "expected one of binary, bleu1"),
        ("cider-p", "phi.npy", "a tokenisation is one of whitespace, reattached, characters, ptb"),
        ("binary-ptb", "phi.npy", "takes no tokenisation; write 'binary'"),
        ("meteor", "phi.npy", "no whole matrix of it; score chosen pairs"),
        ("spice", "phi.npy", "the tuples of the captions are missing; pass tuples="),
        ("cider", "phi.csv", "must end in .npy"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is_written(tmp_path, metric, name, sentence):
    with pytest.raises(InputError, match=sentence):
        write_phi(metric, CAPTIONS, IMAGE_OF_CAPTION, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_two_metrics_written_to_one_file_at_once_leave_one_with_its_note(tmp_path):
    alone = {name: tmp_path / f"{name}.npy" for name in ("cider", "bleu1")}
    for name, path in alone.items():
        write_phi(name, CAPTIONS, IMAGE_OF_CAPTION, path)
    for _ in range(10):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: write_phi(name, CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "both.npy"), alone))
        name = read_phi_note(tmp_path / "both.npy")["phi"]
        np.testing.assert_array_equal(read_phi(tmp_path / "both.npy"), read_phi(alone[name]))
    assert {path.stem for path in tmp_path.iterdir()} == {"both", *alone}
