"""Order, ties and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import ncs, semantic_recall
from fivesentences.retrieval.blocks import best_first, whole_order

SIMILARITY = np.arange(20.0).reshape(2, 10)  # [images, captions]
PHI = np.arange(20.0).reshape(10, 2)  # [captions, images]


@pytest.mark.parametrize("n_items", [1, 3, 63, 64, 65, 501])
@pytest.mark.parametrize("levels", [1, 2, 5, 30, 10**6])
@pytest.mark.parametrize("absent", [0.0, 0.1, 0.95, 1.0])
def test_the_first_items_are_those_of_a_stable_sort(n_items, levels, absent):
    rng = np.random.default_rng(levels)
    scores = rng.integers(0, levels, size=(20, n_items)).astype(float)
    scores[rng.random(scores.shape) < absent] = -np.inf
    scores[0] = np.sort(scores[0])
    scores[1] = np.sort(scores[1])[::-1]
    wanted = np.argsort(-scores, axis=1, kind="stable")
    for depth in (1, 2, 15, 16, 50, 200, 600):
        np.testing.assert_array_equal(best_first(scores, depth), wanted[:, :depth])


@pytest.mark.parametrize("metric", [ncs, semantic_recall])
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ks": ("1", "5")}, "holds '1'"),
        ({"ks": (0,)}, "at least 1"),
        ({"ks": (True,)}, "holds True"),
        ({"ks": ()}, "list of cut-offs"),
        ({"ks": 5}, "list of cut-offs"),
        ({"direction": "image"}, "expected 'i2t'"),
        ({"formula": "print"}, "expected 'released' or 'paper'"),
        ({"empty": "nan"}, "'zero' or 'skip' or 'error'"),
        ({"m": 0, "formula": "paper"}, "at least 1"),
    ],
)
def test_an_argument_out_of_range_is_refused(metric, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        metric(SIMILARITY, PHI, **arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"m": 3}, "pass formula='paper'"),
        ({"discount": "log", "formula": "paper"}, "eq. 5 has no discount"),
        ({"ideal_pool": "all"}, "'gallery' or 'given_rows'"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        ncs(SIMILARITY, PHI, **arguments)


EXTREME = [0.0, -0.0, 1e-45, -1e-45, 1.0, 3e38, -3e38, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 70_000), (40, 500), (5, 1)])
def test_a_whole_order_is_that_of_a_stable_sort(shape, dtype):
    rng = np.random.default_rng(0)
    many_zeros = rng.random(shape) * (rng.random(shape) < np.linspace(0, 0.9, shape[0])[:, None])
    few_levels = rng.integers(-2, 3, shape) / 2
    for scores in (rng.normal(size=shape), few_levels, rng.choice(EXTREME, shape), many_zeros, -many_zeros):
        for given in (scores.astype(dtype), np.asfortranarray(scores.astype(dtype))):
            np.testing.assert_array_equal(whole_order(given), np.argsort(-given, axis=1, kind="stable"))
