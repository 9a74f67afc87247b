"""Methods without epochs of ours: each is fitted to the training documents at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivesentences.errors import need
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.projection import Projector, Vectors
from fivesentences.models.subspaces.specs import CCA, CFA, KCCA, PLS, MethodSpec, RandomRanking, SemanticMatching

DIMENSIONS = 10  # of random vectors


@dataclass(frozen=True)
class RandomProjector:
    """Vectors of a normal distribution, whatever is projected; equal calls give equal vectors."""

    seed: int

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, 10]`` of each modality, independent of each other."""
        generator = np.random.default_rng(self.seed)
        return generator.standard_normal((len(images), DIMENSIONS)), generator.standard_normal((len(texts), DIMENSIONS))


def fit_closed_form(spec: MethodSpec, train: Inputs, seed: int) -> Projector:
    """Fit a method that has no epochs of ours.

    Args:
        spec: Of one of those methods.
        train: Training documents.
        seed: Of what a method draws: the MLP of semantic matching, the documents of KCCA, random ranking.

    Raises:
        InputError: If the extra ``subspaces`` is not installed, or the documents do not suffice for the method.
        TypeError: If the method has epochs.
    """
    if isinstance(spec, RandomRanking):
        return RandomProjector(seed)
    need("sklearn", "subspaces", spec.title)
    need("cca_zoo", "subspaces", spec.title)
    from fivesentences.models.subspaces import correlations, semantic_matching  # take seconds, and need the extra

    if isinstance(spec, CCA):
        return correlations.fit_cca(spec, train)
    if isinstance(spec, KCCA):
        return correlations.fit_kcca(spec, train, seed)
    if isinstance(spec, PLS):
        return correlations.fit_pls(spec, train)
    if isinstance(spec, CFA):
        return correlations.fit_cfa(spec, train)
    if isinstance(spec, SemanticMatching):
        return semantic_matching.fit_semantic_matching(spec, train, seed)
    raise TypeError(f"{spec.title} has epochs; it is trained by fivesentences.training.subspaces.")
