"""The dev scores by which epochs are kept, against the rules of the released SAM code, written slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fivesentences.corpus import Corpus
from fivesentences.semantics import cider_matrix
from fivesentences.training.selection import DevScores


def released_sum(similarity: np.ndarray, phi: np.ndarray, discounted: bool) -> float:
    """Sum of NCS as in ``metrics/metric.py`` of the release ("softer"), its "softer order" where discounted."""

    def of(values: np.ndarray, k: int) -> float:
        weights = [math.log2(k - place + 1) if discounted else 1.0 for place in range(k)]
        return float(np.mean([weight * value for weight, value in zip(weights, values[:k], strict=True)]))

    total = 0.0
    for scores, meaning in ((similarity, phi.T), (similarity.T, phi)):
        for k in (1, 5, 10):
            shares = []
            for row, of_row in zip(scores, meaning, strict=True):
                found = of_row[np.argsort(row)[::-1]]
                shares.append(of(found, k) / (of(np.sort(of_row)[::-1], k) + 1e-10))
            total += 100.0 * float(np.mean(shares))
    return total


@pytest.mark.parametrize(
    ("selection", "column"), [("ncs", "dev_Nsum"), ("ncs_discounted", "dev_Nsum_discounted"), ("rsum", "dev_Rsum")]
)
def test_scores_are_those_of_the_release(inputs_in, tmp_path, selection, column):
    dev = Corpus.read(inputs_in(tmp_path, sizes=(20, 12, 8)).corpus).split("dev")
    phi = cider_matrix(dev.captions, dev.image_of_caption)
    scores = DevScores(selection, dev)
    assert scores.column == column
    for seed in range(3):
        similarity = np.random.default_rng(seed).random((12, 36))
        found = scores(similarity)
        assert set(found) == {"dev_Rsum", column}
        if selection != "rsum":
            expected = released_sum(similarity, phi, discounted=selection == "ncs_discounted")
            assert found[column] == pytest.approx(expected, abs=1e-8)
