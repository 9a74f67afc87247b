"""Colours in grey and for the colour-blind, and places of names beside lines and points.

Distances are those of CAM02-UCS (Luo, Cui and Li 2006), in which about 1 can just be seen; colour blindness is
simulated as Machado et al. (2009) do, at full severity. Both by colorspacious.
"""

from __future__ import annotations

import itertools

import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colors
from matplotlib.figure import Figure
from PIL import Image

from colours import BLINDNESS, SEEN_BY_ALL, SEEN_IN_GREY, distance, luminance, told_apart
from fivesentences.paper.figures.canvas import places_beside, spread_apart
from fivesentences.paper.figures.curves import looks_of_losses, looks_of_models
from fivesentences.paper.figures.drawing import Drawing, write_drawing
from fivesentences.paper.figures.style import COLOURS, OTHERS_COLOUR, OWN_COLOUR, STYLE, looks_of_categories
from fivesentences.study.exhibits import CurvesFigure

PANEL = np.array([3.2, 2.5])


@pytest.mark.parametrize("by", ["everybody", *BLINDNESS, "grey"])
def test_everybody_tells_the_colours_apart_in_grey_too(by):
    found = {pair: distance(*pair, by) for pair in itertools.combinations(COLOURS, 2)}
    least = SEEN_IN_GREY if by == "grey" else SEEN_BY_ALL
    assert min(found.values()) >= least, min(found, key=found.__getitem__)


def test_text_in_the_colours_is_dark_enough_and_the_style_has_them():
    assert min(1.05 / (luminance(np.array(colors.to_rgb(one))) + 0.05) for one in COLOURS) >= 3  # WCAG 2.2, 1.4.11
    assert told_apart(OWN_COLOUR, OTHERS_COLOUR)
    with matplotlib.style.context(STYLE):
        drawn = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(map(colors.to_hex, drawn)) == tuple(map(colors.to_hex, COLOURS))


def test_the_measure_refuses_colours_that_are_alike_to_some():
    assert not told_apart("#D55E00", "#B07D00")  # the same to the green-blind
    assert not told_apart("#0072B2", "#A0527F")  # the same in grey
    assert distance("#ffffff", "#000000", "grey") == pytest.approx(100, abs=1)


def test_no_two_of_21_categories_look_alike_and_those_of_equal_dashes_differ_in_grey():
    looks = looks_of_categories([f"category {index}" for index in range(21)])
    for one, other in itertools.combinations(looks.values(), 2):
        grey = distance(one["color"], other["color"], "grey")
        assert one["linestyle"] != other["linestyle"] or grey >= SEEN_IN_GREY, (one, other)
        assert distance(one["color"], other["color"], "everybody") > 2


@pytest.mark.parametrize("lines", [[5], [5, 1, 1, 1, 1, 1, 1], [5] * 6, [1] * 12, [9], [2, 3]])
def test_no_two_lines_look_alike_and_a_model_has_one_colour(lines):
    pairs = [(f"m{model}", f"m{model} l{line}") for model, count in enumerate(lines) for line in range(count)]
    table = pd.DataFrame(pairs, columns=["model", "label"])
    looks = looks_of_models(pd.concat([table, table]))  # several points per line
    assert len({tuple(map(str, look.values())) for look in looks.values()}) == len(pairs)
    of_model = {model: {looks[label]["color"] for one, label in pairs if one == model} for model, _ in pairs}
    assert len(lines) == 1 or all(len(one) == 1 for one in of_model.values())


def test_only_the_line_that_differences_are_taken_to_is_dark():
    figure = CurvesFigure.model_construct(over="fraction", relative_to="hardest")
    data = pd.DataFrame({"label": [f"l{line}" for line in range(9)], "loss": ["hardest", *"abcdefgh"]})
    looks = looks_of_losses(figure, data)
    assert len({tuple(map(str, look.values())) for look in looks.values()}) == 9
    assert [look["color"] for look in looks.values()].count(looks["l0"]["color"]) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=11))
def test_labels_keep_their_order_and_distance_and_move_only_if_they_must(values):
    values = sorted(values)
    places = spread_apart(values, 0.09)
    assert (np.diff(places) >= 0.09 - 1e-9).all()
    assert min(places) >= 0 and max(places) <= 1 + 1e-9
    if (np.diff(values) >= 0.09).all():
        assert places == pytest.approx(values, abs=1e-9)


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
    assert not any(overlaps(text, mark) for text, mark in itertools.product(texts, marks))
    assert (places - sizes / 2 >= 0).all() and (places + sizes / 2 <= PANEL).all()
    assert np.abs(places - points).max() < 0.7


def test_a_lone_text_stands_right_beside_its_mark_and_points_in_one_place_are_no_mistake():
    place = places_beside(np.array([[1.0, 1.0]]), np.array([0.05]), np.array([[0.2, 0.1]]), PANEL)
    assert place[0] == pytest.approx([1.0 + 0.05 + 0.03 + 0.1, 1.0])
    sizes = np.array([[0.2, 0.1], [0.2, 0.1], [0.2, 0.1], [0.0, 0.0]])
    places = places_beside(np.ones((4, 2)), np.full(4, 0.05), sizes, PANEL)
    assert len(np.unique(places[:3], axis=0)) == 3
    assert places[3] == pytest.approx([1, 1])


@pytest.mark.parametrize("label", [r"$\frac{$", r"$\frac{1}{2}$", "US$ 1 and US$ 2", "_^{"])
def test_labels_are_drawn_as_they_are_and_not_as_formulas(label, tmp_path):
    def titled(**literal):
        data = pd.DataFrame({"label": [label]})
        return Drawing(data, [label], lambda canvas: canvas.suptitle(label, **literal))

    write_drawing(tmp_path / "plain", label, label, titled())
    write_drawing(tmp_path / "literal", label, label, titled(parse_math=False))
    for suffix in (".png", ".pdf", ".csv", ".json"):
        assert (tmp_path / f"plain{suffix}").read_bytes() == (tmp_path / f"literal{suffix}").read_bytes()


@pytest.mark.parametrize(("draws", "off_by"), [("plot", 8), ("imshow", 0)])
def test_a_picture_has_the_colours_that_matplotlib_gives_it(draws, off_by, tmp_path):
    values = np.random.default_rng(1).random((20, 20, 3))

    def draw(canvas):
        canvas.set_size_inches(3, 3)
        axes = canvas.subplots()
        axes.imshow(values, interpolation="bilinear") if draws == "imshow" else axes.plot(values[..., 0])

    write_drawing(tmp_path / "written", "", "", Drawing(pd.DataFrame({"a": [1]}), [], draw))
    with matplotlib.style.context(["default", STYLE]):
        draw(canvas := Figure())
        canvas.savefig(tmp_path / "drawn.png", dpi=200)
    written, drawn = (
        np.asarray(Image.open(tmp_path / name).convert("RGB"), int) for name in ("written.png", "drawn.png")
    )
    assert written.shape == drawn.shape and np.abs(written - drawn).max() <= off_by
