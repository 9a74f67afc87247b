"""phi of a training batch: computed, read from a matrix of the split, or from prepared CIDEr."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.corpus import Corpus, take_captions, take_fraction
from fivesentences.corpus.judgements import read_truth
from fivesentences.errors import InputError
from fivesentences.semantics import BatchCider, Tuples, write_phi
from fivesentences.semantics.registry import prepare
from fivesentences.training.batch_phi import open_phis

ROWS = np.array([3, 20, 0, 4, 11])


@pytest.fixture(scope="module")
def split(inputs) -> Corpus:
    return Corpus.read(inputs.corpus).split("train")


def cells(name: str, corpus: Corpus, rows: np.ndarray) -> np.ndarray:
    whole = prepare(name, corpus.captions, corpus.image_of_caption).score(rows)
    return whole[:, corpus.image_of_caption[rows]]


@pytest.mark.parametrize("name", ["cider", "cider-reattached", "tfidf"])
def test_cider_and_tfidf_need_no_file_and_have_the_frequencies_of_the_runs_own_captions(split, name):
    train = take_fraction(split, 0.5)
    phi = open_phis([name], train, split=split)[name](ROWS)
    assert phi.dtype == np.float32
    np.testing.assert_allclose(phi, cells(name, train, ROWS), atol=1e-6)
    assert not np.allclose(phi, cells(name, split, ROWS), atol=1e-6)


@pytest.mark.parametrize("name", ["bleu4-ptb", "spice", "truth"])
def test_a_matrix_of_the_runs_own_captions_has_the_cells_of_one_of_the_whole_split(split, name, tmp_path):
    train = take_fraction(split, 0.5)
    files, known = {}, np.random.default_rng(0).random((split.n_captions, split.n_images), dtype=np.float32)
    for corpus in (train, split):
        files[corpus.n_captions] = tmp_path / f"{corpus.n_captions}.npy"
        tuples = Tuples([[(word,) for word in text.split()] for text in corpus.captions], "a test", "")
        of = {"tuples": tuples, "truth": read_truth(known, split, corpus)}
        write_phi(name, corpus.captions, corpus.image_of_caption, files[corpus.n_captions], **of)
    own, whole = (open_phis([name], train, {name: file}, split)[name] for file in files.values())
    every = np.arange(train.n_captions)
    np.testing.assert_array_equal(own(every), whole(every))
    assert len(np.unique(own(every))) > 5
    np.testing.assert_array_equal(own(ROWS), np.load(files[train.n_captions])[ROWS][:, train.image_of_caption[ROWS]])


def test_prepared_cider_is_equal_to_the_bit(split, tmp_path):
    fresh = BatchCider(split.captions, split.image_of_caption)
    fresh.write(tmp_path / "cider.npz")
    (read,) = open_phis(["cider"], split, {"cider": tmp_path / "cider.npz"}).values()
    for rows in (ROWS, np.arange(len(fresh))):
        np.testing.assert_array_equal(read(rows), fresh.batch(rows))


def test_what_does_not_fit_is_refused_in_a_sentence(split, tmp_path):
    half = take_fraction(split, 0.5)
    write_phi("bleu4", half.captions, half.image_of_caption, tmp_path / "half.npy")
    BatchCider(half.captions, half.image_of_caption).write(tmp_path / "half.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    for name, file, sentence in (
        ("truth", None, "'truth' is not computed for each batch"),
        ("spice", None, "'spice' is not computed for each batch, which would take too long; give its matrix"),
        ("bleu4", "half.npy", "phi has 36 rows but there are 72 captions"),
        ("cider", "half.npz", "captions_sha256 is .* recreate the file"),
        ("cider", "bad.npz", "not (a complete .npz file of )?prepared CIDEr; recreate it"),
        ("cider", "none.npz", "there is no such file"),
        ("tfidf", "half.npz", "read from a .npy matrix"),
        ("ciderr", None, "semantic metric is 'ciderr'"),
    ):
        with pytest.raises(InputError, match=sentence):
            open_phis([name], split, {} if file is None else {name: tmp_path / file})
    with pytest.raises(InputError, match="tokenisation is whitespace"):
        open_phis(["cider-reattached"], half, {"cider-reattached": tmp_path / "half.npz"})
    with pytest.raises(InputError, match="split"):
        open_phis(["bleu4"], split, {"bleu4": tmp_path / "half.npy"}, half)
    third = take_fraction(split, 1 / 3)
    with pytest.raises(InputError, match=r"24.*72"):
        open_phis(["bleu4"], third, {"bleu4": tmp_path / "half.npy"}, split)
    with pytest.raises(InputError, match="end"):
        BatchCider(half.captions, half.image_of_caption).write(tmp_path / "cider.npy")


def test_a_caption_may_be_left_out_of_its_own_references_and_other_pairs_stay_the_same(split):
    rows = np.array([0, 1, 7, 20])  # 0 and 1 are captions of one image
    phis = open_phis(["cider", "cider|own_left_out"], split)
    kept, left_out = (phi(rows) for phi in phis.values())
    same = split.image_of_caption[rows][:, None] == split.image_of_caption[rows]
    np.testing.assert_array_equal(left_out[~same], kept[~same])
    # The release's scorer, given an image's other captions as references; idf of the whole split.
    scorer = prepare("cider", split.captions, split.image_of_caption)
    for row, caption in enumerate(rows):
        image = int(split.image_of_caption[caption])
        expected = scorer.pairs([caption], [image], without_own=True)[0]
        np.testing.assert_allclose(left_out[row, same[row]], expected, atol=1e-6)
        assert expected < kept[row, row]


def test_an_image_with_one_caption_cannot_leave_it_out(split):
    one = take_captions(split, 1)
    with pytest.raises(InputError, match="0"):
        open_phis(["cider|own_left_out"], one)
