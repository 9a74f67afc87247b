"""A figure before it is drawn, and the files that it becomes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.style
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from fivesentences.paper.context import Context
from fivesentences.paper.figures.style import STYLE, WIDTH
from fivesentences.paper.numbers.results import Results
from fivesentences.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.run_notes import notes_on_data, notes_on_missing
from fivesentences.paper.text.subspace_notes import notes_on_left_out
from fivesentences.storage import replacing, write_json
from fivesentences.study.exhibits import ColumnSpec, FigureSpec


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes:
        data: Everything that is drawn, as one tidy table; it becomes the figure's CSV. Empty if the scale has nothing
            to draw.
        notes: Sentences below it.
        draw: Sets the size of an empty canvas and fills it; called only if there are data.
    """

    data: pd.DataFrame
    notes: Sequence[str]
    draw: Callable[[Figure], None]


def notes_of_runs(
    spec: FigureSpec,
    context: Context,
    results: Results,
    how_to_read: Sequence[str],
    columns: Sequence[ColumnSpec] = (),
    shown: str = "Mean ± sample standard deviation",
) -> list[str]:
    """Say below a figure of runs what was measured, how it is read, and what is missing.

    Args:
        spec: The figure.
        context: Where it stands.
        results: Values of its runs.
        how_to_read: Sentences of this kind of figure.
        columns: The metrics that are explained.
        shown: Statistic that stands for the seeds of a row.
    """
    study, scale, rows = context.study, context.scale, context.rows(spec)
    made = [row for row in rows if row.left_out is None]
    return [
        *notes_on_data(study, rows, results, shown),
        *how_to_read,
        *(notes_on_metrics(columns, None, study, scale, made, results) if made and columns else []),
        *notes_on_inference(unique(row.inference for row in made)),
        *notes_on_missing(study, scale, rows),
        *spec.notes,
    ]


def notes_of_subspaces(spec: FigureSpec, context: Context, how_to_read: Sequence[str]) -> list[str]:
    """Say below a figure of category retrieval how it is read, and which rows are left out."""
    left_out = notes_on_left_out(context.subspace_rows(spec), context.scale, context.study)
    return [*how_to_read, *left_out, *spec.notes]


def write_drawing(stem: Path, title: str, caption: str, drawing: Drawing) -> None:
    """Write ``stem`` with the suffixes .png (200 dpi), .pdf, .csv (its data) and .json (title, caption and notes).

    Equal drawings give equal bytes: no date and no version is stored.
    """
    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    # Labels and names are shown as they are: of a dollar sign matplotlib would make a formula, or fail at one.
    with matplotlib.style.context(["default", STYLE, {"text.parse_math": False}]):
        canvas = Figure(figsize=(WIDTH, 1.0))
        if drawing.data.empty:
            canvas.text(0.5, 0.5, "Nothing of this figure is made at this scale.", ha="center", va="center")
        else:
            drawing.draw(canvas)
        with replacing(stem.with_name(f"{stem.name}.png")) as temporary:
            _write_png(canvas, temporary)
        with replacing(stem.with_name(f"{stem.name}.pdf")) as temporary:
            canvas.savefig(temporary, format="pdf", metadata=undated)
    with replacing(stem.with_name(f"{stem.name}.csv")) as temporary:
        drawing.data.to_csv(temporary, index=False, lineterminator="\n")
    texts = {"title": title, "caption": caption, "notes": list(drawing.notes)}
    write_json(stem.with_name(f"{stem.name}.json"), texts)


def _write_png(canvas: Figure, path: Path) -> None:
    """Write a third of the bytes that matplotlib would: git keeps some of these files."""
    drawn = io.BytesIO()
    canvas.savefig(drawn, dpi=200)
    picture = Image.open(drawn).convert("RGB")
    if picture.getcolors(16384):  # Lines and letters; wide scales of colour and photographs have more, and show steps.
        picture = picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    picture.save(path, "PNG", dpi=(200, 200), optimize=True)
