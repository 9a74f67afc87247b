"""PMRP against what the released code returned and against plain loops."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torchmetrics.functional.retrieval import retrieval_r_precision

from fivesentences.errors import InputError
from fivesentences.metrics.plausible_match import LabelDistances, PlausibleReader, pmrp
from fivesentences.metrics.ranking import read_rankings

DIRECTIONS = ("i2t", "t2i")


def made(unlabelled=()):
    rng = np.random.default_rng(2)
    similarity, labels = rng.normal(size=(12, 60)), (rng.random((12, 6)) < 0.3).astype(int)
    labels[:, 0] |= ~labels.any(axis=1)
    labels[list(unlabelled)] = 0
    return similarity, labels, np.repeat(np.arange(12), 5)


def per_query(similarity, labels, direction, zetas=(0, 1, 2)):
    """``[zetas, queries]`` percent."""
    pairing = np.repeat(np.arange(len(similarity)), similarity.shape[1] // len(similarity))
    reader = PlausibleReader(LabelDistances(labels, pairing), direction, zetas)
    read_rankings(similarity, direction, reader)
    return 100 * reader.r_precision


def test_one_query_equals_torchmetrics():
    similarity, labels, pairing = made(unlabelled=(3,))
    ours = per_query(similarity, labels, "i2t", (1,))[0]
    for query in np.flatnonzero(labels.any(axis=1)):
        match = (np.abs(labels - labels[query]).sum(axis=1) <= 1) & labels.any(axis=1)
        kept = labels.any(axis=1)[pairing]
        scores, target = torch.tensor(np.exp(similarity[query][kept])), torch.tensor(match[pairing][kept])
        assert ours[query] == pytest.approx(100 * float(retrieval_r_precision(scores, target)), abs=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.zeros((12, 6))}, "label"),
        ({"labels": np.ones((11, 6))}, "labels has 11"),
        ({"labels": np.full((12, 2), np.nan)}, r"labels\[0, 0\] is nan"),
        ({"labels": np.eye(12) * 2}, r"labels\[0, 0\] is 2"),
        ({"labels": np.eye(12)[:, 1:], "unlabelled": "error"}, "image 0"),
        ({"unlabelled": "keep"}, "unlabelled is 'keep'"),
        ({"zetas": ()}, "zetas is"),
        ({"zetas": (0, -1)}, "zetas holds -1"),
        ({"zetas": "012"}, "zetas is '012'"),
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
@pytest.mark.parametrize("out", ["full", "folds"])
def test_every_released_number_is_reached(released, direction, out):
    similarity, labels = released["in/sims"], released["in/labels"]
    settings, per_image = json.loads(str(released["hparams"])), similarity.shape[1] // len(similarity)
    size, found, means = settings["fold_size"] if out == "folds" else len(similarity), [], []
    for start in range(0, len(similarity) - size + 1, size):
        images, captions = slice(start, start + size), slice(per_image * start, per_image * (start + size))
        given = similarity[images, captions], labels[images], direction, settings["zetas"]
        found.append(per_query(*given))
        means.append(pmrp(*given))
    labelled = [~np.isnan(fold[0]) for fold in found]
    ours = {"mean": np.mean(means), "per_zeta": np.mean([np.nanmean(fold, axis=1) for fold in found], axis=0)}
    if out == "full":
        ours["per_query"] = found[0][:, labelled[0]] / 100
    else:
        ours |= {"each_fold": means, "queries_per_fold": [of_fold.sum() for of_fold in labelled]}
    wanted = {
        name.rpartition("/")[2]: released[name] for name in released if name.startswith(f"out/{out}/{direction}/")
    }
    assert set(wanted) == set(ours) | {"r1_per_zeta"}
    for name, value in ours.items():
        np.testing.assert_allclose(value, wanted[name], atol=1e-11 if name == "per_query" else 1e-9, rtol=0)
