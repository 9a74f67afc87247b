"""Methods without epochs of ours: each is fitted to the training documents at once."""

from __future__ import annotations

import numpy as np

from fivesentences.errors import need
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors
from fivesentences.reproduction.categories.models.specs import (
    CCA,
    CFA,
    KCCA,
    PLS,
    MethodSpec,
    RandomRanking,
    SemanticMatching,
)

DIMENSIONS = 10  # of random vectors


def fit_closed_form(spec: MethodSpec, train: Inputs, seed: int) -> Projector:
    """Fit a method that has no epochs of ours.

    Args:
        spec: Settings of the method.
        train: Training documents.
        seed: Seed of what a method draws: the MLP of semantic matching, the documents of KCCA, random ranking.

    Raises:
        InputError: If the extra ``subspaces`` is not installed, or the documents do not suffice for the method.
    """
    if isinstance(spec, RandomRanking):

        def random(images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
            generator = np.random.default_rng(seed)
            image, text = (generator.standard_normal((len(vectors), DIMENSIONS)) for vectors in (images, texts))
            return image, text

        return random
    need("sklearn", "subspaces", spec.title)
    need("cca_zoo", "subspaces", spec.title)
    from fivesentences.reproduction.categories.models import (  # take seconds, and need the extra
        correlations,
        semantic_matching,
    )

    match spec:
        case CCA():
            settings = (spec.dimensions, spec.ridge, spec.components, spec.weighted)
            return correlations.canonical(train.images, train.texts, *settings)
        case KCCA():
            return correlations.fit_kcca(spec, train, seed)
        case PLS():
            return correlations.fit_pls(spec, train)
        case CFA():
            return correlations.fit_cfa(spec, train)
        case SemanticMatching():
            return semantic_matching.fit_semantic_matching(spec, train, seed)
    raise TypeError(f"{spec.title} has epochs; it is trained by fivesentences.reproduction.categories.training.")
