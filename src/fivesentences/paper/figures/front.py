"""What a loss trades: two metrics of runs against each other by its weight and temperature, and the Pareto front."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.config.metrics import metric_of
from fivesentences.losses import LossSpec
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, GRID, SOFT, WIDTH, panel_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import MARKERS
from fivesentences.paper.figures.placing import places_beside
from fivesentences.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.paper.tables.columns import column_label
from fivesentences.paper.text.labels import loss_in_words
from fivesentences.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.run_notes import notes_on_data, notes_on_missing
from fivesentences.study.exhibits import ColumnSpec, FrontFigure
from fivesentences.study.expand import Row
from fivesentences.study.runs import members_of
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

SHOWN_OTHERWISE = ("weight", "variant")  # by numbers and sizes, and by the form of a mark; colours show the rest
COLUMNS = ["label", "role", "dataset", "model", "loss", "fraction", "epochs", "family", "variant", "weight"]
COLUMNS += ["begins_at", "x_metric", "x", "x_low", "x_high", "y_metric", "y", "y_low", "y_high", "seeds", "on_front"]
REFERENCE = "#3A3A3A"  # the colour of losses that belong to no family
FAMILY_COLOURS = tuple(colour for colour in COLOURS if colour != REFERENCE)
# Inches: left of, between, above and below panels, a panel's height, the legend.
LEFT, BETWEEN, ABOVE, BELOW, HEIGHT, LEGEND = 0.45, 0.5, 0.3, 0.45, 2.45, 0.19
SMALLEST, LARGEST, TEXT = 3.6, 6.6, 7  # points: of marks by weight, of texts
MARGIN = 0.13  # of a panel, around the points


def front_figure(spec: FrontFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Draw two metrics against each other.

    Raises:
        InputError: If a run or a value is missing (named).
    """
    study, scale, rows = context.study, context.scale, context.rows(spec)
    made = [row for row in rows if row.left_out is None]
    results = Results(frame)
    data = _tidy(spec, made, results, context)
    notes = [*notes_on_data(study, rows, results, "Mean and range")]
    if not data.empty:
        notes.append("Stepped line: the Pareto front; no mean lies beyond it, better in both metrics.")
    if data["weight"].notna().any():
        notes.append("Numbers beside the marks: the weight of the loss. Lines begin at the loss without it.")
    notes += [
        *(notes_on_metrics([spec.x, *spec.y], None, study, scale, made, results) if made else []),
        *notes_on_inference(unique(row.inference for row in made)),
        *notes_on_missing(study, scale, rows),
        *spec.notes,
    ]
    signs = {_label(column, context): _sign(column) for column in spec.metrics()}
    draw = functools.partial(_draw, study=study, data=data, signs=signs)
    return Drawing(data, notes, None if data.empty else draw)


def _label(column: ColumnSpec, context: Context) -> str:
    return column_label(Measure.of_column(column, context.scale.evaluation_phi), context.study)


def _tidy(spec: FrontFigure, rows: Sequence[Row], results: Results, context: Context) -> pd.DataFrame:
    """One line per row and y: means over seeds, with the lowest and highest value."""
    study, scale = context.study, context.scale
    families, panels = _families({row.loss: row.spec for row in rows if row.spec is not None}), []
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
            signs = [_sign(spec.x), _sign(column)]
            panels.append(panel.assign(on_front=undominated(panel[["x", "y"]].to_numpy(dtype=float) * signs)))
    return pd.concat(panels, ignore_index=True)[COLUMNS] if panels else pd.DataFrame(columns=COLUMNS)


def undominated(points: np.ndarray) -> np.ndarray:
    """Whether no other point is at least as good in both and better in one: ``[points, 2]``, larger is better."""
    no_worse = np.all(points[None] >= points[:, None], axis=2)  # [points, others]
    better = np.any(points[None] > points[:, None], axis=2)
    dominated: np.ndarray = np.any(no_worse & better, axis=1)
    return ~dominated


def _sign(column: ColumnSpec) -> int:
    return -1 if metric_of(column.metric).better == "lower" else 1


