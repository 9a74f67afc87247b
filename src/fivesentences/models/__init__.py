"""Networks that score every image of a batch against every caption.

A model is one file here and one line of ``MODELS``. Its class takes its sizes as keyword arguments, has a class
method ``from_released(state_dict, **options)`` that reads sizes from released weights, and is called as
``model(images, caption_tokens, caption_lengths) -> similarity [images, captions]``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from fivesentences.errors import InputError
from fivesentences.models.cvse import CVSE
from fivesentences.models.matching import Matcher
from fivesentences.models.saf import SAF
from fivesentences.models.scan import SCAN
from fivesentences.models.sgr import SGR
from fivesentences.models.vsepp import VSEPP
from fivesentences.models.vsrn import VSRN

MODELS: dict[str, type[Matcher]] = {
    "vsepp": VSEPP,
    "scan": SCAN,
    "sgr": SGR,
    "saf": SAF,
    "vsrn": VSRN,
    "cvse": CVSE,
}


def build_model(name: str, *, image_dim: int, vocabulary_size: int, **options: Any) -> Matcher:
    """A model with fresh weights, drawn from torch's global generator as the released code draws them.

    Args:
        name: A key of ``MODELS``.
        image_dim: Length of an image feature vector.
        vocabulary_size: Number of words, special ones included.
        options: Widths and switches of the model, such as ``embedding=1024, word=300``.

    Raises:
        InputError: If there is no such model.
    """
    return model_class(name)(image_dim=image_dim, vocabulary_size=vocabulary_size, **options)


def from_released(name: str, state_dict: Mapping[str, torch.Tensor | np.ndarray], **options: Any) -> Matcher:
    """A model with weights under the names of the authors' released code, in their precision, in eval mode.

    Args:
        name: A key of ``MODELS``.
        state_dict: Released name -> array, such as ``img_enc.fc.weight``; sizes are read from the shapes.
        options: What shapes do not tell, such as ``measure="order"``.

    Raises:
        InputError: If there is no such model, a weight is missing or too many, or shapes disagree.
    """
    tensors = {key: torch.as_tensor(value) for key, value in state_dict.items()}
    return model_class(name).from_released(tensors, **options).eval()


def model_class(name: str) -> type[Matcher]:
    """The class of a model.

    Raises:
        InputError: If there is none of that name.
    """
    if name not in MODELS:
        close = difflib.get_close_matches(name, MODELS, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(MODELS)}."
        raise InputError(f"'{name}' is not a model; {hint}")
    return MODELS[name]


__all__ = [
    "CVSE",
    "MODELS",
    "SAF",
    "SCAN",
    "SGR",
    "VSEPP",
    "VSRN",
    "Matcher",
    "build_model",
    "from_released",
    "model_class",
]
