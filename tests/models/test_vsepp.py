"""VSE++; released numbers: test_parity."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.models import from_released


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
