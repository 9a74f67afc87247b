"""A run's model, from its settings and what its data determine."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from fivesentences.errors import InputError
from fivesentences.models import Matcher, build_model, model_class
from fivesentences.models.concepts import ConceptGraph
from fivesentences.plan.models import ModelSpec


def build(
    spec: ModelSpec, image_shape: Sequence[int], vocabulary_size: int, concepts: ConceptGraph | None = None
) -> Matcher:
    """A model with fresh weights, drawn from torch's global generator.

    Args:
        spec: Its settings.
        image_shape: Of one image's features: ``[dim]``, or ``[regions, dim]`` for a grid.
        vocabulary_size: Number of words, special ones included.
        concepts: For a model that needs them.

    Raises:
        InputError: If the model does not take one of ``spec.options``.
    """
    kind = model_class(spec.name)
    arguments = spec.arguments
    for width in ("embedding", "word"):
        if not takes(kind, width):
            del arguments[width]
    if len(image_shape) == 2 and takes(kind, "regions"):
        arguments["regions"] = image_shape[0]
    if "concepts" in kind.needs:
        arguments["concepts"] = concepts
    for name in spec.options:
        if not takes(kind, name):
            raise InputError(f"the model '{spec.name}' takes no option '{name}'; correct model.options.")
    return build_model(spec.name, image_dim=image_shape[-1], vocabulary_size=vocabulary_size, **arguments)


def takes(kind: type[Matcher], name: str) -> bool:
    """Whether a model's class, or one that it passes its arguments on to, has a keyword argument of that name."""
    return any(name in inspect.signature(one).parameters for one in kind.__mro__ if "__init__" in vars(one))
