"""Two metrics against each other: what a loss trades, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fivesentences.config.metrics import metric_of
from fivesentences.losses import LossSpec
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import legend, name_points, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing, notes_of_runs
from fivesentences.reproduction.paper.figures.style import COLOURS, MARKERS, SOFT
from fivesentences.reproduction.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.reproduction.paper.tables.columns import column_label
from fivesentences.reproduction.paper.text.labels import loss_in_words
from fivesentences.reproduction.paper.text.names import unique
from fivesentences.reproduction.study.exhibits import ColumnSpec, FrontFigure
from fivesentences.reproduction.study.expand import Row
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import members_of

SHOWN_OTHERWISE = ("weight", "variant")  # by numbers and sizes, and by the form of a mark; colours show the rest
COLUMNS = ["label", "role", "dataset", "model", "loss", "fraction", "epochs", "family", "variant", "weight"]
COLUMNS += ["begins_at", "x_metric", "x", "x_low", "x_high", "y_metric", "y", "y_low", "y_high", "seeds", "on_front"]
REFERENCE = "#3A3A3A"  # the colour of losses that belong to no family
SMALLEST, LARGEST, TEXT = 3.6, 6.6, 7.5  # points: of marks by weight, of texts
STEPS, LINE = 30, 0.015  # places along a line between two marks, and half its width in inches, that names keep free


def front_figure(spec: FrontFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Draw two metrics of runs against each other, one mark per loss.

    Raises:
        InputError: If a run or a value is missing (named).
    """
    rows = [row for row in context.rows(spec) if row.left_out is None]
    results, how_to_read = Results(frame), []
    data = _tidy(spec, rows, results, context)
    if not data.empty:
        how_to_read.append("The CSV says which means are on the Pareto front: no other is better in both metrics.")
    if data["weight"].notna().any():
        how_to_read.append("Lines begin at the loss without the term, and follow its weight.")
    notes = notes_of_runs(spec, context, results, how_to_read, [spec.x, *spec.y], "Mean and range")
    return Drawing(data, notes, lambda canvas: _draw(canvas, context.study, data))


def _label(column: ColumnSpec, context: Context) -> str:
    return column_label(Measure.of_column(column, context.scale.evaluation_phi), context.study)


def _sign(column: ColumnSpec) -> int:
    return -1 if metric_of(column.metric).better == "lower" else 1


def _tidy(spec: FrontFigure, rows: Sequence[Row], results: Results, context: Context) -> pd.DataFrame:
    """Make one line per row and y: means over seeds, with the lowest and highest value."""
    study, scale = context.study, context.scale
    families, parts = _families({row.loss: row.spec for row in rows}), []
    columns = evaluated_columns(spec.y, scale) if evaluated_columns([spec.x], scale) else []
    for role, model in dict.fromkeys((row.role, row.model) for row in rows):
        for column in columns:
            lines: list[dict[str, Any]] = []
            for row in (one for one in rows if (one.role, one.model) == (role, model)):
                line = {name: getattr(row, name) for name in ("role", "dataset", "model", "loss", "fraction")}
                # A row that leaves its epochs to the scale has runs that know them.
                line |= {"label": study.label_of(row.loss), "epochs": members_of(row.runs[0])[0].training.epochs}
                line |= families[row.loss] | {"seeds": len(row.runs)}
                for axis, shown in (("x", spec.x), ("y", column)):
                    measure = Measure.of_column(shown, scale.evaluation_phi)
                    values = [results.value(run.name, measure, row.reading) for run in row.runs]
                    line |= {f"{axis}_metric": _label(shown, context), axis: float(np.mean(values))}
                    line |= {f"{axis}_low": min(values), f"{axis}_high": max(values)}
                lines.append(line)
            panel = pd.DataFrame(lines)
            points = panel[["x", "y"]].to_numpy(dtype=float) * [_sign(spec.x), _sign(column)]
            parts.append(panel.assign(on_front=undominated(points)))
    return pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)


def undominated(points: np.ndarray) -> np.ndarray:
    """Tell which ``[points, 2]`` no other point beats: at least as good in both and better in one; larger is better."""
    no_worse = np.all(points[None] >= points[:, None], axis=2)  # [points, others]
    better = np.any(points[None] > points[:, None], axis=2)
    return np.asarray(~np.any(no_worse & better, axis=1))


