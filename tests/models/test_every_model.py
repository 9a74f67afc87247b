"""What every model of the registry promises."""

from __future__ import annotations

import math
import re
from typing import Literal, get_args, get_origin

import numpy as np
import pytest
import torch
from torch import Tensor

from fivesentences.losses import TripletLoss
from fivesentences.models import MODELS, ConceptGraph, Matcher, build_model, model_spec
from fivesentences.models.matching import concatenate, take

SMALL = dict.fromkeys(("embedding", "word", "similarity_dim", "caption_hidden", "caption_word"), 8)
GRAPH = ConceptGraph.of_captions(["a dog runs", "a dog sits", "a cat runs", "a cat sits"])
LENGTHS = torch.tensor([4, 9, 2, 3, 1])
# A softmax, or a batch norm behind a layer, forgets a number that is added to all of its inputs.
NOT_LEARNED = re.compile(r"score\.bias|key\.bias|relations\.\d\.out\.bias|image_hidden\.bias")


def built(name: str, **settings) -> Matcher:
    """A small model with weights of its own; VSRN's relation blocks are drawn so that they change nothing."""
    torch.manual_seed(0)
    sizes = {key: SMALL[key] for key in MODELS[name].widths() if key in SMALL}
    spec = model_spec(name, **sizes | settings)
    model = spec.build(image_dim=6, vocabulary_size=20, regions=3, concepts=GRAPH).double()
    if name == "vsrn":
        torch.nn.init.constant_(model.relations[0].norm.weight, 1.0)
    return model


def batch_of(model: Matcher, pairs: int = 5) -> dict[str, Tensor]:
    torch.manual_seed(1)
    images = torch.randn((5, 6) if model.layout == "global" else (5, 3, 6), dtype=torch.float64)
    tokens = torch.randint(4, 20, (5, 9)) * (torch.arange(9) < LENGTHS[:, None])
    batch = {"images": images, "caption_tokens": tokens, "caption_lengths": LENGTHS}
    if "concept_labels" in model.needs:
        batch["concept_labels"] = torch.eye(5)[:, : len(GRAPH)]
    return {name: values[:pairs] for name, values in batch.items()}


def some(batch: dict[str, Tensor], captions: Tensor | slice) -> dict[str, Tensor]:
    """Some captions of a batch, padded to the longest of them."""
    taken = {name: values[captions] for name, values in batch.items() if name != "images"}
    return taken | {"caption_tokens": taken["caption_tokens"][:, : taken["caption_lengths"].max()]}


@pytest.mark.parametrize("name", MODELS)
def test_a_score_depends_on_no_companion_and_a_gallery_may_be_encoded_in_parts(name):
    model = built(name).eval()
    batch = batch_of(model)
    whole = model(**batch)
    gallery = concatenate([model.encode_images(batch["images"][:2]), model.encode_images(batch["images"][2:])])
    for captions in (torch.tensor([2, 0, 4, 1, 3]), slice(3, 4), slice(4, 5)):
        scores = model.similarity(gallery, model.encode_captions(**some(batch, captions)))
        torch.testing.assert_close(scores, whole[:, captions], rtol=0, atol=1e-12)
    alone = model.similarity(take(gallery, slice(1, 2)), model.encode_captions(**some(batch, slice(None))))
    torch.testing.assert_close(alone, whole[1:2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_step_of_training_moves_every_weight_and_a_batch_of_one_does_not_fail(name):
    model = built(name).train()
    before = {key: value.clone() for key, value in model.named_parameters()}
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=1.0), TripletLoss(margin=0.2, negatives="all")
    for pairs in (5, 5, 1):
        scores = model.training_scores(**batch_of(model, pairs))
        extra = 0.0 if scores.extra is None else scores.extra
        (sum(weight * loss(similarity) for weight, similarity in scores.ranked) + extra).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())
    unmoved = [key for key, value in model.named_parameters() if torch.equal(value, before[key])]
    assert all(NOT_LEARNED.search(key) for key in unmoved), unmoved


OF_SCAN = (
    *(("t2i", "LogSumExp", "clipped_l2norm"), ("i2t", "LogSumExp", "softmax")),
    *(("t2i", "Mean", "softmax"), ("i2t", "Max", "clipped_l2norm")),
)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *((name, {"dropout": 0.0}) for name in ("sgr", "saf")),
        *(("scan", dict(zip(("direction", "aggregation", "raw_norm"), chosen, strict=True))) for chosen in OF_SCAN),
    ],
)
def test_blocks_and_companions_do_not_change_a_score(name, settings, train):
    model = built(name, **settings)
    batch = batch_of(model)
    images, captions = model.encode_images(batch["images"]), model.encode_captions(**some(batch, slice(None)))
    model.train(train)
    whole = model.similarity(images, captions)
    assert whole.isfinite().all()
    by_caption = [model.similarity(images, take(captions, slice(c, c + 1))) for c in range(5)]
    torch.testing.assert_close(torch.cat(by_caption, dim=1), whole, rtol=0, atol=1e-13)
    if not train or name == "scan":  # batch norms look at all images
        by_image = [model.similarity(take(images, slice(i, i + 1)), captions) for i in range(5)]
        torch.testing.assert_close(torch.cat(by_image), whole, rtol=0, atol=1e-13)
    cotangent, gradients = torch.randn(5, 5, dtype=torch.float64), []
    rtol, atol = (1e-11, 1e-13) if name == "scan" else (1e-10, 1e-12)
    for block, kept in ((None, None), (1, None), (30, 1), (200, 1)):
        model.block_elements, model.kept_elements = block, kept
        torch.testing.assert_close(model.similarity(images, captions), whole, rtol=0, atol=1e-13)
        model.zero_grad()
        (model(**batch) * cotangent).sum().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
        torch.testing.assert_close(gradients[-1], gradients[0], rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ["vsepp", "scan", "vsrn", "cvse", "sgr", "saf", "vse_infinity"])
