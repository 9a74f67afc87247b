"""How adaptive margins are distributed, and how much of their variance comes from positives and from negatives."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fivesentences.reproduction.evaluation.margins import CAP
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import blocks, columns_of, is_narrow, legend
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.style import COLOURS, DASHES, OTHERS_COLOUR, OWN_COLOUR, SMALL, SOFT
from fivesentences.reproduction.paper.numbers.margins import Numbers, made_at, read_all_margins
from fivesentences.reproduction.paper.text.labels import label_of, loss_in_words
from fivesentences.reproduction.study.exhibits import MarginsFigure
from fivesentences.reproduction.study.study import Study

COLUMNS = ["dataset", "fraction", "loss", "what", "from", "to", "value"]
NAME = 32  # letters in a line of the name of a loss
POSITIVES = (OWN_COLOUR, 0.63)  # lighter, so that grey print tells it from the negatives
PARTS: dict[str, dict[str, Any]] = {
    "variance from positives": {"facecolor": POSITIVES},
    "variance from negatives": {"facecolor": OTHERS_COLOUR},
}
LOOKS = [
    {"color": COLOURS[colour], "linestyle": dashes, "linewidth": 1.0}
    for colour, dashes in zip((5, 2, 4, 3, 0, 1, 6), DASHES, strict=True)
]
HOW_TO_READ = (
    "Curves: distribution of the margins over hinges with random negatives, each scaled to the same height. Bars: "
    "how much of their variance comes from positives and from negatives (covariance with the margin divided by its "
    "variance); the number is the negatives’ share."
)


class MarginPanels(NamedTuple):
    """Panels of a dataset and a fraction of its training captions.

    Attributes:
        dataset: Name of the dataset.
        fraction: Share of its training captions, in (0, 1].
        margins: Numbers of each loss whose margins are drawn.
        shares: Numbers of each loss whose variance is split.
    """

    dataset: str
    fraction: float
    margins: Mapping[str, Numbers]
    shares: Mapping[str, Numbers]


def margins_figure(spec: MarginsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect what was measured of the scale's datasets: one line per bin of a histogram and share of a variance."""
    shown, lines = [], []
    study, scale = context.study, context.scale
    for margins in read_all_margins(numbers):
        for fraction in spec.fractions:
            of_losses = []
            for losses in (spec.losses, spec.shares or spec.losses):
                made = made_at(study, scale, fraction, losses)
                found = {loss: margins.of_captions(fraction, study.losses[loss]) for loss in made}
                of_losses.append({loss: one for loss, one in found.items() if one is not None})
            if any(of_losses):
                shown.append(MarginPanels(margins.dataset, fraction, *of_losses))
    for dataset, fraction, margins_of, shares_of in shown:
        for loss, one in margins_of.items():
            bins = zip(one["margin"]["edges"], one["margin"]["edges"][1:], one["margin"]["counts"], strict=False)
            lines += [(dataset, fraction, loss, "margins", *values) for values in bins]
        for loss, one in shares_of.items():
            named = {f"share of the variance: {part}": share for part, share in one["shares"].items()}
            lines += [(dataset, fraction, loss, what, None, None, share) for what, share in named.items()]
    notes = [*([HOW_TO_READ] if shown else []), *spec.notes]
    return Drawing(pd.DataFrame(lines, columns=COLUMNS), notes, lambda canvas: _draw(canvas, study, spec, shown))


def _draw(canvas: Figure, study: Study, spec: MarginsFigure, shown: Sequence[MarginPanels]) -> None:
    titles = [
        f"{study.label_of(block.dataset)}, {label_of(study, 'fraction', block.fraction)} of the training captions"
        for block in shown
    ]
    narrow = is_narrow(canvas)
    of_shares = [(0.32 if narrow else 0.19) * len(block.shares) + 0.75 for block in shown]
    heights = [height + 1.7 if narrow else max(1.95, height) for height in of_shares]
    looks = dict(zip(spec.losses, LOOKS, strict=False))
    drawn = [loss for loss in spec.losses if any(loss in block.margins for block in shown)]
    samples: dict[str, Mapping[str, Any]] = {loss_in_words(study, loss): looks[loss] for loss in drawn}
    edges = [edge for block in shown for one in block.margins.values() for edge in _range(one)]
    limits = (min([0.0, *edges]), max([CAP, *edges]) * 1.04)
    samples |= PARTS
    below = 0.17 * -(-len(samples) // columns_of(samples, canvas.get_figwidth())) + 0.1
    for part, block, height in zip(blocks(canvas, titles, heights, below), shown, of_shares, strict=True):
        if narrow:  # panels of their own, so that long names make no room beside the margins
            left, right = (one.subplots() for one in part.subfigures(2, 1, height_ratios=[1.7, height]))
        else:
            left, right = part.subplots(1, 2, width_ratios=[2.2, 1])
        _draw_margins(left, block, looks, limits, sorted({study.losses[loss].margin for loss in block.margins}))
        _draw_shares(right, block, study)
    legend(canvas, samples)


def _range(numbers: Numbers) -> tuple[float, float]:
    """Find where nearly all margins are: a few outliers would make the others narrow."""
    edges, counts = numbers["margin"]["edges"], np.array(numbers["margin"]["counts"])
    low, high = np.searchsorted(np.cumsum(counts) / counts.sum(), (0.001, 0.999))
    return edges[low], edges[min(high + 1, len(counts))]


def _draw_margins(
    panel: Any, block: MarginPanels, looks: Mapping[str, Any], limits: tuple[float, float], own: Sequence[float]
) -> None:
    for loss, numbers in block.margins.items():
        counts, edges = numbers["margin"]["counts"], numbers["margin"]["edges"]
        heights = np.divide(counts, max(counts))
        panel.stairs(heights, edges, color=looks[loss]["color"], fill=True, alpha=0.2)
        panel.stairs(heights, edges, **looks[loss])
    for place, text in [*((margin, f"{margin:g}: triplet") for margin in own), (CAP, "1: released cap")]:
        panel.axvline(place, color=SOFT, linewidth=0.7, linestyle=(0, (3, 2)))
        right = place > sum(limits) * 0.7
        how: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
        how |= {"fontsize": SMALL, "color": SOFT, "annotation_clip": False}
        panel.annotate(text, (place, 1.0), (-2 if right else 2, 1), ha="right" if right else "left", **how)
    panel.set(xlim=limits, ylim=(0, 1.08), yticks=[], xlabel="margin")
    panel.spines["left"].set_visible(False)


def _draw_shares(panel: Any, block: MarginPanels, study: Study) -> None:
    for place, numbers in enumerate(block.shares.values()):
        if (share := numbers["shares"]["negative"]) is not None:
            negative = min(max(share, 0.0), 1.0)
            panel.barh(place, 1 - negative, color=POSITIVES, height=0.62)
            panel.barh(place, negative, left=1 - negative, color=OTHERS_COLOUR, height=0.62)
            how: dict[str, Any] = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
            panel.annotate(f"{share:.1%}", (1.0, place), (3, 0), fontsize=SMALL, **how)
    names = [loss_in_words(study, loss) for loss in block.shares]
    names = [textwrap.fill(name, NAME) for name in names] if is_narrow(panel.figure) else names
    panel.set_yticks(range(len(block.shares)), names, fontsize=SMALL)
    panel.set(xlim=(0, 1), ylim=(len(block.shares) - 0.5, -0.5), xlabel="share of the variance")
    panel.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
    panel.tick_params(axis="y", length=0)
    panel.grid(False)
