"""Linear and kernel methods whose subspace follows from covariances: CCA, KCCA, PLS and CFA (extra ``subspaces``)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from cca_zoo.linear import RidgeCCA
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSCanonical
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning

from fivesentences.errors import InputError
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.projection import Projector, Vectors
from fivesentences.models.subspaces.specs import CCA, CFA, KCCA, PLS

Matrix = NDArray[np.float64]
DOCUMENTS_PER_COMPONENT = 10  # of CCA without a ridge
ROWS = 2048  # documents whose kernels are computed at once


@dataclass(frozen=True)
class Affine:
    """Vectors less their mean in training, times a matrix.

    Attributes:
        mean: ``[dim]``.
        weights: ``[dim, dimensions]``.
    """

    mean: Matrix
    weights: Matrix

    def __call__(self, vectors: Vectors) -> Matrix:
        """``[documents, dimensions]``."""
        projected: Matrix = (np.asarray(vectors, dtype=np.float64) - self.mean) @ self.weights
        return projected


@dataclass(frozen=True)
class LinearProjector:
    """An affine map of each modality; dimensions of both have the same order."""

    image: Affine
    text: Affine

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, dimensions]`` of each modality."""
        return self.image(images), self.text(texts)


@dataclass(frozen=True)
class KernelProjector:
    """A linear method of kernel principal components."""

    image: Kernels
    text: Kernels
    then: Projector

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, dimensions]`` of each modality."""
        return self.then(self.image(images), self.text(texts))


def fit_cca(spec: CCA, train: Inputs) -> LinearProjector:
    """Canonical correlation analysis, by cca-zoo's ``RidgeCCA``.

    Directions in which training documents do not vary are left out. The others are divided by the root of their mean
    variance, so that a ridge does not depend on the unit; without a ridge this changes nothing. Without ``weighted``
    and a ridge, directions have variance 1 in training.

    Args:
        spec: Its settings.
        train: Training documents.

    Returns:
        A projector of ``spec.dimensions`` dimensions, most correlated first, or as many as both modalities have.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    return canonical(train.images, train.texts, spec.dimensions, spec.ridge, spec.components, spec.weighted)


def canonical(
    images: Vectors,
    texts: Vectors,
    dimensions: int | None = None,
    ridge: float = 0.0,
    components: int | None = None,
    weighted: bool = False,
) -> LinearProjector:
    """CCA of two matrices with a row per document; ``dimensions`` None: as many as there are. See ``fit_cca``."""
    images, texts = _view(images, "images"), _view(texts, "texts")
    views = []
    for view in (images, texts):
        mean = view.mean(axis=0)
        axes = _principal_axes(view - mean, components, ridge)
        if not axes.shape[1]:
            raise InputError(f"one modality of all {len(view)} training documents is equal; nothing correlates.")
        views.append(Affine(mean, axes / ((view - mean) @ axes).std()))
    inside = [affine(view) for affine, view in zip(views, (images, texts), strict=True)]
    most = min(one.shape[1] for one in inside)
    model = RidgeCCA(n_components=min(dimensions or most, most), shrinkage=[ridge, ridge]).fit([*inside])
    found = [Affine(one.mean, one.weights @ weights) for one, weights in zip(views, model.weights_, strict=True)]
    if weighted:
        correlations = training_correlations(found[0](images), found[1](texts))
        found = [Affine(one.mean, one.weights * correlations) for one in found]
    return LinearProjector(found[0], found[1])


def training_correlations(images: Matrix, texts: Matrix) -> Matrix:
    """``[dimensions]`` correlation of each dimension between the modalities."""
    a, b = (one - one.mean(axis=0) for one in (images, texts))
    lengths = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    correlations: Matrix = (a * b).sum(axis=0) / np.maximum(lengths, np.finfo(np.float64).tiny)
    return correlations


