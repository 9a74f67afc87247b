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

from colours import BLINDNESS, SEEN_BY_ALL, SEEN_IN_GREY, distance, luminance, told_apart
from fivesentences.errors import InputError
from fivesentences.reproduction.paper.figures.canvas import panels, places_beside, spread_apart
from fivesentences.reproduction.paper.figures.curves import looks_of_losses, looks_of_models
from fivesentences.reproduction.paper.figures.drawing import FIGURE_FORMATS, Drawing, write_drawing
from fivesentences.reproduction.paper.figures.style import (
    COLOURS,
    OTHERS_COLOUR,
    OWN_COLOUR,
    STYLE,
    looks_of_categories,
)
from fivesentences.reproduction.paper.tables.writing import read_texts
from fivesentences.reproduction.study.exhibits import CurvesFigure

PANEL = np.array([3.2, 2.5])


@pytest.fixture(autouse=True)
def in_the_style():
    with matplotlib.style.context(STYLE):
        yield


@pytest.mark.parametrize("by", ["everybody", *BLINDNESS, "grey"])
def test_everybody_tells_the_colours_apart_in_grey_too(by):
    found = {pair: distance(*pair, by) for pair in itertools.combinations(COLOURS, 2)}
    least = SEEN_IN_GREY if by == "grey" else SEEN_BY_ALL
    assert min(found.values()) >= least, min(found, key=found.__getitem__)


def test_text_in_the_colours_is_dark_enough_and_the_style_has_them():
    assert min(1.05 / (luminance(np.array(colors.to_rgb(one))) + 0.05) for one in COLOURS) >= 3  # WCAG 2.2, 1.4.11
    assert told_apart(OWN_COLOUR, OTHERS_COLOUR)
    assert len(matplotlib.rcParams["axes.prop_cycle"]) == len(COLOURS)


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


@pytest.mark.slow
@pytest.mark.parametrize("label", [r"$\frac{$", r"$\frac{1}{2}$", "US$ 1 and US$ 2", "_^{"])
def test_labels_are_drawn_as_they_are_and_not_as_formulas(label, tmp_path):
    def titled(**literal):
        data = pd.DataFrame({"label": [label]})
        return Drawing(data, [label], lambda canvas: canvas.suptitle(label, **literal))

    write_drawing(tmp_path / "plain", label, label, titled())
    write_drawing(tmp_path / "literal", label, label, titled(parse_math=False))
    for suffix in (".svg", ".pdf", ".csv", ".json"):
        assert (tmp_path / f"plain{suffix}").read_bytes() == (tmp_path / f"literal{suffix}").read_bytes()


def test_a_style_file_and_a_width_change_a_figure_and_a_wrong_one_is_named(tmp_path):
    def draw(canvas):
        (panel,) = panels(canvas, 1, 1, 2)
        panel.plot([0, 1], [0, 1], color=COLOURS[0])

    def written(stem, **look):
        write_drawing(tmp_path / stem, "", "", Drawing(pd.DataFrame({"a": [1]}), [], draw), ["svg"], **look)
        return (tmp_path / f"{stem}.svg").read_text(encoding="utf-8")

    style = tmp_path / "own.mplstyle"
    style.write_text('axes.prop_cycle: cycler("color", ["123456"])\n', encoding="utf-8")
    plain, own = written("plain"), written("own", style=style, width=3.4)
    assert plain == written("again") and "#123456" not in plain
    assert "#123456" in own and f'width="{72 * 3.4:g}pt"' in own
    style.write_text("font.size: large one\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.mplstyle.*large one"):
        written("wrong", style=style)
    with pytest.raises(InputError, match=r"none\.mplstyle"):
        written("absent", style=tmp_path / "none.mplstyle")


def test_of_no_data_no_picture_is_drawn_and_an_earlier_one_goes(tmp_path):
    def draw(canvas):
        panels(canvas, 1, 1, 2)

    for data in (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": []})):
        write_drawing(tmp_path / "f", "T", "C", Drawing(data, [], draw, "B is larger" if len(data) else ""))
        texts = read_texts(tmp_path / "f.json")
        shown = ("T", "C") if data.empty else ("B is larger", "T. C")
        assert (texts.heading, texts.below, texts.empty) == (*shown, data.empty)
        assert [(tmp_path / f"f.{form}").exists() for form in FIGURE_FORMATS] == [not data.empty] * 3 + [True] * 2
