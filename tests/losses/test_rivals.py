"""Other papers' rules against false negatives, each against a slow loop over queries and items in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import norm

from fivesentences.losses import (
    FalseNegativeMemory,
    FalseNegativeWeights,
    LossSpec,
    PositiveAwareTriplet,
    RelevanceMargin,
    SoftLabels,
    TripletLoss,
)
from fivesentences.losses.false_negative_memory import Remembered, _drawn
from fivesentences.losses.false_negative_weights import distributions_of
from fivesentences.training.objective import Objective

MARGIN = 0.2


def batch(size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return similarities ``[images, captions]`` and phi ``[captions, images]``, whose positives are mostly large."""
    generator = torch.Generator().manual_seed(seed)
    draw = [torch.rand(size, size, generator=generator, dtype=torch.float64) for _ in range(2)]
    return draw[0] + 0.3 * torch.eye(size), draw[1] + 0.4 * torch.eye(size)


def queries(similarity: torch.Tensor, phi: torch.Tensor):
    """Yield each query's similarities and phi of the items, with the place of its positive."""
    for place in range(len(similarity)):
        yield similarity[place].tolist(), phi[:, place].tolist(), place  # an image asks for captions
        yield similarity[:, place].tolist(), phi[place].tolist(), place  # a caption asks for images


@pytest.mark.parametrize("rule", [{"share": 0.95}, {"share": 0.5}, {"below": 0.0}, {"below": 0.3}])
@given(size=st.integers(1, 9), seed=st.integers(0, 2**20))
def test_a_negative_is_the_most_similar_item_whose_phi_is_clearly_below_the_positives(rule, size, seed):
    similarity, phi = batch(size, seed)
    wanted = 0.0
    for scores, meanings, place in queries(similarity, phi):
        most = rule["share"] * meanings[place] if "share" in rule else meanings[place] - rule["below"]
        left = [s for item, s in enumerate(scores) if item != place and meanings[item] <= most]
        wanted += max(0.0, MARGIN + max(left) - scores[place]) if left else 0.0
    assert PositiveAwareTriplet(**rule)(similarity, phi).item() == pytest.approx(wanted, abs=1e-12)


def test_gists_rule_masks_what_its_formula_masks():
    """``GISTEmbedLoss`` with a relative margin of 0.05 masks candidates above 95% of the guide's positive."""
    guide = torch.tensor([[1.0, 0.96, 0.94], [0.1, 0.5, 0.48], [0.0, 0.474, 0.8]], dtype=torch.float64)  # [c, i]
    similarity = torch.tensor([[0.9, 0.1, 0.2], [0.85, 0.9, 0.1], [0.8, 0.89, 0.9]], dtype=torch.float64)  # [i, c]
    own = guide.diagonal()
    i2t, t2i = own[:, None] * (1 - 0.05) < guide.T, guide > own[:, None] * (1 - 0.05)
    assert i2t.tolist() == [[True, False, False], [True, True, False], [True, False, True]]
    assert t2i.tolist() == [[True, True, False], [False, True, True], [False, False, True]]
    # i2t: caption 2 of image 0 (.2), caption 2 of image 1 (.1), caption 1 of image 2 (.89, hinge .19).
    # t2i: image 2 of caption 0 (.8, .1), image 0 of caption 1 (.1), images 0 and 1 of caption 2 (.2).
    loss = PositiveAwareTriplet(share=0.95)(similarity, guide)
    assert loss.item() == pytest.approx(0.19 + 0.1)


def test_a_share_and_a_distance_are_two_rules_and_one_is_needed():
    for given_rules in ({}, {"share": 0.9, "below": 0.1}):
        with pytest.raises(ValidationError, match="share or below"):
            PositiveAwareTriplet(**given_rules)


