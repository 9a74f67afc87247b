"""Semantic matching: the subspace is what a classifier of each modality says of the categories."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier

from fivesentences.errors import InputError
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.correlations import Matrix, canonical
from fivesentences.models.subspaces.projection import Projector, Vectors
from fivesentences.models.subspaces.specs import SemanticMatching

LAYERS = (256, 64)  # hidden ones of the MLP
STRENGTHS = (0.001, 0.01, 0.1, 1.0)  # of which cross-validation chooses
FOLDS = 3
MOST_STEPS = 2000  # of the solver
HELD_OUT = 0.1  # of the training documents, which decide how many epochs the MLP is trained


@dataclass(frozen=True)
class Classifier:
    """A classifier of vectors whose unit does not matter.

    Attributes:
        model: A fitted classifier of scikit-learn.
        mean: ``[dim]`` of the training vectors, subtracted first.
        deviation: Root of their mean variance, by which they are divided.
    """

    model: Any
    mean: Matrix
    deviation: float

    def __call__(self, vectors: Vectors) -> Matrix:
        """``[documents, categories]`` posteriors; rows sum to 1."""
        posteriors: Matrix = self.model.predict_proba(_in_unit(vectors, self.mean, self.deviation))
        return posteriors


def _in_unit(vectors: Vectors, mean: Matrix, deviation: float) -> Matrix:
    result: Matrix = (np.asarray(vectors, dtype=np.float64) - mean) / deviation
    return result


@dataclass(frozen=True)
class Posteriors:
    """Posteriors of two classifiers.

    Attributes:
        image: Of images.
        text: Of texts.
        centre: What is subtracted from them: nothing, their mean in training, or the mean over the vectors that a call
            projects.
        image_mean: ``[categories]`` mean of the images' posteriors in training.
        text_mean: Likewise.
        before: What vectors pass first, such as CCA.
    """

    image: Classifier
    text: Classifier
    centre: Literal["nothing", "train", "gallery"]
    image_mean: Matrix
    text_mean: Matrix
    before: Projector | None = None

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, categories]`` of each modality; rows sum to 1 if nothing is subtracted, else to 0."""
        if self.before is not None:
            images, texts = self.before(images, texts)
        found = self.image(images), self.text(texts)
        if self.centre == "nothing":
            return found
        means = self.image_mean, self.text_mean
        if self.centre == "gallery":
            means = found[0].mean(axis=0), found[1].mean(axis=0)
        return found[0] - means[0], found[1] - means[1]


def fit_semantic_matching(spec: SemanticMatching, train: Inputs, seed: int) -> Posteriors:
    """Train a classifier of each modality.

    Args:
        spec: Its settings.
        train: Training documents; posteriors are those of their categories, in the order of their numbers.
        seed: Of the MLP's weights, batches and held-out part; logistic regression draws nothing of it.

    Raises:
        InputError: If there are fewer than two categories.
    """
    n_categories = len(np.unique(train.categories))
    if n_categories < 2:
        raise InputError(f"the training documents are of {n_categories} category; semantic matching needs two.")
    views = train.images.astype(np.float64), train.texts.astype(np.float64)
    before = canonical(*views, spec.dimensions) if spec.after_cca else None
    if before is not None:
        views = before.image(views[0]), before.text(views[1])
    image, text = (_classifier(spec, view, train.categories, seed) for view in views)
    return Posteriors(image, text, spec.centre, image(views[0]).mean(axis=0), text(views[1]).mean(axis=0), before)


def _classifier(spec: SemanticMatching, view: Matrix, categories: NDArray[np.int64], seed: int) -> Classifier:
    mean = view.mean(axis=0)
    deviation = float(np.sqrt(view.var(axis=0).mean())) or 1.0
    inputs = _in_unit(view, mean, deviation)
    if spec.classifier == "logistic":
        model = _logistic(spec.strength, inputs, categories)
    else:
        model = _mlp(inputs, categories, seed)
    return Classifier(model, mean, deviation)


def _logistic(strength: float | None, view: Matrix, categories: NDArray[np.int64]) -> Any:
    strength = strength or _best_strength(view, categories)
    return LogisticRegression(C=strength, max_iter=MOST_STEPS).fit(view, categories)


def _best_strength(view: Matrix, categories: NDArray[np.int64]) -> float:
    """The strength whose held-out log loss is lowest; the middle one where a category is too small to be divided."""
    if np.unique(categories, return_counts=True)[1].min() < FOLDS:
        return STRENGTHS[len(STRENGTHS) // 2]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)  # files may be ordered by category or by article
    scores = [
        cross_val_score(
            LogisticRegression(C=strength, max_iter=MOST_STEPS), view, categories, cv=folds, scoring="neg_log_loss"
        ).mean()
        for strength in STRENGTHS
    ]
    return STRENGTHS[int(np.argmax(scores))]


def _mlp(view: Matrix, categories: NDArray[np.int64], seed: int) -> Any:
    counts = np.unique(categories, return_counts=True)[1]
    # The held-out part is stratified: it needs a document of each category, and leaves one of each. Without it, the
    # training loss decides.
    enough = counts.min() >= 2 and len(categories) * HELD_OUT >= len(counts)
    model = MLPClassifier(LAYERS, early_stopping=bool(enough), validation_fraction=HELD_OUT, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's most epochs are enough
        return model.fit(view, categories)
