"""Category mAP and R-precision against plain loops, torchmetrics and trec_eval."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd
import pytest
import torch
from ir_measures import AP, RR, Qrel, Rprec, ScoredDoc
from torchmetrics.functional.retrieval import retrieval_average_precision, retrieval_r_precision

from fivesentences.errors import InputError
from fivesentences.metrics import ranking as ranking_module
from fivesentences.metrics import stable_order as order_module
from fivesentences.metrics.category import DIVISORS, category_map, category_values, r_precision

DIRECTIONS = ("i2t", "t2i")


def relevance_of_queries(similarity, images, captions, direction):
    """Per query whether the first item, the second and so on is relevant."""
    if direction == "t2i":
        similarity, images, captions = similarity.T, captions, images
    for scores, category in zip(similarity, images, strict=True):
        order = sorted(range(len(scores)), key=lambda item: (-float(scores[item]), item))
        yield [category is not None and captions[item] == category for item in order]


def slow_map(similarity, images, captions, direction, cutoff, divide_by):
    values = []
    for relevant in relevance_of_queries(similarity, images, captions, direction):
        everything = sum(relevant)
        end = {None: len(relevant), "R": everything}.get(cutoff, cutoff)
        hits = [sum(relevant[: place + 1]) / (place + 1) for place in range(min(end, len(relevant))) if relevant[place]]
        rule = divide_by or ("relevant" if cutoff == "R" else "found")
        size = {"found": len(hits), "relevant": everything, "possible": min(everything, end)}[rule]
        values.append(None if not everything else sum(hits) / size if size else 0.0)
    return values


def slow_r_precision(similarity, images, captions, direction):
    found = relevance_of_queries(similarity, images, captions, direction)
    return [sum(relevant[: sum(relevant)]) / sum(relevant) if sum(relevant) else None for relevant in found]


def made(kind):
    rng = np.random.default_rng(sum(map(ord, kind)))
    n_images, n_captions = (1, 5) if kind == "one image" else (1, 1) if kind == "one pair" else (12, 60)
    similarity = rng.normal(size=(n_images, n_captions))
    images, captions = rng.integers(0, 4, n_images).tolist(), rng.integers(0, 4, n_captions).tolist()
    captions[0] = images[0]
    if kind == "ties":
        similarity = np.round(similarity)
    if kind == "signed zeros":
        similarity = rng.choice([0.0, -0.0, 1.0], size=similarity.shape)
    if kind == "all equal":
        similarity = np.zeros_like(similarity)
    if kind in ("float16", "float32"):
        similarity = similarity.astype(kind)
    if kind == "words":
        images, captions = [f"class {c}" for c in images], [f"class {c}" for c in captions]
    if kind == "alone in a category":
        images[3], captions[7] = 17, 18
    if kind == "without a category":
        images[0] = images[4] = captions[3] = captions[8] = None
    if kind == "one category":
        images, captions = [5] * n_images, [5] * n_captions
    if kind == "uneven":
        similarity, captions = similarity[:, :17], captions[:17]
    return similarity, images, captions


KINDS = [
    "random",
    "one image",
    "one pair",
    "ties",
    "signed zeros",
    "all equal",
    "float16",
    "float32",
    "words",
    "alone in a category",
    "without a category",
    "one category",
    "uneven",
]


@pytest.fixture(params=["blocks of any size", "small blocks"])
def block_size(request, monkeypatch):
    if request.param == "small blocks":
        monkeypatch.setattr(ranking_module, "ELEMENTS_PER_BLOCK", 1)
        monkeypatch.setattr(ranking_module, "QUERIES_PER_BLOCK", 5)
        monkeypatch.setattr(order_module, "ELEMENTS_AT_ONCE", 130)


def compare(ours, per_query, wanted):
    filled = [0.0 if value is None else value for value in wanted]
    np.testing.assert_allclose(per_query, filled, atol=1e-12, rtol=0)
    assert ours == pytest.approx(np.mean(filled), abs=1e-12)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_form_equals_its_definition(kind, direction):
    similarity, images, captions = made(kind)
    given = similarity, images, captions, direction
    for cutoff in (None, "R", 3, 1000):
        for divide_by in (None, *DIVISORS):
            ours = [category_map(*given, cutoff, divide_by=divide_by, per_query=each) for each in (False, True)]
            compare(*ours, slow_map(*given, cutoff, divide_by))
    compare(r_precision(*given), r_precision(*given, per_query=True), slow_r_precision(*given))


def test_all_numbers_at_once_are_the_single_ones():
    similarity, images, captions = made("alone in a category")
    values = category_values(similarity, images, captions, (None, "R", 7))
    assert set(values) == {(name, side) for name in ("mAP", "mAP@R", "mAP@7", "R-P") for side in DIRECTIONS}
    for (name, side), (found, nothing) in values.items():
        given = similarity, images, captions, side
        cutoff = {"mAP": None, "mAP@R": "R", "mAP@7": 7}.get(name)
        wanted = r_precision(*given) if name == "R-P" else category_map(*given, cutoff)
        assert found.mean() == pytest.approx(wanted)
        assert np.flatnonzero(nothing).tolist() == ([3] if side == "i2t" else [7])


@pytest.mark.parametrize("cutoff", [None, 1, 5, 20])
def test_queries_equal_torchmetrics_which_divides_by_what_it_finds(cutoff):
    similarity, images, captions = made("random")
    ours = category_map(similarity, images, captions, "i2t", cutoff, per_query=True)
    precision = r_precision(similarity, images, captions, "i2t", per_query=True)
    for query, category in enumerate(images):
        # Positive scores: torchmetrics takes an item with another score for not retrieved.
        scores, target = torch.tensor(np.exp(similarity[query])), torch.tensor([c == category for c in captions])
        assert ours[query] == pytest.approx(float(retrieval_average_precision(scores, target, cutoff)), abs=1e-6)
        assert precision[query] == pytest.approx(float(retrieval_r_precision(scores, target)), abs=1e-6)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_means_equal_trec_eval_which_divides_by_all_that_are_relevant(direction):
    similarity, images, captions = made("random")
    scores, of_query, of_item = similarity, images, captions
    if direction == "t2i":
        scores, of_query, of_item = similarity.T, captions, images
    pairs = [(str(q), str(i)) for q in range(len(of_query)) for i in range(len(of_item))]
    relevant = [int(of_query[int(q)] == of_item[int(i)]) for q, i in pairs]
    judged = [Qrel(*pair, value) for pair, value in zip(pairs, relevant, strict=True)]
    run = [ScoredDoc(q, i, float(scores[int(q), int(i)])) for q, i in pairs]
    theirs = ir_measures.calc_aggregate([AP, AP @ 5, Rprec, RR], judged, run)
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


def test_categories_may_be_a_pandas_column_with_gaps():
    similarity, images, captions = made("without a category")
    column = pd.Series([None if c is None else f"class {c}" for c in images], dtype="str")
    words = pd.Series([None if c is None else f"class {c}" for c in captions], dtype="category")
    for direction in DIRECTIONS:
        ours = category_map(similarity, column, words, direction)
        assert ours == category_map(similarity, images, captions, direction)


def test_a_query_without_relevant_items_counts_zero_or_is_left_out_or_refused():
    similarity, images, captions = made("alone in a category")
    for metric in (category_map, r_precision):
        zero = metric(similarity, images, captions, per_query=True)
        skip = metric(similarity, images, captions, per_query=True, empty="skip")
        assert zero[3] == 0
        assert np.isnan(skip[3])
        others = np.arange(len(images)) != 3
        np.testing.assert_array_equal(zero[others], skip[others])
        assert metric(similarity, images, captions, empty="skip") == pytest.approx(zero[others].mean())
        with pytest.raises(InputError, match=r"1 of 12 queries .* the first is image 3"):
            metric(similarity, images, captions, empty="error")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_categories": [0] * 11}, "image_categories has 11 values but there are 12 images"),
        ({"caption_categories": [0] * 59}, "caption_categories has 59 values but there are 60 captions"),
        ({"image_categories": np.zeros((12, 2))}, r"image_categories is \[12, 2\]; give one category an item"),
        ({"caption_categories": ["0"] * 60}, "nothing is relevant"),
        ({"caption_categories": [None] * 60}, "nothing is relevant"),
        ({"similarity": np.zeros((60, 12))}, r"similarity is \[60, 12\] .*looks transposed; pass similarity.T"),
        ({"similarity": np.zeros((60, 12)), "caption_categories": None}, "looks transposed"),
        ({"similarity": np.zeros((12, 61)), "caption_categories": None}, "not equal blocks"),
        ({"similarity": np.zeros(12)}, "a matrix of real numbers"),
        ({"similarity": np.full((12, 60), "a")}, "a matrix of real numbers"),
        ({"similarity": np.full((12, 60), np.nan)}, r"similarity\[0, 0\] is nan"),
        ({"cutoff": 0}, "cutoff holds 0"),
        ({"cutoff": "r"}, "cutoff holds 'r'"),
        ({"divide_by": "all"}, "divide_by is 'all'"),
        ({"direction": ""}, "direction is ''"),
        ({"empty": None}, "empty is None"),
    ],
)
def test_what_does_not_fit_is_said(change, message):
    similarity, images, captions = made("random")
    given = {"similarity": similarity, "image_categories": images, "caption_categories": captions, **change}
    with pytest.raises(InputError, match=message):
        category_map(**given)
