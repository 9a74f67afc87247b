"""SGR and SAF: their blocks against one another, and their exact gradients."""

from __future__ import annotations

import pytest
import torch

from fivesentences.models import build_model
from fivesentences.models.matching import take
from fivesentences.models.sgr import GraphStep
from fivesentences.models.similarity_vectors import GapProjection


def small(name, **sizes):
    torch.manual_seed(0)
    sizes = {
        "image_dim": 7,
        "vocabulary_size": 40,
        "embedding": 6,
        "word": 5,
        "similarity_dim": 4,
        "regions": 3,
    } | sizes
    model = build_model(name, dropout=0.0, **sizes).double()
    images, lengths = torch.randn(5, 3, 7, dtype=torch.float64), torch.tensor([3, 9, 1, 4, 9, 2])
    captions = torch.randint(3, 40, (6, 9)) * (torch.arange(9) < lengths[:, None])
    return model, (images, captions, lengths)


def gradient_of(model, batch, cotangent):
    model.zero_grad()
    (model(*batch) * cotangent).sum().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def test_pairs_one_by_one_and_rectangles_give_sgr_the_gradient_of_plain_autograd():
    model, batch = small("sgr")
    cotangent = torch.zeros(5, 6, dtype=torch.float64)
    cotangent[torch.arange(4), torch.tensor([0, 1, 2, 5])] = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
    sparse = gradient_of(model, batch, cotangent)
    # A vanishing gradient everywhere else makes the same sum go through rectangles.
    dense = gradient_of(model, batch, cotangent + 1e-300)
    torch.testing.assert_close(sparse, dense, rtol=1e-10, atol=1e-13)
    model.few_gradients = False
    for block, kept in ((None, None), (50, None), (50, 1)):
        model.block_elements, model.kept_elements = block, kept
        torch.testing.assert_close(gradient_of(model, batch, cotangent), sparse, rtol=1e-10, atol=1e-13)
    model.few_gradients = True
    images, captions, lengths = batch
    parts, texts = model.encode_images(images), model.encode_captions(captions, lengths)
    plain = 0.0
    for image, caption in cotangent.nonzero().tolist():
        words = texts.words[None, caption : caption + 1, : lengths[caption]]
        pair = [tensor[image : image + 1] for tensor in parts]
        score = model.scores(*pair, words, texts.overall[None, caption : caption + 1], None)
        plain = plain + score.squeeze() * cotangent[image, caption]
    model.zero_grad()
    plain.backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    torch.testing.assert_close(sparse, expected, rtol=1e-10, atol=1e-13)


def test_a_batch_without_any_gradient_changes_nothing():
    for name in ("sgr", "saf"):
        model, batch = small(name)
        assert (gradient_of(model, batch, torch.zeros(5, 6, dtype=torch.float64)) == 0).all()


@pytest.mark.parametrize("shared", [True, False])
def test_the_gap_projection_has_the_gradient_of_finite_differences(shared):
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 2, 4), (3, 2, 5), (1 if shared else 3, 4, 5), (2, 5), (2,)]
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(lambda *given: GapProjection.apply(*given, None), tensors)
    zero = torch.zeros(3, 2, 4, dtype=torch.float64, requires_grad=True)  # attended vectors of length 0
    GapProjection.apply(zero, *tensors[1:], None).sum().backward()
    assert torch.isfinite(zero.grad).all()


def test_one_product_of_query_and_key_is_the_released_attention_of_two():
    torch.manual_seed(0)
    step, nodes = GraphStep(4).double(), torch.randn(3, 5, 4, dtype=torch.float64)
    torch.nn.init.normal_(step.query.bias)
    torch.nn.init.normal_(step.key.bias)
    attention = torch.softmax(step.query(nodes) @ step.key(nodes).transpose(1, 2), dim=2)
    expected = torch.relu(step.out(attention @ nodes))
    torch.testing.assert_close(step(nodes, None, False), expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(step(nodes, None, True), expected[:, :1], rtol=0, atol=1e-13)


def test_running_values_of_saf_move_once_a_caption_in_their_order():
    model, batch = small("saf")
    model.train()
    again, _ = small("saf")
    again.train()
    images, captions = model.encode_images(batch[0]), model.encode_captions(*batch[1:])
    model.similarity(images, captions)
    for caption in range(6):
        again.similarity(images, take(captions, slice(caption, caption + 1)))
    assert model.gate_norm.num_batches_tracked == again.gate_norm.num_batches_tracked == 6
    torch.testing.assert_close(model.gate_norm.running_mean, again.gate_norm.running_mean, rtol=1e-12, atol=0)
    torch.testing.assert_close(model.gate_norm.running_var, again.gate_norm.running_var, rtol=1e-12, atol=0)
