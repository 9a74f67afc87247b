"""Blocks of a matrix: every row once and in its place, in any order, with threads and failures."""

from __future__ import annotations

import errno
import os
import threading

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import scoring
from fivesentences.semantics.scoring import Scorer, ahead, fill, matrix_of, new_array, rows_of_block


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


def test_a_matrix_has_every_row_in_its_place(scorer, tmp_path):
    np.testing.assert_array_equal(matrix_of(scorer), scorer.matrix)
    wanted = scorer.matrix.astype(np.float32)
    mapped = np.lib.format.open_memmap(tmp_path / "mapped.npy", mode="w+", dtype=np.float32, shape=scorer.shape)
    for into in (np.zeros(scorer.shape, dtype=np.float32), mapped):
        assert matrix_of(scorer, into) is into
        np.testing.assert_array_equal(into, wanted)
    on_disk = matrix_of(scorer, tmp_path / "deep" / "phi.npy")
    assert isinstance(on_disk, np.memmap) and on_disk.dtype == np.float32
    np.testing.assert_array_equal(on_disk, wanted)
    assert sorted(path.name for path in tmp_path.rglob("*.npy")) == ["mapped.npy", "phi.npy"]


def test_few_blocks_are_made_ahead():
    made = []
    results = ahead(lambda group: made.append(group) or len(made), iter(np.arange(100)[:, None]))
    for _ in range(3):
        next(results)
    results.close()
    assert len(made) <= 3 + 2 * (scoring.threads() + 1)


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


def test_a_block_stays_small_for_any_number_of_images():
    for images in (1, 1000, 5000, 113_000, 10**9):
        assert 1 <= rows_of_block(images) <= 1024
        assert rows_of_block(images) == 1 or rows_of_block(images) * images <= scoring.CELLS_PER_BLOCK


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(descriptor, start, length):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=r"no room for the 2\.4 GB"):
        new_array(tmp_path / "phi.npy", np.float32, (200_000, 3000))


def test_a_bar_appears_only_when_it_takes_long(scorer, capsys, monkeypatch):
    out = np.empty(scorer.shape)
    fill(scorer, out, "quick")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(scoring, "SECONDS_WITHOUT_BAR", 0.0)
    fill(scorer, out, "slow")
    assert "slow: 5000/5000" in capsys.readouterr().err


def test_an_output_that_does_not_fit_is_refused(scorer, tmp_path):
    for out in (np.empty((5000, 41)), np.empty((5000, 40), dtype=np.int64)):
        with pytest.raises(InputError, match=r"need a floating-point array \[5000, 40\]"):
            matrix_of(scorer, out)
    with pytest.raises(InputError, match=r"must end in \.npy"):
        matrix_of(scorer, tmp_path / "phi.csv")
