"""Preparation of features from statistics of the training images."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fivesentences.errors import InputError
from fivesentences.features import Preparation


@pytest.mark.parametrize("shape", [(2500, 6), (1500, 3, 6)])
def test_standardised_training_rows_have_mean_0_and_deviation_1(shape):
    # A mean of a thousand deviations: where sums of squares in float32 would have lost the deviation.
    rows = (np.random.default_rng(1).normal(size=shape) * [1, 2, 3, 0.1, 0.01, 5] + 1000 * np.arange(6)).astype("f4")
    preparation = Preparation.fit(rows, "standardise")
    flat = rows.reshape(-1, 6).astype(np.float64)
    np.testing.assert_allclose(preparation.mean, flat.mean(axis=0), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(preparation.deviation, flat.std(axis=0), rtol=1e-6)
    expected = (rows[:7] - flat.mean(axis=0)) / flat.std(axis=0)
    moves = 2e-7 * np.abs(flat).max(axis=0) / flat.std(axis=0)  # float32 rounding of the mean, in deviations
    assert (np.abs(preparation.apply(rows[:7]) - expected) <= 1e-5 + moves).all()


def test_a_dimension_that_never_changes_becomes_zero_and_not_infinite():
    rows = np.random.default_rng(2).normal(size=(100, 4)).astype(np.float32)
    rows[:, 1], rows[:, 2], rows[:, 3] = 0, 0.1, 1e-30
    preparation = Preparation.fit(rows, "standardise")
    np.testing.assert_array_equal(preparation.apply(rows)[:, 1:], 0)
    other = rows[:1] + np.float32(1)
    assert np.isfinite(preparation.apply(other)).all()


def test_normalised_rows_have_length_1_and_a_zero_row_stays_zero():
    rows = np.random.default_rng(3).normal(size=(5, 3, 4)).astype(np.float16)
    rows[2, 1] = 0
    prepared = Preparation.fit(rows, "normalise").apply(rows)
    length = np.sqrt((prepared.astype(np.float64) ** 2).sum(axis=-1))
    expected = np.ones((5, 3))
    expected[2, 1] = 0
    np.testing.assert_allclose(length, expected, atol=1e-6)


@pytest.mark.parametrize("how", ["as_stored", "standardise", "normalise"])
def test_apply_never_changes_its_argument_and_a_preparation_survives_a_safetensors_file(tmp_path, how):
    rows = np.random.default_rng(5).normal(size=(50, 3)).astype(np.float32)
    kept = rows.copy()
    preparation = Preparation.fit(rows, how)
    prepared = preparation.apply(rows)
    assert (how == "as_stored") == np.array_equal(prepared, kept)
    save_file(preparation.to_arrays(), tmp_path / "preparation.safetensors")
    again = Preparation.from_arrays(load_file(tmp_path / "preparation.safetensors"))
    assert again.how == how
    np.testing.assert_array_equal(again.apply(rows), prepared)
    prepared += 1
    np.testing.assert_array_equal(rows, kept)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda rows: Preparation.fit(rows, "whiten"), r"'whiten'.*as_stored"),
        (lambda rows: Preparation.fit(rows[:0], "standardise"), "training"),
        (lambda rows: Preparation.fit(rows * np.nan, "standardise"), "NaN or infinite"),
        (lambda rows: Preparation.fit(rows, "standardise").apply(rows[:, :2]), "2 dimensions, but the training .* 3"),
        (lambda rows: Preparation.from_arrays({"how": np.frombuffer(b"standardise", np.uint8)}), "unknown to this"),
        (lambda rows: Preparation.from_arrays({}), "unknown"),
    ],
)
def test_wrong_preparations_end_in_one_sentence(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        wrong(np.zeros((4, 3), np.float32))
