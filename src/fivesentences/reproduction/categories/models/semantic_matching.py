"""Semantic matching: the subspace is what a classifier of each modality says of the categories."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors
from fivesentences.reproduction.categories.models.correlations import Matrix, canonical
from fivesentences.reproduction.categories.models.specs import SemanticMatching

LAYERS = (256, 64)  # hidden ones of the MLP
STRENGTHS = (0.001, 0.01, 0.1, 1.0)  # of which cross-validation chooses
FOLDS = 3
MOST_STEPS = 2000  # of the solver
HELD_OUT = 0.1  # of the training documents, which decide how many epochs the MLP is trained


def fit_semantic_matching(spec: SemanticMatching, train: Inputs, seed: int) -> Projector:
    """Train a classifier of each modality.

    Args:
        spec: Its settings.
        train: Training documents; posteriors are those of their categories, in the order of their numbers.
        seed: Seed of the MLP's weights, batches and held-out part; logistic regression draws nothing.

    Returns:
        A projector to posteriors ``[documents, categories]``, whose rows sum to 1, or to 0 where they are centred.

    Raises:
        InputError: If there are fewer than two categories.
    """
    n_categories = len(np.unique(train.categories))
    if n_categories < 2:
        raise InputError(f"the training documents are of {n_categories} category; semantic matching needs two.")
    views: tuple[Vectors, Vectors] = train.images.astype(np.float64), train.texts.astype(np.float64)
    before = canonical(*views, spec.dimensions) if spec.after_cca else None
    if before is not None:
        views = before(*views)
    image, text = (_classifier(spec, view, train.categories, seed) for view in views)
    means = image(views[0]).mean(axis=0), text(views[1]).mean(axis=0)

    def project(images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        first, second = (images, texts) if before is None else before(images, texts)
        of_images, of_texts = image(first), text(second)
        if spec.centre == "nothing":
            return of_images, of_texts
        centres = means if spec.centre == "train" else (of_images.mean(axis=0), of_texts.mean(axis=0))
        return of_images - centres[0], of_texts - centres[1]

    return project


def _classifier(
    spec: SemanticMatching, view: Vectors, categories: NDArray[np.int64], seed: int
) -> Callable[[Vectors], Matrix]:
    """Fit a classifier of vectors whose unit does not matter: they are centred and divided by a deviation."""
    mean = view.mean(axis=0)
    deviation = float(np.sqrt(view.var(axis=0).mean())) or 1.0

    def in_unit(vectors: Vectors) -> Matrix:
        result: Matrix = (np.asarray(vectors, dtype=np.float64) - mean) / deviation
        return result

    inputs = in_unit(view)
    if spec.classifier == "logistic":
        strength = spec.strength or _best_strength(inputs, categories)
        model: Any = LogisticRegression(C=strength, max_iter=MOST_STEPS)
    else:
        counts = np.unique(categories, return_counts=True)[1]
        # The held-out part is stratified: it needs a document of each category, and leaves one of each. Without it,
        # the training loss decides.
        enough = bool(counts.min() >= 2 and len(categories) * HELD_OUT >= len(counts))
        model = MLPClassifier(LAYERS, early_stopping=enough, validation_fraction=HELD_OUT, random_state=seed)
    with warnings.catch_warnings():
        if spec.classifier == "mlp":
            warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's most epochs are enough
        model.fit(inputs, categories)
    return lambda vectors: model.predict_proba(in_unit(vectors))


def _best_strength(view: Matrix, categories: NDArray[np.int64]) -> float:
    """The strength whose held-out log loss is lowest; the middle one where a category is too small to be divided."""
    if np.unique(categories, return_counts=True)[1].min() < FOLDS:
        return STRENGTHS[len(STRENGTHS) // 2]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)  # files may be ordered by category or by article

    def score(strength: float) -> float:
        model = LogisticRegression(C=strength, max_iter=MOST_STEPS)
        return float(cross_val_score(model, view, categories, cv=folds, scoring="neg_log_loss").mean())

    return max(STRENGTHS, key=score)  # of equal ones the first
