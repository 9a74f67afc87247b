"""Truth that anyone can recompute, and that leaves the corpus as ambiguous as captions of people are."""

from __future__ import annotations

import numpy as np


def test_truth_equals_a_slow_count_over_the_facts_file(small, facts):
    truth = np.load(small[0] / "truth.npy")
    claims = [claim for line in facts for claim in line["claims"].values()]
    assert truth.dtype == np.float32
    assert truth.shape == (len(claims), len(facts))
    for c, of_caption in enumerate(claims):
        for i, line in enumerate(facts):
            holding = [all(fact in line["facts"] for fact in asserted) for asserted in of_caption]
            assert truth[c, i] == np.float32(sum(holding) / len(holding))


def test_people_are_mostly_right_and_sometimes_wrong(truth, own):
    assert 0.10 < (truth[own] < 1).mean() < 0.22
    assert truth[own].mean() > 0.9


def test_for_half_of_the_images_a_caption_of_another_image_is_truer_than_the_least_true_own_one(truth, own):
    best_of_others = np.where(own, -1.0, truth).max(axis=0)
    assert (best_of_others > truth[own].reshape(-1, 5).min(axis=1)).mean() >= 0.5
