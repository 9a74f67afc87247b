"""A figure before it is drawn, and the files that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.figures.canvas import STYLE, WIDTH
from fivesentences.storage import replacing, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes:
        data: Everything that is drawn, as one tidy table; it becomes the figure's CSV.
        notes: Sentences below it.
        draw: Sets the size of an empty canvas and fills it; None where the scale has nothing to draw.
    """

    data: pd.DataFrame
    notes: Sequence[str]
    draw: Callable[[Canvas], None] | None


def write_drawing(stem: Path, title: str, caption: str, drawing: Drawing) -> None:
    """Write ``stem`` with the suffixes .png (200 dpi), .pdf, .csv (its data) and .json (title, caption and notes).

    Equal drawings give equal bytes: no date and no version is stored.
    """
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    png, pdf, csv, json = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "pdf", "csv", "json"))
    # Labels and names are shown as they are: of a dollar sign matplotlib would make a formula, or fail at one.
    style = matplotlib.style.context(["default", STYLE, {"text.parse_math": False}])
    with style, replacing(png) as new_png, replacing(pdf) as new_pdf, replacing(csv) as new_csv:
        canvas = Figure(figsize=(WIDTH, 1.0))
        (drawing.draw or _draw_nothing)(canvas)
        FigureCanvasAgg(canvas)
        canvas.savefig(new_png, format="png", dpi=200, metadata={"Software": None})
        FigureCanvasPdf(canvas)
        canvas.savefig(new_pdf, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
        drawing.data.to_csv(new_csv, index=False, lineterminator="\n")
    write_json(json, {"title": title, "caption": caption, "notes": list(drawing.notes)})


def read_texts(path: Path) -> tuple[str, str, list[str]]:
    """Title, caption and notes of a written figure, from its .json.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    texts = read_json(path, "draw the figure again")
    try:
        return str(texts["title"]), str(texts["caption"]), [str(note) for note in texts["notes"]]
    except (KeyError, TypeError):
        raise InputError(f"{path}: these are not the texts of a figure; draw it again.") from None


def _draw_nothing(canvas: Canvas) -> None:
    canvas.text(0.5, 0.5, "Nothing of this figure is made at this scale.", ha="center", va="center")
