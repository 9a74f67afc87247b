"""Every loss against its formula, one term at a time; gradients against numerical ones; what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.losses import (
    InfoNCE,
    PositiveAwareTriplet,
    RelevanceMargin,
    SemanticAdaptiveMargin,
    SoftLabels,
    SoftRankLoss,
    SparingTriplet,
    TripletLoss,
)
from fivesentences.losses.semantic_adaptive_margin import random_cycle
from fivesentences.losses.soft_ranks import soft_ranks
from fivesentences.metrics import asp

VARIANTS, CHOSEN = ("paper", "released"), ("closest", "furthest")
LOSSES = {
    **{f"triplet {negatives}": TripletLoss(margin=0.2, negatives=negatives) for negatives in ("all", "hardest", 3)},
    **{
        f"SAM {margins} {negatives} {variant}": SemanticAdaptiveMargin(
            temperature=10, negatives=negatives, variant=variant, margins=margins
        )
        for margins, negatives, variant in itertools.product(("adaptive", "fixed"), CHOSEN, VARIANTS)
    },
    **{f"soft rank {variant}": SoftRankLoss(temperature=0.1, weight=25.0, variant=variant) for variant in VARIANTS},
    "sparing": SparingTriplet(threshold=0.5),
    "positive-aware share": PositiveAwareTriplet(share=0.5),
    "positive-aware below": PositiveAwareTriplet(below=0.5, references="own_left_out"),
    "relevance margin": RelevanceMargin(scale=0.5),
    "soft labels": SoftLabels(temperature=0.1, phi_temperature=0.5),
    **{
        f"InfoNCE {word}": InfoNCE(temperature=0.07, learn_temperature=learned)
        for word, learned in (("fixed", False), ("learned", True))
    },
}
# ClipLoss()(images, captions, logit_scale) of open_clip_torch 3.3.0 (PyPI), in float64 with torch 2.15 on a CPU, of
# these embeddings, each divided by its norm: the value, its gradient in the first image (before the norm), and its
# gradient in the logarithm of the logit scale.
IMAGES = [[6.0, -5.0, -9.0], [-9.0, 2.0, -2.0], [-4.0, 0.0, 0.0], [-5.0, 4.0, -8.0]]
CAPTIONS = [[-6.0, -2.0, 7.0], [6.0, -8.0, 2.0], [9.0, -3.0, 1.0], [9.0, 0.0, 1.0]]
CLIP = {
    1.0: (1.9458072087021059, [0.02064058244273541, 0.0059458583468834, 0.010457133657999494], 0.7235217767890794),
    0.07: (16.908857365349412, [0.4316251389617329, 0.05762998202433184, 0.25573343596097087], 16.74253444094324),
    0.01: (117.82191388385937, [3.1049763588295005, 0.513993853896169, 1.78443209816624], 117.81709094378017),
}


def call(loss, similarity, phi):
    return loss(similarity, phi) if loss.phi_keys else loss(similarity)


def square(size: int, seed: int = 0) -> torch.Tensor:
    return 2 * torch.rand(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 1


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_equal_numerical_ones_and_phi_gets_none(name):
    similarity = square(5).requires_grad_()
    phi = (2 * square(5, seed=1) + 3 * torch.eye(5)).requires_grad_()
    before = similarity.detach().clone(), phi.detach().clone()
    assert torch.autograd.gradcheck(lambda scores: call(LOSSES[name], scores, phi.detach()), similarity)
    call(LOSSES[name], similarity, phi).backward()
    assert phi.grad is None
    assert torch.equal(similarity, before[0]) and torch.equal(phi, before[1])


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_of_one_pair_costs_nothing(name):
    similarity = torch.ones(1, 1, requires_grad=True)
    value = call(LOSSES[name], similarity, torch.ones(1, 1))
    value.backward()
    assert value.item() == 0 and similarity.grad.item() == 0


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_that_is_not_square_or_holds_no_floating_numbers_is_refused(name):
    zeros = torch.zeros(2, 2)
    for batch, said in (
        (torch.zeros(2, 3), r"\[2, 3\]"),
        (torch.zeros(0, 0), r"\[0, 0\]"),
        (torch.zeros(2, 2, 2), r"\[2, 2, 2\]"),
        (zeros.numpy(), "ndarray"),
        (zeros.long(), "int64"),
    ):
        with pytest.raises(InputError, match=said):
            call(LOSSES[name], batch, zeros)


@pytest.mark.parametrize("loss", [SemanticAdaptiveMargin(temperature=10), SoftRankLoss()])
def test_phi_of_another_batch_is_refused(loss):
    with pytest.raises(InputError, match=r"phi \[3, 3\]"):
        loss(torch.zeros(4, 4), torch.zeros(3, 3))


# --- triplet ------------------------------------------------------------------------------------------------


@given(st.sampled_from(["hardest", "all", 1, 2, 3, 100]), st.integers(1, 9), st.integers(0, 10**6))
def test_the_triplet_loss_equals_its_equation_for_any_number_of_negatives(negatives, size, seed):
    similarity, expected = square(size, seed), 0.0
    for scores in (similarity.numpy(), similarity.T.numpy()):
        for i, row in enumerate(scores):
            nearest = sorted((row[j] for j in range(size) if j != i), reverse=True)
            nearest = nearest[: {"hardest": 1, "all": size}.get(negatives, negatives)]
            expected += sum(max(0.0, 0.2 - row[i] + other) for other in nearest)
    assert TripletLoss(margin=0.2, negatives=negatives)(similarity).item() == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 9), st.integers(0, 10**6), st.floats(-1, 1))
def test_the_sparing_loss_has_the_hardest_negative_that_phi_does_not_call_right(size, seed, threshold):
    similarity, phi, expected = square(size, seed), square(size, seed + 1), 0.0
    for i in range(size):
        for scores, of_pair in ((similarity[i], phi[:, i]), (similarity[:, i], phi[i])):
            left = [float(scores[j]) for j in range(size) if j != i and of_pair[j] <= threshold]
            expected += max(0.0, 0.2 - float(similarity[i, i]) + max(left)) if left else 0.0
    assert SparingTriplet(threshold=threshold)(similarity, phi).item() == pytest.approx(expected, abs=1e-12)


def test_sparing_nothing_is_the_hardest_negative_and_shuffled_spares_as_many_others():
    similarity, phi = square(8), square(8, 1)
    assert SparingTriplet(threshold=2.0)(similarity, phi) == TripletLoss(margin=0.2, negatives="hardest")(similarity)
    shuffled = SparingTriplet(threshold=0.0, spared="shuffled")
    for drawn in (phi, phi.clone()):  # each phi by a draw of its own, as often as it is asked for
        torch.manual_seed(0)
        place = random_cycle(8, None)
        torch.manual_seed(0)
        for scores in (similarity, square(8, 2)):
            expected = SparingTriplet(threshold=0.0)(scores, phi[place][:, place])
            assert shuffled(scores, drawn) == expected != SparingTriplet(threshold=0.0)(scores, phi)


@pytest.mark.parametrize("negatives", ["hardest", 1])
def test_of_equal_negatives_the_lower_index_gets_the_gradient(negatives):
    scores = torch.full((4, 4), 0.5, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(TripletLoss(margin=0.2, negatives=negatives)(scores), scores)
    # Row 0 picks column 1, every other row column 0; columns likewise; each positive is pushed twice.
    expected = np.diag([-2.0] * 4)
    for i in range(4):
        other = 1 if i == 0 else 0
        expected[i, other] += 1
        expected[other, i] += 1
    np.testing.assert_array_equal(gradient.numpy(), expected)


# --- InfoNCE ------------------------------------------------------------------------------------------------


def test_large_scores_do_not_overflow():
    similarity = torch.full((4, 4), 1000.0, requires_grad=True)
    value = InfoNCE(temperature=0.01)(similarity)
    value.backward()
    assert value.isfinite() and similarity.grad.isfinite().all()


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("temperature", CLIP)
def test_values_and_gradients_of_info_nce_are_those_of_open_clip(temperature, learned):
    value, of_image, of_log_scale = CLIP[temperature]
    images = torch.tensor(IMAGES, dtype=torch.float64, requires_grad=True)
    captions = torch.tensor(CAPTIONS, dtype=torch.float64)
    loss = InfoNCE(temperature=temperature, learn_temperature=learned)
    if learned:
        loss.log_scale.data = torch.tensor(-math.log(temperature), dtype=torch.float64)
    normalised = [rows / rows.norm(dim=1, keepdim=True) for rows in (images, captions)]
    ours = loss(normalised[0] @ normalised[1].T)
    ours.backward()
    assert ours.item() == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(images.grad[0].numpy(), of_image, rtol=1e-10)
    if learned:
        assert loss.log_scale.grad.item() == pytest.approx(of_log_scale, rel=1e-12)


def test_a_learned_temperature_starts_where_it_is_told_and_stays_at_001_or_above():
    loss = InfoNCE(temperature=0.07, learn_temperature=True)
    assert loss.learned() == {"temperature": pytest.approx(0.07, rel=1e-6)}
    steepest = torch.eye(4)  # all right already, so that a lower temperature always costs less
    optimizer = torch.optim.SGD(loss.parameters(), lr=1e6)
    for _ in range(3):
        optimizer.zero_grad()
        loss(steepest).backward()
        optimizer.step()
    assert loss(steepest).item() == pytest.approx(InfoNCE(temperature=0.01)(steepest).item(), abs=1e-12)
    assert loss.learned() == {"temperature": pytest.approx(0.01)}
    # At the limit it can still rise again: here every query is answered wrongly.
    optimizer.zero_grad()
    loss(-steepest).backward()
    assert loss.log_scale.grad.item() > 0
    assert list(InfoNCE().parameters()) == [] and InfoNCE().learned() == {}


# --- soft ranks ---------------------------------------------------------------------------------------------


def slow_ranks(scores: np.ndarray, temperature: float, variant: str) -> np.ndarray:
    """One comparison at a time, from losses.md: the release compares X[a, b] where X[b, a] is meant."""
    size = len(scores)
    ranks = np.ones((size, size))
    for b, c, a in itertools.product(range(size), repeat=3):
        if a != c:
            other = scores[b, a] if variant == "paper" else scores[a, b]
            ranks[b, c] += 1 / (1 + math.exp(-(other - scores[b, c]) / temperature))
    return ranks


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_soft_ranks_and_their_loss_equal_a_slow_loop(variant, tied):
    similarity, phi = ((matrix * 4).round() / 4 if tied else matrix for matrix in (square(6), square(6, seed=1)))
    np.testing.assert_allclose(
        soft_ranks(similarity, 0.1, variant).numpy(), slow_ranks(similarity.numpy(), 0.1, variant), atol=1e-12
    )
    expected = 0.0
    for scores, semantics in ((similarity.numpy(), phi.numpy().T), (similarity.numpy().T, phi.numpy())):
        ours, theirs = slow_ranks(scores, 0.1, variant), slow_ranks(semantics, 0.1, variant)
        expected += 7.0 * (1 - np.mean(np.minimum(ours, theirs) / np.maximum(ours, theirs)))
    assert SoftRankLoss(temperature=0.1, weight=7.0, variant=variant)(similarity, phi).item() == pytest.approx(
        expected, abs=1e-12
    )


def test_with_a_tiny_temperature_the_papers_loss_is_one_minus_asp():
    similarity, phi = square(9), square(9, seed=1)
    expected = sum(1 - asp(similarity.numpy(), phi.numpy(), direction) / 100 for direction in ("i2t", "t2i"))
    assert SoftRankLoss(temperature=1e-9, weight=1.0)(similarity, phi).item() == pytest.approx(expected, abs=1e-9)


def test_the_block_size_changes_no_rank_and_no_gradient():
    scores = square(7).requires_grad_()
    whole = soft_ranks(scores, 0.05, block_elements=10**6)
    parts = soft_ranks(scores, 0.05, block_elements=60)
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-12)
    (one,), (other,) = (torch.autograd.grad((ranks**2).sum(), scores) for ranks in (parts, whole))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_gaps_beyond_fifty_temperatures_teach_nothing():
    similarity = torch.tensor([[0.0, 0.2, 0.6], [0.9, 0.5, 0.1], [0.3, 0.7, 0.0]], requires_grad=True)
    SoftRankLoss(temperature=1e-3)(similarity, torch.rand(3, 3)).backward()
    assert similarity.grad.abs().max() < 1e-15
