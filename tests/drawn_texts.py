"""Whether the texts of a drawn figure can be read: none hides another, and none leaves the canvas."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

HIDDEN = 0.12  # two texts may touch: share of the smaller one's box that may be hidden (boxes have room above letters)


def drawn(draw: Callable[[Any], None], width: float | None = None, look: Mapping[str, Any] | None = None) -> Any:
    """A canvas on which a drawing was made, as it is written to files.

    Args:
        draw: What draws it.
        width: Inches, if not the usual ones.
        look: Settings of a user's style.
    """
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from fivesentences.reproduction.paper.figures.style import STYLE, WIDTH

    with matplotlib.style.context([STYLE, dict(look or {})]):
        canvas = Figure(figsize=(width or WIDTH, 1.0))
        draw(canvas)
        FigureCanvasAgg(canvas).draw()
    return canvas


def misplaced(canvas: Any) -> list[str]:
    """Every text that leaves the canvas, and every pair of which one hides the other."""
    from matplotlib.text import Text

    # Of an annotation the text alone: its leader may cross others.
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in _texts(canvas)]
    across, down = canvas.bbox.width, canvas.bbox.height
    found = [
        f"'{text}' leaves the canvas"
        for text, box in boxes
        if box.x0 < -1 or box.y0 < -1 or box.x1 > across + 1 or box.y1 > down + 1
    ]
    for (one, box), (other, second) in itertools.combinations(boxes, 2):
        width = min(box.x1, second.x1) - max(box.x0, second.x0)
        height = min(box.y1, second.y1) - max(box.y0, second.y0)
        smaller = min(box.width * box.height, second.width * second.height)
        if width > 0 and height > 0 and width * height > HIDDEN * smaller:
            found.append(f"'{one}' and '{other}' overlap")
    return found


def _texts(canvas: Any) -> Iterator[Any]:
    """Visible texts; tick labels outside the limits of their axis, and of axes that are off, are not drawn."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    drawn_labels = {
        label
        for panel in canvas.axes
        if panel.axison
        for axis in (panel.xaxis, panel.yaxis)
        for tick in axis._update_ticks()
        for label in (tick.label1, tick.label2)
    }
    all_labels = {
        label
        for axis in canvas.findobj(Axis)
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
    }
    for text in canvas.findobj(Text):
        if text.get_visible() and text.get_text().strip() and (text not in all_labels or text in drawn_labels):
            yield text
