"""Figure 5 of sched_sam: margins between categories at some epochs, beside a projection of the final subspace."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.corpus.parquet import read_frame
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, GRID, RULE, SOFT, WIDTH, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import Look, draw_legend, legend_height, looks_of_categories
from fivesentences.paper.figures.placing import places_beside
from fivesentences.paper.numbers.histories import CATEGORY_MARGINS, of_run, read_category_margins
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.text.names import listed
from fivesentences.paper.text.subspace_notes import EPOCHS, notes_on_left_out, place_of
from fivesentences.study.exhibits import SubspaceFigure
from fivesentences.study.expand import SubspaceRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

MARGINS = ["epoch", "anchor", "negative", "mean_margin", "pairs"]
POINTS = ["document", "category", "modality", "x", "y"]
COLUMNS = ["what", *MARGINS, *POINTS]
MARKERS = {"image": "o", "text": "^"}
# Inches: room above and between maps, of the colour bar, between the two halves, and of the legend of markers.
ABOVE, TITLE, GAP, BAR, BETWEEN, MARKS = 0.26, 0.2, 0.1, 0.5, 0.22, 0.22
LABEL, BOLD = 6.5, 1.18  # points; how much wider bold type is
SMALL, LEAST = 0.15, 0.22  # inches: a cell this wide has its number in small, or in larger, type


def subspace_figure(spec: SubspaceFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the margins and the projection of one run.

    Raises:
        InputError: If the run recorded no margins between categories, or a file has other columns.
    """
    rows = context.subspace_rows(spec)
    made = [row for row in rows if row.runs]
    if not made:
        return Drawing(
            pd.DataFrame(columns=COLUMNS),
            [*notes_on_left_out(rows, context.scale.scale, context.study), *spec.notes],
            None,
        )
    row = made[0]
    margins = margins_at(of_run(read_category_margins(numbers), row.runs[0].name), spec.at)
    points = _read_projection(numbers)
    published = _published_margins(row, spec.at, margins, context.published_rows(spec))
    parts = [margins.assign(what="margin"), *published, points.assign(what="point")]
    data = pd.concat(parts, ignore_index=True)[COLUMNS]
    data = data.astype({"epoch": "Int64", "pairs": "Int64"})
    names = {one: context.study.label_of(one) for one in sorted({*margins["anchor"], *points["category"]})}
    notes = [
        *_notes(row, margins, points, context),
        *(_note_on_published(published[0], margins, names) if published else []),
        *notes_on_left_out(rows, context.scale.scale, context.study),
        *spec.notes,
    ]
    return Drawing(data, notes, functools.partial(_draw, margins=margins, points=points, names=names))


def margins_at(frame: pd.DataFrame, at: Sequence[float]) -> pd.DataFrame:
    """The margins between categories at the recorded epochs next to some shares of the training.

    Args:
        frame: Those of one run: columns epoch, anchor, negative, mean_margin, pairs.
        at: Shares of the last recorded epoch, from 0 to 1.
    """
    recorded = np.sort(frame["epoch"].unique())
    epochs = sorted({int(recorded[np.argmin(np.abs(recorded - share * recorded[-1]))]) for share in at})
    return frame[frame["epoch"].isin(epochs)][MARGINS].sort_values(["epoch", "anchor", "negative"], ignore_index=True)


def _published_margins(
    row: SubspaceRow, at: Sequence[float], margins: pd.DataFrame, published: Mapping[str, PublishedRow]
) -> list[pd.DataFrame]:
    """The paper's margins of the last epoch, as ``margins`` has ours; none for other documents or another epoch."""
    of_role = {name: one for name, one in published.items() if one.role == row.role}
    if not of_role or max(at) < 1:
        return []
    pairs = [name.split("-", 1) for name in of_role]
    return [
        pd.DataFrame(
            {
                "what": "published",
                "epoch": margins["epoch"].max(),
                "anchor": [anchor for anchor, _ in pairs],
                "negative": [negative for _, negative in pairs],
                "mean_margin": [one.values["", "margin"] for one in of_role.values()],
            }
        )
    ]


