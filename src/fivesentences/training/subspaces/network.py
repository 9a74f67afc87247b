"""The network of one modality, with its gradients written out, and stochastic gradient descent.

Two layers are little arithmetic: with autograd and an optimiser, a third of a step is memory for temporaries and
gradients. Here every array of a step is made once; a test compares the gradients with autograd's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fivesentences.models.subspaces.projection import Vectors

# Rows that are projected at once where nothing is trained: hidden layers of so many stay in the cache.
ROWS = 512
LEVELS = 1 << 16  # of the random numbers of dropout, two bytes each


@dataclass(frozen=True)
class Widths:
    """Widths of a network: of what it reads, of its hidden layer, of what it returns."""

    inputs: int
    hidden: int
    outputs: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the weights: first layer, its bias, second layer, its bias."""
        return (self.inputs, self.hidden), (self.hidden,), (self.hidden, self.outputs), (self.outputs,)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return sum(math.prod(shape) for shape in self.shapes)


def initial_weights(widths: Widths, generator: np.random.Generator) -> Tensor:
    """Weights as Keras begins with: Glorot and Bengio's (2010) uniform distribution for layers, zeros for biases.

    The paper does not say how; it is the default of the library that its other settings point to.

    Returns:
        ``[widths.size]`` float32.
    """
    parts = []
    for shape in widths.shapes:
        if len(shape) == 1:
            parts.append(np.zeros(shape, dtype=np.float32))
        else:
            end = math.sqrt(6.0 / sum(shape))
            parts.append(generator.uniform(-end, end, shape).astype(np.float32))
    return torch.from_numpy(np.concatenate([part.ravel() for part in parts]))


def layers(flat: Tensor, widths: Widths) -> list[Tensor]:
    """The weights in a vector, as views: first layer, its bias, second layer, its bias."""
    sizes = [math.prod(shape) for shape in widths.shapes]
    return [part.view(shape) for part, shape in zip(torch.split(flat, sizes), widths.shapes, strict=True)]


