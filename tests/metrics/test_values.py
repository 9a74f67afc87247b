"""The stated policy for queries that have nothing to find, where the released class stops with an IndexError.

That "zero" and "skip" count them 0 or leave them out, in every variant, is in ``test_definitions``.
"""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, category_map, ncs, ndcg, nsum, r_precision, semantic_recall
from fivesentences.metrics.values import after_policy

RNG = np.random.default_rng(0)
SIMILARITY = RNG.normal(size=(6, 30))
PHI = RNG.random((30, 6)) + 0.1
ZERO_COLUMN = PHI * (np.arange(6) != 2)
LONELY = ["a", "b", "z", "a", "b", "a"], ["a", "b"] * 15  # no caption has the category of image 2
CALLS = {
    "ncs": lambda empty: ncs(SIMILARITY, ZERO_COLUMN, empty=empty),
    "ndcg": lambda empty: ndcg(SIMILARITY, ZERO_COLUMN, empty=empty),
    "nsum": lambda empty: nsum(SIMILARITY, ZERO_COLUMN, empty=empty),
    "semantic_recall": lambda empty: semantic_recall(SIMILARITY, ZERO_COLUMN, empty=empty),
    "category_map": lambda empty: category_map(SIMILARITY, *LONELY, empty=empty),
    "r_precision": lambda empty: r_precision(SIMILARITY, *LONELY, empty=empty),
    "Evaluator": lambda empty: Evaluator(ZERO_COLUMN, empty=empty)(SIMILARITY),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_query_that_has_nothing_to_find_is_an_error_on_request(call):
    call("skip")
    with pytest.raises(InputError, match="image 2"):
        call("error")


def test_queries_that_all_have_nothing_to_find_cannot_all_be_left_out():
    with pytest.raises(InputError, match="leaves none"):
        after_policy((np.zeros(3), np.ones(3, dtype=bool)), "skip", "i2t")
