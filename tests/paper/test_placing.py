from __future__ import annotations

import itertools

import numpy as np
import pytest

from fivesentences.paper.figures.placing import places_beside

PANEL = (3.2, 2.5)


def overlaps(first, second):
    """Whether two boxes, each a pair of corners, share an area."""
    return bool((np.minimum(first[1], second[1]) - np.maximum(first[0], second[0]) > 1e-9).all())


@pytest.mark.parametrize("seed", range(8))
def test_texts_hide_no_mark_and_no_other_text_and_stay_inside(seed):
    draw = np.random.default_rng(seed)
    points = draw.random((19, 2)) * [2.8, 2.2] + 0.15
    radii, sizes = np.full(19, 0.035), np.column_stack([draw.choice([0.11, 0.17, 0.23], 19), np.full(19, 0.1)])
    places = places_beside(points, radii, sizes, PANEL)
    texts = list(zip(places - sizes / 2, places + sizes / 2, strict=True))
    marks = list(zip(points - radii[:, None], points + radii[:, None], strict=True))
    assert not any(overlaps(*pair) for pair in itertools.combinations(texts, 2))
    assert not any(overlaps(text, mark) for text, mark in itertools.product(texts, marks) if mark is not text)
    assert (places - sizes / 2 >= 0).all() and (places + sizes / 2 <= PANEL).all()
    assert np.abs(places - points).max() < 0.7


def test_a_lone_text_stands_right_beside_its_mark():
    place = places_beside(np.array([[1.0, 1.0]]), np.array([0.05]), np.array([[0.2, 0.1]]), PANEL)
    assert place[0] == pytest.approx([1.0 + 0.05 + 0.03 + 0.1, 1.0])


def test_points_in_one_place_and_marks_without_text_are_no_mistake():
    points, sizes = np.ones((4, 2)), np.array([[0.2, 0.1], [0.2, 0.1], [0.2, 0.1], [0.0, 0.0]])
    places = places_beside(points, np.full(4, 0.05), sizes, PANEL)
    assert len(np.unique(places[:3], axis=0)) == 3
    assert places[3] == pytest.approx([1, 1])
