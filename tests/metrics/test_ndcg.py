"""nDCG against scikit-learn, and what it has to do with NCS."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from fivesentences.metrics import ncs, ndcg

DRAW = np.random.default_rng(3)
SIMILARITY = DRAW.normal(size=(12, 60))
PHI = DRAW.gamma(0.4, 1.0, size=(60, 12)) * (DRAW.random((60, 12)) < 0.6)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_it_is_scikit_learns(direction):
    scores, relevance = (SIMILARITY, PHI.T) if direction == "i2t" else (SIMILARITY.T, PHI)
    found = ndcg(SIMILARITY, PHI, (1, 3, 10, 100), direction)
    for k, value in found.items():
        assert value == pytest.approx(ndcg_score(relevance, scores, k=k), abs=1e-12)
    exponential = ndcg(SIMILARITY, PHI, (5,), direction, "exponential")[5]
    assert exponential == pytest.approx(ndcg_score(2**relevance - 1, scores, k=5), abs=1e-12)


def test_at_one_it_is_ncs_and_below_it_asks_for_the_order_too():
    ours, theirs = ndcg(SIMILARITY, PHI, (1,)), ncs(SIMILARITY, PHI, (1,))
    assert 100 * ours[1] == pytest.approx(theirs[1], abs=1e-6)
    best_last = np.array([[1.0, 2.0, 3.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, 3.0, 2.0, 1.0]])
    phi = np.array([[3.0, 0], [2, 0], [1, 0], [0, 3], [0, 2], [0, 1]])
    assert ncs(best_last, phi, (3,))[3] == pytest.approx(100)
    assert ndcg(best_last, phi, (3,))[3] < 0.9
