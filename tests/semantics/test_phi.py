"""phi files: whole or refused, and never taken for those of other captions."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import cider_matrix, phi, read_phi, write_phi

CAPTIONS = ["a dog runs", "a dog sits", "two cats sleep", "one cat sleeps", "a red car"]
IMAGE_OF_CAPTION = [0, 0, 1, 1, 2]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "dev" / "cider.npy"
    write_phi("cider", CAPTIONS, IMAGE_OF_CAPTION, path)
    return path


def test_a_written_matrix_is_read_back_memory_mapped(written):
    matrix = read_phi(written, captions=CAPTIONS)
    assert isinstance(matrix, np.memmap)
    np.testing.assert_array_equal(matrix, cider_matrix(CAPTIONS, IMAGE_OF_CAPTION).astype(np.float32))


def test_the_note_says_what_the_matrix_was_made_of(written):
    note = json.loads(written.with_suffix(".json").read_text())
    text = "".join(f"{caption}\n" for caption in CAPTIONS).encode()
    assert note["captions_sha256"] == hashlib.sha256(text).hexdigest()
    assert (note["metric"], note["tokenisation"], note["shape"]) == ("cider", "whitespace", [5, 3])
    assert note["idf_corpus"] == "these 5 captions of 3 images"


def test_other_captions_are_refused(written):
    with pytest.raises(InputError, match="other captions"):
        read_phi(written, captions=[*CAPTIONS[:4], "a blue car"])
    with pytest.raises(InputError, match="5 rows but there are 4 captions"):
        read_phi(written, captions=CAPTIONS[:4])


def test_a_missing_matrix_or_note_is_refused(written):
    with pytest.raises(InputError, match="no such phi matrix"):
        read_phi(written.with_name("spice.npy"))
    written.with_suffix(".json").unlink()
    with pytest.raises(InputError, match="not whole"):
        read_phi(written)


def test_a_damaged_matrix_is_refused(written):
    whole = written.read_bytes()
    for damaged in (whole[:-8], whole[:40], b"", b"no array"):
        written.write_bytes(damaged)
        with pytest.raises(InputError, match="make phi again"):
            read_phi(written)
    np.save(written, np.zeros((5, 4), dtype=np.float32))
    with pytest.raises(InputError, match=r"\[5, 4\]"):
        read_phi(written)


def test_a_note_of_something_else_is_refused(written):
    written.with_suffix(".json").write_text("[1, 2]")
    with pytest.raises(InputError, match="not the note"):
        read_phi(written)


def test_a_failure_half_way_leaves_the_finished_matrix_alone(written, monkeypatch):
    def half(captions, image_of_caption, tokenize="whitespace", out=None):
        out.write_bytes(b"half of a matrix")
        raise RuntimeError("killed")

    before = written.read_bytes()
    monkeypatch.setitem(phi.SEMANTIC_METRICS, "cider", half)
    with pytest.raises(RuntimeError):
        write_phi("cider", CAPTIONS, IMAGE_OF_CAPTION, written)
    assert written.read_bytes() == before
    read_phi(written, captions=CAPTIONS)
    assert sorted(path.name for path in written.parent.iterdir()) == ["cider.json", "cider.npy"]


@pytest.mark.parametrize(
    ("metric", "name", "sentence"),
    [("meteor", "phi.npy", "expected one of cider"), ("cider", "phi.csv", "must end in .npy")],
)
def test_an_unknown_metric_or_file_type_is_refused(tmp_path, metric, name, sentence):
    with pytest.raises(InputError, match=sentence):
        write_phi(metric, CAPTIONS, IMAGE_OF_CAPTION, tmp_path / name)
    assert not list(tmp_path.iterdir())
