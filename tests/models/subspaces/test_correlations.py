from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.linalg import subspace_angles
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.cross_decomposition import PLSCanonical

from fivesentences.errors import InputError
from fivesentences.metrics.category import category_map
from fivesentences.reproduction.categories.inputs import Inputs, Projector
from fivesentences.reproduction.categories.models.closed_forms import fit_closed_form
from fivesentences.reproduction.categories.models.specs import AnyMethod

METHOD = TypeAdapter(AnyMethod)
CORRELATIONS: list[dict[str, Any]] = [{"method": "cca"}, {"method": "kcca"}, {"method": "pls"}, {"method": "cfa"}]
MATCHING = {"method": "semantic_matching", "strength": 0.1}  # stated, since cross-validation takes seconds
ALL = [*CORRELATIONS, MATCHING, MATCHING | {"after_cca": True}]


def fitted(inputs: Inputs, method: str, seed: int = 0, **settings: Any) -> Projector:
    return fit_closed_form(METHOD.validate_python({"method": method} | settings), inputs, seed)


def projected(projector: Projector, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    return projector(inputs.images, inputs.texts)


def mean_map(projector: Projector, inputs: Inputs) -> float:
    images, texts = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in projected(projector, inputs))
    both = [category_map(images @ texts.T, inputs.categories, inputs.categories, one) for one in ("i2t", "t2i")]
    return float(sum(both)) / 2


def correlations(images: np.ndarray, texts: np.ndarray) -> np.ndarray:
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(images.T, texts.T, strict=True)])


def canonical_correlations(inputs: Inputs) -> np.ndarray:
    """Hotelling's definition in another form: cosines of the angles between the spaces that the columns span."""
    centred = [one.astype(float) - one.mean(axis=0, dtype=float) for one in (inputs.images, inputs.texts)]
    return np.sort(np.cos(subspace_angles(*centred)))[::-1]


def test_cca_has_the_canonical_correlations(train: Inputs) -> None:
    images, texts = projected(fitted(train, "cca", dimensions=8), train)
    np.testing.assert_allclose(correlations(images, texts), canonical_correlations(train), atol=1e-9)
    for one in (images, texts):
        np.testing.assert_allclose(np.cov(one.T), np.eye(8), atol=1e-9)


def test_cca_equals_scikit_learn(train: Inputs, test: Inputs) -> None:
    theirs = SklearnCCA(3, tol=1e-12, max_iter=20_000, scale=False).fit(train.images, train.texts)
    for ours, one in zip(
        projected(fitted(train, "cca", dimensions=3), test), theirs.transform(test.images, test.texts), strict=True
    ):
        assert np.abs(correlations(ours, one)).min() > 0.99999


def test_weighted_cca_multiplies_directions_by_their_correlation(train: Inputs) -> None:
    plain, weighted = (projected(fitted(train, "cca", dimensions=8, weighted=one), train) for one in (False, True))
    for before, after in zip(plain, weighted, strict=True):
        np.testing.assert_allclose(after, before * canonical_correlations(train), atol=1e-9)


def test_ridge_cca_solves_the_regularised_problem(train: Inputs) -> None:
    """Directions are W1 = (1 - c) S11 + c I's: W1^-1 S12 W2^-1 S21 has them as eigenvectors, on the scaled inputs."""
    c = 0.3
    views = [one.astype(float) - one.mean(axis=0, dtype=float) for one in (train.images, train.texts)]
    views = [one / np.sqrt(one.var(axis=0).mean()) for one in views]
    blocks = [(1 - c) * one.T @ one / (len(one) - 1) + c * np.eye(one.shape[1]) for one in views]
    cross = views[0].T @ views[1] / (len(views[0]) - 1)
    product = np.linalg.solve(blocks[0], cross) @ np.linalg.solve(blocks[1], cross.T)
    values, vectors = np.linalg.eig(product)
    wanted = views[0] @ vectors[:, np.argsort(-values.real)[:4]].real
    images, _ = projected(fitted(train, "cca", dimensions=4, ridge=c), train)
    assert np.abs(correlations(images, wanted)).min() > 1 - 1e-9


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_the_unit_of_the_inputs_changes_nothing(train: Inputs, test: Inputs, scale: float) -> None:
    other = Inputs(train.images * np.float32(scale), train.texts, train.categories)
    for settings in ({"method": "cca", "ridge": 0.3}, {"method": "kcca"}, MATCHING):
        here = fitted(train, **settings)(test.images, test.texts)
        there = fitted(other, **settings)(test.images * np.float32(scale), test.texts)
        for one, two in zip(here, there, strict=True):
            np.testing.assert_allclose(one @ one.T, two @ two.T, rtol=1e-3, atol=1e-3 * float((one @ one.T).max()))


def test_kernels_of_a_small_gamma_are_linear(train: Inputs, test: Inputs) -> None:
    here, there = (Inputs(one.images[:, :8], one.texts, one.categories) for one in (train, test))
    linear = projected(fitted(here, "cca", dimensions=3), there)
    kernel = projected(fitted(here, "kcca", dimensions=3, gamma=1e-7, ridge=1e-9, components=8), there)
    for one, two in zip(linear, kernel, strict=True):
        assert np.abs(correlations(one, two)).min() > 0.9999


