"""Variants of semantic recall and NCS: how one is related to another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fivesentences.metrics import Evaluator, ncs, nsum, pick, semantic_recall

DIRECTIONS = ("i2t", "t2i")
KS = (1, 5, 10, 1000)
RNG = np.random.default_rng(6)
PAIRING = np.repeat(np.arange(35), 3)  # more than the 30 images of a caption's list
SIMILARITY = RNG.normal(size=(35, 105)).round(1)
PHI = np.maximum(0, RNG.normal(size=(105, 35))).round(1)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("keep", [True, False])
def test_soft_semantic_recall_of_eq_4_is_eq_5(direction, keep):
    for m in (1, 4, 30):
        soft = semantic_recall(
            SIMILARITY, PHI, KS, direction, m, keep, "paper", weighting="soft", image_of_caption=PAIRING
        )
        eq5 = ncs(SIMILARITY, PHI, KS, direction, keep, "paper", m, image_of_caption=PAIRING)
        assert soft == pytest.approx(eq5, abs=1e-9)


def test_released_ncs_is_never_below_eq_5_with_m_equal_to_k():
    rows = Evaluator(PHI, PAIRING, ks=KS, formulas=("released", "paper")).per_query(SIMILARITY)
    for direction, kept, k in itertools.product(DIRECTIONS, ("kept", "removed"), KS):
        released, paper = (
            pick(rows, f"N@{k}", direction, ground_truth=kept, formula=formula)["values"]
            for formula in ("released", "paper")
        )
        assert (released >= paper - 1e-6).all()


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


def test_an_ideal_over_more_captions_lowers_nsum():
    part = SIMILARITY[:20, :60], PHI[:, :20]
    assert nsum(*part, ideal_pool="given_rows") < nsum(part[0], part[1][:60])
