"""ROUGE-L against pycocoevalcap, called as its authors call it."""

from __future__ import annotations

import numpy as np
import pytest
from pycocoevalcap.rouge.rouge import Rouge

from fivesentences.semantics.rouge import RougeLScorer, rouge_l_matrix
from fivesentences.semantics.tokenisation import tokenise


def joined(captions, tokenize="whitespace"):
    return [" ".join(words) for words in tokenise(captions, tokenize)]


def assert_the_whole_matrix_is_theirs(captions, image_of_caption, tokenize="whitespace"):
    words = joined(captions, tokenize)
    ours = rouge_l_matrix(captions, image_of_caption, tokenize)
    references = [[words[k] for k in np.flatnonzero(image_of_caption == image)] for image in range(ours.shape[1])]
    theirs = [[Rouge().calc_score([text], of_image) for of_image in references] for text in words]
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, np.equal(theirs, 0))


@pytest.mark.parametrize("seed", range(10))
def test_random_corpora_equal_pycocoevalcap_with_the_same_zeros(made_corpus, seed):
    assert_the_whole_matrix_is_theirs(*made_corpus(seed))


@pytest.mark.parametrize("tokenize", ["whitespace", "reattached"])
def test_hostile_captions_equal_pycocoevalcap(hostile_corpus, tokenize):
    assert_the_whole_matrix_is_theirs(*hostile_corpus, tokenize)


def test_lengths_about_whole_machine_words_equal_pycocoevalcap():
    rng = np.random.default_rng(0)
    sizes = [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 3, 0]
    captions = [" ".join(rng.choice(["a", "b"], size=size)) for size in sizes]
    captions.append("a " * 128 + "b")  # a carry through two machine words
    assert_the_whole_matrix_is_theirs(captions, np.arange(len(captions)) // 3)


def test_captions_of_two_thousand_words_equal_pycocoevalcap():
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in (2000, 40, 7, 0)]
    assert_the_whole_matrix_is_theirs(captions, np.array([0, 0, 1, 1]))


@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_pairs_are_the_cells_of_the_matrix(made_corpus, cells, seed):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption)
    scorer = RougeLScorer(captions, image_of_caption)
    whole = scorer.score(np.arange(len(captions)))
    np.testing.assert_allclose(scorer.pairs(some, images), whole[some, images], atol=1e-14, rtol=0)


@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_pairs_without_the_own_caption_equal_pycocoevalcap_without_that_reference(
    made_corpus, cells, references_of, seed
):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption)
    words = joined(captions)
    ours = RougeLScorer(captions, image_of_caption).pairs(some, images, without_own=True)
    for score, caption, image in zip(ours, some, images, strict=True):
        references = [words[k] for k in references_of(image_of_caption, image, without=caption)]
        if references:
            assert score == pytest.approx(Rouge().calc_score([words[caption]], references), abs=1e-12)
        else:
            assert np.isnan(score)


def test_groups_hold_every_caption_once_and_any_order_scores_alike(made_corpus):
    captions, image_of_caption = made_corpus(2)
    captions[-1] = captions[0]
    scorer = RougeLScorer(captions, image_of_caption)
    groups = scorer.groups(3)
    assert max(map(len, groups)) <= 3
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(captions)))
    whole = scorer.score(np.arange(len(captions)))
    backwards = np.arange(len(captions))[::-1]
    np.testing.assert_array_equal(scorer.score(backwards), whole[backwards])
    for group in groups:
        np.testing.assert_array_equal(scorer.score(group), whole[group])
