"""Distances of training documents: by blocks, by batches and kept whole, they are those of the pure functions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fivesentences.losses.scheduled_margin import different_category, distances, feature_limits, feature_term
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.reproduction.categories.training import data
from fivesentences.reproduction.categories.training.data import TrainingDocuments

NORMS = ["max", "max_cross", "minmax", "modality_max", "modality_minmax"]


def by_definition(documents: TrainingDocuments, norm: str, rows: Tensor) -> Tensor:
    image, text = distances(documents.images), distances(documents.texts)
    limits = feature_limits(image, text, norm, different_category(documents.categories))
    return feature_term(image, text, limits)[rows][:, rows]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kept", [0, 1000])
def test_feature_terms_are_those_of_all_distances(make_inputs, monkeypatch, norm, kept):
    monkeypatch.setattr(data, "ROWS", 7)
    documents = TrainingDocuments(make_inputs(40), 3, kept)
    rows = torch.tensor([3, 17, 4, 39, 22])
    first, second = documents.batch_term(rows, ScheduledMarginSpec(feature_norm=norm))
    expected = by_definition(documents, norm, rows)
    torch.testing.assert_close(first, expected, rtol=0, atol=2e-6)
    torch.testing.assert_close(second, expected, rtol=0, atol=2e-6)
    of_batch, _ = documents.batch_term(rows, ScheduledMarginSpec(feature_norm=norm, feature_scope="batch"))
    image, text = distances(documents.images[rows]), distances(documents.texts[rows])
    limits = feature_limits(image, text, norm, different_category(documents.categories[rows]))
    torch.testing.assert_close(of_batch, feature_term(image, text, limits), rtol=0, atol=2e-6)


@pytest.mark.parametrize("kept", [0, 1000])
def test_the_anchors_own_modality_has_a_term_of_its_own(make_inputs, kept):
    documents = TrainingDocuments(make_inputs(30), 3, kept)
    rows = torch.tensor([1, 2, 9, 11])
    terms = documents.batch_term(rows, ScheduledMarginSpec(anchor="own"))
    for term, vectors in zip(terms, (documents.images, documents.texts), strict=True):
        whole = distances(vectors)
        torch.testing.assert_close(term, (whole / whole.max())[rows][:, rows], rtol=0, atol=2e-6)


def test_mean_terms_are_means_over_pairs(make_inputs, monkeypatch):
    monkeypatch.setattr(data, "ROWS", 7)
    documents = TrainingDocuments(make_inputs(30), 3)
    ours = documents.mean_terms(ScheduledMarginSpec(feature_norm="minmax"))
    whole = by_definition(documents, "minmax", torch.arange(30))
    for a in range(3):
        for n in range(3):
            pairs = whole[documents.categories == a][:, documents.categories == n]
            assert ours[a, n].item() == pytest.approx(pairs.mean().item(), abs=1e-5)