def test_kcca_finds_what_no_linear_map_does() -> None:
    draw = np.random.default_rng(0)
    radius = np.where(np.arange(400) % 2, 1.0, 3.0) + 0.1 * draw.standard_normal(400)
    angle = draw.uniform(0, 2 * np.pi, 400)
    circles = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
    sign = np.stack([radius, draw.standard_normal(400)], axis=1).astype(np.float32)
    inputs = Inputs(circles, sign, np.arange(400) % 2)
    linear = correlations(*projected(fitted(inputs, "cca", dimensions=1), inputs))[0]
    kernel = correlations(*projected(fitted(inputs, "kcca", dimensions=1, components=20), inputs))[0]
    assert linear < 0.3 and kernel > 0.95


def test_pls_is_scikit_learns(train: Inputs, test: Inputs) -> None:
    theirs = PLSCanonical(3, max_iter=2000).fit(train.images.astype(float), train.texts.astype(float))
    wanted = theirs.transform(test.images.astype(float), test.texts.astype(float))
    for ours, one in zip(projected(fitted(train, "pls", dimensions=3), test), wanted, strict=True):
        np.testing.assert_allclose(ours, one, atol=1e-9)


def orthonormal(weights: np.ndarray) -> np.ndarray:
    """The orthonormal matrix nearest to one."""
    left, _, right = np.linalg.svd(weights, full_matrices=False)
    return left @ right


@pytest.mark.parametrize("dimensions", [3, 8])
def test_cfa_has_the_largest_covariance_and_square_the_least_distance(train: Inputs, dimensions: int) -> None:
    """Its definition, against orthonormal A and B near the solution and far from it."""
    draw = np.random.default_rng(0)
    inputs = Inputs(train.images[:, :8], train.texts, train.categories)
    found = projected(fitted(inputs, "cfa", dimensions=dimensions), inputs)
    x, y = (one.astype(float) - one.mean(axis=0, dtype=float) for one in (inputs.images, inputs.texts))
    a, b = (np.linalg.lstsq(one, two, rcond=None)[0] for one, two in zip((x, y), found, strict=True))
    for weights in (a, b):
        np.testing.assert_allclose(weights.T @ weights, np.eye(dimensions), atol=1e-9)
    for size in (1e-3, 1e-2, 1e-1, 10.0):
        left, right = (x @ orthonormal(a + size * draw.standard_normal(a.shape)),
                       y @ orthonormal(b + size * draw.standard_normal(b.shape)))  # fmt: skip
        assert (left * right).sum() < (found[0] * found[1]).sum()
        if dimensions == 8:
            assert np.linalg.norm(left - right) > np.linalg.norm(found[0] - found[1])


@pytest.mark.parametrize("settings", ALL, ids=str)
def test_methods_find_planted_topics(train: Inputs, test: Inputs, settings: dict[str, Any]) -> None:
    chance = np.mean([mean_map(fitted(train, "random", seed=seed), test) for seed in range(5)])
    dimensions = {} if settings["method"] == "semantic_matching" else {"dimensions": 3}
    assert mean_map(fitted(train, **settings, **dimensions), test) > chance + 0.25


@pytest.mark.parametrize("settings", ALL, ids=str)
@pytest.mark.parametrize("images", ["constant columns", "repeated columns", "more columns than documents"])
def test_awkward_inputs_give_finite_vectors(train: Inputs, test: Inputs, settings: dict[str, Any], images: str) -> None:
    def changed(inputs: Inputs) -> Inputs:
        wide = {
            "constant columns": np.hstack([inputs.images, np.full((len(inputs), 5), 3.0), 0 * inputs.images]),
            "repeated columns": np.hstack([inputs.images, inputs.images, inputs.images[:, :1]]),
            "more columns than documents": inputs.images @ np.random.default_rng(0).standard_normal((12, 500)),
        }[images]
        return Inputs(wide.astype(np.float32), inputs.texts, inputs.categories)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        projector = fitted(changed(train), **settings)
        found = projected(projector, changed(test))
    for one in found:
        assert np.isfinite(one).all() and one.shape[0] == len(test)
    assert found[0].shape == found[1].shape
    assert mean_map(projector, changed(test)) > 0.4


def test_without_a_ridge_cca_of_many_features_keeps_few_components() -> None:
    """With as many features as documents every correlation would be 1, whatever the documents are."""
    draw = np.random.default_rng(0)
    noise = Inputs(*(draw.standard_normal((60, 80)).astype(np.float32) for _ in range(2)), np.zeros(60, dtype=np.int64))
    images, texts = projected(fitted(noise, "cca"), noise)
    assert images.shape[1] == 6 and correlations(images, texts).max() < 0.85
    images, texts = projected(fitted(noise, "cca", components=59), noise)
    assert correlations(images, texts).min() > 0.999


@pytest.mark.parametrize("settings", CORRELATIONS, ids=str)
def test_documents_that_are_all_equal_are_refused(train: Inputs, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="240"):
        fitted(Inputs(train.images, np.ones_like(train.texts), train.categories), **settings)
    with pytest.raises(InputError, match="at least two"):
        fitted(Inputs(train.images[:1], train.texts[:1], train.categories[:1]), **settings)
