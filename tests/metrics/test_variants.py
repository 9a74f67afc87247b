"""Variants of semantic recall and NCS: every combination is offered, and what ties one to another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import ncs, nsum, semantic_recall

DIRECTIONS = ("i2t", "t2i")
KS = (1, 5, 10, 1000)
RNG = np.random.default_rng(6)
PAIRING = np.repeat(np.arange(35), 3)  # more than the 30 images of a caption's list
SIMILARITY = RNG.normal(size=(35, 105)).round(1)
PHI = np.maximum(0, RNG.normal(size=(105, 35))).round(1)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("m", [2, 1000])
def test_every_combination_of_semantic_recall_equals_its_definition(slow, direction, keep, m):
    for formula, style, weighting in itertools.product(
        ("released", "paper"), ("recall", "vse_recall"), ("hard", "soft")
    ):
        given = SIMILARITY, PHI, KS, direction, m, keep, formula, style, weighting, PAIRING
        ours, per_query = semantic_recall(*given), semantic_recall(*given, per_query=True)
        for k in (5, 1000):
            wanted = slow.semantic_recall(SIMILARITY, PHI, k, direction, m, keep, formula, style, weighting, PAIRING)
            wanted, mean = slow.after_policy(wanted, "zero")
            np.testing.assert_allclose(per_query[k], wanted, atol=1e-9, rtol=0)
            assert ours[k] == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("m", [1, 2, 6, 1000])
def test_eq_5_with_any_m_equals_its_definition(slow, direction, keep, m):
    ours = ncs(SIMILARITY, PHI, KS, direction, keep, "paper", m, image_of_caption=PAIRING)
    for k in KS:
        wanted = slow.ncs(SIMILARITY, PHI, k, direction, keep, "paper", m, None, PAIRING)
        assert ours[k] == pytest.approx(slow.after_policy(wanted, "zero")[1], abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("keep", [True, False])
def test_soft_semantic_recall_of_eq_4_is_eq_5(direction, keep):
    for m in (1, 4, 30):
        soft = semantic_recall(
            SIMILARITY, PHI, KS, direction, m, keep, "paper", weighting="soft", image_of_caption=PAIRING
        )
        eq5 = ncs(SIMILARITY, PHI, KS, direction, keep, "paper", m, image_of_caption=PAIRING)
        assert soft == pytest.approx(eq5, abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("keep", [True, False])
def test_released_ncs_is_never_below_eq_5_with_m_equal_to_k(direction, keep):
    released, paper = (
        ncs(SIMILARITY, PHI, KS, direction, keep, formula, image_of_caption=PAIRING, per_query=True)
        for formula in ("released", "paper")
    )
    for k in KS:
        assert (released[k] >= paper[k] - 1e-6).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_released_soft_score_cannot_exceed_100_over_the_number_of_relevant_items(direction, m):
    positive = PHI + 0.1
    ceiling = 100 / (3 * m if direction == "i2t" else m)
    found = semantic_recall(SIMILARITY, positive, (1000,), direction, m, weighting="soft", image_of_caption=PAIRING)
    assert found[1000] == pytest.approx(ceiling)


def test_from_captions_to_one_image_both_styles_are_one():
    styles = [
        semantic_recall(SIMILARITY, PHI, KS, "t2i", 1, style=style, image_of_caption=PAIRING)
        for style in ("recall", "vse_recall")
    ]
    assert styles[0] == styles[1]


def test_the_discount_gives_a_perfect_ranking_100_and_cares_for_the_order_of_what_is_retrieved():
    phi = RNG.permutation(105 * 35).reshape(105, 35) + 1.0
    for direction, keep in itertools.product(DIRECTIONS, (True, False)):
        given = phi, (2, 10), direction, keep
        perfect = ncs(phi.T, *given, discount="log", image_of_caption=PAIRING)
        assert perfect == pytest.approx({2: 100, 10: 100}, abs=1e-6)
    phi = np.array([[4.0], [3.0], [2.0], [1.0]])
    swapped = np.array([[3.0, 4.0, 2.0, 1.0]])
    log3 = np.log2(3)
    wanted = 100 * (3 * log3 + 4) / (4 * log3 + 3)
    assert ncs(swapped, phi, (2,), discount="log")[2] == pytest.approx(wanted, abs=1e-6)
    assert ncs(swapped, phi, (2,))[2] == pytest.approx(100, abs=1e-6)


@pytest.mark.parametrize("discount", [None, "log"])
def test_given_rows_enlarge_the_ideal_of_images_alone_with_a_discount_too(discount):
    """The released 1K slip: columns of phi are cut to the fold, rows are not."""
    fold = np.arange(20)
    similarity, phi = SIMILARITY[:20, :60], PHI[:, :20]
    given_rows = ncs(similarity, phi, KS, "i2t", discount=discount, ideal_pool="given_rows", per_query=True)
    for k in (1, 5, 10):
        weight = np.log2(k - np.arange(k) + 1) if discount else np.ones(k)
        for image in fold:
            retrieved = phi[np.argsort(-similarity[image], kind="stable")[:k], image]
            ideal = np.sort(phi[:, image])[::-1][:k]
            wanted = 100 * np.mean(weight * retrieved) / (np.mean(weight * ideal) + 1e-10)
            assert given_rows[k][image] == pytest.approx(wanted, abs=1e-9)
    of_captions = [
        ncs(similarity, rows, KS, "t2i", discount=discount, ideal_pool=pool)
        for rows, pool in ((phi, "given_rows"), (phi[:60], "gallery"))
    ]
    assert of_captions[0] == of_captions[1]


def test_nsum_takes_every_variant_that_ncs_takes():
    given = SIMILARITY, PHI
    zeros = PHI * (np.arange(35) != 4)
    for keep in (True, False):
        for variant in ({}, {"discount": "log"}, {"formula": "paper"}, {"formula": "paper", "m": 3}):
            parts = [
                ncs(*given, direction=side, keep_ground_truth=keep, image_of_caption=PAIRING, **variant)
                for side in DIRECTIONS
            ]
            wanted = sum(sum(part.values()) for part in parts)
            found = nsum(*given, keep_ground_truth=keep, image_of_caption=PAIRING, **variant)
            assert found == pytest.approx(wanted, abs=1e-9)
    wanted = sum(sum(ncs(SIMILARITY, zeros, direction=side, empty="skip").values()) for side in DIRECTIONS)
    assert nsum(SIMILARITY, zeros, empty="skip") == pytest.approx(wanted, abs=1e-9)
    with pytest.raises(InputError, match="image 4"):
        nsum(SIMILARITY, zeros, empty="error")
    part = SIMILARITY[:20, :60], PHI[:, :20]
    assert nsum(*part, ideal_pool="given_rows") < nsum(part[0], part[1][:60])


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("weighting", ["hard", "soft"])
@pytest.mark.parametrize("style", ["recall", "vse_recall"])
@pytest.mark.parametrize("formula", ["released", "paper"])
def test_an_all_zero_column_follows_the_policy_in_every_variant(formula, style, weighting, keep):
    """Here the released class ends with an IndexError; each policy is stated."""
    zeros = np.where(np.arange(35) == 4, 0, PHI + 0.1)
    given = {"formula": formula, "style": style, "weighting": weighting, "keep_ground_truth": keep}
    zero = semantic_recall(SIMILARITY, zeros, m=2, per_query=True, **given)
    skip = semantic_recall(SIMILARITY, zeros, m=2, per_query=True, empty="skip", **given)
    for k in zero:
        assert zero[k][4] == 0
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(skip[k])), [4])
    with pytest.raises(InputError, match=r"1 of 35 queries .* image 4"):
        semantic_recall(SIMILARITY, zeros, m=2, empty="error", **given)