def test_fresh_weights_are_drawn_as_released_and_by_seed(name):
    def fresh(**settings):
        torch.manual_seed(3)
        sizes = {"caption_hidden": 16} if name == "vsrn" else {}
        spec = model_spec(name, embedding=24, word=10, **sizes | settings)
        return spec.build(image_dim=40, vocabulary_size=500, regions=36, concepts=GRAPH)

    def check(weight, bound, least=0.0):
        assert least * bound < weight.abs().max().item() <= bound

    model, again = fresh(), fresh()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    check(model.image_projection.weight, math.sqrt(6 / (40 + 24)), least=0.95)
    assert (model.image_projection.bias == 0).all()
    words = model.words if name in ("vsepp", "vsrn") else model.text.words
    check(words.weight, math.sqrt(6 / (500 + 10)) if name == "cvse" else 0.1, least=0.95)
    if name == "vsepp":
        check(model.sentence.weight_hh_l0, 1 / math.sqrt(24))
    if name == "scan":
        projection = fresh(projection="weight_norm").image_projection
        torch.testing.assert_close(projection.weight, projection.weight_v)
        check(projection.weight, 1 / math.sqrt(40))
    if name == "vsrn":
        check(model.gathering.weight_hh_l0, 1 / math.sqrt(24))
        for block in model.relations:
            assert not block.norm.weight.any() and not block.norm.bias.any()
            check(block.theta.weight, 1 / math.sqrt(24))
        assert model.captioner.out.weight.std().item() == pytest.approx(math.sqrt(2 / (500 + 16)), rel=0.05)
        regions = torch.randn(3, 4, 24)
        torch.testing.assert_close(model.relations[0](regions), regions)  # a fresh block changes nothing
    if name == "cvse":
        check(model.concepts.first, 1 / math.sqrt(12))
        check(model.concepts.second, 1 / math.sqrt(24))
        check(model.image_attention.item.bias, 1 / math.sqrt(24))
        assert model.image_attention.item_norm.num_features == 36
    if name == "vse_infinity":
        assert len(words.weight) == 501  # one for hidden words
        for layer, inputs in ((model.image_hidden, 40), (model.image_out, 12), (model.image_pooling.score, 32)):
            check(layer.weight, 1 / math.sqrt(inputs), least=0.7)
    if name in ("sgr", "saf"):
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                check(module.weight, math.sqrt(6 / (module.in_features + module.out_features)), least=0.8)
                assert (module.bias == 0).all()
            if isinstance(module, torch.nn.BatchNorm1d):
                assert (module.weight == 1).all() and (module.bias == 0).all()
        assert model.image_pooling.local_norm.num_features == 36


# --- settings -------------------------------------------------------------------------------------------------

OF_CONCEPTS = {"labels", "glove", "concept_captions"}  # read when concepts are made: see tests/training/test_data.py
# Read when gradients are clipped and steps are made: see tests/training/test_loop.py and test_adam.py.
OF_OPTIMISER = {"captioner_steps", "concept_drop", "clip_concepts"}


def other_value(field):
    """A value that is not the default."""
    default = field.default
    if isinstance(default, bool):
        return not default
    if get_origin(field.annotation) is Literal:
        return next(value for value in get_args(field.annotation) if value != default)
    if isinstance(default, list):
        return [2 * value for value in default]
    if default is None:
        return 0.5
    return default + 1 if isinstance(default, int) and default < 10 else type(default)(default / 10)


def outputs(name: str, **settings) -> list[np.ndarray]:
    model = built(name, **settings)
    batch = batch_of(model)
    scores = model.training_scores(**batch)
    parts = [scores.similarity, *(weight * matrix for weight, matrix in scores.ranked), model.eval()(**batch)]
    parts += [] if scores.extra is None else [scores.extra]
    return [part.detach().numpy() for part in parts]


@pytest.mark.parametrize(
    ("name", "setting"),
    [(n, s) for n, kind in MODELS.items() for s in kind.settings() if s not in OF_CONCEPTS | OF_OPTIMISER],
)
def test_every_setting_changes_what_the_model_computes(name, setting):
    usual, other = outputs(name), outputs(name, **{setting: other_value(MODELS[name].model_fields[setting])})
    assert len(usual) != len(other) or not all(map(np.allclose, usual, other))


# --- what they share ------------------------------------------------------------------------------------------


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
