"""Figures of a report by matplotlib: curves, ranks, the cloud of queries, and one query with its answers."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fivesentences.errors import InputError, need
from fivesentences.retrieval.arguments import Direction
from fivesentences.storage import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fivesentences.pages.curves import Line
    from fivesentences.pages.report import Report

NAMES = {"i2t": "images to captions", "t2i": "captions to images"}
COLOURS = ("#204AA2", "#A93C08", "#1E8064", "#700C54", "#B88E13", "#242724", "#1B87D8")  # of the pages
CHANCE: dict[str, Any] = {"color": "#8f8f8f", "linestyle": (0, (1, 1)), "linewidth": 1.0}
OWN = "#2a8c4a"  # frame of an own item
SIDE = 480  # pixels of the longer side of a photograph in a figure
# What does not depend on the reader's machine: fonts are embedded, and equal figures have equal bytes.
LOOK = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
    "axes.axisbelow": True, "axes.titlesize": 9, "axes.titlelocation": "left", "font.size": 8.5,
    "grid.color": "#e4e4e4", "legend.frameon": False,
    "pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "fivesentences", "text.parse_math": False,
}  # fmt: skip
UNDATED: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}


def _styled() -> Any:
    """Return a context in which figures have one look, whatever the machine's settings are."""
    need("matplotlib", "plots", "a figure")
    import matplotlib.style

    return matplotlib.style.context(["default", LOOK])


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's ending.

    Raises:
        InputError: If it cannot be written.
    """
    with _styled(), replacing(path) as temporary:
        figure.savefig(
            temporary, format=path.suffix[1:], dpi=200, bbox_inches="tight", metadata=UNDATED.get(path.suffix, {})
        )


def inline(figure: Figure, text: str) -> str:
    """Return a figure as an element of HTML that needs no other file, with a text that stands for it."""
    file = io.BytesIO()
    with _styled():
        figure.savefig(file, format="png", dpi=110, metadata=UNDATED[".png"])
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{escape(text)}" src="data:image/png;base64,{data}">'


def curves_figure(report: Report) -> Figure:
    """Draw recall and NCS of a report's models over k, with intervals and chance."""
    return draw_curves({model: report.lines(model) for model in report.models}, report.phis[0])


def draw_curves(lines: Mapping[str, Sequence[Line]], phi: str | None) -> Figure:
    """Draw recall and NCS of models over k, with their intervals and what a random ranking reaches.

    Args:
        lines: Lines of each model by its name, see ``curves.curves_of``.
        phi: Name of the phi of NCS.

    Raises:
        InputError: If matplotlib is not installed.
    """
    with _styled():
        from matplotlib.figure import Figure

        first = next(iter(lines.values()))
        panels = sorted({(line.metric, line.ground_truth, line.direction) for line in first}, key=_place_of)
        sides = len({side for *_, side in panels})
        rows = len(panels) // sides
        figure = Figure(figsize=(3.7 * sides, 2.3 * rows), layout="constrained")
        for axes, key in zip(figure.subplots(rows, sides, squeeze=False).flat, panels, strict=True):
            metric, kept, side = key
            name = "Recall@k" if metric == "R" else f"NCS@k ({phi}), own items {kept}"
            for colour, (model, of_model) in zip(_colours(len(lines)), lines.items(), strict=True):
                line = next(one for one in of_model if (one.metric, one.ground_truth, one.direction) == key)
                if model == next(iter(lines)):
                    axes.plot(line.ks, line.chance, **CHANCE, label="chance")
                if None not in line.low:
                    axes.fill_between(line.ks, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
                axes.plot(line.ks, line.values, color=colour, marker="o", markersize=3, linewidth=1.4, label=model)
            axes.set(xscale="log", ylim=(0, 103), title=f"{name}\n{NAMES[side]}", ylabel="%")
            axes.set_xticks(line.ks, list(map(str, line.ks)))
            axes.minorticks_off()
        axes.set_xlabel("k")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=min(4, len(labels)))
        return figure


def _place_of(panel: tuple[str, str, str]) -> tuple[bool, str, str]:
    """Return where a panel stands: recall first, directions beside each other."""
    return panel[0] != "R", panel[1], panel[2]


def ranks_figure(report: Report) -> Figure:
    """Draw how many queries have their first own item at which rank, beside chance."""
    with _styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.7 * len(report.directions), 2.6), layout="constrained")
        for axes, side in zip(
            figure.subplots(1, len(report.directions), squeeze=False).flat, report.directions, strict=True
        ):
            of_side = {
                model: next(line for line in report.lines(model) if (line.metric, line.direction) == ("R", side))
                for model in report.models
            }
            ks = report.ks
            names = [str(k) if at == 0 or ks[at - 1] + 1 == k else f"{ks[at - 1] + 1}–{k}" for at, k in enumerate(ks)]
            wide = 0.8 / len(report.models)
            for place, (colour, (model, line)) in enumerate(zip(_colours(len(of_side)), of_side.items(), strict=True)):
                shares = np.diff([0.0, *line.values, 100.0])
                axes.bar(
                    np.arange(len(shares)) - 0.4 + wide * (place + 0.5), shares, wide * 0.92, color=colour, label=model
                )
            expected = np.diff([0.0, *line.chance, 100.0])
            axes.hlines(
                expected, np.arange(len(expected)) - 0.45, np.arange(len(expected)) + 0.45, **CHANCE, label="chance"
            )
            axes.set_xticks(range(len(expected)), [*names, f">{ks[-1]}"], fontsize=7)
            axes.set(title=NAMES[side], xlabel="rank of the first own item", ylabel="% of queries")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=min(4, len(labels)))
        return figure