def _families(losses: Mapping[str, LossSpec]) -> dict[str, dict[str, Any]]:
    """What a loss's family is called, its variant and weight, and the loss without its term, if it is there.

    All are NaN for a loss that has no term with a weight.
    """
    found: dict[str, dict[str, Any]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for loss, spec in losses.items():
        found[loss] = dict.fromkeys(("family", "variant", "weight", "begins_at"), float("nan"))
        names = (name for name in spec.optional_terms() if hasattr(getattr(spec, name), "weight"))
        if (name := next(names, None)) is None:
            continue
        term, without = getattr(spec, name).model_dump(), spec.model_dump() | {name: None}
        found[loss] |= {"weight": term["weight"], "variant": term.get("variant", float("nan"))}
        begins_at = [other for other, known in losses.items() if known.model_dump() == without]
        found[loss] |= {"begins_at": begins_at[0] if begins_at else float("nan")}
        own = {key: value for key, value in term.items() if key not in SHOWN_OTHERWISE}
        settings[loss] = {key: str(value) for key, value in without.items()} | {"loss": name} | own
    telling = _telling(list(settings.values()))
    for loss, of_loss in settings.items():
        found[loss]["family"] = (
            ", ".join(f"{key} {of_loss[key]}" for key in telling if key in of_loss) or of_loss["loss"]
        )
    return found


def _telling(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys in which settings differ."""
    keys = dict.fromkeys(key for one in settings for key in one)
    return [key for key in keys if len({str(one.get(key)) for one in settings}) > 1]


def _draw(canvas: Canvas, study: Study, data: pd.DataFrame, signs: Mapping[str, int]) -> None:
    """Two panels per row, and the legend below."""
    panels = [panel for _, panel in data.groupby(["role", "model", "y_metric"], sort=False)]
    across, looks = min(2, len(panels)), _looks(data)
    width = (WIDTH - LEFT - 0.1 - BETWEEN * (across - 1)) / across
    height = -(-len(panels) // across) * (ABOVE + HEIGHT + BELOW)
    canvas.set_size_inches(WIDTH, height + LEGEND + 0.1)
    telling = [name for name in ("dataset", "model") if data[name].nunique() > 1]
    for place, points in enumerate(panels):
        row, column = divmod(place, across)
        left, top = LEFT + column * (width + BETWEEN), ABOVE + row * (ABOVE + HEIGHT + BELOW)
        panel = panel_at(canvas, left, top, width, HEIGHT)
        x, y = (str(points[name].iloc[0]) for name in ("x_metric", "y_metric"))
        panel.set_title(", ".join([*(study.label_of(points[name].iloc[0]) for name in telling), y]), loc="left", pad=6)
        panel.set_xlabel(x, labelpad=2)
        _draw_points(panel, points, looks)
        _draw_front(panel, points[points["on_front"]], signs[x], signs[y])
        _draw_texts(panel, points, looks, (width, HEIGHT), study)
    _draw_legend(canvas, data, looks, height)


def _looks(data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Colour, marker, face and size of each loss's mark."""
    families, variants = (unique(data[name].dropna()) for name in ("family", "variant"))
    weights = sorted(data["weight"].dropna().unique())
    looks = {}
    for line in data.drop_duplicates("loss").to_dict("records"):
        if line["weight"] != line["weight"]:
            looks[line["loss"]] = {"color": REFERENCE, "marker": "*", "markersize": LARGEST + 2}
            continue
        colour = FAMILY_COLOURS[families.index(line["family"]) % len(FAMILY_COLOURS)]
        form = variants.index(line["variant"]) if line["variant"] in variants else 0
        rank = weights.index(line["weight"]) / max(len(weights) - 1, 1)
        how = {"marker": MARKERS[form % len(MARKERS)], "markersize": SMALLEST + (LARGEST - SMALLEST) * rank}
        # Marks of a second variant are hollow too, for there may be many of them in one place.
        looks[line["loss"]] = {"color": colour, **how} | ({"markerfacecolor": "white"} if form % 2 else {})
    return looks


def _draw_points(panel: Any, points: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """The marks with their ranges, and lines that join those of a family and variant by their weight."""
    of_loss = points.set_index("loss")
    for line in points.to_dict("records"):
        bars: dict[str, Any] = {"color": looks[line["loss"]]["color"], "linewidth": 0.6, "alpha": 0.55, "zorder": 2}
        panel.hlines(line["y"], line["x_low"], line["x_high"], **bars)
        panel.vlines(line["x"], line["y_low"], line["y_high"], **bars)
        panel.plot(line["x"], line["y"], linestyle="", markeredgewidth=0.9, zorder=4, **looks[line["loss"]])
    joined = points.dropna(subset="weight").sort_values("weight", kind="stable")
    for _, family in joined.groupby(["family", "variant"], sort=False, dropna=False):
        first = family["begins_at"].iloc[0]
        order = ([first] if first in of_loss.index else []) + family["loss"].tolist()
        look = looks[family["loss"].iloc[0]]
        style = "--" if "markerfacecolor" in look else "-"
        where = of_loss.loc[order]
        panel.plot(where["x"], where["y"], color=look["color"], linewidth=0.7, linestyle=style, alpha=0.6, zorder=3)
    panel.margins(MARGIN)
    panel.grid(color=GRID, linewidth=0.5)
    panel.set_axisbelow(True)


def _draw_front(panel: Any, front: pd.DataFrame, x_sign: int, y_sign: int) -> None:
    """The border of what some mean reaches, as far as the panel goes."""
    across, down = panel.get_xlim(), panel.get_ylim()
    worst = (across[0] if x_sign > 0 else across[1]), (down[0] if y_sign > 0 else down[1])
    points = sorted(zip(front["x"] * x_sign, front["y"] * y_sign, strict=True))
    xs = [worst[0] * x_sign, *(x for x, _ in points), points[-1][0]]
    ys = [points[0][1], *(y for _, y in points), worst[1] * y_sign]
    # Up to a point everything is reached at the height of that point.
    panel.step(np.multiply(xs, x_sign), np.multiply(ys, y_sign), where="pre", color=SOFT, linewidth=0.7, zorder=1)
    panel.set_xlim(across)
    panel.set_ylim(down)


def _draw_texts(
    panel: Any, points: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], size: tuple[float, float], study: Study
) -> None:
    """The weight of each mark, or the name of a loss without one, beside it."""
    from matplotlib.patheffects import withStroke
    from matplotlib.textpath import TextPath

    (left, right), (bottom, top) = panel.get_xlim(), panel.get_ylim()
    places = (points[["x", "y"]].to_numpy(dtype=float) - [left, bottom]) / [right - left, top - bottom] * size
    texts = [
        loss_in_words(study, line["loss"]) if line["weight"] != line["weight"] else f"{line['weight']:g}"
        for line in points.to_dict("records")
    ]
    extents = [TextPath((0, 0), text, size=TEXT).get_extents() for text in texts]
    sizes = np.array([[extent.width / 72, TEXT / 72] for extent in extents])
    radii = np.array([looks[loss]["markersize"] / 144 for loss in points["loss"]])
    found = places_beside(places, radii, sizes, size)
    for text, loss, point, (x, y), (width, height), radius in zip(
        texts, points["loss"], places, found, sizes, radii, strict=True
    ):
        colour = looks[loss]["color"]
        halo = [withStroke(linewidth=1.6, foreground="white")]
        where: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "center_baseline"}
        panel.text(x / size[0], y / size[1], text, color=colour, fontsize=TEXT, path_effects=halo, zorder=6, **where)
        # A text that had to go further away points to its mark.
        near = np.clip(point, (x - width / 2, y - height / 2), (x + width / 2, y + height / 2))
        if np.abs(near - point).max() > radius + 0.1:
            ends = np.array([near, point]) / size
            panel.plot(*ends.T, transform=panel.transAxes, color=colour, linewidth=0.4, alpha=0.7, zorder=3)


def _draw_legend(canvas: Canvas, data: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], height: float) -> None:
    """What colours, forms and the stepped line mean, in one line."""
    from matplotlib.lines import Line2D

    handles = []
    families = data.dropna(subset="weight")
    for family, losses in families.groupby("family", sort=False)["loss"]:
        colour = looks[losses.iloc[0]]["color"]
        handles.append(Line2D([], [], color=colour, marker="o", markersize=4.5, linewidth=0.7, label=str(family)))
    if families["variant"].nunique() > 1:
        for variant, losses in families.groupby("variant", sort=False)["loss"]:
            look = {"color": SOFT, "markersize": 4.5, "linewidth": 0.7, "marker": looks[losses.iloc[0]]["marker"]}
            if "markerfacecolor" in looks[losses.iloc[0]]:
                look |= {"markerfacecolor": "white", "linestyle": "--"}
            handles.append(Line2D([], [], label=str(variant), **look))
    handles.append(Line2D([], [], color=SOFT, linewidth=0.7, drawstyle="steps", label="Pareto front"))
    bottom = 0.05 / canvas.get_figheight()
    how: dict[str, Any] = {"ncols": len(handles), "frameon": False, "fontsize": 7.5, "borderaxespad": 0}
    how |= {"columnspacing": 1.5, "handletextpad": 0.5, "handlelength": 2.2, "borderpad": 0}
    canvas.legend(handles=handles, loc="lower left", bbox_to_anchor=(LEFT / WIDTH, bottom), **how)
