"""What every model offers."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from fivesentences.models import MODELS, build_model
from fivesentences.models.matching import TrainingScores, concatenate, l2_normalised, take


class Parts(NamedTuple):
    first: Tensor
    second: Tensor


def test_rows_are_taken_and_put_together_whatever_an_encoder_returns():
    tensor = torch.arange(12.0).view(4, 3)
    rows = torch.tensor([2, 0])
    assert torch.equal(take(tensor, rows), tensor[rows])
    parts = Parts(tensor, tensor[:, 0])
    taken = take(parts, slice(1, 3))
    assert isinstance(taken, Parts) and torch.equal(taken.second, tensor[1:3, 0])
    whole = concatenate([take(parts, slice(0, 1)), take(parts, slice(1, 4))])
    assert isinstance(whole, Parts) and torch.equal(whole.first, tensor) and torch.equal(whole.second, tensor[:, 0])
    assert torch.equal(concatenate([tensor[:1], tensor[1:]]), tensor)
    assert type(concatenate([(tensor,), (tensor,)])) is tuple


def test_a_model_without_losses_of_its_own_is_ranked_by_its_similarity():
    similarity = torch.eye(2)
    assert TrainingScores(similarity).ranked == ((1.0, similarity),)
    assert TrainingScores(similarity).extra is None
    assert TrainingScores(similarity, ((3.0, similarity),)).ranked[0][0] == 3.0


@pytest.mark.parametrize("name", ["vsepp", "scan", "sgr", "saf"])
def test_the_parts_of_a_model_make_its_whole(name):
    torch.manual_seed(0)
    assert name in MODELS
    sizes = {"regions": 3} if name in ("sgr", "saf") else {}
    model = build_model(name, image_dim=6, vocabulary_size=20, embedding=8, word=4, **sizes).eval()
    images = torch.randn(5, 6) if model.layout == "global" else torch.randn(5, 3, 6)
    tokens, lengths = torch.randint(1, 20, (5, 4)), torch.tensor([4, 2, 3, 4, 1])
    whole = model(images, tokens, lengths)
    gallery = concatenate([model.encode_images(images[:2]), model.encode_images(images[2:])])
    apart = model.similarity(gallery, model.encode_captions(tokens, lengths))
    torch.testing.assert_close(apart, whole)
    assert torch.equal(model.training_scores(images, tokens, lengths).similarity, whole)
    assert not model.needs


def test_the_norm_of_zero_is_zero_with_a_finite_gradient():
    for eps in (0.0, 1e-8):
        zero = torch.zeros(2, 3, requires_grad=True)
        l2_normalised(zero, eps).sum().backward()
        assert torch.isfinite(zero.grad).all()
    torch.testing.assert_close(l2_normalised(torch.tensor([3.0, 4.0]), 5.0), torch.tensor([0.3, 0.4]))


@pytest.mark.parametrize("name", ["scan", "sgr", "saf"])
@pytest.mark.parametrize("few", [True, False])
def test_under_autocast_scores_and_gradients_are_those_of_float32_but_for_rounding(name, few):
    torch.manual_seed(0)
    options = {"regions": 3, "dropout": 0.0} if name in ("sgr", "saf") else {}
    model = build_model(name, image_dim=6, vocabulary_size=20, embedding=16, word=8, **options)
    model.few_gradients = few
    images, tokens, lengths = torch.randn(5, 3, 6), torch.randint(1, 20, (5, 4)), torch.tensor([4, 2, 3, 4, 1])
    found = []
    for low in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            scores = model(images, tokens, lengths)
        (scores.float() * torch.randn(5, 5, generator=torch.Generator().manual_seed(0))).sum().backward()
        found.append((scores.float().detach(), model.image_projection.weight.grad.clone()))
    torch.testing.assert_close(found[1][0], found[0][0], rtol=0.05, atol=0.02)
    cosine = torch.nn.functional.cosine_similarity(found[0][1].flatten(), found[1][1].flatten(), dim=0)
    assert cosine > 0.97