@given(size=st.integers(1, 9), seed=st.integers(0, 2**20), scale=st.sampled_from([0.25, 1.0]))
def test_the_margin_is_the_relevance_that_the_hardest_negative_lacks(size, seed, scale):
    similarity, phi = batch(size, seed)
    wanted = 0.0
    for scores, meanings, place in queries(similarity, phi):
        others = [item for item in range(size) if item != place]
        if others:
            hardest = max(others, key=lambda item: scores[item])
            margin = scale * max(0.0, meanings[place] - meanings[hardest])
            wanted += max(0.0, margin + scores[hardest] - scores[place])
    assert RelevanceMargin(scale=scale)(similarity, phi).item() == pytest.approx(wanted, abs=1e-12)


@given(size=st.integers(1, 9), seed=st.integers(0, 2**20))
def test_soft_labels_are_the_mean_divergence_from_the_softmax_of_phi(size, seed):
    similarity, phi = batch(size, seed)
    total = 0.0
    for scores, meanings, _ in queries(similarity, phi):
        wanted, found = ([math.exp(value / t) for value in side] for side, t in ((meanings, 0.1), (scores, 0.07)))
        wanted, found = ([value / sum(side) for value in side] for side in (wanted, found))
        total += sum(p * math.log(p / q) for p, q in zip(wanted, found, strict=True))
    assert SoftLabels()(similarity, phi).item() == pytest.approx(total / (2 * size), abs=1e-10)


def test_a_model_with_the_distribution_of_phi_has_no_loss():
    _, phi = batch(6, 0)
    symmetric = (phi + phi.T) / 2  # the softmax over captions and that over images then agree with one similarity
    assert SoftLabels(temperature=0.1)(symmetric, symmetric).item() == pytest.approx(0, abs=1e-12)


# --- FNE -------------------------------------------------------------------------------------------------------------


def released_weights(scores: list[float], place: int, positive: tuple[float, float], negative: tuple[float, float]):
    """Return FNE's sampling weights of one query's items, by scipy's normal density."""
    found = []
    for item, score in enumerate(scores):
        density = norm.pdf(score, *positive), norm.pdf(score, *negative)
        probability = density[0] / (density[0] + (10_000 - 1) * density[1])
        weight = math.exp(-0.5 * (score - scores[place]) ** 2)
        if 1 - probability < 0.999:
            weight = math.exp(-0.5 * probability)
        found.append(0.0 if item == place or score <= positive[0] - MARGIN else weight)
    return found


@pytest.mark.slow
@given(seed=st.integers(0, 2**20), spread=st.floats(0.03, 0.2))
def test_weights_equal_the_formula(seed, spread):
    similarity, _ = batch(8, seed)
    positive, negative = (0.9, spread), (0.6, spread)
    weights = FalseNegativeWeights().weights(similarity, positive, negative)
    for place, row in enumerate(similarity.tolist()):
        wanted = released_weights(row, place, positive, negative)
        np.testing.assert_allclose(weights[place].tolist(), wanted, atol=1e-9)


def test_distributions_are_of_pairs_that_rank_each_other_first():
    scores = torch.tensor([[0.9, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.8, 0.4]], dtype=torch.float64)
    # Pair 0 is first both ways; pair 1 is first for its image, but caption 1 prefers image 2; pair 2 is not.
    assert distributions_of(scores) is None
    scores[2, 1], scores[2, 2] = 0.3, 0.6  # now pairs 0, 1 and 2 are
    found = distributions_of(scores)
    assert found is not None
    assert found[0] == pytest.approx((np.mean([0.9, 0.7, 0.6]), np.std([0.9, 0.7, 0.6])))
    hardest = [0.5, 0.2, 0.3, 0.3, 0.3, 0.5]
    assert found[1] == pytest.approx((np.mean(hardest), np.std(hardest)))


