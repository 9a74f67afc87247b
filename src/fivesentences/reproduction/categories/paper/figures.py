"""Figures 5 and 6 of sched_sam: margins between categories over the epochs, and a projection of the final subspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fivesentences.corpus.parquet import read_frame
from fivesentences.evaluation.published import PublishedRow
from fivesentences.reproduction.categories.paper.notes import EPOCHS, place_of
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import (
    blocks,
    columns_in,
    is_narrow,
    legend,
    name_points,
    panels,
)
from fivesentences.reproduction.paper.figures.drawing import Drawing, notes_of_subspaces
from fivesentences.reproduction.paper.figures.style import COLOURS, GRID, RULE, SOFT, looks_of_categories
from fivesentences.reproduction.paper.numbers.histories import of_run, read_recorded
from fivesentences.reproduction.paper.text.names import listed, unique
from fivesentences.reproduction.paper.text.run_notes import notes_on_seeds
from fivesentences.reproduction.study.exhibits import CategoryMarginsFigure, SubspaceFigure
from fivesentences.reproduction.study.expand import SubspaceRow

LINES = ["setting", "anchor", "negative", "epoch", "mean_margin", "low", "high", "seeds"]
ROOM = 0.17  # share of a panel's height, above and below its lines, for the names of the largest and smallest
MARGINS = ["epoch", "anchor", "negative", "mean_margin", "pairs"]
POINTS = ["document", "category", "modality", "x", "y"]
COLUMNS = ["what", *MARGINS, *POINTS]
MARKERS = {"image": "o", "text": "^"}


def category_margins_figure(spec: CategoryMarginsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the mean margin of each category against every other over the epochs.

    Raises:
        InputError: If a run recorded none.
    """
    made = [row for row in context.subspace_rows(spec) if row.runs]
    frame, parts = read_recorded(numbers, "category_margins") if made else pd.DataFrame(), []
    for row in made:
        runs = pd.concat([of_run(frame, run.name) for run in row.runs])
        found = runs.groupby(["anchor", "negative", "epoch"])["mean_margin"].agg(["mean", "min", "max", "count"])
        found = found.reset_index().set_axis(LINES[1:], axis=1)
        parts.append(found.assign(setting=f"{row.label}: {place_of(row, context.study)}"))
    data = pd.concat(parts, ignore_index=True)[LINES] if parts else pd.DataFrame(columns=LINES)
    each = (
        "Each panel: the mean margin of triplets whose anchor and positive are of the panel’s category and whose "
        "negative is of another category, a line each. In colour: the largest and the smallest of the last epoch."
    )
    how_to_read = [each, *notes_on_seeds(made, attrgetter("label"), "Lines: mean")] if made else []
    notes = notes_of_subspaces(spec, context, how_to_read)
    names = {category: context.study.label_of(category) for category in unique(data["anchor"])}
    return Drawing(data, notes, lambda canvas: _draw_margins(canvas, data, names), _message(data, names))


