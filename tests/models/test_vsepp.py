"""VSE++; released numbers: test_parity."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from fivesentences.errors import InputError
from fivesentences.models import from_released, model_spec


@pytest.mark.parity
def test_released_weights_that_do_not_fit_are_refused_in_a_sentence(released_of):
    good = released_of("vsepp").weights()
    for bad, what in (
        ({k: v for k, v in good.items() if k != "txt_enc.rnn.bias_hh_l0"}, "bias_hh_l0"),
        ({k: v for k, v in good.items() if k != "img_enc.fc.weight"}, "img_enc.fc.weight"),
        ({**good, "sim_enc.weight": good["img_enc.fc.weight"]}, "sim_enc.weight"),
        ({**good, "img_enc.fc.bias": good["img_enc.fc.bias"][:-1]}, "image_projection.bias"),
    ):
        with pytest.raises(InputError, match=what):
            from_released("vsepp", bad)


def test_numpy_weights_and_two_layers_are_read_by_their_shapes():
    gru = torch.nn.GRU(6, 8, num_layers=2)
    state = {f"txt_enc.rnn.{name}": value.detach().numpy() for name, value in gru.named_parameters()}
    state |= {"img_enc.fc.weight": np.ones((8, 5), np.float32), "img_enc.fc.bias": np.zeros(8, np.float32)}
    state |= {"txt_enc.embed.weight": np.eye(9, 6, dtype=np.float32)}
    model = from_released("vsepp", state)
    tokens, lengths = torch.tensor([[1, 4, 2], [1, 2, 0]]), torch.tensor([3, 2])
    _, last = gru(torch.as_tensor(state["txt_enc.embed.weight"])[tokens[:1]].transpose(0, 1))
    expected = torch.nn.functional.normalize(last[-1], dim=1)
    np.testing.assert_allclose(
        model.encode_captions(tokens, lengths)[:1].detach().numpy(), expected.detach().numpy(), atol=1e-6
    )


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize(("layers", "unrolled"), [(1, False), (1, True), (2, False)])
def test_the_caption_vector_is_pooled_over_the_states_of_its_own_words(pooling, layers, unrolled):
    torch.manual_seed(0)
    spec = model_spec("vsepp", embedding=8, word=6, pooling=pooling, layers=layers)
    model = spec.build(image_dim=5, vocabulary_size=12).double()
    model.sentence.unrolled = unrolled
    gru = nn.GRU(6, 8, layers).double()
    gru.load_state_dict(model.sentence.state_dict())
    captions = [[1, 4, 7, 9, 2], [1, 2], [1, 5, 5, 2]]  # padded to the longest below
    tokens = torch.tensor([words + [0] * (5 - len(words)) for words in captions])
    found = model.encode_captions(tokens, torch.tensor([5, 2, 4]))
    for words, vector in zip(captions, found, strict=True):
        states = gru(model.words(torch.tensor(words))[:, None])[0][:, 0]  # one caption by itself: [words, 8]
        of_each = {"last": states[-1], "mean": sum(states) / len(words), "max": states.max(dim=0).values}
        expected = of_each[pooling] / of_each[pooling].norm()
        torch.testing.assert_close(vector, expected, rtol=0, atol=1e-12)


def test_xavier_draws_every_weight_evenly_within_the_bound_of_glorot_and_bengio():
    torch.manual_seed(0)
    spec = model_spec("vsepp", embedding=64, word=40, initialisation="xavier", layers=2)
    model = spec.build(image_dim=30, vocabulary_size=90)
    gates = {
        f"sentence.{name}": weight.detach().chunk(3) for name, weight in model.sentence.named_parameters()
    }  # reset, update and new
    matrices = {"words.weight": (model.words.weight,), "image_projection.weight": (model.image_projection.weight,)}
    for name, parts in (matrices | gates).items():
        for part in parts:
            if "bias" in name:
                assert not part.any(), name
                continue
            bound = math.sqrt(6 / sum(part.shape))  # fan-in and fan-out
            assert 0.98 * bound < part.abs().max().item() <= bound, name
            assert part.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05), name  # of an even distribution


def test_without_it_the_first_weights_are_those_of_the_release():
    torch.manual_seed(0)
    model = model_spec("vsepp", embedding=64, word=40).build(image_dim=30, vocabulary_size=90)
    assert 0.098 < model.words.weight.abs().max().item() <= 0.1
    of_torch = 1 / math.sqrt(64)
    assert all(0.9 * of_torch < one.abs().max().item() <= of_torch for one in model.sentence.parameters())
