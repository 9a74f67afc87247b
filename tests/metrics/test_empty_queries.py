"""The stated policy for queries that have nothing to find, where the released class stops with an IndexError.

That "zero" and "skip" count them 0 or leave them out, in every variant, is in ``test_definitions``.
"""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, category_map, ncs, nsum, r_precision, semantic_recall

RNG = np.random.default_rng(0)
SIMILARITY = RNG.normal(size=(6, 30))
PHI = RNG.random((30, 6)) + 0.1
ZERO_COLUMN = PHI * (np.arange(6) != 2)
LONELY = ["a", "b", "z", "a", "b", "a"], ["a", "b"] * 15  # no caption has the category of image 2
VARIANTS = {
    "ncs": lambda phi, **given: ncs(SIMILARITY, phi, **given)[5],
    "ncs of the paper": lambda phi, **given: ncs(SIMILARITY, phi, formula="paper", **given)[5],
    "semantic_recall": lambda phi, **given: semantic_recall(SIMILARITY, phi, **given)[5],
    "soft": lambda phi, **given: semantic_recall(SIMILARITY, phi, m=2, weighting="soft", **given)[5],
    "eq. 4": lambda phi, **given: semantic_recall(SIMILARITY, phi, formula="paper", style="vse_recall", **given)[5],
}


@pytest.mark.parametrize("name", VARIANTS)
def test_an_image_of_an_all_zero_column_counts_zero_or_is_left_out_or_refused(name):
    metric = VARIANTS[name]
    assert metric(ZERO_COLUMN, empty="skip") == pytest.approx(metric(ZERO_COLUMN) * 6 / 5)
    with pytest.raises(InputError, match=r"1 of 6 queries .* the first is image 2; pass empty='zero'"):
        metric(ZERO_COLUMN, empty="error")
    assert metric(PHI, empty="error") == metric(PHI, empty="skip") == metric(PHI)
    assert metric(0 * PHI) == 0
    with pytest.raises(InputError, match="leaves none"):
        metric(0 * PHI, empty="skip")


def test_sums_and_categories_follow_the_policy_too():
    of_sides = [ncs(SIMILARITY, ZERO_COLUMN, direction=side, empty="skip") for side in ("i2t", "t2i")]
    assert nsum(SIMILARITY, ZERO_COLUMN, empty="skip") == pytest.approx(sum(sum(of.values()) for of in of_sides))
    for metric in (category_map, r_precision):
        assert metric(SIMILARITY, *LONELY, empty="skip") == pytest.approx(metric(SIMILARITY, *LONELY) * 6 / 5)
    for call in (
        lambda: nsum(SIMILARITY, ZERO_COLUMN, empty="error"),
        lambda: category_map(SIMILARITY, *LONELY, empty="error"),
        lambda: r_precision(SIMILARITY, *LONELY, empty="error"),
        lambda: Evaluator(ZERO_COLUMN, empty="error")(SIMILARITY),
    ):
        with pytest.raises(InputError, match=r"1 of 6 queries .* the first is image 2"):
            call()