def fit_kcca(spec: KCCA, train: Inputs, seed: int) -> KernelProjector:
    """Kernel CCA with radial basis functions: kernel principal components of each modality, then ridge CCA of them.

    Args:
        spec: Its settings.
        train: Training documents.
        seed: Of which documents, if there are more than ``spec.documents``.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(train.images, "images"), _view(train.texts, "texts")
    rows = np.arange(len(train))
    if len(rows) > spec.documents:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), spec.documents, replace=False))
    image, text = (Kernels.of(view[rows], spec.gamma, spec.components) for view in views)
    then = canonical(image(views[0]), text(views[1]), spec.dimensions, spec.ridge)
    return KernelProjector(image, text, then)


class Kernels:
    """Kernel principal components of one modality: scikit-learn's ``KernelPCA``, radial basis functions."""

    def __init__(self, model: object):
        self._model: object = model

    @classmethod
    def of(cls, view: Matrix, gamma: float | None, components: int) -> Kernels:
        """Fit them.

        Args:
            view: ``[documents, dim]``.
            gamma: Of the kernel; None: ``1 / (dim x mean variance)``.
            components: The most that are kept; those of no variance never are.
        """
        gamma = gamma or 1.0 / float(view.var(axis=0).sum())
        # The dense solver for any number of components: the other starts from random vectors.
        model = KernelPCA(min(components, len(view) - 1), kernel="rbf", gamma=gamma, eigen_solver="dense")
        return cls(model.fit(view))

    def __call__(self, vectors: Vectors) -> Matrix:
        """``[documents, components]``."""
        # A block's kernels are [ROWS, documents]; those of all test documents of NUS-WIDE would be gigabytes.
        blocks = [
            self._model.transform(np.asarray(vectors[start : start + ROWS], dtype=np.float64))  # type: ignore[attr-defined]
            for start in range(0, len(vectors), ROWS)
        ]
        return np.concatenate(blocks)


class PLSProjector:
    """Both modalities by scikit-learn's ``PLSCanonical``."""

    def __init__(self, model: object):
        self._model: object = model

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, dimensions]`` of each modality."""
        pair = np.asarray(images, dtype=np.float64), np.asarray(texts, dtype=np.float64)
        found: tuple[Vectors, Vectors] = self._model.transform(*pair)  # type: ignore[attr-defined]
        return found


def fit_pls(spec: PLS, train: Inputs) -> PLSProjector:
    """Partial least squares: at each step the directions of largest covariance, which are then deflated.

    Args:
        spec: Its settings.
        train: Training documents.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(train.images, "images"), _view(train.texts, "texts")
    most = min(_principal_axes(_standardised(view), None, ridge=1.0).shape[1] for view in views)
    model = PLSCanonical(min(spec.dimensions, most), max_iter=2000)
    with warnings.catch_warnings():
        # Two directions of nearly equal covariance: either order of them will do.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PLSProjector(model.fit(*views))


def fit_cfa(spec: CFA, train: Inputs) -> LinearProjector:
    """Cross-modal factor analysis: orthonormal A and B, the singular vectors of ``X' Y`` for centred X and Y.

    The first columns have the largest covariance of ``X A`` and ``Y B``; where A and B are square, ``|X A - Y B|`` is
    least, which is how CFA was defined (Li, Dimitrova, Li and Sethi, 2003).

    Args:
        spec: Its settings.
        train: Training documents.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(train.images, "images"), _view(train.texts, "texts")
    means = [view.mean(axis=0) for view in views]
    images, texts = (view - mean for view, mean in zip(views, means, strict=True))
    left, _, right = np.linalg.svd(images.T @ texts, full_matrices=False)
    k = spec.dimensions
    return LinearProjector(Affine(means[0], left[:, :k]), Affine(means[1], right[:k].T))


def _view(vectors: Vectors, what: str) -> Matrix:
    view = np.asarray(vectors, dtype=np.float64)
    if len(view) < 2:
        raise InputError(f"there is {len(view)} training document; correlations need at least two.")
    if not (view != view[0]).any():
        raise InputError(f"the vectors of {what} of all {len(view)} training documents are equal; nothing correlates.")
    return view


def _standardised(view: Matrix) -> Matrix:
    deviation = view.std(axis=0)
    result: Matrix = (view - view.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return result


def _principal_axes(centred: Matrix, components: int | None, ridge: float) -> Matrix:
    """``[dim, kept]`` orthonormal directions of largest variance, those of none left out."""
    documents, dim = centred.shape
    most = min(components or dim, dim)
    if components is None and not ridge:
        most = min(most, max(1, documents // DOCUMENTS_PER_COMPONENT))
    if documents >= dim:
        variances, axes = np.linalg.eigh(centred.T @ centred)
        variances, axes = variances[::-1], axes[:, ::-1]
        # A squared singular value is exact to the largest one times this, and the inputs have float32's digits.
        least = variances[0] * max(dim * np.finfo(np.float64).eps, 1e-12)
        return np.ascontiguousarray(axes[:, : min(most, int((variances > least).sum()))])
    _, values, rows = np.linalg.svd(centred, full_matrices=False)
    least = values[0] * max(documents * np.finfo(np.float64).eps, 1e-6)
    return np.ascontiguousarray(rows[: min(most, int((values > least).sum()))].T)
