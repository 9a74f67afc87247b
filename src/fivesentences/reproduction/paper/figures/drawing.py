"""A figure before it is drawn, and the files that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.style
import pandas as pd
from matplotlib import rc_params_from_file
from matplotlib.figure import Figure

from fivesentences.errors import InputError, did_you_mean, say_once
from fivesentences.reproduction.categories.paper.notes import notes_on_left_out
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.style import ON_PHONES, STYLE, WIDTH
from fivesentences.reproduction.paper.figures.svg import slim
from fivesentences.reproduction.paper.numbers.results import Results
from fivesentences.reproduction.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.reproduction.paper.text.names import unique
from fivesentences.reproduction.paper.text.run_notes import notes_on_data, notes_on_missing
from fivesentences.reproduction.study.exhibits import ColumnSpec, FigureSpec
from fivesentences.storage import replacing, write_json

PAGE = 9.0  # inches: of text on a page, letter or A4
FIGURE_FORMATS = ("svg", "narrow.svg", "pdf", "csv", "json")
# Of each format: what makes two equal drawings differ.
UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "eps": {"Creator": None},
    "png": {"Software": None},
}


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes:
        data: Everything that is drawn, as one tidy table; it becomes the figure's CSV. Empty if the scale has nothing
            to draw.
        notes: Sentences below it.
        draw: Sets the size of an empty canvas and fills it; called only if there are data.
        message: What the data show, in the place of the study's title, which then begins the caption; empty: none.
    """

    data: pd.DataFrame
    notes: Sequence[str]
    draw: Callable[[Figure], None]
    message: str = ""


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


def write_drawing(
    stem: Path,
    title: str,
    caption: str,
    drawing: Drawing,
    formats: Sequence[str] = FIGURE_FORMATS,
    width: float = WIDTH,
    narrow: float = ON_PHONES,
    style: Path | None = None,
) -> None:
    """Write ``stem`` with the suffixes of the formats; of a drawing without data no picture, and an earlier one goes.

    Equal drawings give equal bytes: no date and no version is stored.

    Args:
        stem: Path without suffix.
        title: Its title.
        caption: Its caption.
        drawing: What is drawn.
        formats: Formats of matplotlib, narrow.svg (for phones, whatever the width), csv (its data), json (title,
            caption and notes).
        width: Inches; texts and marks keep their size.
        narrow: Inches of narrow.svg.
        style: A style file of matplotlib's or the name of one of its styles, on top of the package's.

    Raises:
        InputError: If the style file is not one of matplotlib's.
    """
    # Labels and names are shown as they are: of a dollar sign matplotlib would make a formula, or fail at one.
    own = {} if style is None else read_style(style)
    with matplotlib.style.context(["default", STYLE, own, {"text.parse_math": False}]):
        drawn = _on_canvas(drawing, width)
        if (height := drawn.get_figheight()) > PAGE and (width, style) != (WIDTH, None):
            say_once(
                f"{stem.name} is {height:.1f} inches high at a width of {width:g}, more than a page has ({PAGE:g}): "
                "a larger --width, or a style of narrower letters, makes it lower"
            )
        for suffix in (one for one in formats if one not in ("csv", "json")):
            path = stem.with_name(f"{stem.name}.{suffix}")
            if drawing.data.empty:
                path.unlink(missing_ok=True)
                continue
            canvas, form = (_on_canvas(drawing, narrow), "svg") if suffix == "narrow.svg" else (drawn, suffix)
            with replacing(path) as temporary:
                canvas.savefig(temporary, format=form, dpi=200, metadata=UNDATED.get(form, {}))
                if form == "svg":
                    temporary.write_text(slim(temporary.read_text(encoding="utf-8")), encoding="utf-8")
    if "csv" in formats:
        with replacing(stem.with_name(f"{stem.name}.csv")) as temporary:
            drawing.data.to_csv(temporary, index=False, lineterminator="\n")
    if "json" in formats:
        texts: dict[str, Any] = {"title": title, "caption": caption, "notes": list(drawing.notes)}
        texts |= {"message": drawing.message} if drawing.message else {}
        texts |= {"empty": True} if drawing.data.empty else {}
        write_json(stem.with_name(f"{stem.name}.json"), texts)


def _on_canvas(drawing: Drawing, width: float) -> Figure:
    canvas = Figure(figsize=(width, 1.0))
    if not drawing.data.empty:
        drawing.draw(canvas)
    return canvas


def read_style(path: Path) -> dict[str, Any]:
    """Read a style file of matplotlib's, or a style that comes with it; of a line that is no setting, matplotlib warns.

    Raises:
        InputError: If it is missing, or the value of a setting is not one that matplotlib takes.
    """
    if not path.is_file():
        if (name := str(path)) in matplotlib.style.available:
            # Their large texts would not fit the layouts.
            sizes = ("font.size", "fontsize", "labelsize", "titlesize")
            kept: Any = matplotlib.style.library[name]
            return {key: value for key, value in kept.items() if not key.endswith(sizes)}
        cure = did_you_mean(name, matplotlib.style.available)
        cure = cure or f"give FILE.mplstyle, or one of {', '.join(matplotlib.style.available)}"
        raise InputError("there is no such style file", where=path, cure=cure)
    try:
        settings: Any = rc_params_from_file(path, fail_on_error=True, use_default_template=False)
    except ValueError as error:  # includes what is not UTF-8
        raise InputError(f"not a style file of matplotlib's: {error}", where=path, cure="correct it") from None
    return dict(settings)
