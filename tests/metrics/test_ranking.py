"""Order, ties and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, ncs, rank_statistics, recall_at_k, semantic_recall, true_recall_at_k
from fivesentences.metrics.ranking import best_first

SIMILARITY = np.arange(20.0).reshape(2, 10)  # [images, captions]
PHI = np.arange(20.0).reshape(10, 2)  # [captions, images]


@pytest.mark.parametrize("n_items", [1, 3, 50, 63, 64, 65, 200, 501])
@pytest.mark.parametrize("levels", [1, 2, 5, 30, 10**6])
@pytest.mark.parametrize("absent", [0.0, 0.1, 0.95, 1.0])
def test_the_first_items_are_those_of_a_stable_sort(n_items, levels, absent):
    rng = np.random.default_rng(levels)
    scores = rng.integers(0, levels, size=(20, n_items)).astype(float)
    scores[rng.random(scores.shape) < absent] = -np.inf
    scores[0] = np.sort(scores[0])
    scores[1] = np.sort(scores[1])[::-1]
    wanted = np.argsort(-scores, axis=1, kind="stable")
    for depth in (1, 2, 7, 15, 16, 30, 49, 50, 80, 200, 600):
        np.testing.assert_array_equal(best_first(scores, depth), wanted[:, :depth])


def test_equal_scores_go_to_the_lower_index():
    assert recall_at_k(np.zeros((3, 3)), (1, 2, 3)) == pytest.approx({1: 100 / 3, 2: 200 / 3, 3: 100})
    assert rank_statistics(np.zeros((3, 3)), "t2i") == (2, 2)


def test_integers_and_booleans_are_matrices_too():
    similarity = np.eye(4, dtype=bool)
    assert recall_at_k(similarity, (1,)) == recall_at_k(similarity.astype(np.uint8), (1,)) == {1: 100}


def test_memory_maps_give_the_same_numbers(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "similarity.npy", rng.normal(size=(6, 30)).astype(np.float32))
    np.save(tmp_path / "phi.npy", rng.random((30, 6)).astype(np.float32))
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("similarity", "phi")]
    for direction in ("i2t", "t2i"):
        assert ncs(*mapped, direction=direction) == ncs(*map(np.array, mapped), direction=direction)


@pytest.mark.parametrize("metric", [recall_at_k, true_recall_at_k, rank_statistics])
@pytest.mark.parametrize(
    ("similarity", "image_of_caption", "sentence"),
    [
        (SIMILARITY.T, None, r"similarity is \[10, 2\] and looks transposed.*similarity\.T"),
        (SIMILARITY.T, [0] * 5 + [1] * 5, r"looks transposed; pass similarity\.T"),
        (SIMILARITY[:, :9], None, "9 captions are not equal blocks for 2 images; pass image_of_caption"),
        (SIMILARITY, [0] * 9, r"image_of_caption has shape \[9\] but there are 10 captions"),
        (SIMILARITY, [0] * 10, "image 1 has no caption"),
        (SIMILARITY, [0] * 9 + [2], r"image_of_caption\[9\] is 2; image indices run from 0 to 1"),
        (SIMILARITY[0], None, r"shape \[10\]"),
        (np.zeros((0, 0)), None, r"shape \[0, 0\]"),
        (SIMILARITY.astype(complex), None, "complex128"),
        (SIMILARITY.astype(str), None, "real numbers"),
    ],
)
def test_a_similarity_that_does_not_fit_is_refused_with_the_cure(metric, similarity, image_of_caption, sentence):
    with pytest.raises(InputError, match=sentence):
        metric(similarity, image_of_caption=image_of_caption)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_a_value_that_is_not_finite_is_located(value, direction):
    similarity, phi = SIMILARITY.copy(), PHI.copy()
    similarity[1, 7] = value
    with pytest.raises(InputError, match=r"similarity\[1, 7\] is -?(nan|inf) \(image 1, caption 7\)"):
        recall_at_k(similarity, direction=direction)
    with pytest.raises(InputError, match=r"similarity\[1, 7\]"):
        Evaluator(phi)(similarity)
    phi[7, 1] = value
    for formula in ("released", "paper"):
        with pytest.raises(InputError, match=r"phi\[7, 1\] is -?(nan|inf) \(image 1, caption 7\)"):
            ncs(SIMILARITY, phi, direction=direction, formula=formula)
        with pytest.raises(InputError, match=r"phi\[7, 1\]"):
            semantic_recall(SIMILARITY, phi, direction=direction, formula=formula)


@pytest.mark.parametrize("metric", [ncs, semantic_recall])
@pytest.mark.parametrize(
    ("phi", "sentence"),
    [
        (PHI.T, r"phi looks transposed.*transpose it"),
        (PHI[:9], r"phi is \[9, 2\] but similarity has 2 images and 10 captions: the caption file differs"),
        (np.zeros((12, 2)), "keep its first 10 rows"),
        (np.zeros((10, 3)), "the caption file differs"),
    ],
)
def test_a_phi_that_does_not_fit_is_refused_with_the_cure(metric, phi, sentence):
    with pytest.raises(InputError, match=sentence):
        metric(SIMILARITY, phi)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ks": ("1", "5")}, "holds '1'"),
        ({"ks": (0,)}, "at least 1"),
        ({"ks": (1.5,)}, "holds 1.5"),
        ({"ks": (True,)}, "holds True"),
        ({"ks": ()}, "list of cut-offs"),
        ({"ks": "15"}, "list of cut-offs"),
        ({"ks": 5}, "list of cut-offs"),
        ({"direction": "image"}, "expected 'i2t'"),
        ({"formula": "print"}, "expected 'released' or 'paper'"),
        ({"empty": "nan"}, "'zero' or 'skip' or 'error'"),
    ],
)
def test_an_argument_out_of_range_is_refused(arguments, sentence):
    for metric in (ncs, semantic_recall):
        with pytest.raises(InputError, match=sentence):
            metric(SIMILARITY, PHI, **arguments)


@pytest.mark.parametrize(
    ("metric", "arguments", "sentence"),
    [
        (ncs, {"m": 3}, "pass formula='paper'"),
        (ncs, {"m": 0, "formula": "paper"}, "at least 1"),
        (ncs, {"discount": "log", "formula": "paper"}, "eq. 5 has no discount"),
        (ncs, {"discount": "linear"}, "None or 'log'"),
        (ncs, {"ideal_pool": "all"}, "'gallery' or 'given_rows'"),
        (semantic_recall, {"m": 0}, "at least 1"),
        (semantic_recall, {"style": "any"}, "'recall' or 'vse_recall'"),
        (semantic_recall, {"weighting": "phi"}, "'hard' or 'soft'"),
    ],
)
def test_arguments_that_contradict_are_refused(metric, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        metric(SIMILARITY, PHI, **arguments)