def _message(margins: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Say between which margins, and which categories, the last epoch ends; empty if there are no such margins."""
    last = margins[margins["epoch"] == margins["epoch"].max()].sort_values("mean_margin", kind="stable")
    if len(last) < 2 or ("setting" in last and last["setting"].nunique() > 1):
        return ""
    ends = last.iloc[[0, -1]][["anchor", "negative", "mean_margin"]].itertuples(index=False)
    low, high = (f"{value:.2f} between {names[a]} and {names[b]}" for a, b, value in ends)
    return f"Margins end at {low}, and at {high}"


def _draw_margins(canvas: Figure, data: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Draw a block per setting with a panel per category."""
    settings = [part for _, part in data.groupby("setting", sort=False)]
    grids = []
    for part in settings:
        count = part["anchor"].nunique()
        grids.append((count, min(count, columns_in(canvas, 5 if count in (5, 9, 10) else 4, narrow=2))))
    heights = [0.7 + 1.35 * -(-count // across) for count, across in grids]
    found = blocks(canvas, unique(data["setting"]), heights)
    for block, part, (count, across) in zip(found, settings, grids, strict=True):
        low, high = part["mean_margin"].min(), part["mean_margin"].max()
        room = ((high - low) or 0.1) * ROOM / (1 - 2 * ROOM)
        first, last = part["epoch"].min(), part["epoch"].max()
        shown = zip(panels(block, count, across, sharex=True, sharey=True), part.groupby("anchor"), strict=True)
        for place, (panel, (anchor, lines)) in enumerate(shown):
            _draw_category(panel, lines, names)
            panel.set_title(names[str(anchor)], pad=2.5, fontsize=8)
            panel.set(ylim=(low - room, high + room), xlim=(first, max(last, first + 1)))
            panel.tick_params(labelsize=7, length=2.5, labelbottom=place + across >= count)
        block.supxlabel("epoch t", fontsize=7.5)
        block.supylabel("mean margin", fontsize=7.5)


def _draw_category(panel: Any, data: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Draw grey lines, and those of the largest and the smallest margin of the last epoch in colour."""
    panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ends = data.groupby("negative", sort=False)["mean_margin"].last().sort_values(kind="stable")
    named = len(ends) > 1 and not np.isclose(ends.iloc[0], ends.iloc[-1])
    colours = {ends.index[-1]: COLOURS[1], ends.index[0]: COLOURS[0]} if named else {}
    for negative, line in data.groupby("negative", sort=False):
        look: dict[str, Any] = {"color": RULE, "linewidth": 0.8, "zorder": 2}
        if negative in colours:
            look = {"color": colours[negative], "linewidth": 1.8, "zorder": 3}
        panel.plot(line["epoch"], line["mean_margin"], **look)
    if named:
        for word, negative, height, align in (
            ("largest", ends.index[-1], 0.98, "top"),
            ("smallest", ends.index[0], 0.03, "bottom"),
        ):
            how: dict[str, Any] = {"transform": panel.transAxes, "fontsize": 7.5, "ha": "right", "va": align}
            panel.text(0.99, height, f"{word}: {names[negative]}", color=colours[negative], zorder=4, **how)


def subspace_figure(spec: SubspaceFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the margins and the projection of one run.

    Raises:
        InputError: If the run recorded no margins between categories, or a file has other columns.
    """
    made = [row for row in context.subspace_rows(spec) if row.runs]
    margins, points, parts = pd.DataFrame(columns=MARGINS), pd.DataFrame(columns=POINTS), []
    how_to_read: list[str] = []
    if made:
        margins = margins_at(of_run(read_recorded(numbers, "category_margins"), made[0].runs[0].name), spec.at)
        path = next(path for path in numbers if ".category_margins." not in path.name)
        points = read_frame(path, "project the subspace again", POINTS)[POINTS]
        printed = _published_margins(made[0], spec.at, margins, context.published_rows(spec))
        parts = [margins.assign(what="margin"), *printed, points.assign(what="point")]
    names = {one: context.study.label_of(one) for one in sorted({*margins["anchor"], *points["category"]})}
    if made:
        on_published = [_on_published(one, margins, names) for one in printed]
        how_to_read = [*_how_to_read(made[0], margins, points, context), *on_published]
    data = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    data = data[COLUMNS].astype({"epoch": "Int64", "pairs": "Int64"})
    notes = notes_of_subspaces(spec, context, how_to_read)
    message = _message(margins, names)
    return Drawing(data, notes, lambda canvas: _draw_subspace(canvas, margins, points, names), message)


def margins_at(frame: pd.DataFrame, at: Sequence[float]) -> pd.DataFrame:
    """Return the margins between categories at the recorded epochs nearest to some shares of the training.

    Args:
        frame: Margins of one run: columns epoch, anchor, negative, mean_margin, pairs.
        at: Shares of the last recorded epoch, from 0 to 1.
    """
    recorded = np.sort(frame["epoch"].unique())
    epochs = {int(recorded[np.argmin(np.abs(recorded - share * recorded[-1]))]) for share in at}
    return frame[frame["epoch"].isin(epochs)][MARGINS].sort_values(["epoch", "anchor", "negative"], ignore_index=True)


def _published_margins(
    row: SubspaceRow, at: Sequence[float], margins: pd.DataFrame, published: Mapping[str, PublishedRow]
) -> list[pd.DataFrame]:
    """Select the paper's margins of the last epoch, shaped as ours; none for other documents or another epoch."""
    lines = [
        ("published", margins["epoch"].max(), *name.split("-", 1), one.values["", "margin"])
        for name, one in published.items()
        if one.role == row.role and max(at) == 1
    ]
    return [pd.DataFrame(lines, columns=["what", *MARGINS[:4]])] if lines else []


def _on_published(published: pd.DataFrame, margins: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return each published margin beside ours."""
    last = margins[margins["epoch"] == margins["epoch"].max()].set_index(["anchor", "negative"])["mean_margin"]
    found = []
    for a, b, value in published[["anchor", "negative", "mean_margin"]].itertuples(index=False):
        here = f"here {last[a, b]:.2f}" if (a, b) in last.index else "not here"
        found.append(f"{names.get(a, a)} and {names.get(b, b)} {value:g}, {here}")
    return f"Published mean margins in the last epoch, about: {'; '.join(found)}."


def _how_to_read(row: SubspaceRow, margins: pd.DataFrame, points: pd.DataFrame, context: Context) -> list[str]:
    run, recorded = row.runs[0], [str(epoch) for epoch in margins["epoch"].unique()]
    return [
        f"One run: {row.label}, {place_of(row, context.study)}, seed {run.seed}. Other seeds give other pictures.",
        f"Left: the mean margin of triplets with an anchor of the row’s and a negative of the column’s category, at "
        f"epoch{'s' if len(recorded) > 1 else ''} {listed(recorded)} of {run.training.epochs}; a category has no "
        f"triplets with itself. Right: t-SNE of the images and texts of the {points['document'].nunique():,} test "
        f"documents (weights: {EPOCHS[row.selection]}); names stand beside the median of a category’s texts. t-SNE "
        "keeps neighbours together; distances between groups and their sizes mean little.",
    ]


def _draw_subspace(canvas: Figure, margins: pd.DataFrame, points: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Maps below each other, and the projection at their right or, in a narrow figure, below them."""
    epochs, looks = margins["epoch"].unique(), looks_of_categories(list(names))
    categories = sorted({*margins["anchor"], *margins["negative"]})
    side = 1.45 if len(categories) <= 6 else 1.65 if len(categories) <= 12 else 1.95
    side *= 1.5 if len(epochs) == 1 and len(categories) <= 12 else 1  # a map alone has room
    label = 0.055 * max(map(len, names.values())) + 0.1
    width = canvas.get_figwidth()
    narrow = is_narrow(canvas)
    left = max(label + side + 0.6, 2.5)
    right = width if narrow else width - left
    of_maps, of_projection = 0.3 + len(epochs) * (side + 0.28) + label, 0.8 + 0.9 * right
    canvas.set_figheight(of_maps + of_projection if narrow else max(of_maps, of_projection))
    canvas.set_layout_engine("constrained")
    if narrow:
        maps, projection = canvas.subfigures(2, 1, squeeze=False, height_ratios=[of_maps, of_projection])[:, 0]
    else:
        maps, projection = canvas.subfigures(1, 2, squeeze=False, width_ratios=[left, width - left])[0]
    maps.suptitle("Mean margin between categories", x=0.01, ha="left", fontsize=9, weight="bold")
    projection.suptitle("The final subspace (t-SNE)", x=0.01, ha="left", fontsize=9, weight="bold")
    _draw_maps(panels(maps, len(epochs), 1, sharex=True), margins, categories, names, side / len(categories))
    (panel,) = panels(projection, 1, 1)
    _draw_points(panel, points, {name: look["color"] for name, look in looks.items()})
    canvas.draw_without_rendering()
    texts = points[points["modality"] == "text"]
    centres = (texts if len(texts) else points).groupby("category")[["x", "y"]].median()
    shown, colours = [names[one] for one in centres.index], [looks[one]["color"] for one in centres.index]
    name_points(panel, centres.to_numpy(dtype=float), shown, colours, [0.0] * len(shown), weight="bold")


def _draw_maps(
    found: Sequence[Any], margins: pd.DataFrame, categories: list[str], names: Mapping[str, str], cell: float
) -> None:
    low, high = margins["mean_margin"].min(), margins["mean_margin"].max()
    colours = LinearSegmentedColormap.from_list("margins", ["#F4F8FB", COLOURS[0], "#002B47"]).with_extremes(bad=GRID)
    labels = [names[one] for one in categories]
    for panel, (epoch, part) in zip(found, margins.groupby("epoch"), strict=True):
        table = part.pivot(index="anchor", columns="negative", values="mean_margin")
        matrix = table.reindex(index=categories, columns=categories).to_numpy(dtype=float)
        image = panel.imshow(matrix, cmap=colours, vmin=low, vmax=max(high, low + 1e-6), interpolation="nearest")
        panel.set_title(f"epoch {epoch}", pad=2.5, fontsize=8)
        panel.grid(False)
        panel.set_yticks(range(len(labels)), labels)
        panel.set_xticks(range(len(labels)), labels, rotation=90)
        panel.tick_params(length=0, pad=2, labelsize=min(6.5, 62 * cell))
        panel.spines[:].set_visible(False)
        for (row, column), value in np.ndenumerate(matrix):
            if np.isfinite(value) and cell >= 0.15:
                text = f"{value:.2f}".removeprefix("0") if value < 0.995 else f"{value:.1f}"
                ink = "white" if image.norm(value) > 0.4 else "black"
                panel.text(column, row, text, ha="center", va="center", fontsize=6.5 if cell >= 0.22 else 5, color=ink)
    bar = found[0].figure.colorbar(image, ax=found, fraction=0.05, aspect=40, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=6.5, length=2, pad=2)


def _draw_points(panel: Any, points: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Points of both modalities, in the same scale across and upwards."""
    size = float(np.clip(9000 / max(len(points), 1), 5, 16))
    for modality, marker in MARKERS.items():
        part = points[points["modality"] == modality]
        look: dict[str, Any] = {"linewidths": 0, "alpha": 0.45, "c": list(part["category"].map(colours))}
        panel.scatter(part["x"], part["y"], s=size, marker=marker, zorder=2, label=f"{modality}s", **look)
    panel.set_aspect("equal", adjustable="datalim")
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set(visible=True, color=RULE)
    grey = {"color": SOFT, "markersize": 4, "linestyle": ""}
    modalities = {f"{modality}s": grey | {"marker": marker} for modality, marker in MARKERS.items()}
    legend(panel, modalities, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1, ncols=2, handlelength=1)
