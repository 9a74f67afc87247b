"""Inverted softmax against its formula in exact arithmetic."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

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
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("name, matrix", list(matrices()))
def test_values_are_the_logarithm_of_equation_5(name, matrix, dtype, include_self, direction):
    given = matrix.astype(dtype)
    ours = inverted_softmax(given, direction=direction, include_self=include_self)
    assert ours.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(ours, by_definition(given, 30.0, direction, include_self), rtol=3e-7, atol=1e-14)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("beta", [1e-6, 1e6])
def test_no_beta_overflows_and_none_is_too_small(beta, direction):
    matrix = np.random.default_rng(2).uniform(-1, 1, (5, 15))
    expected = by_definition(matrix, beta, direction, False)
    np.testing.assert_allclose(inverted_softmax(matrix, beta, direction), expected, rtol=3e-7, atol=1e-12)
    exact = inverted_softmax(matrix, beta, direction, out=np.empty(matrix.shape))
    np.testing.assert_allclose(exact, expected, rtol=1e-13, atol=1e-14)
