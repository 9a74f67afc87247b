"""Category mAP and R-precision against plain loops, torchmetrics and trec_eval."""

from __future__ import annotations

from itertools import permutations

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, Qrel, Rprec, ScoredDoc
from sklearn.metrics import average_precision_score

from fivesentences.errors import InputError
from fivesentences.metrics.category import category_map, expected_average_precision, r_precision

DIRECTIONS = ("i2t", "t2i")


def made(without=False):
    """A similarity, and the categories of images and of captions; perhaps some without one."""
    rng = np.random.default_rng(3)
    similarity, images, captions = rng.normal(size=(12, 60)), *(rng.integers(0, 4, n).tolist() for n in (12, 60))
    if without:
        images[0] = images[4] = captions[3] = captions[8] = None
    return similarity, images, captions


@pytest.mark.parametrize("texts", [60, 17])  # any number of texts fits categories of their own
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_means_equal_trec_eval_which_divides_by_all_that_are_relevant(direction, texts):
    similarity, images, captions = made()
    similarity, captions = similarity[:, :texts], captions[:texts]
    scores, of_query, of_item = similarity, images, captions
    if direction == "t2i":
        scores, of_query, of_item = similarity.T, captions, images
    pairs = [(str(q), str(i)) for q in range(len(of_query)) for i in range(len(of_item))]
    relevant = [int(of_query[int(q)] == of_item[int(i)]) for q, i in pairs]
    judged = [Qrel(*pair, value) for pair, value in zip(pairs, relevant, strict=True)]
    run = [ScoredDoc(q, i, float(scores[int(q), int(i)])) for q, i in pairs]
    theirs = ir_measures.calc_aggregate([AP, AP @ 5, Rprec], judged, run)
    given = similarity, images, captions, direction
    assert category_map(*given) == pytest.approx(theirs[AP], abs=1e-6)
    assert category_map(*given, 5, divide_by="relevant") == pytest.approx(theirs[AP @ 5], abs=1e-6)
    assert r_precision(*given) == pytest.approx(theirs[Rprec], abs=1e-6)


def test_at_r_no_relevant_item_further_down_counts():
    # Four items, two relevant at places 1 and 4: precision 1 at place 1; place 4 is beyond R = 2.
    similarity, captions = np.array([[4.0, 3.0, 2.0, 1.0]]), ["a", "b", "b", "a"]
    assert category_map(similarity, ["a"], captions, "i2t") == pytest.approx((1 + 2 / 4) / 2)
    assert category_map(similarity, ["a"], captions, "i2t", "R") == pytest.approx(1 / 2)
    assert category_map(similarity, ["a"], captions, "i2t", "R", divide_by="found") == pytest.approx(1)
    assert r_precision(similarity, ["a"], captions) == pytest.approx(1 / 2)


def test_a_caption_has_its_image_s_category_unless_told():
    rng = np.random.default_rng(4)
    similarity, images = rng.normal(size=(6, 12)), ["a", "b", "a", "c", "b", "a"]
    for direction in DIRECTIONS:
        wanted = category_map(similarity, images, np.repeat(images, 2), direction)
        assert category_map(similarity, images, direction=direction) == wanted
        pairing = rng.permutation(np.repeat(np.arange(6), 2))
        wanted = category_map(similarity, images, np.array(images)[pairing], direction)
        assert category_map(similarity, images, direction=direction, image_of_caption=pairing) == wanted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_categories": [0] * 11}, "image_categories has 11"),
        ({"caption_categories": [0] * 59}, "caption_categories has 59"),
        ({"image_categories": np.zeros((12, 2))}, r"image_categories is \[12, 2\]"),
        ({"caption_categories": ["0"] * 60}, "nothing is relevant"),
        ({"similarity": np.zeros((60, 12))}, r"similarity is \[60, 12\].*similarity\.T"),
        ({"similarity": np.full((12, 60), np.nan)}, r"similarity\[0, 0\] is nan"),
        ({"cutoff": 0}, "cutoff holds 0"),
        ({"divide_by": "all"}, "divide_by is 'all'"),
    ],
)
def test_what_does_not_fit_is_said(change, message):
    similarity, images, captions = made()
    given = {"similarity": similarity, "image_categories": images, "caption_categories": captions, **change}
    with pytest.raises(InputError, match=message):
        category_map(**given)


@pytest.mark.slow
@pytest.mark.parametrize(("relevant", "gallery"), [(0, 3), (1, 1), (1, 5), (2, 6), (6, 6)])
def test_the_expectation_over_random_rankings_is_the_mean_over_every_order(relevant, gallery):
    labels = [1] * relevant + [0] * (gallery - relevant)
    scores = [average_precision_score(labels, order) if relevant else 0.0 for order in permutations(range(gallery))]
    assert expected_average_precision([relevant], gallery)[0] == pytest.approx(np.mean(scores), abs=1e-12)
