"""The unrolled GRU equals torch's."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

from fivesentences.models.recurrence import GRU


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("lengths", [[3, 9, 1, 5, 5, 2, 9], [4, 4], [1]])
def test_unrolled_states_and_gradients_are_torchs(bidirectional, layers, lengths):
    torch.manual_seed(0)
    gru = GRU(6, 4, layers, batch_first=True, bidirectional=bidirectional).double()
    words = torch.randn(len(lengths), max(lengths), 6, dtype=torch.float64, requires_grad=True)
    found = []
    for gru.unrolled in (False, True):
        gru.zero_grad()
        words.grad = None
        packed = pack_padded_sequence(words, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        states, last = gru(packed)
        (states.data.sin().sum() + last.cos().sum()).backward()
        gradients = [weight.grad.clone() for weight in gru.parameters()]
        found.append([states.data.detach(), last.detach(), words.grad.clone(), *gradients])
    for torchs, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, torchs, rtol=0, atol=1e-13)


def test_everything_but_packed_captions_from_their_beginning_is_left_to_torch():
    gru = GRU(6, 4, batch_first=True)
    words, first = torch.randn(3, 5, 6), torch.randn(1, 3, 4)
    expected = gru(words)[0], gru(words, first)[0]
    gru.unrolled = True
    torch.testing.assert_close((gru(words)[0], gru(words, first)[0]), expected, rtol=0, atol=0)
