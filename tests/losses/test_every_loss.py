"""What every loss promises: exact gradients, into the similarity alone, and none in a batch of one pair."""

from __future__ import annotations

import inspect
import itertools

import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import HAL, InfoNCE, SemanticAdaptiveMargin, SmoothAPLoss, SoftRankLoss, TripletLoss
from fivesentences.losses.soft_rank import soft_ranks

VARIANTS, CHOSEN = ("paper", "released"), ("closest", "furthest")
LOSSES = {
    **{f"triplet {negatives}": TripletLoss(0.2, negatives) for negatives in ("all", "hardest", 3)},
    **{
        f"SAM {margins} {negatives} {variant}": SemanticAdaptiveMargin(5, negatives, variant, margins=margins)
        for margins, negatives, variant in itertools.product(("adaptive", "fixed"), CHOSEN, VARIANTS)
    },
    **{f"soft rank {variant}": SoftRankLoss(0.1, 25.0, variant) for variant in VARIANTS},
    "smooth AP": SmoothAPLoss(0.1),
    **{f"InfoNCE {word}": InfoNCE(0.07, learned) for word, learned in (("fixed", False), ("learned", True))},
    **{f"HAL {name}": HAL(**settings) for name, settings in HAL.SETTINGS.items()},
}
RANDOM = {f"SAM random {variant}": SemanticAdaptiveMargin(10, "random", variant) for variant in VARIANTS}


def call(loss, similarity, phi):
    return loss(similarity, phi) if "phi" in inspect.signature(loss.forward).parameters else loss(similarity)


def matrices(size: int):
    generator = torch.Generator().manual_seed(0)
    similarity, phi = torch.rand(2, size, size, generator=generator, dtype=torch.float64)
    return similarity.requires_grad_(), (2 * phi + 3 * torch.eye(size)).requires_grad_()


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_equal_numerical_ones_and_phi_gets_none(name):
    similarity, phi = matrices(5)
    before = similarity.detach().clone(), phi.detach().clone()
    assert torch.autograd.gradcheck(lambda scores: call(LOSSES[name], scores, phi.detach()), similarity)
    call(LOSSES[name], similarity, phi).backward()
    assert similarity.grad is not None and phi.grad is None
    assert torch.equal(similarity, before[0]) and torch.equal(phi, before[1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_of_ranks_computed_in_blocks_equal_numerical_ones(variant):
    assert torch.autograd.gradcheck(lambda s: soft_ranks(s, 0.1, variant, block_elements=40), matrices(5)[0])


@pytest.mark.parametrize("name", [name for name in LOSSES | RANDOM if not name.startswith(("HAL", "smooth"))])
def test_a_batch_of_one_pair_costs_nothing(name):
    similarity = torch.ones(1, 1, requires_grad=True)
    value = call((LOSSES | RANDOM)[name], similarity, torch.ones(1, 1))
    value.backward()
    assert value.item() == 0 and similarity.grad.item() == 0


@pytest.mark.parametrize(
    ("loss", "phi", "said"),
    [
        (SemanticAdaptiveMargin(10), [torch.zeros(3, 3)], r"phi \[3, 3\]"),
        (SemanticAdaptiveMargin(10), [], "phi missing"),
        (SoftRankLoss(), [torch.zeros(3, 3)], r"phi \[3, 3\]"),
    ],
)
def test_phi_of_another_batch_is_refused(loss, phi, said):
    with pytest.raises(InputError, match=said):
        loss(torch.zeros(4, 4), *phi)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (TripletLoss, {"margin": -0.1}),
        (TripletLoss, {"negatives": 0}),
        (TripletLoss, {"negatives": "hard"}),
        (TripletLoss, {"negatives": 1.5}),
        (SemanticAdaptiveMargin, {"temperature": 0}),
        (SemanticAdaptiveMargin, {"temperature": 10, "negatives": "hard"}),
        (SemanticAdaptiveMargin, {"temperature": 10, "variant": "official"}),
        (SemanticAdaptiveMargin, {"temperature": 10, "margins": "random"}),
        (SemanticAdaptiveMargin, {"temperature": 10, "margins": "fixed", "margin": -1}),
        (SoftRankLoss, {"temperature": 0}),
        (SoftRankLoss, {"variant": "official"}),
        (SmoothAPLoss, {"temperature": 0}),
        (HAL, {"gamma": 0}),
        (HAL, {"weight": 0}),
        (InfoNCE, {"temperature": 0}),
        (InfoNCE, {"weight": -1}),
    ],
)
def test_a_setting_out_of_range_is_refused_in_one_sentence(kind, arguments):
    with pytest.raises(InputError, match=rf"^{kind.__name__}: {list(arguments)[-1]} is [^\n]*\.$"):
        kind(**arguments)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (0, 0), (0, 3), (4,), (2, 2, 2)])
def test_a_batch_that_is_no_square_is_refused(name, shape):
    with pytest.raises(InputError, match=r"^\w+: similarity is \[.*square.*one row and one column per pair"):
        call(LOSSES[name], torch.zeros(shape), torch.zeros(shape))


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_that_is_no_tensor_of_floating_numbers_is_refused(name):
    with pytest.raises(InputError, match="similarity is ndarray; give a torch tensor"):
        call(LOSSES[name], torch.zeros(2, 2).numpy(), torch.zeros(2, 2))
    with pytest.raises(InputError, match=r"similarity is torch.int64; give floating numbers"):
        call(LOSSES[name], torch.zeros(2, 2, dtype=torch.int64), torch.zeros(2, 2))
