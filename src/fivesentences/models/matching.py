"""What every image-text model offers, and the arithmetic that several share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from fivesentences.errors import InputError


@dataclass(frozen=True)
class TrainingScores:
    """What a model gives to a loss for one batch of B matched pairs.

    Attributes:
        similarity: ``[B images, B captions]``, what semantic losses and evaluation see.
        ranked: Pairs of a weight and a similarity ``[B, B]``: a retrieval loss is summed over them.
        extra: A loss of the model's own, a scalar, already weighted; or None.
    """

    similarity: Tensor
    ranked: tuple[tuple[float, Tensor], ...]
    extra: Tensor | None = None


class Matcher(nn.Module, ABC):
    """An image-text model: two encoders and a similarity.

    Attributes:
        layout: The features that the model reads: ``"global"`` (one vector per image) or ``"grid"`` (several).
    """

    layout: ClassVar[str] = "global"

    def __init__(self, *, image_dim: int, vocabulary_size: int, **options: Any):
        super().__init__()

    @classmethod
    @abstractmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """The model with released weights; sizes from the shapes."""

    @abstractmethod
    def encode_images(self, images: Tensor) -> Tensor:
        """Image features -> what ``similarity`` compares, one row an image."""

    @abstractmethod
    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Padded word ids ``[captions, longest]`` and true lengths ``[captions]`` -> one row a caption."""

    @abstractmethod
    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """Encoded images and captions -> ``[images, captions]``."""

    def forward(self, images: Tensor, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Score every image against every caption.

        Args:
            images: ``[images, image_dim]`` features (``[images, regions, image_dim]`` for a grid), any float type.
            caption_tokens: ``[captions, longest]`` int64 word ids, zeros behind each caption's end.
            caption_lengths: ``[captions]`` int64 true lengths, at least 1, in any order.

        Returns:
            ``[images, captions]``, larger is more similar.
        """
        return self.similarity(self.encode_images(images), self.encode_captions(caption_tokens, caption_lengths))

    def training_scores(self, images: Tensor, caption_tokens: Tensor, caption_lengths: Tensor) -> TrainingScores:
        """What training sees of a batch of matched pairs."""
        similarity = self(images, caption_tokens, caption_lengths)
        return TrainingScores(similarity, ((1.0, similarity),))


def l2_normalised(vectors: Tensor) -> Tensor:
    """Vectors of length 1 along the last axis; a zero vector stays zero (released VSE++ makes it NaN)."""
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.clamp_min(torch.finfo(vectors.dtype).tiny)


def load_released(model: nn.Module, state_dict: Mapping[str, Tensor], names: Mapping[str, str], title: str) -> None:
    """Give ``model`` the weights of a released state dict, in the precision they come in.

    Args:
        model: Filled in place.
        state_dict: Released name -> tensor.
        names: Prefix in the released code -> prefix in ``model``; a weight is renamed by its longest prefix.
        title: Named in errors.

    Raises:
        InputError: If weights are missing, unknown, or of another shape than the model's.
    """
    renamed = {}
    for key, tensor in state_dict.items():
        prefix = max((prefix for prefix in names if key.startswith(prefix)), key=len, default=None)
        if prefix is None:
            raise InputError(f"{title}: '{key}' is not a weight of this model; known names begin with: {list(names)}.")
        renamed[names[prefix] + key.removeprefix(prefix)] = tensor
    floating = next(tensor.dtype for tensor in renamed.values() if tensor.is_floating_point())
    model.to(floating)
    try:
        model.load_state_dict(renamed)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()[1:]]
        raise InputError(f"{title}: the weights do not fit the model: {' '.join(lines)}") from None


def shape_of(state_dict: Mapping[str, Tensor], name: str, title: str) -> torch.Size:
    """Shape of a released weight.

    Raises:
        InputError: If it is missing.
    """
    if name not in state_dict:
        raise InputError(f"{title}: the weight '{name}' is missing; the file holds: {', '.join(state_dict)}.")
    return state_dict[name].shape