def _families(losses: Mapping[str, LossSpec]) -> dict[str, dict[str, Any]]:
    """Name a loss's family, its variant and weight, and the loss without its term, if it is there.

    All are NaN for a loss that has no term with a weight.
    """
    found: dict[str, dict[str, Any]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for loss, spec in losses.items():
        found[loss] = dict.fromkeys(("family", "variant", "weight", "begins_at"), float("nan"))
        for name in [name for name in spec.optional_terms() if hasattr(getattr(spec, name), "weight")][:1]:
            term, without = getattr(spec, name).model_dump(), spec.model_dump() | {name: None}
            begins_at = [other for other, known in losses.items() if known.model_dump() == without]
            found[loss] |= {"weight": term["weight"], "variant": term.get("variant", float("nan"))}
            found[loss] |= {"begins_at": begins_at[0] if begins_at else float("nan")}
            own = {key: value for key, value in term.items() if key not in SHOWN_OTHERWISE}
            settings[loss] = {key: str(value) for key, value in without.items()} | {"loss": name} | own
    keys = dict.fromkeys(key for one in settings.values() for key in one)
    telling = [key for key in keys if len({str(one.get(key)) for one in settings.values()}) > 1]
    for loss, one in settings.items():
        found[loss]["family"] = ", ".join(f"{key} {one[key]}" for key in telling if key in one) or one["loss"]
    return found


def _draw(canvas: Figure, study: Study, data: pd.DataFrame) -> None:
    """Draw two panels per row, and the legend below."""
    shown = [panel for _, panel in data.groupby(["role", "model", "y_metric"], sort=False)]
    looks, telling = _looks(data), [name for name in ("dataset", "model") if data[name].nunique() > 1]
    found = panels(canvas, len(shown), min(2, len(shown)), 3.3)
    lines: list[np.ndarray] = []
    for panel, points in zip(found, shown, strict=True):
        x, y = (str(points[name].iloc[0]) for name in ("x_metric", "y_metric"))
        title = ", ".join([*(study.label_of(points[name].iloc[0]) for name in telling), y])
        panel.set(title=title, xlabel=x)
        lines.append(_draw_points(panel, points, looks))
    _draw_legend(canvas, data, looks)
    canvas.draw_without_rendering()
    for panel, points, along in zip(found, shown, lines, strict=True):
        losses = points["loss"].tolist()
        weights = zip(losses, points["weight"], strict=True)
        texts = [loss_in_words(study, loss) if np.isnan(weight) else f"weight {weight:g}" for loss, weight in weights]
        radii = [looks[loss]["markersize"] / 144 for loss in losses]
        colours = [looks[loss]["color"] for loss in losses]
        marks = np.concatenate([points[["x", "y"]].to_numpy(dtype=float), along])  # names hide no line
        name_points(panel, marks, texts, colours, [*radii, *[LINE] * len(along)], TEXT)


def _looks(data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Choose colour, marker, face and size of each loss's mark."""
    families, variants = (unique(data[name].dropna()) for name in ("family", "variant"))
    weights = sorted(data["weight"].dropna().unique())
    looks: dict[str, dict[str, Any]] = {}
    for line in data.drop_duplicates("loss").to_dict("records"):
        if np.isnan(line["weight"]):
            looks[line["loss"]] = {"color": REFERENCE, "marker": "*", "markersize": LARGEST + 2}
            continue
        form = variants.index(line["variant"]) if line["variant"] in variants else 0
        rank = weights.index(line["weight"]) / max(len(weights) - 1, 1)
        colour = COLOURS[families.index(line["family"]) % len(COLOURS)]
        look = {"color": colour, "marker": MARKERS[form], "markersize": SMALLEST + (LARGEST - SMALLEST) * rank}
        # Marks of a second variant are hollow too, for there may be many of them in one place.
        looks[line["loss"]] = look | ({"markerfacecolor": "white"} if form % 2 else {})
    return looks


def _draw_points(panel: Any, points: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> np.ndarray:
    """Draw the marks with their ranges, and lines that join those of a family and variant by their weight.

    Returns:
        ``[points, 2]`` places along the lines.
    """
    of_loss, along = points.set_index("loss"), [np.empty((0, 2))]
    for line in points.to_dict("records"):
        bars: dict[str, Any] = {"color": looks[line["loss"]]["color"], "linewidth": 0.6, "alpha": 0.55, "zorder": 2}
        panel.hlines(line["y"], line["x_low"], line["x_high"], **bars)
        panel.vlines(line["x"], line["y_low"], line["y_high"], **bars)
        panel.plot(line["x"], line["y"], linestyle="", markeredgewidth=0.9, zorder=4, **looks[line["loss"]])
    joined = points.dropna(subset="weight").sort_values("weight", kind="stable")
    for _, family in joined.groupby(["family", "variant"], sort=False, dropna=False):
        first = family["begins_at"].iloc[0]
        where = of_loss.loc[([first] if first in of_loss.index else []) + family["loss"].tolist()]
        look = looks[family["loss"].iloc[0]]
        style = "--" if "markerfacecolor" in look else "-"
        panel.plot(where["x"], where["y"], color=look["color"], linewidth=0.7, linestyle=style, alpha=0.6, zorder=3)
        ends = where[["x", "y"]].to_numpy(dtype=float)
        along += list(np.linspace(ends[:-1], ends[1:], STEPS + 2)[1:-1])
    panel.margins(0.13)
    panel.grid(True, axis="x")
    return np.concatenate(along)


def _draw_legend(canvas: Figure, data: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Explain colours and forms."""
    samples: dict[str, dict[str, Any]] = {}
    size = {"markersize": 4.5, "linewidth": 0.7}
    families = data.dropna(subset="weight")
    for family, losses in families.groupby("family", sort=False)["loss"]:
        samples[str(family)] = {"color": looks[losses.iloc[0]]["color"], "marker": "o", **size}
    if families["variant"].nunique() > 1:
        for variant, losses in families.groupby("variant", sort=False)["loss"]:
            look = {"color": SOFT, "marker": looks[losses.iloc[0]]["marker"], **size}
            hollow = {"markerfacecolor": "white", "linestyle": "--"}
            samples[str(variant)] = look | (hollow if "markerfacecolor" in looks[losses.iloc[0]] else {})
    if samples:
        legend(canvas, samples)
