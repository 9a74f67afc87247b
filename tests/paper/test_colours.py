"""Figures on paper: in grey, for the colour-blind, in type that can be read, with the fonts inside.

Distances are those of CAM02-UCS (Luo, Cui and Li 2006), in which about 1 can just be seen; colour blindness is
simulated as Machado et al. (2009) do, at full severity. Both by colorspacious.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import colorspacious
import matplotlib.style
import numpy as np
import pypdf
import pytest
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from drawn_texts import misplaced
from fivesentences.paper.figures.canvas import COLOURS, OTHERS_COLOUR, OWN_COLOUR, STYLE, WIDTH
from fivesentences.paper.figures.lines import looks_of_categories

# How far apart two colours must be that nothing but the colour tells apart.
SEEN_BY_ALL, SEEN_IN_GREY = 12.0, 6.5
BLINDNESS = ("deuteranomaly", "protanomaly", "tritanomaly")
SMALLEST_TEXT = 6.0  # points


def luminance(rgb: np.ndarray) -> np.ndarray:
    """Relative luminance of sRGB colours, as WCAG defines it."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def grey(rgb: np.ndarray) -> np.ndarray:
    """The grey of the same luminance, as a printer without colours prints it."""
    light = luminance(rgb)
    level = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.repeat(level[..., None], 3, axis=-1)


def seen(rgb: np.ndarray, by: str) -> np.ndarray:
    """Colours as they are, to somebody with a colour blindness, or in grey print."""
    if by in BLINDNESS:
        space = {"name": "sRGB1+CVD", "cvd_type": by, "severity": 100}
        return np.clip(colorspacious.cspace_convert(rgb, space, "sRGB1"), 0, 1)
    return grey(rgb) if by == "grey" else rgb


def distance(one: Any, other: Any, by: str) -> float:
    """CAM02-UCS distance of two colours."""
    pair = [seen(np.array(colors.to_rgb(colour)), by) for colour in (one, other)]
    return float(colorspacious.deltaE(*pair, input_space="sRGB1"))


def told_apart(one: Any, other: Any) -> bool:
    """Whether colour alone tells two series apart, for everybody and in grey."""
    by_all = all(distance(one, other, by) >= SEEN_BY_ALL for by in ("everybody", *BLINDNESS))
    return by_all and distance(one, other, "grey") >= SEEN_IN_GREY


@dataclass(frozen=True)
class Series:
    """What tells the lines, points or areas of one axes apart.

    Attributes:
        colour: On white, without transparency.
        style: Anything else: form, dashes, marker, hatch.
    """

    colour: str
    style: tuple[Any, ...]


def over_white(colour: Any) -> str:
    """A colour that may let white through, as hex."""
    red, green, blue, alpha = colors.to_rgba(colour)
    return colors.to_hex([alpha * part + 1 - alpha for part in (red, green, blue)])


def series_of(axes: Axes) -> Iterator[Series]:
    """Every line, point and area of data; not rules, tints, annotations or pictures."""
    for line in axes.lines:
        if len(np.unique(line.get_xdata())) == 1 and line.get_linestyle() != "None" and line.get_marker() == "None":
            continue  # a rule or whisker
        marker = (line.get_marker(), over_white(line.get_markerfacecolor())) if line.get_marker() != "None" else ()
        dashes = str(line._unscaled_dash_pattern) if line.get_linestyle() != "None" else "no line"
        yield Series(over_white(line.get_color()), ("line", dashes, marker[:1], marker[1:] == ("#ffffff",)))
    for patch in axes.patches:
        if patch.get_fill() and (patch.get_alpha() or 1) < 0.25:
            continue  # a tint below an outline, which is a series of its own
        form = type(patch).__name__
        colour = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
        dashes = str(patch._unscaled_dash_pattern)
        yield Series(over_white(colour), (form, patch.get_fill(), dashes, patch.get_hatch()))


@pytest.fixture(scope="module")
def canvases(everything) -> dict[str, Figure]:
    """Every figure, drawn."""
    found = {}
    with matplotlib.style.context(["default", STYLE]):
        for name in everything.plan.figures:
            drawing = everything.drawing(name)
            found[name] = Figure(figsize=(WIDTH, 1.0))
            FigureCanvasAgg(found[name])
            if drawing.draw is not None:
                drawing.draw(found[name])
    return found


