"""Figure 3 of five_sentences: recall and semantic recall over the number of relevant items, own items removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from fivesentences.config import Variant
from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.evaluation import collect
from fivesentences.paper.figures.canvas import COLOURS, WIDTH
from fivesentences.paper.kinds import Context, Drawing, FigureKind
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.text.metric_notes import notes_on_inference
from fivesentences.paper.text.names import INFERENCES, phi_in_words, unique
from fivesentences.paper.text.notes import notes_of_data, notes_on_missing
from fivesentences.plan.exhibits import RowSpec, Source
from fivesentences.plan.rows import Row
from fivesentences.plan.studies import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

HEIGHT, PANEL, APART, LABEL_SIZE = 4.9, 1.97, 0.21, 7.5  # inches: of the canvas, a panel, between labels; points
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DIRECTIONS = {"t2i": "text → image", "i2t": "image → text"}
STYLES = {"vse_recall": "Recall@{k}: any relevant item found", "recall": "Semantic recall@{k}: share found"}


class SemanticRecallFigure(FigureKind):
    """Recall and semantic recall without the query's own items, over the number of relevant ones; one line per row."""

    reads: ClassVar[Source] = "runs"

    kind: Literal["semantic_recall_over_m"]
    rows: list[RowSpec] = Field(min_length=1)
    k: int = Field(default=5, ge=1)
    formula: Variant = "released"

    def row_specs(self) -> list[RowSpec]:
        """Its rows."""
        return self.rows

    def drawing(self, context: Context, numbers: Sequence[Path], photographs: Mapping[str, Photographs]) -> Drawing:
        """Collect the numbers from the metrics of its runs; see ``FigureKind``."""
        return self.collected(context, collect(numbers, context.scale.scale))

    def collected(self, context: Context, frame: pd.DataFrame) -> Drawing:
        """As ``drawing``, from the tidy table of results.

        ``data`` has one line per point: label, role, dataset, model, loss, fraction, direction, style, k, m, mean,
        spread (sample standard deviation; NaN with fewer than two seeds) and seeds.

        Raises:
            InputError: If a run or a value is missing (named), or runs were evaluated at different m.
        """
        study, scale, rows = context.study, context.scale, context.rows(self)
        results = Results(frame)
        data = _semantic_recall_over_m(self, study, scale.evaluation_phi, rows, results)
        phi = phi_in_words(scale.evaluation_phi)
        notes = [
            *notes_of_data(study, scale, rows, results),
            f"Closeness in meaning: {phi}, {self.formula} formula, the query's own items removed.",
            *notes_on_inference(unique(row.inference for row in rows if row.left_out is None)),
            *notes_on_missing(study, scale, rows),
            *self.notes,
        ]
        return Drawing(data, notes, None if data.empty else lambda canvas: draw(canvas, data))


def labels_of_lines(rows: Sequence[Row], study: Study, always: str = "loss") -> list[str]:
    """What the lines of a figure are called: by whatever tells them apart, be it model, loss, fraction or dataset."""
    parts = ("dataset", "model", "loss", "fraction", "inference")
    telling = [part for part in parts if len({getattr(row, part) for row in rows}) > 1] or [always]
    labels = (", ".join(_in_words(row, part, study) for part in telling) for row in rows)
    return [label.replace(", + ", " + ") for label in labels]  # "VSE++ + SAM"


def _in_words(row: Row, part: str, study: Study) -> str:
    name = getattr(row, part)
    return f"{name:.0%}" if part == "fraction" else study.label_of(str(name), INFERENCES.get(name))


def _semantic_recall_over_m(
    spec: SemanticRecallFigure, study: Study, phi: str, rows: Sequence[Row], results: Results
) -> pd.DataFrame:
    lines = []
    counts: list[int] = []
    kept = [row for row in rows if row.left_out is None]
    for row, label in zip(kept, labels_of_lines(kept, study), strict=True):
        for direction in ("i2t", "t2i"):
            for style in ("vse_recall", "recall"):
                measure = Measure(f"SR@{spec.k}", direction, spec.formula, "removed", 0, style, phi)
                for run in row.runs:
                    found = results.relevant_counts(run.name, measure)
                    counts = counts or found
                    if found != counts:
                        raise InputError(
                            f"the run '{run.name}' was evaluated at m = {found}, others at {counts}; evaluate it again."
                        )
                for m in counts:
                    at_m = Measure(**{**vars(measure), "m": m})
                    values = pd.Series([results.value(run.name, at_m, row.inference) for run in row.runs])
                    lines.append(
                        {
                            "label": label,
                            "role": row.role,
                            "dataset": row.dataset,
                            "model": row.model,
                            "loss": row.loss,
                            "fraction": row.fraction,
                            "direction": direction,
                            "style": style,
                            "k": spec.k,
                            "m": m,
                            "mean": float(values.mean()),
                            "spread": float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
                            "seeds": len(values),
                        }
                    )
    names = ["label", "role", "dataset", "model", "loss", "fraction", "direction", "style", "k", "m"]
    return pd.DataFrame(lines, columns=[*names, "mean", "spread", "seeds"])


