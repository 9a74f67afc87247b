"""BLEU against pycocoevalcap, called as its authors call it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu

from fivesentences.errors import InputError
from fivesentences.semantics.bleu import bleu_matrix


def pycocoevalcap_bleu(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    """``[cells, 4]`` sentence-level scores of one candidate with its references per cell."""
    given = {cell: [text] for cell, text in enumerate(candidates)}
    return np.array(Bleu(4).compute_score(dict(enumerate(references)), given, verbose=0)[1]).T


def assert_matrices_equal_pycocoevalcap(cells, captions, image_of_caption, tokenize="whitespace"):
    theirs = pycocoevalcap_bleu(*cells(captions, image_of_caption, tokenize))
    for n in range(1, 5):
        ours = bleu_matrix(captions, image_of_caption, n, tokenize)
        np.testing.assert_allclose(ours.ravel(), theirs[:, n - 1], atol=1e-12, rtol=0)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_random_corpora_equal_pycocoevalcap_for_every_n(cells, corpora, data):
    assert_matrices_equal_pycocoevalcap(cells, *data.draw(corpora))


@pytest.mark.parametrize("tokenize", ["whitespace", "reattached"])
def test_hostile_captions_equal_pycocoevalcap(cells, hostile_corpus, tokenize):
    assert_matrices_equal_pycocoevalcap(cells, *hostile_corpus, tokenize)


def test_captions_of_two_thousand_words_equal_pycocoevalcap(cells):
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in (2000, 1900, 7, 0, 2000, 40)]
    assert_matrices_equal_pycocoevalcap(cells, captions, np.array([0, 0, 1, 1, 2, 2]))


@pytest.mark.parametrize("n", [0, 5, 2.5, "4", True])
def test_an_n_out_of_range_is_refused(n):
    with pytest.raises(InputError, match="n from 1 to 4"):
        bleu_matrix(["a"], [0], n)
