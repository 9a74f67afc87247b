"""The assignment against linear programming, and what a re-scored matrix promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from fivesentences.retrieval import assignment, best_assignment


def best_total(similarity, places):
    """The optimum of the transport problem, by linear programming."""
    n_images, n_captions = similarity.shape
    of_captions = scipy.sparse.kron(np.ones((1, n_images)), scipy.sparse.eye(n_captions))
    of_images = scipy.sparse.kron(scipy.sparse.eye(n_images), np.ones((1, n_captions)))
    costs = -similarity.astype(np.float64).ravel()
    found = scipy.optimize.linprog(
        costs, A_eq=of_captions.tocsr(), b_eq=np.ones(n_captions), A_ub=of_images.tocsr(), b_ub=places
    )
    return -float(found.fun)


def problems():
    rng = np.random.default_rng(13)
    embedded = rng.standard_normal((40, 16))
    texts = np.repeat(embedded, 5, axis=0) + 2 * rng.standard_normal((200, 16))
    yield "embeddings", (embedded @ texts.T / 16).astype(np.float32), {}
    yield "random", rng.standard_normal((50, 250)), {}
    yield "half precision", rng.standard_normal((20, 100)).astype(np.float16), {}
    yield "ties", rng.integers(0, 3, (30, 150)), {}
    yield "duplicated captions", np.repeat(rng.standard_normal((60, 60)), 5, axis=1), {}
    yield "duplicated images", np.repeat(rng.standard_normal((16, 320)), 4, axis=0), {}
    yield "one hub", np.where(np.arange(60)[:, None] == 3, 1.0, 0.0) + np.zeros((60, 300)), {}
    yield "all equal", np.full((20, 100), 0.5), {}
    yield "one image", rng.standard_normal((1, 5)), {}
    yield "one to one", rng.standard_normal((60, 60)), {}
    yield "places to spare", rng.standard_normal((90, 200)), {"captions_per_image": 3}
    yield (
        "unequal counts",
        rng.standard_normal((70, 300)),
        {"image_of_caption": np.concatenate([np.arange(70), rng.integers(0, 70, 230)])},
    )
    yield "large numbers", 1e12 * rng.standard_normal((50, 250)), {}


@pytest.mark.parametrize("name, matrix, options", list(problems()), ids=[name for name, _, _ in problems()])
def test_no_assignment_has_a_larger_total(name, matrix, options):
    found = best_assignment(matrix, **options)
    assert found.total == pytest.approx(best_total(matrix, found.places), rel=1e-7)
    assert (np.bincount(found.image_of_caption, minlength=len(matrix)) <= found.places).all()
    given = matrix[found.image_of_caption, np.arange(matrix.shape[1])].astype(np.float64).sum()
    assert found.total == pytest.approx(given)


@pytest.mark.parametrize("spread", [1.0, 0.0])
def test_the_assigned_pair_leads_and_the_rest_stays(spread):
    matrix = spread * np.random.default_rng(6).uniform(-1, 1, (40, 200)).astype(np.float32)
    found = best_assignment(matrix)
    ours = assignment(matrix)
    assert ours.dtype == np.float32
    np.testing.assert_array_equal(ours.argmax(axis=0), found.image_of_caption)
    for image in range(40):
        own = np.flatnonzero(found.image_of_caption == image)
        first = np.argsort(-ours[image], kind="stable")[:5]
        np.testing.assert_array_equal(first, own[np.argsort(-matrix[image, own], kind="stable")])
    assigned = np.zeros(matrix.shape, dtype=bool)
    assigned[found.image_of_caption, np.arange(200)] = True
    np.testing.assert_array_equal(ours[~assigned], matrix[~assigned])
