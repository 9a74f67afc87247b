"""A browser draws the small SVG of a figure as it draws matplotlib's own."""

from __future__ import annotations

import io

import matplotlib.style
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from fivesentences.reproduction.paper.figures.style import STYLE
from fivesentences.reproduction.paper.figures.svg import slim


@pytest.mark.browser
def test_shapes_are_those_of_matplotlib(browser, tmp_path):
    draw = np.random.default_rng(0)
    with matplotlib.style.context(["default", STYLE]):
        canvas = Figure(figsize=(6, 4))
        panels = canvas.subplots(2, 2).ravel()
        panels[0].bar([0, 1, 2], [1, 3, 2], hatch="/////", facecolor=("C1", 0.3), edgecolor="black")
        panels[1].scatter(*draw.normal(size=(2, 30)), s=draw.uniform(5, 60, 30), c=draw.choice(["C0", "C2"], 30))
        panels[1].annotate("", (0, 0), (1, 1), arrowprops={"arrowstyle": "->"})
        panels[2].imshow(draw.random((4, 4)))
        panels[3].plot([0.0, 1.5, 2.25], [100, 20, 30.0], marker="D", linestyle="--")
        panels[3].fill_between([0, 1, 2], [10, 20, 30], alpha=0.4)
        panels[3].set_yscale("log")
        for panel in panels:
            panel.tick_params(labelleft=False, labelbottom=False, which="both")
        raw = io.StringIO()
        canvas.savefig(raw, format="svg")
    page = browser.new_page(viewport={"width": 700, "height": 500})
    pictures = []
    for name, svg in (("raw", raw.getvalue()), ("small", slim(raw.getvalue()))):
        path = tmp_path / f"{name}.svg"
        path.write_text(svg, encoding="utf-8")
        page.goto(path.as_uri())
        pictures.append(np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), dtype=int))
    page.close()
    raw_size, small_size = ((tmp_path / f"{name}.svg").stat().st_size for name in ("raw", "small"))
    assert small_size < 0.6 * raw_size
    assert len(np.unique(pictures[0].reshape(-1, 3), axis=0)) > 20
    # Numbers of two decimals move an edge by a hundredth of a point.
    assert np.mean(np.abs(pictures[0] - pictures[1]) > 40) < 1e-3
