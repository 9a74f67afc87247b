"""Interface of every image-text model, and the arithmetic that several share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.config.types import Layout
from fivesentences.errors import InputError
from fivesentences.models.specs import ModelSpec

# What an encoder returns: every tensor has one row per item. A model with several tensors uses a NamedTuple of its own.
Encoded = Tensor | tuple[Tensor, ...]

# Below this share, few pairs of a batch have a gradient: SGR is then faster if it computes them one by one.
FEW = 1 / 2


@dataclass(frozen=True)
class TrainingScores:
    """Inputs of a model's losses, for one batch of matching pairs.

    Attributes:
        similarity: ``[B, B]`` images x captions, what semantic losses see; the same as in evaluation, except for
            CVSE, whose evaluation mixes in the consensus level.
        ranked: Weight and ``[B, B]`` similarity of each term of the triplet loss; left empty: ``similarity`` alone.
        extra: The model's own loss, a scalar that is already weighted, on the scale that it has in the release beside
            the triplet loss (a sum over the batch).
    """

    similarity: Tensor
    ranked: tuple[tuple[float, Tensor], ...] = ()
    extra: Tensor | None = None

    def __post_init__(self) -> None:
        if not self.ranked:
            object.__setattr__(self, "ranked", ((1.0, self.similarity),))


@dataclass(frozen=True)
class Treatment:
    """How a released optimiser treats some weights otherwise than the others.

    Attributes:
        parameters: The weights.
        times: How often they stand in its list: so often they take a step, and count in the norm of the gradient.
        drop: To which share of itself their learning rate falls at each drop; None: as that of the others.
        clipped: Whether their gradients are clipped with the others.
    """

    parameters: Sequence[nn.Parameter]
    times: int = 1
    drop: float | None = None
    clipped: bool = True


class Matcher(nn.Module, ABC):
    """An image-text model: two encoders and a similarity.

    A model's class also takes what the sizes of its weights depend on; see ``ModelSpec.build``.

    Args:
        spec: Its settings and widths, within their ranges.

    Attributes:
        spec: As given.
        few_gradients: True if few (``FEW``) of a batch's pairs receive a gradient, for a model whose way of computing
            gradients depends on it (the gradients themselves do not); None: it makes no difference. Training sets it
            as batches pass.
    """

    few_gradients: bool | None = None

    def __init__(self, spec: ModelSpec):
        super().__init__()
        self.spec = spec

    @property
    def layout(self) -> Layout:
        """The features that the model reads: ``"global"`` (one vector per image) or ``"grid"`` (several)."""
        return self.spec.layout

    @property
    def needs(self) -> frozenset[str]:
        """Inputs beyond images and captions; see ``ModelSpec``."""
        return self.spec.needs

    @classmethod
    @abstractmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """The model with released weights; sizes from the shapes."""

    @abstractmethod
    def encode_images(self, images: Tensor) -> Encoded:
        """Image features -> what ``similarity`` compares, one row per image."""

    # `*args` tells type checkers that a model names its own extras; all are keywords.
    @abstractmethod
    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor, *args: Any, **extras: Any) -> Encoded:
        """Padded word ids ``[captions, longest]`` and true lengths ``[captions]`` -> one row per caption."""

    @abstractmethod
    def similarity(self, images: Any, captions: Any) -> Tensor:
        """Encoded images and captions, as the two encoders return them -> ``[images, captions]``."""

    def forward(self, images: Tensor, caption_tokens: Tensor, caption_lengths: Tensor, **extras: Any) -> Tensor:
        """Score every image against every caption.

        Args:
            images: ``[images, image_dim]`` features (``[images, regions, image_dim]`` for a grid), any float type.
            caption_tokens: ``[captions, longest]`` int64 word ids, zeros behind each caption's end.
            caption_lengths: ``[captions]`` int64 true lengths, at least 1, in any order.
            extras: The keyword arguments that ``needs`` names, one row per caption.

        Returns:
            ``[images, captions]``, larger is more similar.
        """
        captions = self.encode_captions(caption_tokens, caption_lengths, **extras)
        return self.similarity(self.encode_images(images), captions)

    def treatments(self) -> Sequence[Treatment]:
        """Weights that the released optimiser treats otherwise than the others; of most models there are none."""
        return ()

    def training_scores(
        self, images: Tensor, caption_tokens: Tensor, caption_lengths: Tensor, **extras: Any
    ) -> TrainingScores:
        """Return the losses' view of a batch of matching pairs; a model with losses of its own overrides it.

        Arguments are those of ``forward``, as many images as captions, pair by pair.
        """
        return TrainingScores(self(images, caption_tokens, caption_lengths, **extras))


def concatenate(parts: Sequence[Encoded]) -> Encoded:
    """Encoded parts of a gallery, one after the other; tensors of one kind differ in their rows only."""
    first = parts[0]
    if isinstance(first, Tensor):
        return torch.cat([part for part in parts if isinstance(part, Tensor)])
    return _like(first, [torch.cat(tensors) for tensors in zip(*parts, strict=True)])


def take(encoded: Encoded, rows: Tensor | slice) -> Encoded:
    """Return some rows of what an encoder returned."""
    if isinstance(encoded, Tensor):
        return encoded[rows]
    return _like(encoded, [tensor[rows] for tensor in encoded])


def _like(encoded: tuple[Tensor, ...], tensors: list[Tensor]) -> tuple[Tensor, ...]:
    """Return a tuple of the same type, so that a NamedTuple stays one."""
    if not hasattr(encoded, "_fields"):
        return tuple(tensors)
    made: tuple[Tensor, ...] = type(encoded)(*tensors)
    return made


def precise(values: Tensor) -> Tensor:
    """At least single precision: half precision has too few steps for ranks and margins."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def dot_products(first: Tensor, second: Tensor) -> Tensor:
    """Map ``[n, width]``, ``[m, width]`` -> ``[n, m]``, under autocast too in float32.

    Of similarities in bfloat16, which has 8 bits, most of a gallery's best would be equal.
    """
    with torch.autocast(first.device.type, enabled=False):
        return precise(first) @ precise(second).T


