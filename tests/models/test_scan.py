"""SCAN's blocks against one another; released numbers: test_parity."""

from __future__ import annotations

import math

import pytest
import torch

from fivesentences.models import build_model
from fivesentences.models.attention import attended, attention_weights, raw_attention
from fivesentences.models.matching import take
from fivesentences.models.scan import Words


@pytest.mark.parametrize("direction", ["t2i", "i2t"])
@pytest.mark.parametrize("aggregation", ["LogSumExp", "Mean", "Max", "Sum"])
@pytest.mark.parametrize("raw_norm", ["clipped_l2norm", "softmax", "no_norm"])
def test_blocks_and_companions_do_not_change_a_score(direction, aggregation, raw_norm):
    torch.manual_seed(0)
    model = build_model(
        "scan",
        image_dim=7,
        vocabulary_size=40,
        embedding=6,
        word=5,
        direction=direction,
        aggregation=aggregation,
        raw_norm=raw_norm,
    ).double()
    images, lengths = torch.randn(5, 4, 7), torch.tensor([3, 9, 1, 4, 9, 2])
    captions = torch.randint(3, 40, (6, 9)) * (torch.arange(9) < lengths[:, None])
    regions, words = model.encode_images(images), model.encode_captions(captions, lengths)
    whole = model.similarity(regions, words)
    alone = torch.cat(
        [
            torch.cat([model.similarity(regions[i : i + 1], take(words, slice(c, c + 1))) for c in range(6)], dim=1)
            for i in range(5)
        ]
    )
    torch.testing.assert_close(whole, alone, rtol=0, atol=1e-13)
    assert torch.isfinite(whole).all()
    gradients = []
    for block, kept in ((None, None), (1, None), (40, 1), (200, 1)):
        model.block_elements, model.kept_elements = block, kept
        torch.testing.assert_close(model.similarity(regions, words), whole, rtol=0, atol=1e-13)
        model.zero_grad()
        model(images, captions, lengths).square().sum().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
        torch.testing.assert_close(gradients[-1], gradients[0], rtol=1e-11, atol=1e-13)


def test_cosines_from_the_gram_matrix_keep_float32_accuracy_in_1024_dimensions():
    generator = torch.Generator().manual_seed(0)
    regions = torch.nn.functional.normalize(torch.randn(6, 36, 1024, generator=generator), dim=2)
    words = torch.nn.functional.normalize(torch.randn(8, 12, 1024, generator=generator), dim=2)
    lengths = torch.full((8,), 12)
    for direction in ("t2i", "i2t"):
        model = build_model("scan", image_dim=3, vocabulary_size=9, embedding=1024, word=2, direction=direction)
        single = model.similarity(regions, Words(words, lengths))
        contexts, queries = (
            (regions.double(), words.double()) if direction == "t2i" else (words.double(), regions.double())
        )
        weights = attention_weights(raw_attention(contexts, queries), model.softmax_temperature)
        vectors = attended(weights, contexts)  # [X, Y, N, D]
        cosine = torch.nn.functional.cosine_similarity(queries[None], vectors, dim=3)
        scale = model.pooling_temperature
        direct = (torch.logsumexp(scale * cosine, dim=2) / scale).to(torch.float32)
        torch.testing.assert_close(single, direct if direction == "t2i" else direct.T, rtol=1e-5, atol=0)


def test_fresh_weights_are_drawn_as_released():
    torch.manual_seed(3)
    model = build_model("scan", image_dim=40, vocabulary_size=500, embedding=20, word=10)
    bound = math.sqrt(6 / (40 + 20))
    assert 0.95 * bound < model.image_projection.weight.abs().max().item() <= bound
    assert (model.image_projection.bias == 0).all()
    assert 0.095 < model.text.words.weight.abs().max().item() <= 0.1
    model = build_model("scan", image_dim=40, vocabulary_size=50, embedding=20, word=10, projection="weight_norm")
    torch.testing.assert_close(model.image_projection.weight, model.image_projection.weight_v)
    assert model.image_projection.weight.abs().max().item() <= 1 / math.sqrt(40)
