"""The stated policy for queries that have nothing to find, where the released class stops with an IndexError."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, ncs, recall_at_k, semantic_recall

RNG = np.random.default_rng(0)
SIMILARITY = RNG.normal(size=(6, 30))
PHI = RNG.random((30, 6)) + 0.1
ZERO_COLUMN = PHI * (np.arange(6) != 2)
RELEASED = {"formula": "released"}
PAPER = {"formula": "paper"}


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("formula", ["released", "paper"])
@pytest.mark.parametrize("metric", [ncs, semantic_recall])
def test_an_image_of_an_all_zero_column_counts_zero_or_is_left_out_or_refused(metric, formula, keep):
    given = {"formula": formula, "keep_ground_truth": keep}
    zero = metric(SIMILARITY, ZERO_COLUMN, per_query=True, **given)
    skip = metric(SIMILARITY, ZERO_COLUMN, per_query=True, empty="skip", **given)
    for k in (1, 5, 10):
        assert zero[k][2] == 0
        assert np.isnan(skip[k][2])
        others = np.arange(6) != 2
        np.testing.assert_array_equal(zero[k][others], skip[k][others])
        assert metric(SIMILARITY, ZERO_COLUMN, **given)[k] == pytest.approx(zero[k].mean())
        assert metric(SIMILARITY, ZERO_COLUMN, empty="skip", **given)[k] == pytest.approx(zero[k][others].mean())
    with pytest.raises(InputError, match=r"1 of 6 queries .* the first is image 2; pass empty='zero'"):
        metric(SIMILARITY, ZERO_COLUMN, empty="error", **given)


def test_released_semantic_recall_leaves_out_the_captions_of_such_an_image_too():
    skip = semantic_recall(SIMILARITY, ZERO_COLUMN, direction="t2i", empty="skip", per_query=True)[5]
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(skip)), np.arange(10, 15))
    with pytest.raises(InputError, match=r"5 of 30 queries .* caption 10"):
        semantic_recall(SIMILARITY, ZERO_COLUMN, direction="t2i", empty="error")


def test_nothing_is_empty_where_phi_is_positive():
    for metric in (ncs, semantic_recall):
        for direction in ("i2t", "t2i"):
            strict = metric(SIMILARITY, PHI, direction=direction, empty="error")
            assert strict == metric(SIMILARITY, PHI, direction=direction)
    assert recall_at_k(SIMILARITY, empty="error") == recall_at_k(SIMILARITY)


def test_a_phi_of_zeros_gives_zero_and_cannot_be_left_out_entirely():
    for metric in (ncs, semantic_recall):
        for given in (RELEASED, PAPER):
            assert metric(SIMILARITY, 0 * PHI, **given) == {1: 0, 5: 0, 10: 0}
            with pytest.raises(InputError, match="leaves none"):
                metric(SIMILARITY, 0 * PHI, empty="skip", **given)


def test_the_evaluator_follows_the_policy():
    values = Evaluator(ZERO_COLUMN, empty="skip")(SIMILARITY)
    found = {
        (v["metric"], v["direction"], v["formula"], v["ground_truth"]): v["value"] for v in values if not v["style"]
    }
    wanted = ncs(SIMILARITY, ZERO_COLUMN, keep_ground_truth=False, empty="skip")[5]
    assert found["N@5", "i2t", "released", "removed"] == wanted
    with pytest.raises(InputError, match="image 2"):
        Evaluator(ZERO_COLUMN, empty="error")(SIMILARITY)