@pytest.mark.parametrize("by", ["everybody", *BLINDNESS])
def test_everybody_tells_the_colours_apart(by):
    found = {pair: distance(*pair, by) for pair in itertools.combinations(COLOURS, 2)}
    assert min(found.values()) >= SEEN_BY_ALL, min(found, key=found.__getitem__)


def test_grey_print_keeps_the_colours_apart_and_text_in_them_is_dark_enough():
    found = {pair: distance(*pair, "grey") for pair in itertools.combinations(COLOURS, 2)}
    assert min(found.values()) >= SEEN_IN_GREY, min(found, key=found.__getitem__)
    contrast = [1.05 / (luminance(np.array(colors.to_rgb(colour))) + 0.05) for colour in COLOURS]
    assert min(contrast) >= 3  # WCAG 2.2, 1.4.11 for graphical objects
    assert told_apart(OWN_COLOUR, OTHERS_COLOUR)


def test_lines_drawn_in_the_style_have_its_colours():
    with matplotlib.style.context(STYLE):
        drawn = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(map(colors.to_hex, drawn)) == tuple(map(colors.to_hex, COLOURS))


def test_the_measure_refuses_colours_that_are_alike_to_some():
    assert not told_apart("#D55E00", "#B07D00")  # the same to the green-blind
    assert not told_apart("#0072B2", "#A0527F")  # the same in grey
    assert distance("#ffffff", "#000000", "grey") == pytest.approx(100, abs=1)


def test_no_two_series_of_a_figure_share_both_style_and_grey(canvases):
    checked = 0
    for name, canvas in canvases.items():
        for axes in canvas.axes:
            for one, other in itertools.combinations(set(series_of(axes)), 2):
                if one.colour == other.colour or one.style != other.style or one.style[0] == "Rectangle":
                    continue
                checked += 1
                assert told_apart(one.colour, other.colour), (name, axes.get_title(loc="left"), one, other)
    assert checked > 10


def test_categories_of_equal_dashes_differ_in_grey():
    looks = looks_of_categories([f"category {index}" for index in range(21)])
    for one, other in itertools.combinations(looks.values(), 2):
        assert one.dashes != other.dashes or distance(one.colour, other.colour, "grey") >= SEEN_IN_GREY, (one, other)


def test_no_text_of_a_figure_is_too_small_to_read(canvases):
    for name, canvas in canvases.items():
        assert canvas.get_figwidth() == WIDTH
        for text in canvas.findobj(Text):
            if text.get_visible() and text.get_text().strip():
                assert text.get_fontsize() >= SMALLEST_TEXT, (name, text.get_text())


def test_no_text_of_a_figure_is_cut_off_at_its_edge(canvases):
    for name, canvas in canvases.items():
        canvas.canvas.draw()
        assert not [one for one in misplaced(canvas) if "leaves" in one], name


def test_every_font_of_a_figure_is_inside_as_truetype(everything, everything_written):
    for name in everything.plan.figures:
        reader = pypdf.PdfReader(everything_written / f"{name}.pdf")
        assert reader.metadata is None or "/CreationDate" not in reader.metadata
        fonts = [font.get_object() for page in reader.pages for font in page["/Resources"]["/Font"].values()]
        assert fonts, name
        for font in fonts:
            inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
            assert "/FontFile2" in inner["/FontDescriptor"].get_object(), (name, font["/BaseFont"])


def test_the_machines_own_matplotlibrc_changes_no_figure(everything, everything_written, tmp_path):
    name = "sched_sam/activation"
    with matplotlib.rc_context({"font.size": 20, "lines.color": "red", "axes.facecolor": "black", "pdf.fonttype": 3}):
        everything.write(name, tmp_path / name)
    for suffix in ("png", "pdf"):
        assert (tmp_path / f"{name}.{suffix}").read_bytes() == (everything_written / f"{name}.{suffix}").read_bytes()
