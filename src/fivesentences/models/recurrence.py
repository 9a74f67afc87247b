"""A GRU over captions of different lengths whose training takes less time on a CPU than torch's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class GRU(nn.GRU):
    """``torch.nn.GRU`` with the same weights, names and numbers, within rounding, and another way to compute them.

    Training torch's own over a packed batch fills an array of the size of the whole batch with zeros for each word of
    the longest caption, since each step takes its rows out of one product. Unrolled, that product is split once, and
    its gradient is put together once.

    Attributes:
        unrolled: Whether packed captions are computed that way; without dropout between layers.
    """

    unrolled: bool = False

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        """As ``torch.nn.GRU``; unrolled where the input is a packed batch without a given first state.

        Not under autocast, whose products have another type than the states that they are mixed with.
        """
        packed = isinstance(input, PackedSequence) and not torch.is_autocast_enabled(input.data.device.type)
        if not (self.unrolled and packed and hx is None and not self.dropout and self.bias):
            return super().forward(input, hx)
        sizes = input.batch_sizes.tolist()
        states, last = input.data, []
        for layer in range(self.num_layers):
            of_directions = []
            for suffix in ("", "_reverse")[: 1 + self.bidirectional]:
                weights = [getattr(self, f"{name}_l{layer}{suffix}") for name in WEIGHTS]
                found, end = _backward(states, sizes, *weights) if suffix else _forward(states, sizes, *weights)
                of_directions.append(found)
                last.append(end)
            states = torch.cat(of_directions, dim=1) if self.bidirectional else of_directions[0]
        ends = torch.stack(last)
        if input.unsorted_indices is not None:
            ends = ends.index_select(1, input.unsorted_indices)
        return PackedSequence(states, input.batch_sizes, input.sorted_indices, input.unsorted_indices), ends


def _forward(
    inputs: Tensor, sizes: list[int], weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor, bias_hh: Tensor
) -> tuple[Tensor, Tensor]:
    """States at each word ``[words of all captions, width]``, and at each caption's last ``[captions, width]``.

    Args:
        inputs: ``[words of all captions, input]``, packed: the first word of every caption, then the second, ...
        sizes: How many captions have a first word, a second, ...
        weight_ih: ``[3 width, input]``: reset, update and new.
        weight_hh: ``[3 width, width]``.
        bias_ih: ``[3 width]``.
        bias_hh: ``[3 width]``.
    """
    steps = torch.addmm(bias_ih, inputs, weight_ih.T).split(sizes)  # type: ignore[no-untyped-call]
    state = inputs.new_zeros(sizes[0], weight_hh.shape[1])
    states, ended = [], []
    for step, size in zip(steps, sizes, strict=True):
        if size < len(state):  # the shortest captions, which come last, have ended
            state, ends = state[:size], state[size:]
            ended.append(ends)
        state = _next(step, state, weight_hh, bias_hh)
        states.append(state)
    return torch.cat(states), torch.cat([state, *reversed(ended)])


def _backward(
    inputs: Tensor, sizes: list[int], weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor, bias_hh: Tensor
) -> tuple[Tensor, Tensor]:
    """As ``_forward``, but each caption is read from its last word to its first, where its last state is."""
    steps = torch.addmm(bias_ih, inputs, weight_ih.T).split(sizes)  # type: ignore[no-untyped-call]
    state = inputs.new_zeros(0, weight_hh.shape[1])
    states = []
    for step, size in zip(reversed(steps), reversed(sizes), strict=True):
        if size > len(state):  # longer captions are being read already; these begin here
            state = torch.cat([state, state.new_zeros(size - len(state), state.shape[1])])
        state = _next(step, state, weight_hh, bias_hh)
        states.append(state)
    return torch.cat(states[::-1]), state


def _next(step: Tensor, state: Tensor, weight_hh: Tensor, bias_hh: Tensor) -> Tensor:
    """Return the next states ``[captions, width]``, of the equations in torch's documentation."""
    width = state.shape[1]
    recurrent = torch.addmm(bias_hh, state, weight_hh.T)
    reset, update = torch.sigmoid(step[:, : 2 * width] + recurrent[:, : 2 * width]).chunk(2, dim=1)
    new = torch.tanh(torch.addcmul(step[:, 2 * width :], reset, recurrent[:, 2 * width :]))
    return torch.lerp(new, state, update)
