"""A memory of recent batches, embedded by a momentum copy of the model: more negatives than a batch holds.

Sources: He et al., "Momentum Contrast" (CVPR 2020), and FNE's released code, whose order of steps this is.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from fivesentences.errors import InputError
from fivesentences.losses.false_negative_memory import Remembered
from fivesentences.models.matching import Matcher, TrainingScores
from fivesentences.training.data import Batch


class Memory:
    """The last captions and images, as vectors.

    Args:
        model: The model at its start.
        size: Captions, and images, that are kept.
        momentum: Share of itself that the copy keeps at each step.
        image_of_caption: ``[captions]`` of the training captions.

    Raises:
        InputError: If the model does not have one vector per image and caption, or has losses of its own.
    """

    def __init__(self, model: Matcher, size: int, momentum: float, image_of_caption: Tensor):
        if type(model).training_scores is not Matcher.training_scores:
            raise _needs_vectors(model)
        self.size, self.momentum, self.image_of_caption = size, momentum, image_of_caption
        self.copy = deepcopy(model).requires_grad_(False)
        self.kept: tuple[Tensor, ...] = ()  # vectors of captions and of images, and the image of each

    def scores(self, model: Matcher, batch: Batch, filling: bool) -> tuple[TrainingScores, Remembered | None]:
        """Move the copy towards the model, and score a batch.

        Args:
            model: The model, whose gradients are wanted.
            batch: Its inputs.
            filling: Compare with the memory too, and put the batch into it; not in the first epoch.
        """
        with torch.no_grad():
            for own, of_model in zip(self.copy.parameters(), model.parameters(), strict=True):
                own.lerp_(of_model, 1 - self.momentum)
        images, captions = _vectors(model, batch)
        scores = TrainingScores(model.similarity(images, captions))
        if not filling:
            return scores, None
        self.copy.train()
        with torch.no_grad():
            batch_images, batch_captions = _vectors(self.copy, batch)
        of = self.image_of_caption[batch.rows].to(images.device)
        new = (batch_captions, batch_images, of)
        all_of = [torch.cat(pair) for pair in zip(new, self.kept, strict=True)] if self.kept else list(new)
        self.kept = tuple(values[: self.size] for values in all_of)  # the newest first
        return scores, Remembered(
            captions=model.similarity(images, all_of[0]),
            images=model.similarity(all_of[1], captions).T,
            same=of[:, None] == all_of[2][None, :],
        )

    def state(self) -> dict[str, Any]:
        """Everything that changes while a run trains."""
        return {"copy": self.copy.state_dict(), "kept": list(self.kept)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.copy.load_state_dict(state["copy"])
        self.kept = tuple(state["kept"])


def _vectors(model: Matcher, batch: Batch) -> tuple[Tensor, Tensor]:
    found = (model.encode_images(batch.images), model.encode_captions(batch.tokens, batch.lengths, **batch.extras))
    images, captions = found
    if not (isinstance(images, Tensor) and isinstance(captions, Tensor) and images.ndim == captions.ndim == 2):
        raise _needs_vectors(model)
    return images, captions


def _needs_vectors(model: Matcher) -> InputError:
    return InputError(
        f"fne_memory keeps a vector per image and caption, which {model.spec.name} does not have",
        cure="train VSE++ or VSE-infinity with it, or set fne, which reads the batch alone",
    )
