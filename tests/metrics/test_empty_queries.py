"""The stated policy for queries that have nothing to find, where the released class stops with an IndexError."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, ncs, pick, semantic_recall

RNG = np.random.default_rng(0)
SIMILARITY = RNG.normal(size=(6, 30))
PHI = RNG.random((30, 6)) + 0.1
ZERO_COLUMN = PHI * (np.arange(6) != 2)
METRICS = {"N": ncs, "SR": semantic_recall}


def per_query(name, phi, keep, formula, empty, direction="i2t", **variant):
    """By cut-off, the values of every query."""
    options = {"formulas": (formula,), "styles": ("recall", "vse_recall"), "weightings": ("hard", "soft"), "ms": (1, 2)}
    rows = Evaluator(phi, **options, empty=empty).per_query(SIMILARITY, (direction,))
    given = {"ground_truth": "kept" if keep else "removed", "formula": formula, **variant}
    return {k: pick(rows, f"{name}@{k}", direction, **given)["values"] for k in (1, 5, 10)}


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("formula", ["released", "paper"])
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("N", {}),
        ("SR", {"m": 1, "style": "recall", "weighting": "hard"}),
        ("SR", {"m": 2, "style": "vse_recall", "weighting": "hard"}),
        ("SR", {"m": 2, "style": "", "weighting": "soft"}),
    ],
)
def test_an_image_of_an_all_zero_column_counts_zero_or_is_left_out_or_refused(name, variant, formula, keep):
    """Here the released class ends with an IndexError; each policy is stated."""
    given = {key: value for key, value in variant.items() if value}
    given |= {"formula": formula, "keep_ground_truth": keep}
    zero, skip = (per_query(name, ZERO_COLUMN, keep, formula, empty, **variant) for empty in ("zero", "skip"))
    others = np.arange(6) != 2
    metric = METRICS[name]
    for k in (1, 5, 10):
        assert zero[k][2] == 0
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(skip[k])), [2])
        np.testing.assert_array_equal(zero[k][others], skip[k][others])
        assert metric(SIMILARITY, ZERO_COLUMN, **given)[k] == pytest.approx(zero[k].mean())
        assert metric(SIMILARITY, ZERO_COLUMN, empty="skip", **given)[k] == pytest.approx(zero[k][others].mean())
    with pytest.raises(InputError, match=r"1 of 6 queries .* the first is image 2; pass empty='zero'"):
        metric(SIMILARITY, ZERO_COLUMN, empty="error", **given)


def test_released_semantic_recall_leaves_out_the_captions_of_such_an_image_too():
    variant = {"m": 1, "style": "recall", "weighting": "hard"}
    skip = per_query("SR", ZERO_COLUMN, False, "released", "skip", "t2i", **variant)[5]
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(skip)), np.arange(10, 15))
    with pytest.raises(InputError, match=r"5 of 30 queries .* caption 10"):
        semantic_recall(SIMILARITY, ZERO_COLUMN, direction="t2i", empty="error")


@pytest.mark.parametrize("metric", [ncs, semantic_recall])
@pytest.mark.parametrize("formula", ["released", "paper"])
def test_nothing_is_empty_where_phi_is_positive_and_everything_where_it_is_zero(metric, formula):
    for direction in ("i2t", "t2i"):
        strict = metric(SIMILARITY, PHI, direction=direction, formula=formula, empty="error")
        assert strict == metric(SIMILARITY, PHI, direction=direction, formula=formula)
        assert metric(SIMILARITY, 0 * PHI, direction=direction, formula=formula) == {1: 0, 5: 0, 10: 0}
        with pytest.raises(InputError, match="leaves none"):
            metric(SIMILARITY, 0 * PHI, direction=direction, formula=formula, empty="skip")