@pytest.mark.slow
def test_negatives_are_drawn_as_often_as_their_weights_say():
    similarity = 0.6 + 0.2 * batch(6, 3)[0] + 0.2 * torch.eye(6)  # several items are nearly as similar as positives
    positives = distributions_of(similarity)
    assert positives is not None
    loss, drawn = FalseNegativeWeights(margin=0.5), []
    torch.manual_seed(0)
    for _ in range(4000):
        drawn.append(loss(similarity).item())
    assert np.std(drawn) > 0
    wanted = 0.0
    for scores in (similarity, similarity.T):
        weights = loss.weights(scores, *positives)
        for place in range(6):
            of_query = weights[place]
            hinges = (0.5 + scores[place] - scores[place, place]).clamp(min=0)
            if of_query.sum() == 0:
                others = [item for item in range(6) if item != place]
                wanted += float(hinges[max(others, key=lambda item: float(scores[place, item]))])
            else:
                wanted += float((of_query / of_query.sum() * hinges).sum())
    assert np.mean(drawn) == pytest.approx(wanted, abs=4 * np.std(drawn) / math.sqrt(len(drawn)))


def test_without_distributions_the_hardest_negative_is_taken():
    similarity = torch.tensor([[0.1, 0.9], [0.8, 0.2]], dtype=torch.float64)  # no pair ranks the other first
    assert FalseNegativeWeights()(similarity).item() == pytest.approx(2 * ((0.9 - 0.1) + (0.8 - 0.2) + 2 * 0.2) - 0)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_gradients_reach_the_similarity(size):
    similarity, _ = batch(size, 1)
    similarity.requires_grad_()
    FalseNegativeWeights()(similarity).backward()
    assert similarity.grad is not None and torch.isfinite(similarity.grad).all()


def test_a_run_reads_the_phi_without_the_own_caption_where_the_loss_asks_for_it():
    spec = LossSpec(triplet=None, positive_aware=PositiveAwareTriplet(share=0.95, references="own_left_out"))
    assert spec.phi_keys == ["embedding|own_left_out"]
    seen = []
    Objective(spec, {"embedding|own_left_out": lambda rows: seen.append(rows) or np.eye(len(rows), dtype=np.float32)})
    assert not seen  # phi of a batch is computed when the batch is


# --- FNE with its memory ---------------------------------------------------------------------------------------------