def dropout_mask(mask: Tensor, share: float, generator: np.random.Generator) -> Tensor:
    """Fill a float32 mask with 0 for about ``share`` of its entries and ``1 / (1 - share)`` for the others.

    Two random bytes decide each entry, which costs a quarter of a random float; ``share`` is met within 1 / 65536.
    """
    words = generator.integers(0, 1 << 64, -(-mask.numel() // 4), dtype=np.uint64)  # four entries each
    drawn = torch.from_numpy(words.view(np.int16))[: mask.numel()]
    dropped = round(share * LEVELS)
    torch.ge(drawn.view(mask.shape), dropped - LEVELS // 2, out=mask)
    return mask.mul_(LEVELS / (LEVELS - dropped))


@dataclass
class _Activations:
    """Arrays of a step of so many rows, made once."""

    hidden: Tensor  # [rows, hidden] after tanh
    kept: Tensor  # after dropout
    mask: Tensor
    outputs: Tensor  # [rows, outputs] after tanh
    units: Tensor  # after the L2 norm
    lengths: Tensor  # [rows, 1]
    slope: Tensor  # [rows, hidden] of the loss

    @classmethod
    def of(cls, rows: int, widths: Widths) -> _Activations:
        def wide() -> Tensor:
            return torch.empty(rows, widths.hidden)

        def narrow() -> Tensor:
            return torch.empty(rows, widths.outputs)

        return cls(wide(), wide(), wide(), narrow(), narrow(), torch.empty(rows, 1), wide())


@dataclass
class Branch:
    """The network of one modality: tanh, dropout, tanh, L2 norm (section 3.5).

    Attributes:
        widths: Of its layers.
        weights: ``[widths.size]`` all weights, changed in place by training.
        gradients: Of the same shape; ``backward`` fills it.
    """

    widths: Widths
    weights: Tensor
    gradients: Tensor
    _arrays: dict[int, _Activations] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._layers = layers(self.weights, self.widths)
        self._slopes = layers(self.gradients, self.widths)

    def forward(self, inputs: Tensor, dropout: float, generator: np.random.Generator) -> Tensor:
        """``[rows, outputs]`` vectors of length 1 in training; valid until the next call.

        Args:
            inputs: ``[rows, inputs]``.
            dropout: Share of hidden units that are left out.
            generator: Of which ones.
        """
        rows = len(inputs)
        if rows not in self._arrays:
            self._arrays[rows] = _Activations.of(rows, self.widths)
        a = self._arrays[rows]
        first, first_bias, second, second_bias = self._layers
        torch.addmm(first_bias, inputs, first, out=a.hidden).tanh_()
        kept = a.hidden
        if dropout:
            kept = torch.mul(a.hidden, dropout_mask(a.mask, dropout, generator), out=a.kept)
        torch.addmm(second_bias, kept, second, out=a.outputs).tanh_()
        torch.linalg.vector_norm(a.outputs, dim=1, keepdim=True, out=a.lengths)
        a.lengths.clamp_(min=1e-12)
        return torch.div(a.outputs, a.lengths, out=a.units)

    def backward(self, inputs: Tensor, slope: Tensor, dropout: float) -> None:
        """Fill ``gradients`` after ``forward`` of the same inputs.

        Args:
            inputs: ``[rows, inputs]``.
            slope: ``[rows, outputs]`` gradient of the loss with respect to what ``forward`` returned; overwritten.
            dropout: As in ``forward``.
        """
        a = self._arrays[len(inputs)]
        second = self._layers[2]
        to_first, to_first_bias, to_second, to_second_bias = self._slopes
        slope.addcmul_(a.units, (slope * a.units).sum(1, keepdim=True), value=-1).div_(a.lengths)
        slope = torch.ops.aten.tanh_backward(slope, a.outputs)
        torch.mm((a.kept if dropout else a.hidden).T, slope, out=to_second)
        torch.sum(slope, 0, out=to_second_bias)
        torch.mm(slope, second.T, out=a.slope)
        if dropout:
            a.slope.mul_(a.mask)
        torch.ops.aten.tanh_backward.grad_input(a.slope, a.hidden, grad_input=a.slope)
        torch.mm(inputs.T, a.slope, out=to_first)
        torch.sum(a.slope, 0, out=to_first_bias)


def outputs_of(weights: Tensor, widths: Widths, inputs: Tensor) -> Tensor:
    """``[documents, outputs]`` outputs before the L2 norm, without dropout, some rows at a time."""
    first, first_bias, second, second_bias = layers(weights, widths)
    result = torch.empty(len(inputs), widths.outputs)
    hidden = torch.empty(min(ROWS, len(inputs)), widths.hidden)
    for start in range(0, len(inputs), ROWS):
        part = inputs[start : start + ROWS]
        inside = torch.addmm(first_bias, part, first, out=hidden[: len(part)]).tanh_()
        torch.addmm(second_bias, inside, second, out=result[start : start + ROWS])
    return result.tanh_()


class NesterovSGD:
    """Stochastic gradient descent with Nesterov momentum in one vector of weights, in three passes over it.

    The velocity v becomes ``momentum v + g``, and a weight moves by ``-rate (g + momentum v)``, as in torch; so it is
    in Keras, whose velocity holds the rate, but for the change of the rate from step to step.

    Args:
        weights: Changed in place.
        gradients: Of the same shape, read at each step.
        momentum: In 0..1.
    """

    def __init__(self, weights: Tensor, gradients: Tensor, momentum: float):
        self._weights, self._gradients, self._momentum = weights, gradients, momentum
        self._velocity = torch.zeros_like(weights)

    def step(self, rate: float) -> None:
        """Move every weight."""
        torch.add(self._gradients, self._velocity, alpha=self._momentum, out=self._velocity)
        self._weights.sub_(self._gradients, alpha=rate)
        self._weights.sub_(self._velocity, alpha=rate * self._momentum)


@dataclass(frozen=True)
class NetworkProjector:
    """Both trained networks: vectors of both modalities become vectors of length 1 in the subspace.

    Attributes:
        image_weights: ``[image_widths.size]`` float32.
        image_widths: Widths of the images' network.
        text_weights: ``[text_widths.size]`` float32.
        text_widths: Widths of the texts' network.
    """

    image_weights: Tensor
    image_widths: Widths
    text_weights: Tensor
    text_widths: Widths

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, outputs]`` float32 of each modality."""
        return (
            _projected(self.image_weights, self.image_widths, images),
            _projected(self.text_weights, self.text_widths, texts),
        )


def _projected(weights: Tensor, widths: Widths, vectors: Vectors) -> NDArray[np.float32]:
    outputs = outputs_of(weights, widths, torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32)))
    result: NDArray[np.float32] = outputs.div_(outputs.norm(dim=1, keepdim=True).clamp_(min=1e-12)).numpy()
    return result
