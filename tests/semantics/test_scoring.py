"""Blocks of a matrix: every row once and in its place, in any order, with threads and failures."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics.scoring import Scorer, matrix_of


class Shuffled(Scorer):
    """A known matrix, in groups of a random order."""

    def __init__(self, matrix, seed=0):
        self.matrix, self.shape = matrix, matrix.shape
        self._order = np.random.default_rng(seed).permutation(len(matrix))

    def groups(self, rows):
        return [self._order[start : start + rows] for start in range(0, len(self._order), rows)]

    def score(self, captions):
        return self.matrix[captions]

    def _pairs(self, captions, images, without_own):
        return self.matrix[captions, images]


@pytest.fixture
def scorer():
    return Shuffled(np.random.default_rng(1).random((5000, 40)))


def test_an_error_in_a_block_ends_the_matrix_and_the_threads(scorer, tmp_path, monkeypatch):
    def broken(captions):
        if 2500 in captions:
            raise RuntimeError("no such row")
        return scorer.matrix[captions]

    monkeypatch.setattr(scorer, "score", broken)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="no such row"):
        matrix_of(scorer, tmp_path / "phi.npy")
    assert not list(tmp_path.iterdir())
    assert threading.active_count() == before


def test_an_output_that_does_not_fit_is_refused(scorer, tmp_path):
    for out in (np.empty((5000, 41)), np.empty((5000, 40), dtype=np.int64)):
        with pytest.raises(InputError, match=r"\[5000, 40\]"):
            matrix_of(scorer, out)
    with pytest.raises(InputError, match="end"):
        matrix_of(scorer, tmp_path / "phi.csv")
