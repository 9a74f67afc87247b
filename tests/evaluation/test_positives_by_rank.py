"""Right pairs among the first n pairs by phi and by labels."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.reproduction.evaluation.positives_by_rank import pairs_until, shared_labels
from fivesentences.retrieval import blocks


@pytest.mark.parametrize("levels", [3, 1000])
@pytest.mark.parametrize("block", [1, 10**6])
def test_counts_are_those_of_a_search_by_hand(levels, block, monkeypatch):
    monkeypatch.setattr(blocks, "ELEMENTS_PER_BLOCK", block)  # of 16 rows at least
    drawn = np.random.default_rng(levels)
    phi, owner = drawn.integers(levels, size=(45, 6)).astype(np.float32), np.repeat(np.arange(6), [3, 6, 9, 12, 9, 6])
    others = np.argwhere(owner[:, None] != np.arange(6))
    right = [tuple(pair) for pair in others[drawn.permutation(len(others))[:20]]]
    by_hand = [sum(phi[tuple(other)] >= phi[pair] for other in others) for pair in right]
    assert pairs_until(phi, owner, *zip(*right, strict=True)).tolist() == by_hand


def test_labels_are_ordered_by_how_many_differ():
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    assert shared_labels(labels, np.array([0, 0, 2])).tolist() == [[0, -1, -3], [0, -1, -3], [-3, -2, 0]]


def test_pairs_of_an_image_without_a_label_come_last():
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    ordered = shared_labels(labels, np.array([0, 1, 2]))
    assert ordered[:2, :2].tolist() == [[0, -1], [-1, 0]]
    assert max(ordered[2].max(), ordered[:, 2].max()) < -3
