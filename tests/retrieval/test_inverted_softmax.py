"""Inverted softmax against its formula in exact arithmetic, and what reference facts say of its rankings."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import recall_at_k
from fivesentences.retrieval import inverted_softmax


def by_definition(similarity, beta, direction, include_self):
    """log of eq. 5 with 60 digits."""
    scores = np.asarray(similarity, dtype=np.float64)
    scores = scores if direction == "i2t" else scores.T
    n_queries, n_items = scores.shape
    result = np.empty(scores.shape)
    with decimal.localcontext(decimal.Context(prec=60, Emin=-(10**9), Emax=10**9)):
        powers = [[(decimal.Decimal(float(s)) * decimal.Decimal(beta)).exp() for s in row] for row in scores]
        for item in range(n_items):
            for query in range(n_queries):
                others = sum(
                    (powers[q][item] for q in range(n_queries) if include_self or q != query), decimal.Decimal(0)
                )
                result[query, item] = float((powers[query][item] / others).ln())
    return result if direction == "i2t" else result.T


def matrices():
    rng = np.random.default_rng(5)
    random = rng.uniform(-1, 1, (5, 12))
    yield "random", random
    yield "ties", rng.integers(0, 2, (5, 10)).astype(np.float64)
    yield "duplicated columns", np.repeat(rng.uniform(-1, 1, (5, 3)), 4, axis=1)
    yield "all equal", np.full((4, 8), 0.3)
    yield "one far above", np.where(np.eye(5, 12, dtype=bool), 40.0, random)
    yield "dot products", 30.0 * random


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name, matrix", list(matrices()))
def test_values_are_the_logarithm_of_equation_5(name, matrix, dtype, include_self, direction):
    given = matrix.astype(dtype)
    ours = inverted_softmax(given, direction=direction, include_self=include_self)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, by_definition(given, 30.0, direction, include_self), rtol=3e-7, atol=1e-14)


def test_captions_with_equal_columns_stay_tied():
    matrix = np.tile(np.random.default_rng(3).uniform(-1, 1, (9, 37)), (1, 3))
    ours = inverted_softmax(matrix)
    np.testing.assert_array_equal(ours, np.tile(ours[:, :37], (1, 3)))


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("beta", [1e-3, 1e3, 1e6])
def test_no_beta_overflows(beta, direction):
    matrix = np.random.default_rng(2).uniform(-1, 1, (5, 15))
    np.testing.assert_allclose(
        inverted_softmax(matrix, beta, direction), by_definition(matrix, beta, direction, False), rtol=3e-7, atol=1e-12
    )


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_the_self_term_changes_no_ranking_and_no_recall(direction):
    rng = np.random.default_rng(7)
    matrix = rng.uniform(-1, 1, (30, 150)) + np.kron(np.eye(30), np.full((1, 5), 0.8))
    without = inverted_softmax(matrix, direction=direction)
    with_self = inverted_softmax(matrix, direction=direction, include_self=True)
    axis = 1 if direction == "i2t" else 0
    np.testing.assert_array_equal(np.argsort(without, axis=axis), np.argsort(with_self, axis=axis))
    assert recall_at_k(without, direction=direction) == recall_at_k(with_self, direction=direction)
    with np.errstate(over="ignore"):
        p = np.exp(with_self.astype(np.float64))
    np.testing.assert_allclose(np.exp(without.astype(np.float64)), p / (1 - p), rtol=1e-4)


def test_scipy_has_the_same_probabilities():
    from scipy.special import log_softmax

    matrix = np.random.default_rng(8).uniform(-1, 1, (40, 200)).astype(np.float32)
    wide = 30.0 * matrix.astype(np.float64)
    np.testing.assert_allclose(inverted_softmax(matrix, include_self=True), log_softmax(wide, axis=0), rtol=3e-7)
    ours = inverted_softmax(matrix, direction="t2i", include_self=True)
    np.testing.assert_allclose(ours, log_softmax(wide, axis=1), rtol=3e-7)


@pytest.mark.parametrize("direction, axis", [("i2t", 0), ("t2i", 1)])
def test_with_beta_near_0_items_rank_by_score_minus_their_mean_with_the_other_queries(direction, axis):
    matrix = np.random.default_rng(9).uniform(-1, 1, (12, 36))
    n = matrix.shape[axis]
    expected = matrix - (matrix.sum(axis=axis, keepdims=True) - matrix) / (n - 1)
    out = np.empty(matrix.shape)  # float64: differences are of the order of beta
    ours = inverted_softmax(matrix, 1e-6, direction, out=out)
    np.testing.assert_allclose((ours + np.log(n - 1)) / 1e-6, expected, atol=1e-5)


@pytest.mark.parametrize(
    "given, options, message",
    [
        (np.zeros((2, 4)), {"beta": 0}, "beta is 0"),
        (np.zeros((2, 4)), {"beta": float("nan")}, "beta is nan"),
        (np.zeros((2, 4)), {"direction": "t2t"}, "direction is 't2t'"),
        (np.zeros((1, 4)), {}, "pass include_self=True"),
    ],
)
def test_what_does_not_fit_is_named(given, options, message):
    with pytest.raises(InputError, match=message):
        inverted_softmax(given, **options)


def test_one_query_with_the_self_term_is_certain():
    np.testing.assert_array_equal(inverted_softmax(np.array([[1.0, 2.0, 3.0]]), include_self=True), np.zeros((1, 3)))
    np.testing.assert_array_equal(
        inverted_softmax(np.array([[0.5]]), direction="t2i", include_self=True), np.zeros((1, 1))
    )
