"""VSRN and its captioner against released numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fivesentences.losses import TripletLoss
from fivesentences.models import build_model, from_released
from fivesentences.models.captioner import Captioner, caption_labels
from fivesentences.models.vsrn import RELEASED_NAMES


@pytest.fixture(params=("vsrn_f30k", "vsrn_coco"))
def released(request, released_of):
    return released_of(request.param)


def model_of(released, dtype, training=False):
    hparams = released.hparams
    model = released.model(
        "vsrn",
        dtype,
        training,
        captioning=hparams["caption_weight"],
        caption_longest=hparams["max_len"],
        caption_dropout=0.0 if training else hparams["input_dropout_p"],
    )
    assert model.spec.recipe == ("coco" if "coco" in hparams["data_name"] else "flickr30k")
    return model


def outputs(released, model, images, captions, lengths):
    """All that the fixture holds of one pass."""
    margin, scores = released.hparams["margin"], model.training_scores(images, captions, lengths)
    ours = {"sim": scores.similarity, "loss_caption": scores.extra / model.spec.captioning}
    ours["loss_retrieval"] = TripletLoss(margin, "hardest")(scores.similarity)
    ours["loss_retrieval_sum"] = TripletLoss(margin, "all")(scores.similarity)
    ours["loss_total"] = ours["loss_retrieval"] + scores.extra
    return ours


def details(model, images, captions, lengths):
    """What a second pass shows; batch-norm statistics move on in training."""
    projected = model.projected_regions(images)
    related = model.related_regions(images)
    labels = caption_labels(captions, lengths, model.captioner.longest)
    return {
        "fc_regions": projected,
        "gcn1": model.relations[0](projected),
        "gcn_regions": related,
        "img_emb": model.encode_images(images),
        "cap_emb": model.encode_captions(captions, lengths),
        "caption_logprobs": model.captioner.log_probabilities(related, labels),
    }


@pytest.mark.parity
@pytest.mark.parametrize("out, dtype, atol", [("out64", torch.float64, 1e-9), ("out", torch.float32, 1e-5)])
def test_every_output_equals_the_released_code(released, by_released_name, out, dtype, atol):
    for prefix, training in (("", False), ("train/", True)):
        model, given = model_of(released, dtype, training), released.inputs(dtype)
        ours = outputs(released, model, *given)
        buffers = by_released_name(model.named_buffers(), RELEASED_NAMES)
        ours |= {f"bn_after/{name}": value.clone() for name, value in buffers.items()}
        ours |= details(model, *given)
        released.check_outputs(out, {prefix + name: value for name, value in ours.items()}, atol)
    released.assert_all_compared(out)


@pytest.mark.parity
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_every_gradient_equals_the_released_code(released, gradients_of, dtype, tolerance):
    for prefix, training in (("", False), ("train/", True)):
        model = model_of(released, dtype, training)
        outputs(released, model, *released.inputs(dtype))["loss_total"].backward()
        released.check_gradients(f"{prefix}loss_total", gradients_of(model, RELEASED_NAMES), tolerance)
    released.assert_all_compared("grad64")


@pytest.mark.parity
def test_labels_of_the_captioner_are_the_released_ones(released):
    _, captions, lengths = released.inputs()
    longest = released.hparams["max_len"]
    labels = caption_labels(captions, lengths, longest)
    np.testing.assert_array_equal(labels.numpy(), released.arrays["in/caption_labels"])
    counted = (labels.numpy() != 0).sum(axis=1)[:, None] >= np.arange(longest + 1)
    np.testing.assert_array_equal(counted, released.arrays["in/caption_masks"])


@pytest.mark.parity
def test_a_checkpoint_without_captioner_scores_the_same_and_has_no_loss_of_its_own(released):
    weights = released.weights(torch.float64)
    model = from_released("vsrn", {name: value for name, value in weights.items() if "caption_model" not in name})
    scores = model.training_scores(*released.inputs(torch.float64))
    assert model.captioner is None and scores.extra is None
    np.testing.assert_allclose(scores.similarity.detach().numpy(), released.arrays["out64/sim"], atol=1e-9)


def test_a_caption_that_is_too_long_is_cut_and_still_ends():
    tokens = torch.tensor([[1, 5, 6, 7, 8, 2], [1, 9, 8, 2, 0, 0], [1, 5, 2, 0, 0, 0]])
    labels = caption_labels(tokens, torch.tensor([6, 4, 3]), longest=4)
    assert labels.tolist() == [[1, 5, 6, 2, 0], [1, 9, 8, 2, 0], [1, 5, 2, 0, 0]]


def test_the_captioner_writes_as_an_ordinary_gru_with_attention_step_by_step():
    torch.manual_seed(0)
    captioner = Captioner(region_dim=5, vocabulary_size=11, hidden=4, word=3, longest=6, dropout=0.2).double().eval()
    regions = torch.randn(2, 7, 5, dtype=torch.float64)
    labels = torch.tensor([[1, 4, 6, 8, 10, 2, 0], [1, 5, 2, 0, 0, 0, 0]])
    read, last = captioner.reader(captioner.projection(regions))
    state = last[0]
    total = 0.0
    for step in range(5):
        asked = torch.cat([read, state[:, None, :].expand_as(read)], dim=2)
        weights = captioner.attention_score(torch.tanh(captioner.attention(asked))).softmax(dim=1)
        context = (weights * read).sum(dim=1)
        state = captioner.writer(torch.cat([captioner.words(labels[:, step]), context], dim=1), state)
        logits = captioner.out(state)
        for row, last in enumerate((4, 2)):  # the second caption writes one pad behind its end
            if step <= last:
                total = total + torch.nn.functional.cross_entropy(logits[row], labels[row, step + 1])
    assert captioner.loss(regions, labels).item() == pytest.approx(total.item() / 2, rel=1e-12)


def test_fresh_weights_are_drawn_as_released():
    torch.manual_seed(3)
    model = build_model("vsrn", image_dim=40, vocabulary_size=500, embedding=24, word=10, caption_hidden=16)
    bound = math.sqrt(6 / (40 + 24))
    assert 0.95 * bound < model.image_projection.weight.abs().max().item() <= bound
    assert (model.image_projection.bias == 0).all()
    assert 0.095 < model.words.weight.abs().max().item() <= 0.1
    assert model.gathering.weight_hh_l0.abs().max().item() <= 1 / math.sqrt(24)
    for block in model.relations:
        assert not block.norm.weight.any() and not block.norm.bias.any()
        assert block.theta.weight.abs().max().item() <= 1 / math.sqrt(24)
    spread = model.captioner.out.weight.std().item()
    assert spread == pytest.approx(math.sqrt(2 / (500 + 16)), rel=0.05)
    regions = torch.randn(3, 4, 24)
    torch.testing.assert_close(model.relations[0](regions), regions)  # a fresh block changes nothing
