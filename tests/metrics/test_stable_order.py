"""The order of whole rows against numpy's stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.metrics import stable_order as module
from fivesentences.metrics.stable_order import stable_order

RNG = np.random.default_rng(3)
CASES = {
    "random": RNG.normal(size=(7, 900)),
    "ties": np.round(RNG.normal(size=(7, 900))),
    "mostly zero": np.maximum(0, RNG.normal(size=(7, 900)) - 1),
    "signed zeros": RNG.choice([0.0, -0.0, 1.0, -1.0], size=(7, 900)),
    "all sizes": RNG.normal(size=(7, 900)) * 10.0 ** RNG.integers(-44, 38, size=(7, 900)),
    "neighbouring numbers": np.nextafter(np.float32(1), np.float32(2)) ** RNG.integers(-3, 4, size=(7, 900)),
    "minus infinity": np.where(RNG.random((7, 900)) < 0.3, -np.inf, RNG.normal(size=(7, 900))),
    "both infinities": RNG.choice([-np.inf, np.inf, 0.0, 3.4e38, -3.4e38], size=(7, 900)),
    "one item": np.zeros((5, 1)),
    "one row": RNG.normal(size=(1, 70_000)),
    "no item": np.zeros((3, 0)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("case", CASES)
def test_every_row_is_in_the_order_of_a_stable_sort(case, dtype, monkeypatch):
    scores = CASES[case].astype(dtype)
    wanted = np.argsort(-scores, axis=1, kind="stable")
    np.testing.assert_array_equal(stable_order(scores), wanted)
    monkeypatch.setattr(module, "ELEMENTS_AT_ONCE", 1800)
    np.testing.assert_array_equal(stable_order(scores), wanted)
    scores.setflags(write=False)
    np.testing.assert_array_equal(stable_order(scores[::-1]), wanted[::-1])
