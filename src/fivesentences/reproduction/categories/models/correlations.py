"""Linear and kernel methods whose subspace follows from covariances: CCA, KCCA, PLS and CFA (extra ``subspaces``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from cca_zoo.linear import RidgeCCA
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSCanonical
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors
from fivesentences.reproduction.categories.models.specs import CFA, KCCA, PLS

Matrix = NDArray[np.float64]
DOCUMENTS_PER_COMPONENT = 10  # of CCA without a ridge
ROWS = 2048  # documents whose kernels are computed at once


def affine(means: tuple[Matrix, Matrix], weights: tuple[Matrix, Matrix]) -> Projector:
    """Vectors of each modality minus ``[dim]`` means, times ``[dim, dimensions]`` weights."""

    def project(images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        first, second = np.asarray(images, dtype=np.float64), np.asarray(texts, dtype=np.float64)
        return (first - means[0]) @ weights[0], (second - means[1]) @ weights[1]

    return project


def canonical(
    images: Vectors,
    texts: Vectors,
    dimensions: int | None = None,
    ridge: float = 0.0,
    components: int | None = None,
    weighted: bool = False,
) -> Projector:
    """Fit canonical correlation analysis, by cca-zoo's ``RidgeCCA``.

    Directions in which training documents do not vary are left out. The others are divided by the root of their mean
    variance, so that a ridge does not depend on the unit; without a ridge this changes nothing. Without ``weighted``
    and a ridge, directions have variance 1 in training.

    Args:
        images: ``[documents, image_dim]``.
        texts: ``[documents, text_dim]``.
        dimensions: Dimensions of the subspace, most correlated first; None, or more than there are: all.
        ridge: See ``specs.CCA``.
        components: See ``specs.CCA``.
        weighted: See ``specs.CCA``.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(images, "images"), _view(texts, "texts")
    means, scaled = [view.mean(axis=0) for view in views], []
    for view, mean in zip(views, means, strict=True):
        axes = _principal_axes(view - mean, components, ridge)
        if not axes.shape[1]:
            raise InputError(f"one modality of all {len(view)} training documents is equal; nothing correlates.")
        scaled.append(axes / ((view - mean) @ axes).std())
    inside = [(view - mean) @ axes for view, mean, axes in zip(views, means, scaled, strict=True)]
    most = min(one.shape[1] for one in inside)
    model = RidgeCCA(n_components=min(dimensions or most, most), shrinkage=[ridge, ridge]).fit(inside)
    weights = [axes @ found for axes, found in zip(scaled, model.weights_, strict=True)]
    if weighted:
        projected = [(view - mean) @ one for view, mean, one in zip(views, means, weights, strict=True)]
        a, b = (one - one.mean(axis=0) for one in projected)
        lengths = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
        correlations = (a * b).sum(axis=0) / np.maximum(lengths, np.finfo(np.float64).tiny)
        weights = [one * correlations for one in weights]
    return affine((means[0], means[1]), (weights[0], weights[1]))


def fit_kcca(spec: KCCA, train: Inputs, seed: int) -> Projector:
    """Kernel CCA with radial basis functions: kernel principal components of each modality, then ridge CCA of them.

    Args:
        spec: Its settings.
        train: Training documents.
        seed: Seed of the choice of documents, if there are more than ``spec.documents``.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(train.images, "images"), _view(train.texts, "texts")
    rows = np.arange(len(train))
    if len(rows) > spec.documents:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), spec.documents, replace=False))
    image, text = (kernel_components(view[rows], spec.gamma, spec.components) for view in views)
    then = canonical(image(views[0]), text(views[1]), spec.dimensions, spec.ridge)
    return lambda images, texts: then(image(images), text(texts))


def kernel_components(view: Matrix, gamma: float | None, components: int) -> Callable[[Vectors], Matrix]:
    """Fit kernel principal components of one modality: scikit-learn's ``KernelPCA``, radial basis functions.

    Args:
        view: ``[documents, dim]``.
        gamma: γ of the kernel; None: ``1 / (dim x mean variance)``.
        components: The most that are kept; those of no variance never are.
    """
    gamma = gamma or 1.0 / float(view.var(axis=0).sum())
    # The dense solver for any number of components: the other starts from random vectors.
    model = KernelPCA(min(components, len(view) - 1), kernel="rbf", gamma=gamma, eigen_solver="dense").fit(view)

    def project(vectors: Vectors) -> Matrix:
        # A block's kernels are [ROWS, documents]; those of all test documents of NUS-WIDE would be gigabytes.
        parts = (vectors[start : start + ROWS] for start in range(0, len(vectors), ROWS))
        return np.concatenate([model.transform(np.asarray(part, dtype=np.float64)) for part in parts])

    return project


def fit_pls(spec: PLS, train: Inputs) -> Projector:
    """Partial least squares: at each step the directions of largest covariance, which are then deflated.

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(train.images, "images"), _view(train.texts, "texts")
    standardised = []
    for view in views:
        deviation = view.std(axis=0)
        standardised.append((view - view.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
    most = min(_principal_axes(view, None, ridge=1.0).shape[1] for view in standardised)
    model = PLSCanonical(min(spec.dimensions, most), max_iter=2000)
    with warnings.catch_warnings():
        # Two directions of nearly equal covariance: either order of them will do.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*views)

    def project(images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        first, second = model.transform(np.asarray(images, dtype=np.float64), np.asarray(texts, dtype=np.float64))
        return first, second

    return project


def fit_cfa(spec: CFA, train: Inputs) -> Projector:
    """Cross-modal factor analysis: orthonormal A and B, the singular vectors of ``X' Y`` for centred X and Y.

    The first columns have the largest covariance of ``X A`` and ``Y B``; where A and B are square, ``|X A - Y B|`` is
    least, which is how CFA was defined (Li, Dimitrova, Li and Sethi, 2003).

    Raises:
        InputError: If there is one document, or all vectors of a modality are equal.
    """
    views = _view(train.images, "images"), _view(train.texts, "texts")
    means = views[0].mean(axis=0), views[1].mean(axis=0)
    left, _, right = np.linalg.svd((views[0] - means[0]).T @ (views[1] - means[1]), full_matrices=False)
    return affine(means, (left[:, : spec.dimensions], right[: spec.dimensions].T))


def _view(vectors: Vectors, what: str) -> Matrix:
    view = np.asarray(vectors, dtype=np.float64)
    if len(view) < 2:
        raise InputError(f"there is {len(view)} training document; correlations need at least two.")
    if not (view != view[0]).any():
        raise InputError(f"the vectors of {what} of all {len(view)} training documents are equal; nothing correlates.")
    return view


def _principal_axes(centred: Matrix, components: int | None, ridge: float) -> Matrix:
    """Return ``[dim, kept]`` orthonormal directions of largest variance, those of none left out."""
    documents, dim = centred.shape
    most = min(components or dim, dim)
    if components is None and not ridge:
        most = min(most, max(1, documents // DOCUMENTS_PER_COMPONENT))
    if documents >= dim:
        values, axes = np.linalg.eigh(centred.T @ centred)
        values, axes = values[::-1], axes[:, ::-1]
        # A squared singular value is exact to the largest one times this, and the inputs have float32's digits.
        least = values[0] * max(dim * np.finfo(np.float64).eps, 1e-12)
    else:
        _, values, rows = np.linalg.svd(centred, full_matrices=False)
        axes, least = rows.T, values[0] * max(documents * np.finfo(np.float64).eps, 1e-6)
    return np.ascontiguousarray(axes[:, : min(most, int((values > least).sum()))])
