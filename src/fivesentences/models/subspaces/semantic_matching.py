"""Semantic matching: the subspace is what a classifier of each modality says of the categories."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.correlations import canonical
from fivesentences.models.subspaces.projection import Projector, Vectors
from fivesentences.models.subspaces.specs import SemanticMatching

LAYERS = (256, 64)  # hidden ones of the MLP
HELD_OUT = 0.1  # of the training documents, which decide how many epochs the MLP is trained


@dataclass(frozen=True)
class Posteriors:
    """Posteriors of two classifiers.

    Attributes:
        image: A fitted classifier of scikit-learn.
        text: Likewise.
        centre: What is subtracted from them: nothing, their mean in training, or the mean over the vectors that a call
            projects.
        image_mean: ``[categories]`` mean of the images' posteriors in training.
        text_mean: Likewise.
        before: What vectors pass first, such as CCA.
    """

    image: Any
    text: Any
    centre: Literal["nothing", "train", "gallery"]
    image_mean: NDArray[np.float64]
    text_mean: NDArray[np.float64]
    before: Projector | None = None

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, categories]`` of each modality; rows sum to 1 if nothing is subtracted, else to 0."""
        if self.before is not None:
            images, texts = self.before(images, texts)
        found = self.image.predict_proba(images), self.text.predict_proba(texts)
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
        seed: Of the MLP's weights, batches and held-out part; logistic regression draws nothing.

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
    image, text = (_fitted(spec.classifier, view, train.categories, seed) for view in views)
    means = image.predict_proba(views[0]).mean(axis=0), text.predict_proba(views[1]).mean(axis=0)
    return Posteriors(image, text, spec.centre, *means, before)


def _fitted(
    classifier: Literal["logistic", "mlp"], view: NDArray[np.float64], categories: NDArray[np.int64], seed: int
) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    model: Any = LogisticRegression(max_iter=2000)
    if classifier == "mlp":
        counts = np.unique(categories, return_counts=True)[1]
        # The held-out part is stratified: it needs a document of each category, and leaves one of each.
        enough = counts.min() >= 2 and len(categories) * HELD_OUT >= len(counts)
        model = MLPClassifier(LAYERS, early_stopping=bool(enough), validation_fraction=HELD_OUT, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # MLP: the most epochs; it is used as it is
        return model.fit(view, categories)
