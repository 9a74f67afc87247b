"""Counts of n-grams, and their columns of zeros and ones, against counters."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesentences.semantics.ngrams import count_ngrams, levels_of
from fivesentences.semantics.tokenisation import tokenise


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_counts_and_levels_are_those_of_a_counter(corpora, data):
    tokens = tokenise(data.draw(corpora)[0])
    grams = count_ngrams(tokens, 3)
    levels = levels_of(grams)
    ones = np.zeros((len(tokens), levels.n_columns))
    np.add.at(ones, (grams.caption[levels.entry], levels.column), 1)
    assert ones.max() == 1
    order = grams.order_of_gram[levels.gram_of_column]
    for caption, words in enumerate(tokens):
        wanted = Counter(tuple(words[k : k + n]) for n in (1, 2, 3) for k in range(len(words) - n + 1))
        assert sorted(grams.count[grams.caption == caption]) == sorted(wanted.values())
        for n in (1, 2, 3):
            assert ones[caption, order == n - 1].sum() == max(0, len(words) - n + 1)
    single = ones[:, order == 0]
    counts = [Counter(words) for words in tokens]
    np.testing.assert_array_equal(single @ single.T, [[sum((a & b).values()) for a in counts] for b in counts])