def l2_normalised(vectors: Tensor, eps: float = 0.0) -> Tensor:
    """Vectors of length 1 along the last axis; ``eps`` is added to the length first, as the released codes do.

    A zero vector stays zero and has a finite gradient (in released VSE++, whose eps is 0, it becomes NaN).
    """
    vectors = precise(vectors)  # as autocast has it on CUDA, but not on a CPU
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / (length + eps if eps else length.clamp_min(torch.finfo(vectors.dtype).tiny))


def batch_normalised(norm: nn.BatchNorm1d, rows: Tensor) -> Tensor:
    """Compute ``norm(rows)``; a batch of one row has no variance, so it uses the running statistics in training too."""
    if norm.training and len(rows) == 1:
        return functional.batch_norm(rows, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
    normalised: Tensor = norm(rows)
    return normalised


def load_released(model: nn.Module, state_dict: Mapping[str, Tensor], names: Mapping[str, str], title: str) -> None:
    """Give ``model`` the weights of a released state dict, in the precision they come in.

    Args:
        model: Filled in place.
        state_dict: Released name -> tensor.
        names: Prefix in the released code -> prefix in ``model``; a weight is renamed by its longest prefix.
        title: Name of the model in errors.

    Raises:
        InputError: If weights are missing, unknown, of another shape than the model's, or whole numbers.
    """
    renamed = {}
    for key, tensor in state_dict.items():
        prefix = max((prefix for prefix in names if key.startswith(prefix)), key=len, default=None)
        if prefix is None:
            raise InputError(
                f"'{key}' is not a weight of this model, whose names begin with {list(names)}", where=title
            )
        renamed[names[prefix] + key.removeprefix(prefix)] = tensor
    floating = next((tensor.dtype for tensor in renamed.values() if tensor.is_floating_point()), None)
    if floating is None:
        raise InputError("none of the weights is of floating point", where=title, cure="fetch the file again")
    load_weights(model.to(floating), renamed, title, "fetch the file again")


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str, cure: str) -> None:
    """Give a model weights under its own names.

    Raises:
        InputError: If a weight is missing, superfluous or of another shape; ``where`` and ``cure`` are of its sentence.
    """
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        first, *more = (line.strip().rstrip(".") for line in str(error).splitlines()[1:])
        further = f" (and {len(more)} more)" if more else ""
        raise InputError(f"the weights do not fit the model: {first}{further}", where=where, cure=cure) from None


def shape_of(state_dict: Mapping[str, Tensor], name: str, title: str, dimensions: int = 2) -> torch.Size:
    """Shape of a released weight.

    Raises:
        InputError: If it is missing, has another number of dimensions, or is empty.
    """
    if name not in state_dict:
        raise InputError(f"{title}: the weight '{name}' is missing; the file holds: {', '.join(state_dict)}.")
    shape = state_dict[name].shape
    if len(shape) != dimensions or 0 in shape:
        kind = "a vector" if dimensions == 1 else "a matrix"
        raise InputError(f"{title}: the weight '{name}' is {list(shape)}, but it must be {kind}; fetch the file again.")
    return shape