def _note_on_published(published: pd.DataFrame, margins: pd.DataFrame, names: Mapping[str, str]) -> list[str]:
    """Each published margin beside ours."""
    last = margins[margins["epoch"] == margins["epoch"].max()].set_index(["anchor", "negative"])["mean_margin"]
    found = []
    for one in published.itertuples():
        pair = (str(one.anchor), str(one.negative))
        here = f"here {last[pair]:.2f}" if pair in last.index else "not here"
        found.append(f"{names.get(pair[0], pair[0])} and {names.get(pair[1], pair[1])} {one.mean_margin:g}, {here}")
    return [f"Published mean margins in the last epoch, about: {'; '.join(found)}."]


def _read_projection(numbers: Sequence[Path]) -> pd.DataFrame:
    """The projected test documents: the only file that has no margins.

    Raises:
        InputError: If it lacks a column.
    """
    path = next(path for path in numbers if not path.name.endswith(CATEGORY_MARGINS))
    return read_frame(path, "project the subspace again", POINTS)[POINTS]


def _notes(row: SubspaceRow, margins: pd.DataFrame, points: pd.DataFrame, context: Context) -> list[str]:
    run, count = row.runs[0], points["document"].nunique()
    recorded = [str(epoch) for epoch in margins["epoch"].unique()]
    epochs = f"epoch{'s' if len(recorded) > 1 else ''} {listed(recorded)}"
    return [
        f"One run: {row.label}, {place_of(row, context.study)}, seed {run.seed}. Other seeds give other pictures.",
        f"Left: the mean margin of triplets with an anchor of the row’s and a negative of the column’s category, at "
        f"{epochs} of {run.training.epochs}; a category has no triplets with itself. "
        f"Right: t-SNE of the images and texts of the {count:,} test documents (weights: "
        f"{EPOCHS[row.selection]}); names stand beside the median of a category’s texts. t-SNE keeps neighbours "
        "together; distances between groups and their sizes mean little.",
    ]


