"""nDCG against ir_measures and scikit-learn, and what it has to do with NCS."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from fivesentences.metrics import ncs, ndcg

DRAW = np.random.default_rng(3)
SIMILARITY = DRAW.normal(size=(12, 60))
PHI = DRAW.gamma(0.4, 1.0, size=(60, 12)) * (DRAW.random((60, 12)) < 0.6)
GRADES = DRAW.integers(0, 4, size=(60, 12))


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_it_is_scikit_learns(direction):
    scores, relevance = (SIMILARITY, PHI.T) if direction == "i2t" else (SIMILARITY.T, PHI)
    found = ndcg(SIMILARITY, PHI, (1, 3, 10, 100), direction)
    for k, value in found.items():
        assert value == pytest.approx(ndcg_score(relevance, scores, k=k), abs=1e-12)
    exponential = ndcg(SIMILARITY, PHI, (5,), direction, "exponential")[5]
    assert exponential == pytest.approx(ndcg_score(2**relevance - 1, scores, k=5), abs=1e-12)


# ir_measures asks gdeval for exponential gains, which rounds to five digits.
@pytest.mark.parametrize(("gains", "dcg", "digits"), [("linear", "log2", 1e-12), ("exponential", "exp-log2", 5.1e-6)])
def test_it_is_ir_measures(gains, dcg, digits):
    qrels = [ir_measures.Qrel(f"{i}", f"{c}", int(GRADES[c, i])) for i in range(12) for c in range(60)]
    run = [ir_measures.ScoredDoc(f"{i}", f"{c}", float(SIMILARITY[i, c])) for i in range(12) for c in range(60)]
    measures = [ir_measures.nDCG(dcg=dcg) @ k for k in (1, 5, 10)]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    ours = ndcg(SIMILARITY, GRADES, (1, 5, 10), gains=gains)
    for measure in measures:
        assert ours[measure["cutoff"]] == pytest.approx(theirs[measure], abs=digits)


def test_at_one_it_is_ncs_and_below_it_asks_for_the_order_too():
    ours, theirs = ndcg(SIMILARITY, PHI, (1,)), ncs(SIMILARITY, PHI, (1,))
    assert 100 * ours[1] == pytest.approx(theirs[1], abs=1e-6)
    best_last = np.array([[1.0, 2.0, 3.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, 3.0, 2.0, 1.0]])
    phi = np.array([[3.0, 0], [2, 0], [1, 0], [0, 3], [0, 2], [0, 1]])
    assert ncs(best_last, phi, (3,))[3] == pytest.approx(100)
    assert ndcg(best_last, phi, (3,))[3] < 0.9