def draw(canvas: Canvas, data: pd.DataFrame) -> None:
    """Two rows (text to image as in print, and image to text) by two columns (recall, semantic recall)."""
    from matplotlib.textpath import TextPath

    # Labels stand below each other beside a panel; many of them need a higher one.
    height = max(HEIGHT, 2 * APART * data["label"].nunique() + HEIGHT - 2 * PANEL)
    canvas.set_size_inches(WIDTH, height)
    axes = canvas.subplots(2, 2, sharex=True)
    # Room for the longest label, in points, beside the right-hand panels.
    widest = max(TextPath((0, 0), label, size=LABEL_SIZE).get_extents().width for label in data["label"].unique())
    right = 1 - (widest / 72 + 0.22) / WIDTH
    canvas.subplots_adjust(left=0.07, right=right, top=0.93, bottom=0.085, wspace=0.18, hspace=0.16)
    k = int(data["k"].iloc[0])
    for row, (direction, where) in enumerate(DIRECTIONS.items()):
        for column, (style, title) in enumerate(STYLES.items()):
            panel = axes[row, column]
            part = data[(data["direction"] == direction) & (data["style"] == style)]
            ends = _lines(panel, part)
            if row == 0:
                panel.set_title(title.format(k=k), loc="left", pad=8)
            if row == 1:
                panel.set_xlabel("relevant images m")
            if column == 0:
                panel.set_ylabel(f"{where} (%)")
            if column == 1:
                _label_ends(panel, ends)


def _lines(panel: Any, data: pd.DataFrame) -> list[tuple[str, str, float, float]]:
    """Draw one line a row with its band; return (label, colour, last m, last mean) of each."""
    from matplotlib.ticker import MaxNLocator

    ends = []
    for (label, line), (look, dashes) in zip(data.groupby("label", sort=False), looks_of_lines(data), strict=True):
        colour = COLOURS[look % len(COLOURS)]
        m, mean, spread = (line[name].to_numpy(dtype=float) for name in ("m", "mean", "spread"))
        how = {"marker": MARKERS[look % len(MARKERS)], "linestyle": LINES[dashes % len(LINES)]}
        panel.plot(m, mean, color=colour, linewidth=1.3, markersize=3.6, zorder=3, **how)
        if np.isfinite(spread).all():
            panel.fill_between(m, mean - spread, mean + spread, color=colour, alpha=0.14, linewidth=0)
        ends.append((str(label), colour, float(m[-1]), float(mean[-1])))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.yaxis.set_major_locator(MaxNLocator(5))
    panel.grid(axis="y", color="#e4e4e4", linewidth=0.5)
    panel.set_axisbelow(True)
    panel.margins(x=0.04)
    return ends


def looks_of_lines(data: pd.DataFrame) -> list[tuple[int, int]]:
    """Number of colour and marker, and of dashes, of each line in its order; no two lines look alike.

    Of several models each has its colour and marker, and dashes tell its lines apart. Lines of one model have colours
    of their own, and dashes once these are used up.
    """
    models = data.drop_duplicates("label")["model"].tolist()
    several = list(dict.fromkeys(models))
    if len(several) == 1:
        return [(line, line // len(COLOURS)) for line in range(len(models))]
    looks = [(several.index(model), models[:line].count(model)) for line, model in enumerate(models)]
    # An eighth model has the colour of the first one, and dashes behind those that a model of that colour needs.
    most = max(dashes for _, dashes in looks) + 1
    return [(look, dashes + most * (look // len(COLOURS))) for look, dashes in looks]


def _label_ends(panel: Any, ends: list[tuple[str, str, float, float]]) -> None:
    """Write every label at the right of its line's end, moved apart where ends are close, with a thin leader."""
    low, high = panel.get_ylim()
    apart = (high - low) * min(0.105, 1.04 / len(ends))
    ends = sorted(ends, key=lambda end: end[3])
    places = spread_apart([end[3] for end in ends], apart, low, high)
    for (label, colour, m, mean), place in zip(ends, places, strict=True):
        panel.annotate(
            label,
            xy=(m, mean),
            xytext=(1.07, (place - low) / (high - low)),
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontsize=LABEL_SIZE,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "alpha": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 0.5,
                "shrinkB": 3,
            },
            annotation_clip=False,
        )


def spread_apart(values: list[float], apart: float, low: float, high: float) -> list[float]:
    """Rising values moved so that neighbours are at least ``apart``, as little as possible in least squares.

    The result stays inside [low, high] where that many fit.
    """
    # With the spacing taken out, what is left to solve is isotonic regression: pool neighbours that are out of order.
    blocks: list[list[float]] = []
    for index, value in enumerate(values):
        blocks.append([value - index * apart])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    places = [float(np.mean(block)) for block in blocks for _ in block]
    top = high - (len(values) - 1) * apart
    return [min(max(place, low), max(top, low)) + index * apart for index, place in enumerate(places)]
