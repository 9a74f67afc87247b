"""What some models take beside images and captions: a concept graph, and labels of each caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.models import model_class
from fivesentences.models.concepts import ConceptGraph, concept_labels
from fivesentences.plan.models import ModelSpec

Stage = Literal["training", "test"]
CONCEPTS = 300  # as released
KNOWN = {"concepts", "concept_labels"}


def concepts_of(spec: ModelSpec, train: Corpus) -> ConceptGraph | None:
    """The concepts of a run's own training captions; None for a model that needs none.

    Raises:
        InputError: If the model needs something that is not known here, or no word can be a concept.
    """
    needs = model_class(spec.name).needs
    if unknown := sorted(needs - KNOWN):
        raise InputError(f"the model '{spec.name}' needs {', '.join(unknown)}; training knows {', '.join(KNOWN)}.")
    if not needs & KNOWN:
        return None
    return ConceptGraph.of_captions(
        train.captions, train.image_of_caption, size=spec.concepts or CONCEPTS, glove=spec.glove
    )


def extras_of(
    spec: ModelSpec,
    concepts: ConceptGraph | None,
    captions: Sequence[str],
    image_of_caption: np.ndarray,
    stage: Stage,
) -> dict[str, Tensor]:
    """Keyword arguments of the model's ``encode_captions``, one row a caption.

    Args:
        spec: The model.
        concepts: Those of its training captions.
        captions: All captions of the images.
        image_of_caption: ``[captions]`` image index of each.
        stage: ``"test"`` for everything that is scored, dev too.
    """
    if concepts is None or "concept_labels" not in model_class(spec.name).needs:
        return {}
    labels = concept_labels(concepts, captions, image_of_caption, stage, spec.labels or "paper")
    return {"concept_labels": torch.from_numpy(labels)}
