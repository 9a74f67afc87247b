"""SCAN against released numbers, and its blocks against one another."""

from __future__ import annotations

import math

import pytest
import torch

from fivesentences.losses import TripletLoss
from fivesentences.models import build_model
from fivesentences.models.attention import attended, attention_weights, raw_attention
from fivesentences.models.matching import take
from fivesentences.models.scan import RELEASED_NAMES, Words

FILES = ("scan_bigru", "scan_gru_weightnorm")
NEGATIVES = {"loss_max": "hardest", "loss_sum": "all"}


@pytest.fixture(params=FILES)
def released(request, released_of):
    return released_of(request.param)


def model_of(released, dtype, direction="t2i", **options):
    temperatures = {
        "softmax_temperature": released.hparams["lambda_softmax"][direction],
        "pooling_temperature": released.hparams["lambda_lse"][direction],
    }
    return released.model("scan", dtype, direction=direction, **temperatures, **options)


def ours(released, key, dtype):
    """What the project returns for an ``out`` key."""
    images, captions, lengths = released.inputs(dtype)
    kind, *rest = key.split("/")
    model = model_of(released, dtype)
    if kind == "no_norm":
        bare = model_of(released, dtype, normalise_images=False, normalise_captions=False)
        return {"img_emb": bare.encode_images, "cap_emb": lambda _: bare.encode_captions(captions, lengths).vectors}[
            rest[0]
        ](images)
    if kind == "img_emb":
        return model.encode_images(images)
    if kind == "cap_emb":
        return model.encode_captions(captions, lengths).vectors
    if kind == "cap_len":
        return model.encode_captions(captions, lengths).lengths
    if kind == "img_fc_weight_effective":
        return model.image_projection.weight
    if kind == "sim":
        direction, aggregation, norm = rest
        return model_of(released, dtype, direction, aggregation=aggregation, raw_norm=norm)(images, captions, lengths)
    if kind in NEGATIVES:
        direction, aggregation = rest
        similarity = model_of(released, dtype, direction, aggregation=aggregation)(images, captions, lengths)
        return TripletLoss(released.hparams["margin"], NEGATIVES[kind])(similarity)
    assert kind == "pair01", f"no way to compute {key}"
    direction, what = rest
    model = model_of(released, dtype, direction)
    regions = model.encode_images(images[:1])
    words = model.encode_captions(captions, lengths).vectors[1:2, : lengths[1]]
    contexts, queries = (regions, words) if direction == "t2i" else (words, regions)
    weights = attention_weights(raw_attention(contexts, queries), model.softmax_temperature)
    return weights[:, :, 0] if what.startswith("attention") else attended(weights, contexts)[:, 0]


@pytest.mark.parity
@pytest.mark.parametrize("out, dtype, atol", [("out64", torch.float64, 1e-9), ("out", torch.float32, 1e-5)])
def test_every_output_equals_the_released_code(released, out, dtype, atol):
    names = [key.removeprefix(f"{out}/") for key in released.keys(out)]
    released.check_outputs(out, {name: ours(released, name, dtype) for name in names}, atol)


@pytest.mark.parity
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-9), (torch.float32, 1e-4)])
@pytest.mark.parametrize("block", [None, 70])
def test_every_gradient_equals_the_released_code(released, gradients_of, dtype, tolerance, block):
    for loss, direction, aggregation in {tuple(key.split("/")[1:4]) for key in released.keys("grad64")}:
        model = model_of(released, dtype, direction, aggregation=aggregation)
        model.block_elements = model.kept_elements = block
        images, captions, lengths = released.inputs(dtype)
        regions, words = model.encode_images(images), model.encode_captions(captions, lengths)
        regions.retain_grad()
        words.vectors.retain_grad()
        TripletLoss(released.hparams["margin"], NEGATIVES[loss])(model.similarity(regions, words)).backward()
        gradients = {"img_emb": regions.grad, "cap_emb": words.vectors.grad} | gradients_of(model, RELEASED_NAMES)
        released.check_gradients(f"{loss}/{direction}/{aggregation}", gradients, tolerance, partial=True)
    released.assert_all_compared("grad64")


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
