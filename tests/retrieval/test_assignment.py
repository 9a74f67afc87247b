"""The auction against scipy's exact solver, and what a re-scored matrix promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from fivesentences.retrieval import assignment, best_assignment
from fivesentences.retrieval.assignment import LAST_EPSILON


def exact_total(similarity, places):
    image = np.repeat(np.arange(len(places)), places)
    row, column = scipy.optimize.linear_sum_assignment(similarity.astype(np.float64)[image], maximize=True)
    return float(similarity.astype(np.float64)[image[row], column].sum())


def problems():
    rng = np.random.default_rng(13)
    embedded = rng.standard_normal((120, 16))
    texts = np.repeat(embedded, 5, axis=0) + 2 * rng.standard_normal((600, 16))
    yield "embeddings", (embedded @ texts.T / 16).astype(np.float32), {}
    yield "random", rng.standard_normal((150, 750)), {}
    yield "half precision", rng.standard_normal((60, 300)).astype(np.float16), {}
    yield "ties", rng.integers(0, 3, (80, 400)), {}
    yield "duplicated captions", np.repeat(rng.standard_normal((60, 60)), 5, axis=1), {}
    yield "duplicated images", np.repeat(rng.standard_normal((16, 320)), 4, axis=0), {}
    yield "one hub", np.where(np.arange(60)[:, None] == 3, 1.0, 0.0) + np.zeros((60, 300)), {}
    yield "all equal", np.full((20, 100), 0.5), {}
    yield "one image", rng.standard_normal((1, 5)), {}
    yield "one to one", rng.standard_normal((130, 130)), {}
    yield "places to spare", rng.standard_normal((90, 200)), {"captions_per_image": 3}
    yield (
        "unequal counts",
        rng.standard_normal((70, 300)),
        {"image_of_caption": np.concatenate([np.arange(70), rng.integers(0, 70, 230)])},
    )
    yield "large numbers", 1e12 * rng.standard_normal((50, 250)), {}


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("name, matrix, options", list(problems()), ids=[name for name, _, _ in problems()])
def test_the_auction_is_within_its_bound_of_the_exact_solution(name, matrix, options):
    auction = best_assignment(matrix, solver="auction", **options)
    exact = best_assignment(matrix, solver="exact", **options)
    best = exact_total(matrix, auction.places)
    span = float(matrix.max() - matrix.min())
    rounding = 1e-12 * np.abs(matrix).sum()
    assert exact.total == pytest.approx(best, rel=1e-12)
    assert auction.total <= best + rounding <= auction.bound + 2 * rounding
    assert auction.gap <= 2 * LAST_EPSILON * span + rounding
    for found in (auction, exact):
        assert (np.bincount(found.image_of_caption, minlength=len(matrix)) <= found.places).all()
        given = matrix[found.image_of_caption, np.arange(matrix.shape[1])].astype(np.float64).sum()
        assert found.total == pytest.approx(given)


@pytest.mark.parametrize("solver", ["exact", "auction"])
@pytest.mark.parametrize("spread", [1.0, 0.0])
def test_the_assigned_pair_leads_and_the_rest_stays(solver, spread):
    matrix = spread * np.random.default_rng(6).uniform(-1, 1, (40, 200)).astype(np.float32)
    found = best_assignment(matrix, solver=solver)
    ours = assignment(matrix, solver=solver)
    assert ours.dtype == np.float32
    np.testing.assert_array_equal(ours.argmax(axis=0), found.image_of_caption)
    for image in range(40):
        own = np.flatnonzero(found.image_of_caption == image)
        first = np.argsort(-ours[image], kind="stable")[:5]
        np.testing.assert_array_equal(first, own[np.argsort(-matrix[image, own], kind="stable")])
    assigned = np.zeros(matrix.shape, dtype=bool)
    assigned[found.image_of_caption, np.arange(200)] = True
    np.testing.assert_array_equal(ours[~assigned], matrix[~assigned])
