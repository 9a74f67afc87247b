"""PMRP against what the released code returned and against plain loops."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torchmetrics.functional.retrieval import retrieval_r_precision

from fivesentences.errors import InputError
from fivesentences.metrics.plausible_match import plausible_match, pmrp

DIRECTIONS = ("i2t", "t2i")


def made(unlabelled=()):
    rng = np.random.default_rng(2)
    similarity, labels = rng.normal(size=(12, 60)), (rng.random((12, 6)) < 0.3).astype(int)
    labels[:, 0] |= ~labels.any(axis=1)
    labels[list(unlabelled)] = 0
    return similarity, labels, np.repeat(np.arange(12), 5)


def test_one_query_equals_torchmetrics():
    similarity, labels, pairing = made(unlabelled=(3,))
    ours = plausible_match(similarity, labels, "i2t", (1,)).r_precision[0]
    for query in np.flatnonzero(labels.any(axis=1)):
        match = (np.abs(labels - labels[query]).sum(axis=1) <= 1) & labels.any(axis=1)
        kept = labels.any(axis=1)[pairing]
        scores, target = torch.tensor(np.exp(similarity[query][kept])), torch.tensor(match[pairing][kept])
        assert ours[query] == pytest.approx(100 * float(retrieval_r_precision(scores, target)), abs=1e-4)


def test_images_without_a_label_change_nothing_for_the_others():
    similarity, labels, _ = made(unlabelled=(1, 2, 7))
    kept = np.flatnonzero(labels.any(axis=1))
    captions = (5 * kept[:, None] + np.arange(5)).ravel()
    for direction in DIRECTIONS:
        with_them = plausible_match(similarity, labels, direction)
        without = plausible_match(similarity[np.ix_(kept, captions)], labels[kept], direction, unlabelled="error")
        queries = kept if direction == "i2t" else captions
        np.testing.assert_array_equal(with_them.r_precision[:, queries], without.r_precision)
        np.testing.assert_array_equal(with_them.recall_at_1[:, queries], without.recall_at_1)
        left_out = np.setdiff1d(np.arange(similarity.shape[direction == "t2i"]), queries)
        assert np.isnan(with_them.r_precision[:, left_out]).all()
        assert pmrp(similarity, labels, direction) == pytest.approx(without.r_precision.mean())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.zeros((12, 6))}, "no image has a label"),
        ({"labels": np.ones((11, 6))}, "labels has 11 rows but there are 12 images"),
        ({"labels": np.ones(12)}, r"labels is float64 of shape \[12\]"),
        ({"labels": np.full((12, 2), np.nan)}, r"labels\[0, 0\] is nan; an image has a label"),
        ({"labels": np.eye(12) * 2}, r"labels\[0, 0\] is 2"),
        ({"labels": np.ones((12, 0))}, "a table"),
        ({"labels": np.eye(12)[:, 1:], "unlabelled": "error"}, "1 of 12 images have no label, the first is image 0"),
        ({"unlabelled": "keep"}, "unlabelled is 'keep'"),
        ({"zetas": ()}, "zetas is"),
        ({"zetas": (0, -1)}, "zetas holds -1"),
        ({"zetas": (0.5,)}, "zetas holds 0.5"),
        ({"zetas": "012"}, "zetas is '012'"),
        ({"direction": "both"}, "direction is 'both'"),
    ],
)
def test_what_does_not_fit_is_said(change, message):
    similarity, labels, _ = made()
    with pytest.raises(InputError, match=message):
        pmrp(**{"similarity": similarity, "labels": labels, **change})


# --- the release ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released(parity):
    return parity("pmrp_released")


@pytest.mark.parity
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_released_number_of_the_whole_gallery_is_reached(released, direction):
    similarity, labels = released["in/sims"], released["in/labels"]
    zetas = json.loads(str(released["hparams"]))["zetas"]
    ours = plausible_match(similarity, labels, direction, zetas)
    wanted = {name.rpartition("/")[2]: released[name] for name in released if name.startswith(f"out/full/{direction}/")}
    assert set(wanted) == {"mean", "per_zeta", "r1_per_zeta", "per_query"}
    labelled = ~np.isnan(ours.r_precision[0])
    np.testing.assert_allclose(ours.r_precision[:, labelled], 100 * wanted["per_query"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(np.nanmean(ours.r_precision, axis=1), wanted["per_zeta"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(np.nanmean(ours.recall_at_1, axis=1), wanted["r1_per_zeta"], atol=1e-9, rtol=0)
    assert pmrp(similarity, labels, direction, zetas) == pytest.approx(float(wanted["mean"]), abs=1e-9)


@pytest.mark.parity
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_released_number_of_folds_is_reached(released, direction):
    similarity, labels = released["in/sims"], released["in/labels"]
    settings = json.loads(str(released["hparams"]))
    size, per_image = settings["fold_size"], similarity.shape[1] // len(similarity)
    found = []
    for start in range(0, len(similarity) - size + 1, size):
        part = similarity[start : start + size, per_image * start : per_image * (start + size)]
        found.append(plausible_match(part, labels[start : start + size], direction, settings["zetas"]))
    out = f"out/folds/{direction}"
    each = [np.nanmean(fold.r_precision) for fold in found]
    np.testing.assert_allclose(each, released[f"{out}/each_fold"], atol=1e-9, rtol=0)
    assert np.mean(each) == pytest.approx(float(released[f"{out}/mean"]), abs=1e-9)
    per_zeta = np.mean([np.nanmean(fold.r_precision, axis=1) for fold in found], axis=0)
    np.testing.assert_allclose(per_zeta, released[f"{out}/per_zeta"], atol=1e-9, rtol=0)
    first = np.mean([np.nanmean(fold.recall_at_1, axis=1) for fold in found], axis=0)
    np.testing.assert_allclose(first, released[f"{out}/r1_per_zeta"], atol=1e-9, rtol=0)
    n_queries = [int(np.count_nonzero(~np.isnan(fold.r_precision[0]))) for fold in found]
    np.testing.assert_array_equal(n_queries, released[f"{out}/queries_per_fold"])