def remembered_of(size: int, kept: int, seed: int) -> tuple[torch.Tensor, Remembered]:
    """Return a batch's similarities, and those against itself by the copy and against a memory of several images."""
    similarity, _ = batch(size, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    draw = [0.5 + 0.5 * torch.rand(size, size + kept, generator=generator, dtype=torch.float64) for _ in range(2)]
    of = torch.randint(0, 5, (size + kept,), generator=generator)
    return similarity, Remembered(*draw, same=of[:size, None] == of[None, :])


@pytest.mark.slow
@given(size=st.integers(2, 7), kept=st.integers(0, 9), seed=st.integers(0, 2**20))
def test_weights_over_the_memory_equal_the_formula_and_leave_out_the_own_image(size, kept, seed):
    _, remembered = remembered_of(size, kept, seed)
    loss = FalseNegativeMemory(pairs=2)
    loss.known[:] = torch.tensor([[30, 27.0, 0.3], [60, 36.0, 0.6]])  # means .9 and .6
    spreads = math.sqrt(0.3 / 29), math.sqrt(0.6 / 59)
    of_query, item, weight = loss.candidates_of(remembered.captions, remembered.same)
    weights = torch.zeros_like(remembered.captions)
    weights[of_query, item] = weight
    for place, row in enumerate(remembered.captions.tolist()):
        wanted = np.array(released_weights(row, place, (0.9, spreads[0]), (0.6, spreads[1])))
        wanted[remembered.same[place].numpy()] = 0
        np.testing.assert_allclose(weights[place].tolist(), wanted, atol=1e-9)


def test_a_query_whose_items_are_all_easy_takes_the_hardest():
    loss = FalseNegativeMemory(margin=0.5)
    loss.known[0] = torch.tensor([300, 300.0, 1])  # positives are 1 in the mean, so that all below .5 is easy
    scores = torch.tensor([[0.4, 0.3, 0.1, 0.2], [0.0, 0.4, 0.2, 0.3]], dtype=torch.float64)
    same = torch.tensor([[True, False, False, False], [False, True, False, True]])
    similarity = torch.tensor([[0.1, 0.2], [0.2, 0.1]], dtype=torch.float64)  # no pair ranks each other first
    wanted = (0.5 + 0.3 - 0.4) + (0.5 + 0.2 - 0.4)
    assert loss(similarity, Remembered(scores, scores, same)).item() == pytest.approx(2 * wanted)


@given(seeds=st.lists(st.integers(0, 2**20), min_size=1, max_size=6))
def test_distributions_are_those_of_all_pairs_so_far(seeds):
    loss, positives, negatives = FalseNegativeMemory(pairs=2), [], []
    for seed in seeds:
        similarity, _ = batch(6, seed)
        loss(similarity, remembered_of(6, 4, seed)[1])
        for place in range(6):
            if similarity[place].argmax() == place == similarity[:, place].argmax():
                positives.append(similarity[place, place].item())
                negatives += [max(v for i, v in enumerate(similarity[place].tolist()) if i != place)]
                negatives += [max(v for i, v in enumerate(similarity[:, place].tolist()) if i != place)]
    assert loss.known[:, 0].tolist() == [len(positives), len(negatives)]
    found = loss.distributions()
    if len(positives) <= 2:
        assert found == (None, None)
    elif found[0] is not None:
        assert (found[0][0], found[1][0]) == pytest.approx((np.mean(positives), np.mean(negatives)))
        if len(seeds) == 1:  # later batches keep deviations from the mean as it was, as released
            assert (found[0][1], found[1][1]) == pytest.approx((np.std(positives, ddof=1), np.std(negatives, ddof=1)))


def test_one_candidate_is_drawn_and_its_hinge_is_of_the_memory():
    similarity, _ = batch(2, 0)
    captions = torch.tensor([[0.8, 0.1, 0.7], [0.2, 0.6, 0.1]], dtype=torch.float64)
    images = torch.tensor([[0.9, 0.0, 0.3], [0.4, 0.5, 0.45]], dtype=torch.float64)
    same = torch.tensor([[True, True, False], [False, True, True]])
    wanted = (0.2 + 0.7 - 0.8) + max(0.2 + 0.2 - 0.6, 0) + max(0.2 + 0.3 - 0.9, 0) + (0.2 + 0.4 - 0.5)
    found = FalseNegativeMemory()(similarity, Remembered(captions, images, same))
    assert found.item() == pytest.approx(wanted)


def test_without_a_memory_the_hardest_negative_of_the_batch_is_taken():
    similarity, _ = batch(7, 2)
    assert FalseNegativeMemory()(similarity).item() == TripletLoss(negatives="hardest")(similarity).item()


def test_a_batch_of_one_image_has_no_negative():
    similarity, remembered = remembered_of(3, 0, 0)
    loss = FalseNegativeMemory()(similarity, remembered._replace(same=torch.ones(3, 3, dtype=torch.bool)))
    assert loss.item() == 0


@pytest.mark.slow
def test_items_of_a_memory_are_drawn_as_often_as_their_weights_say():
    weights = torch.tensor([[0.0, 1, 0, 3, 0], [0, 0, 0, 0, 0], [2, 2, 2, 0, 0], [0, 0, 0, 0, 5]])
    of_query, item = weights.nonzero(as_tuple=True)
    torch.manual_seed(0)
    drawn = torch.stack([_drawn(of_query, item, weights[of_query, item], 4) for _ in range(4000)], dim=1)
    assert (drawn[1] == -1).all()
    for row, weight in zip(drawn[[0, 2, 3]].numpy(), weights[[0, 2, 3]].double().numpy(), strict=True):
        counts, some = np.bincount(row, minlength=5), weight > 0
        assert counts[~some].sum() == 0
        wanted = 4000 * weight[some] / weight.sum()
        assert np.abs(counts[some] - wanted).max() <= 4 * np.sqrt(wanted.max())
