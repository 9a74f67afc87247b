"""What a random ranking reaches on average equals the mean over every order of the gallery."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fivesentences import evaluate
from fivesentences.config.metrics import METRICS, metric_of
from fivesentences.errors import InputError
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.metrics import Evaluator, Positives
from fivesentences.metrics.judged import Judged
from fivesentences.metrics.values import KEYS
from fivesentences.retrieval import Gallery

WITHOUT = {"Med r", "<list> infAP", *(name for name in METRICS if name.startswith("hubs "))}  # no closed form


def options(pairing, n_images, more_rows=0, empty="zero", seed=0):
    """Return arguments of an Evaluator that reports everything, with ties and queries that have nothing to find."""
    rng = np.random.default_rng(seed)
    n_captions = len(pairing)
    phi = np.round(2 * np.maximum(0, rng.normal(size=(n_captions + more_rows, n_images))))
    phi[0] = 0  # a caption with nothing to find
    labels = rng.random((n_images, 3)) < 0.5
    labels[0], labels[1] = False, True
    listed = rng.random((n_images, n_captions)) < 0.5
    listed[0, 0], listed[1] = True, False
    positives = Positives(
        listed, listed, rng.integers(0, 3, n_images), rng.integers(0, 3, n_captions), own=np.zeros(listed.shape)
    )
    cells = np.flatnonzero(rng.random((n_captions, n_images)) < 0.8)
    gain = (rng.random((2, len(cells))) < 0.5) * [[1.0], [0.5]]
    of_pairs = cells // n_images, cells % n_images
    of_gallery = (n_images, n_captions), pairing
    return {
        "judged": {"crowd": Judged(*of_pairs, gain[0], *of_gallery), "graded": Judged(*of_pairs, gain[1], *of_gallery)},
        "phis": {"phi": phi, "half": np.minimum(phi, 1)},
        "image_of_caption": pairing,
        "ks": (1, 2, 3, 9),
        "ms": (1, 2, 9),
        "formulas": ("released", "paper"),
        "styles": ("recall", "vse_recall"),
        "weightings": ("hard", "soft"),
        "discounts": (None, "log"),
        "ncs_ms": (None, 1, 2),
        "asp_ties": ("index", "average"),
        "hubness": True,
        "labels": labels,
        "categories": [None, *("ab"[int(x)] for x in rng.random(n_images - 1) < 0.5)],
        "caption_categories": [*("abc"[x] for x in rng.integers(0, 3, n_captions - 1)), "b"],
        "category_cutoffs": (None, "R", 1, 2, 9),
        "positives": {"ECCV": positives, "CxC": positives},
        "ideal_pool": "given_rows" if more_rows else "gallery",
        "empty": empty,
    }


def every_order(evaluator, n_images, n_captions, side):
    """Return the mean of every number over all orders of the gallery, and how many numbers have no chance."""
    size, found = (n_captions if side == "i2t" else n_images), {}
    orders = list(itertools.permutations(range(size)))
    for order in orders:
        scores = np.array(order, dtype=float)
        similarity = np.tile(scores, (n_images, 1)) if side == "i2t" else np.tile(scores[:, None], (1, n_captions))
        for row in evaluator(similarity, [side]).values:
            found.setdefault(tuple(row[key] for key in KEYS), []).append(row["value"])
    assert all(len(values) == len(orders) for values in found.values())
    return {key: np.mean(values) for key, values in found.items()}


@pytest.mark.parametrize(
    ("pairing", "n_images", "side", "more"),
    [
        ([0, 0, 1, 2, 2], 3, "i2t", {}),
        ([0, 0, 1, 2, 2], 3, "i2t", {"more_rows": 4, "seed": 3}),
        ([2, 0, 1, 0, 0], 3, "i2t", {"empty": "skip", "seed": 6}),
        ([0, 1, 2, 3, 4], 5, "t2i", {"seed": 2}),
        ([3, 0, 1, 2, 0, 0, 1], 4, "t2i", {"more_rows": 2, "empty": "skip", "seed": 4}),
    ],
)
def test_chance_is_the_mean_over_every_order(pairing, n_images, side, more):
    evaluator = Evaluator(**options(np.array(pairing), n_images, **more))
    wanted = every_order(evaluator, n_images, len(pairing), side)
    expected = {key: value for key, value in wanted.items() if metric_of(key[0]).name not in WITHOUT}
    rows = evaluator.by_chance(np.zeros((n_images, len(pairing))))
    found = {tuple(row[key] for key in KEYS): row["value"] for row in rows if row["direction"] == side}
    assert list(found) == list(expected), "as many numbers, in the same order"
    assert found == pytest.approx(expected, abs=1e-9)


def test_of_a_protocol_chance_is_the_mean_over_its_galleries():
    rng = np.random.default_rng(0)
    phi = rng.random((50, 10))
    scorer = ProtocolScorer(Gallery.of(np.zeros((10, 50)), phis={"phi": phi}), None)
    whole = scorer.by_chance()
    assert whole["R@1", "t2i"] == pytest.approx(10)
    assert whole["R@1", "i2t"] == pytest.approx(10)
    assert whole["Rsum"] == pytest.approx(sum(whole[f"R@{k}", side] for k in (1, 5, 10) for side in ("i2t", "t2i")))
    assert whole["NCS@1", "t2i"] == pytest.approx(100 * np.mean(phi.mean(axis=1) / phi.max(axis=1)))


def test_above_chance_of_random_rankings_is_zero_and_of_the_best_is_100():
    rng = np.random.default_rng(1)
    phi = rng.random((300, 60))
    found = [evaluate(rng.normal(size=(60, 300)), {"phi": phi}).above_chance()["NCS@5", "i2t"] for _ in range(40)]
    assert abs(np.mean(found)) < 4 * np.std(found, ddof=1) / np.sqrt(len(found))
    best = evaluate(phi.T, {"phi": phi}).above_chance()
    assert best["NCS@5", "i2t"] == pytest.approx(100, abs=1e-6)
    assert best["ASP", "t2i"] == pytest.approx(100)
    assert best["Nsum"] == pytest.approx(600, abs=1e-5)


def test_above_chance_keeps_the_mean_of_queries():
    rng = np.random.default_rng(2)
    phi = rng.random((50, 10))
    scorer = ProtocolScorer(Gallery.of(np.zeros((10, 50)), phis={"phi": phi}))
    scored = scorer(rng.normal(size=(10, 50)), queries=True)
    with pytest.raises(InputError):
        scored.above_chance()
    scored.chance = scorer.by_chance()
    above = scored.above_chance()
    for of_queries in above.queries:
        key = {name: of_queries[name] for name in KEYS[2:] if of_queries[name]}
        mean = np.nanmean(of_queries["values"])
        assert mean == pytest.approx(above.value(of_queries["metric"], of_queries["direction"], **key))
