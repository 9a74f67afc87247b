"""Networks that score every image of a batch against every caption.

A model is its settings in ``specs.py`` (settings, widths, their ranges; no torch), and a module with its network. The
network's class takes the specification, has a class method ``from_released(state_dict, **settings)``
that reads sizes from released weights, and is called as
``model(images, caption_tokens, caption_lengths) -> similarity [images, captions]``. See ``docs/new_model.md``.

Importing this package does not import torch; asking it for a class does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fivesentences.config.lazy_class import class_named
from fivesentences.lazy import lazily
from fivesentences.models.specs import MODELS, AnyModelSpec, ModelSpec, ModelVariant, model_spec, spec_class, widths_of

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fivesentences.models.concepts import ConceptGraph
    from fivesentences.models.cvse import CVSE
    from fivesentences.models.matching import Matcher
    from fivesentences.models.saf import SAF
    from fivesentences.models.scan import SCAN
    from fivesentences.models.sgr import SGR
    from fivesentences.models.vse_infinity import VSEInfinity
    from fivesentences.models.vsepp import VSEPP
    from fivesentences.models.vsrn import VSRN

_further = lazily(__name__)


def __getattr__(name: str) -> Any:
    named = [kind.implementation for kind in MODELS.values() if kind.implementation.endswith(f":{name}")]
    return class_named(named[0]) if named else _further(name)


def build_model(
    name: str,
    *,
    image_dim: int,
    vocabulary_size: int,
    regions: int | None = None,
    concepts: ConceptGraph | None = None,
    **settings: Any,
) -> Matcher:
    """Return a model with fresh weights, drawn from torch's global generator as the released code draws them.

    Args:
        name: A key of ``MODELS``.
        image_dim: Length of an image feature vector.
        vocabulary_size: Number of words, special ones included.
        regions: Feature vectors per image, for a model that counts them; None: the released 36.
        concepts: The concepts of the training captions, for a model that needs them.
        settings: Settings and widths of the model, such as ``direction="i2t", embedding=256``.

    Raises:
        InputError: If there is no such model, or it lacks a setting, or a value is out of range.
    """
    spec = model_spec(name, **settings)
    model: Matcher = spec.build(
        image_dim=image_dim, vocabulary_size=vocabulary_size, regions=regions, concepts=concepts
    )
    return model


def from_released(name: str, state_dict: Mapping[str, torch.Tensor | np.ndarray], **settings: Any) -> Matcher:
    """Return a model with weights under the names of the authors' released code, in their precision, in eval mode.

    Args:
        name: A key of ``MODELS``.
        state_dict: Released name -> array, such as ``img_enc.fc.weight``; sizes are read from the shapes.
        settings: Settings that the shapes do not tell, such as ``measure="order"``; of CVSE also ``concept_vectors``.

    Raises:
        InputError: If there is no such model, a weight is missing or too many, shapes disagree, or a setting is wrong.
    """
    import torch

    tensors = {key: torch.as_tensor(value) for key, value in state_dict.items()}
    found: Matcher = class_named(spec_class(name).implementation).from_released(tensors, **settings).eval()
    return found


__all__ = [
    "CVSE",
    "MODELS",
    "SAF",
    "SCAN",
    "SGR",
    "VSEPP",
    "VSRN",
    "AnyModelSpec",
    "ConceptGraph",
    "Matcher",
    "ModelSpec",
    "ModelVariant",
    "VSEInfinity",
    "build_model",
    "from_released",
    "model_spec",
    "spec_class",
    "widths_of",
]
