"""BLEU against pycocoevalcap, called as its authors call it."""

from __future__ import annotations

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu

from fivesentences.errors import InputError
from fivesentences.semantics.bleu import BleuScorer, bleu_matrix
from fivesentences.semantics.tokenisation import tokenise


def pycocoevalcap_bleu(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    """``[pairs, 4]`` sentence-level scores of one candidate with its references per entry."""
    names = range(len(candidates))
    given = {name: [candidates[name]] for name in names}
    _, scores = Bleu(4).compute_score(dict(zip(names, references, strict=True)), given, verbose=0)
    return np.array(scores).T


def joined(captions, tokenize="whitespace"):
    return [" ".join(words) for words in tokenise(captions, tokenize)]


def assert_whole_matrices_are_theirs(captions, image_of_caption, tokenize="whitespace"):
    words = joined(captions, tokenize)
    n_images = int(image_of_caption.max()) + 1
    references = [[words[k] for k in np.flatnonzero(image_of_caption == image)] for image in range(n_images)]
    theirs = pycocoevalcap_bleu([text for text in words for _ in range(n_images)], references * len(words))
    for n in range(1, 5):
        ours = bleu_matrix(captions, image_of_caption, n, tokenize)
        np.testing.assert_allclose(ours, theirs[:, n - 1].reshape(ours.shape), atol=1e-12, rtol=0)


@pytest.mark.parametrize("seed", range(12))
def test_random_corpora_equal_pycocoevalcap_for_every_n(made_corpus, seed):
    assert_whole_matrices_are_theirs(*made_corpus(seed))


@pytest.mark.parametrize("tokenize", ["whitespace", "reattached"])
def test_hostile_captions_equal_pycocoevalcap(hostile_corpus, tokenize):
    assert_whole_matrices_are_theirs(*hostile_corpus, tokenize)


def test_captions_of_two_thousand_words_equal_pycocoevalcap():
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in (2000, 1900, 7, 0, 2000, 40)]
    assert_whole_matrices_are_theirs(captions, np.array([0, 0, 1, 1, 2, 2]))


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_pairs_are_the_cells_of_the_matrix(made_corpus, cells, seed, n):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption)
    scorer = BleuScorer(captions, image_of_caption, n)
    whole = scorer.score(np.arange(len(captions)))
    np.testing.assert_allclose(scorer.pairs(some, images), whole[some, images], atol=1e-14, rtol=0)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_pairs_without_the_own_caption_equal_pycocoevalcap_without_that_reference(
    made_corpus, cells, references_of, seed, n
):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption)
    words = joined(captions)
    ours = BleuScorer(captions, image_of_caption, n).pairs(some, images, without_own=True)
    references = [
        [words[k] for k in references_of(image_of_caption, image, without=caption)]
        for caption, image in zip(some, images, strict=True)
    ]
    known = np.array([bool(of_pair) for of_pair in references])
    np.testing.assert_array_equal(np.isnan(ours), ~known)
    chosen = np.flatnonzero(known)
    theirs = pycocoevalcap_bleu([words[some[k]] for k in chosen], [references[k] for k in chosen])
    np.testing.assert_allclose(ours[chosen], theirs[:, n - 1], atol=1e-12, rtol=0)


def test_an_image_of_one_caption_has_no_score_without_it(made_corpus):
    scorer = BleuScorer(["a dog", "a cat"], [0, 1])
    scores = scorer.pairs([0, 0, 1], [0, 1, 1], without_own=True)
    np.testing.assert_array_equal(np.isnan(scores), [True, False, True])


def test_groups_hold_every_caption_once_and_any_order_scores_alike(made_corpus):
    captions, image_of_caption = made_corpus(2)
    scorer = BleuScorer(captions, image_of_caption)
    groups = scorer.groups(3)
    assert max(map(len, groups)) <= 3
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(captions)))
    whole = scorer.score(np.arange(len(captions)))
    for group in groups:
        np.testing.assert_array_equal(scorer.score(group), whole[group])


def test_a_matrix_is_written_as_a_file(tmp_path, made_corpus):
    captions, image_of_caption = made_corpus(1)
    on_disk = bleu_matrix(captions, image_of_caption, n=2, out=tmp_path / "bleu2.npy")
    np.testing.assert_array_equal(on_disk, bleu_matrix(captions, image_of_caption, n=2).astype(np.float32))


@pytest.mark.parametrize("n", [0, 5, 2.5, "4", True])
def test_an_n_that_is_none_is_refused(n):
    with pytest.raises(InputError, match="n from 1 to 4"):
        bleu_matrix(["a"], [0], n)


@pytest.mark.parametrize(
    ("captions", "images", "sentence"),
    [([2], [0], r"captions\[0\] is 2"), ([0], [-1], r"images\[0\] is -1"), ([0, 1], [0], "as many of both")],
)
def test_pairs_that_do_not_fit_are_refused(captions, images, sentence):
    with pytest.raises(InputError, match=sentence):
        BleuScorer(["a", "b"], [0, 1]).pairs(captions, images)
    assert BleuScorer(["a", "b"], [0, 1]).pairs([], []).shape == (0,)