def cloud_figure(report: Report, model: str | None = None) -> Figure:
    """Draw NCS against the rank of the first own item, a point per query.

    Args:
        report: The report.
        model: Its model; default the first.
    """
    with _styled():
        from matplotlib.figure import Figure

        model = model or report.models[0]
        figure = Figure(figsize=(3.7 * len(report.directions), 2.8), layout="constrained")
        for axes, side in zip(
            figure.subplots(1, len(report.directions), squeeze=False).flat, report.directions, strict=True
        ):
            one = report.answers[model][side]
            # Equal ranks apart, but less than half a rank.
            spread = np.random.default_rng(0).uniform(-1, 1, len(one.rank)) * np.minimum(0.13, 0.45 / one.rank)
            axes.plot(one.rank * (1 + spread), one.ncs, ".", color=COLOURS[0], alpha=0.3, markersize=4, rasterized=True)
            axes.axvline(report.k + 0.5, color="#6b6b6b", linewidth=0.8, linestyle="--")
            axes.set(xscale="log", ylim=(-2, 103), title=f"{model}, {NAMES[side]}")
            axes.set(xlabel="rank of the first own item", ylabel=f"NCS@{report.k} ({report.phis[0]})")
        return figure


def query_figure(report: Report, side: Direction, query: int) -> Figure:
    """Draw a query and what every model retrieves for it, a row per model, as README's picture does."""
    with _styled():
        from matplotlib.figure import Figure

        k = report.answers[report.models[0]][side].items.shape[1]
        rows, own_image = len(report.models), query if side == "i2t" else int(report.image_of_caption[query])
        figure = Figure(figsize=(1.65 * (k + 1), 1.75 * rows + 0.45))
        grid: dict[str, Any] = {"wspace": 0.06, "hspace": 0.42, "left": 0.01, "right": 0.99, "bottom": 0.01}
        high = figure.get_figheight()
        every = figure.subplots(rows, k + 1, squeeze=False, gridspec_kw={**grid, "top": 1 - 0.5 / high})
        asked = f"“{report.captions[query].strip()}”" if side == "t2i" else f"image {report.ids[query]}"
        title = textwrap.fill(f"Query: {asked}", 15 * (k + 1))
        figure.suptitle(title, fontsize=13, x=0.01, ha="left", y=1.0, va="bottom")
        for panels, model in zip(every, report.models, strict=True):
            one = report.answers[model][side]
            _draw_image(panels[0], report, own_image)
            panels[0].set_title("ground truth" if side == "t2i" else "query", fontsize=9, loc="center", pad=3)
            _frame(panels[0], "#777777", 1.0, dashed=True)
            for axes, item, own, phi in zip(panels[1:], one.items[query], one.own[query], one.phi[query], strict=True):
                if side == "t2i":
                    _draw_image(axes, report, int(item))
                else:
                    _write(axes, report.captions[int(item)])
                text = f"φ {phi:.2f}{', own' if own else ''}"
                axes.set_title(text, fontsize=9, loc="center", pad=3, color=OWN if own else "black")
                _frame(axes, OWN if own else "#c9c9c9", 2.4 if own else 0.6)
            for axes in panels:
                axes.set_anchor("N")
            hit = one.rank[query] <= report.k
            said = f"{model}: Recall@{report.k} = {int(hit)}, NCS@{report.k} = {one.ncs[query]:.1f}"
            said += f" (φ: {report.phis[0]}), first own item at rank {one.rank[query]:,}"
            box = panels[0].get_position(original=True)
            figure.text(box.x0, box.y1 + 0.24 / high, said, fontsize=10.5, weight="bold")
        return figure


def _colours(number: int) -> list[str]:
    return [COLOURS[at % len(COLOURS)] for at in range(number)]


def _draw_image(axes: Axes, report: Report, image: int) -> None:
    """Draw a photograph, or its first caption where there is none."""
    if report.pictures is not None:
        try:
            picture = report.pictures.source.decoded(report.pictures.files[image])
        except InputError:
            _write(axes, f"{report.ids[image]} cannot be decoded")
            return
        picture.thumbnail((SIDE, SIDE))
        axes.imshow(picture)
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        return
    first = int(np.flatnonzero(report.image_of_caption == image)[0])
    _write(axes, report.captions[first])


def _write(axes: Axes, text: str) -> None:
    axes.set(xticks=[], yticks=[], facecolor="#f6f6f3")
    axes.grid(False)
    axes.text(0.04, 0.96, textwrap.fill(text, 22), transform=axes.transAxes, fontsize=7.5, va="top", clip_on=True)


def _frame(axes: Axes, colour: str, width: float, dashed: bool = False) -> None:
    for side in axes.spines.values():
        side.set(visible=True, color=colour, linewidth=width)
        if dashed:
            side.set_linestyle((0, (3, 2)))
