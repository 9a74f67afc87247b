"""What some models read beside images and captions: a concept graph, and concept labels of each caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.models import ModelSpec
from fivesentences.models.concepts import ConceptGraph, concept_labels

Stage = Literal["training", "test"]
KNOWN = {"concepts", "concept_labels"}


def concepts_of(spec: ModelSpec, train: Corpus) -> ConceptGraph | None:
    """The concepts of training captions; None for a model that needs none.

    Raises:
        InputError: If the model needs something that training does not know, or no word can be a concept.
    """
    if unknown := sorted(spec.needs - KNOWN):
        known = ", ".join(sorted(KNOWN))
        raise InputError(f"the model '{spec.name}' needs {', '.join(unknown)}; training knows only {known}.")
    if not spec.needs & KNOWN:
        return None
    options = spec.concept_options
    return ConceptGraph.of_captions(train.captions, size=options.most, glove=options.glove)


def extras_of(
    spec: ModelSpec,
    concepts: ConceptGraph | None,
    captions: Sequence[str],
    image_of_caption: np.ndarray,
    stage: Stage,
) -> dict[str, Tensor]:
    """Keyword arguments of the model's ``encode_captions``, one row per caption.

    Args:
        spec: The model.
        concepts: The concepts of its training captions.
        captions: All captions of the images.
        image_of_caption: ``[captions]`` image index of each.
        stage: ``"test"`` for everything that is scored, dev included.
    """
    if concepts is None or "concept_labels" not in spec.needs:
        return {}
    labels = concept_labels(concepts, captions, image_of_caption, stage, spec.concept_options.labels)
    return {"concept_labels": torch.from_numpy(labels)}