def _draw(canvas: Canvas, margins: pd.DataFrame, points: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Maps below each other at the left, the projection with its legend at the right."""
    from fivesentences.paper.figures.lines import LABEL_SIZE, widest_label

    epochs, categories = (
        [int(epoch) for epoch in margins["epoch"].unique()],
        sorted({*margins["anchor"], *margins["negative"]}),
    )
    label = widest_label(names.values()) * LABEL / LABEL_SIZE + 0.1
    side = 1.45 if len(categories) <= 6 else 1.65 if len(categories) <= 12 else 1.95
    looks = looks_of_categories(list(names))
    left = label + side + BAR + BETWEEN
    width = WIDTH - left - 0.03
    legend = legend_height(list(names.values()), width)
    maps = len(epochs) * (TITLE + side + GAP) + label
    below = MARKS + legend + 0.04
    height = max(ABOVE + maps, ABOVE + TITLE + 0.9 * width + below)
    canvas.set_size_inches(WIDTH, height)
    text_at(canvas, 0, 0.04, "Mean margin between categories", fontsize=9, weight="bold")
    text_at(canvas, left, 0.04, "The final subspace (t-SNE)", fontsize=9, weight="bold")
    _draw_maps(canvas, margins, epochs, categories, names, label, side)
    spans = points[["x", "y"]].max() - points[["x", "y"]].min()
    shape = float(np.clip(spans["y"] / max(spans["x"], 1e-6), 0.9, 1.15))
    down = min(height - ABOVE - TITLE - below, shape * width)
    panel = panel_at(canvas, left, ABOVE + TITLE, width, down)
    _draw_points(panel, points, looks, names, (width, down))
    top = ABOVE + TITLE + down
    _draw_markers(canvas, left, ABOVE + TITLE / 2)
    draw_legend(canvas, left, top + 0.08, width, looks, names, dots=True)


def _draw_maps(
    canvas: Canvas,
    margins: pd.DataFrame,
    epochs: Sequence[int],
    categories: Sequence[str],
    names: Mapping[str, str],
    label: float,
    side: float,
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    values = margins["mean_margin"].to_numpy(dtype=float)
    low, high = float(values.min()), float(values.max())
    colours = LinearSegmentedColormap.from_list("margins", ["#F4F8FB", COLOURS[0], "#002B47"]).with_extremes(bad=GRID)
    limits: dict[str, Any] = {"vmin": low, "vmax": max(high, low + 1e-6)}
    cell = side / len(categories)
    image: Any = None
    for number, epoch in enumerate(epochs):
        top = ABOVE + number * (TITLE + side + GAP) + TITLE
        panel = panel_at(canvas, label, top, side, side)
        of_epoch = margins[margins["epoch"] == epoch]
        table = of_epoch.pivot(index="anchor", columns="negative", values="mean_margin")
        matrix = table.reindex(index=list(categories), columns=list(categories)).to_numpy(dtype=float)
        image = panel.imshow(matrix, cmap=colours, **limits, aspect="auto", interpolation="nearest")
        panel.set_title(f"epoch {epoch}", loc="left", pad=2.5, fontsize=8)
        named = [names[one] for one in categories]
        panel.set_yticks(range(len(named)), named, fontsize=min(LABEL, 72 * cell * 0.95))
        last = number == len(epochs) - 1
        panel.set_xticks(range(len(named)), named if last else [""] * len(named), rotation=90)
        panel.tick_params(axis="x", labelsize=min(LABEL, 72 * cell * 0.95))
        panel.tick_params(length=0, pad=2)
        panel.spines[:].set_visible(False)
        if cell >= SMALL:
            _write_numbers(panel, matrix, image, 6.5 if cell >= LEAST else 5)
    beside = panel_at(canvas, label + side + 0.08, ABOVE + TITLE, 0.09, side)
    bar = canvas.colorbar(image, cax=beside)
    bar.outline.set_visible(False)
    beside.tick_params(labelsize=6.5, length=2, pad=2)


def _write_numbers(panel: Any, matrix: np.ndarray, image: Any, size: float) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            dark = image.norm(value) > 0.4
            text = f"{value:.2f}".removeprefix("0") if value < 0.995 else f"{value:.1f}"
            panel.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if dark else "black")


def _draw_points(
    panel: Any,
    points: pd.DataFrame,
    looks: Mapping[str, Look],
    names: Mapping[str, str],
    inches: tuple[float, float],
) -> None:
    """Points of both modalities in equal scales, and the names of categories."""
    from matplotlib.patheffects import withStroke

    from fivesentences.paper.figures.lines import widest_label

    places = points[["x", "y"]].to_numpy(dtype=float)
    # The same scale for both axes, with the panel filled as well as its shape allows.
    low, high = places.min(axis=0), places.max(axis=0)
    per_inch = float((((high - low) * 1.05).clip(1e-6) / inches).max())
    corner = (low + high) / 2 - per_inch * np.array(inches) / 2
    panel.set_xlim(corner[0], corner[0] + per_inch * inches[0])
    panel.set_ylim(corner[1], corner[1] + per_inch * inches[1])
    size = float(np.clip(9000 / max(len(points), 1), 5, 16))
    for modality, marker in MARKERS.items():
        of_modality = points[points["modality"] == modality]
        colours = [looks[one].colour for one in of_modality["category"]]
        panel.scatter(
            of_modality["x"],
            of_modality["y"],
            s=size,
            marker=marker,
            c=colours,
            linewidths=0.25,
            edgecolors="white",
            zorder=2,
        )
    texts = points[points["modality"] == "text"]
    centres = (texts if len(texts) else points).groupby("category", sort=True)[["x", "y"]].median()
    sizes = np.array([[BOLD * widest_label([names[str(one)]]), 0.12] for one in centres.index])
    where = (centres.to_numpy() - corner) / per_inch
    centred = places_beside(where, np.zeros(len(where)), sizes, inches) * per_inch + corner
    for category, (x, y) in zip(centres.index, centred, strict=True):
        panel.text(
            x,
            y,
            names[str(category)],
            ha="center",
            va="center",
            fontsize=7.5,
            weight="bold",
            color=looks[str(category)].colour,
            path_effects=[withStroke(linewidth=2.4, foreground="white")],
            zorder=5,
        )
    panel.set_xticks([])
    panel.set_yticks([])
    panel.spines[:].set_visible(True)
    panel.spines[:].set_color(RULE)


def _draw_markers(canvas: Canvas, left: float, top: float) -> None:
    """Say which marker is which modality."""
    from matplotlib.lines import Line2D

    across, down = canvas.get_size_inches()
    for number, (modality, marker) in enumerate(MARKERS.items()):
        x = left + 0.05 + 0.7 * number
        canvas.add_artist(
            Line2D([x / across], [1 - top / down], marker=marker, color=SOFT, markersize=4, linestyle="none")
        )
        text_at(canvas, x + 0.09, top, f"{modality}s", fontsize=7.5, va="center")
