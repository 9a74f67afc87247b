from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fivesentences.reproduction.categories.inputs import Inputs
from fivesentences.reproduction.categories.models.closed_forms import fit_closed_form
from fivesentences.reproduction.categories.models.specs import CCA, SemanticMatching


def posteriors(train: Inputs, inputs: Inputs, seed: int = 0, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    spec = SemanticMatching(method="semantic_matching", **settings)
    return fit_closed_form(spec, train, seed)(inputs.images, inputs.texts)


@pytest.mark.parametrize("settings", [{}, {"classifier": "mlp"}, {"after_cca": True}], ids=str)
def test_posteriors_sum_to_one_and_name_the_category(train: Inputs, test: Inputs, settings: dict[str, Any]) -> None:
    for one in posteriors(train, test, **settings):
        assert one.shape == (len(test), 4) and (one >= 0).all()
        np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-9)
        assert (one.argmax(axis=1) == test.categories).mean() > 0.7


def test_logistic_posteriors_are_scikit_learns(train: Inputs, test: Inputs) -> None:
    mean, deviation = train.images.mean(axis=0, dtype=float), np.sqrt(train.images.astype(float).var(axis=0).mean())
    model = LogisticRegression(C=0.1, max_iter=2000).fit((train.images - mean) / deviation, train.categories)
    ours, _ = posteriors(train, test, strength=0.1)
    np.testing.assert_allclose(ours, model.predict_proba((test.images - mean) / deviation), atol=1e-4)


def test_centring_subtracts_the_mean_that_it_names(train: Inputs, test: Inputs) -> None:
    plain, of_train = (posteriors(train, one, strength=0.1) for one in (test, train))
    by_train, by_gallery = (posteriors(train, test, strength=0.1, centre=one) for one in ("train", "gallery"))
    for modality in (0, 1):
        wanted = plain[modality] - of_train[modality].mean(axis=0)
        np.testing.assert_allclose(by_train[modality], wanted, atol=1e-12)
        wanted = plain[modality] - plain[modality].mean(axis=0)
        np.testing.assert_allclose(by_gallery[modality], wanted, atol=1e-12)


def test_scm_is_semantic_matching_of_ccas_directions(train: Inputs, test: Inputs) -> None:
    cca = fit_closed_form(CCA(method="cca", dimensions=3), train, 0)
    inside = Inputs(*cca(train.images, train.texts), train.categories)
    there = Inputs(*cca(test.images, test.texts), test.categories)
    composed = posteriors(inside, there, strength=0.1)
    ours = posteriors(train, test, strength=0.1, after_cca=True, dimensions=3)
    for one, two in zip(ours, composed, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.parametrize("classifier", ["logistic", "mlp"])
def test_categories_of_one_document_can_be_learnt(train: Inputs, test: Inputs, classifier: str) -> None:
    rows = np.concatenate([np.flatnonzero(train.categories == one)[:n] for one, n in enumerate((1, 6, 6, 6))])
    few = Inputs(train.images[rows], train.texts[rows], train.categories[rows])
    for one in posteriors(few, test, classifier=classifier):
        np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-9)
