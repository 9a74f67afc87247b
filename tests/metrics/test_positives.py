"""Metrics of lists of positives, against ir_measures and eccv_caption's own functions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, pick
from fivesentences.metrics.positives import (
    Positives,
    find_hits,
    hits_of_ranking,
    map_at_r,
    r_precision_of,
    recall_of_positives,
)

IMAGES, CAPTIONS = 23, 90
OWNERS = np.arange(CAPTIONS) % IMAGES  # which has no effect


def given(seed):
    rng = np.random.default_rng(seed)
    similarity = rng.standard_normal((IMAGES, CAPTIONS))
    i2t, t2i = (rng.random((IMAGES, CAPTIONS)) < share for share in (0.1, 0.06))
    i2t[4], t2i[:, 7] = False, False  # queries without a positive
    outside = rng.integers(0, 3, IMAGES) * i2t.any(axis=1)
    return similarity, Positives(
        scipy.sparse.csr_array(i2t), scipy.sparse.coo_array(t2i), outside, own=np.zeros(i2t.shape)
    )


def queries(similarity, positives, direction):
    """Ranking, positive items and R of every query that has a positive."""
    scores = similarity if direction == "i2t" else similarity.T
    wanted = positives.i2t.toarray() if direction == "i2t" else positives.t2i.toarray().T
    outside = positives.outside_i2t if direction == "i2t" else positives.outside_t2i
    for query, row in enumerate(scores):
        own = set(np.flatnonzero(wanted[query]).tolist())
        if own or outside[query]:
            order = sorted(range(len(row)), key=lambda item: (-float(row[item]), item))
            yield query, order, own, len(own) + int(outside[query])


def per_query(metric, similarity, positives, direction, k=1):
    rows = Evaluator(None, OWNERS, ks=(k,), positives={"X": positives}).per_query(similarity, (direction,))
    return pick(rows, f"X {metric}", direction)["values"]


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.filterwarnings("ignore")
def test_eccv_captions_own_functions_give_the_same_numbers(direction, capsys):
    package = pytest.importorskip("eccv_caption._metrics")
    similarity, positives = given(3)
    ranked, wanted = {}, {}
    for query, order, own, r in queries(similarity, positives, direction):
        ranked[query] = order
        wanted[query] = [*own, *range(1000, 1000 + r - len(own))]  # items that the gallery lacks
    theirs = package.compute_eccv_metrics(ranked, wanted)
    assert map_at_r(similarity, positives, direction) == pytest.approx(theirs["eccv_map_at_r"], abs=1e-12)
    assert r_precision_of(similarity, positives, direction) == pytest.approx(theirs["eccv_rprecision"], abs=1e-12)
    ours = recall_of_positives(similarity, positives, (1, 5), direction)
    assert ours[1] == pytest.approx(100.0 * theirs["eccv_r1"], abs=1e-10)
    assert ours[5] == pytest.approx(100.0 * package.compute_r_at_k(ranked, wanted, 5), abs=1e-10)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_rankings_that_are_there_already_give_the_same_hits(direction):
    similarity, positives = given(5)
    scores = similarity if direction == "i2t" else similarity.T
    items = np.argsort(-scores, axis=1, kind="stable")
    mine, theirs = find_hits(similarity, positives, direction, 12), hits_of_ranking(items[:, :12], positives, direction)
    np.testing.assert_array_equal(mine.hit, theirs.hit)
    np.testing.assert_array_equal(mine.queries, theirs.queries)


def test_more_positives_than_the_gallery_has_items_count_in_r():
    one = Positives.symmetric(np.ones((1, 2), dtype=bool))
    wide = Positives(one.i2t, one.t2i, np.array([6]))
    assert map_at_r(np.zeros((1, 2)), wide) == pytest.approx(2 / 8)
    assert recall_of_positives(np.zeros((1, 2)), wide, (50,)) == {50: 100.0}


def test_what_does_not_fit_is_named():
    similarity, positives = given(8)
    with pytest.raises(InputError, match=r"pass similarity\.T"):
        map_at_r(similarity.T, positives)
    with pytest.raises(InputError, match=r"similarity\[3, 5\] is nan"):
        map_at_r(np.where(np.arange(similarity.size).reshape(similarity.shape) == 275, np.nan, similarity), positives)
    with pytest.raises(InputError, match="of another gallery"):
        map_at_r(similarity[:, :-1], positives)
    with pytest.raises(InputError, match="both are"):
        Positives(positives.i2t, positives.t2i[:, :-1])
    with pytest.raises(InputError, match="outside_t2i"):
        Positives(positives.i2t, positives.t2i, None, np.zeros(3, dtype=np.int64))
    with pytest.raises(InputError, match="direction is"):
        map_at_r(similarity, positives, "t2t")
