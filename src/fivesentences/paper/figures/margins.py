"""How adaptive margins are distributed, and how much of their variance comes from positives and from negatives."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.evaluation.margins import CAP
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import (
    COLOURS,
    OTHERS_COLOUR,
    OWN_COLOUR,
    SOFT,
    WIDTH,
    legend_at,
    panel_at,
    text_at,
)
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, Look, draw_legend
from fivesentences.paper.numbers.margins import Margins, Numbers, made_at, read_all_margins
from fivesentences.paper.text.labels import label_of, loss_in_words
from fivesentences.study.exhibits import MarginsFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["dataset", "fraction", "loss", "what", "from", "to", "value"]
# Sizes in inches.
LEFT, PANEL, HEIGHT, BETWEEN, HEADING, BARS, RIGHT, LINE = 0.2, 2.9, 1.25, 0.42, 0.3, 1.35, 0.45, 0.16
POSITIVES = f"{OWN_COLOUR}a0"  # lighter, so that grey print tells it from the negatives
LOOKS = tuple(Look(COLOURS[colour], dashes) for colour, dashes in zip((5, 2, 4, 3, 0, 1, 6), DASHES, strict=True))


def margins_figure(spec: MarginsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect what was measured of the scale's datasets."""
    blocks = list(_blocks(spec, context, read_all_margins(numbers)))
    lines = [line for block in blocks for line in block.tidy()]
    notes = [*(_notes() if blocks else []), *spec.notes]
    draw = functools.partial(_draw, context=context, spec=spec, blocks=blocks)
    return Drawing(pd.DataFrame(lines, columns=COLUMNS), notes, draw if blocks else None)


def _blocks(spec: MarginsFigure, context: Context, found: Sequence[Margins]) -> Iterator[Block]:
    """Those in which anything is shown."""
    for margins in found:
        for fraction in spec.fractions:
            block = Block(
                margins.dataset,
                fraction,
                *(
                    {
                        loss: numbers
                        for of_set, loss in made_at(context.study, context.scale, [fraction], losses)
                        if (numbers := margins.of_captions(of_set, context.study.losses[loss])) is not None
                    }
                    for losses in (spec.losses, spec.shares or spec.losses)
                ),
            )
            if block.margins or block.shares:
                yield block


@dataclass(frozen=True)
class Block:
    """One line of panels.

    Attributes:
        dataset: Whose captions.
        fraction: Of its training captions.
        margins: Numbers of each loss whose margins are drawn.
        shares: Numbers of each loss whose variance is split.
    """

    dataset: str
    fraction: float
    margins: dict[str, Numbers]
    shares: dict[str, Numbers]

    def tidy(self) -> Iterator[tuple[Any, ...]]:
        """One line per bin of a histogram and per share of a variance."""
        start = (self.dataset, self.fraction)
        for loss, numbers in self.margins.items():
            margin = numbers["margin"]
            for low, high, count in zip(margin["edges"], margin["edges"][1:], margin["counts"], strict=False):
                yield (*start, loss, "margins", low, high, count)
        for loss, numbers in self.shares.items():
            for part, share in numbers["shares"].items():
                yield (*start, loss, f"share of the variance: {part}", None, None, share)


def _notes() -> list[str]:
    return [
        "Left: distribution of the margins over hinges with random negatives, each scaled to the same height. Right: "
        "how much of their variance comes from positives and from negatives (covariance with the margin divided by its "
        "variance); the number is the negatives’ share.",
    ]


def _draw(canvas: Canvas, context: Context, spec: MarginsFigure, blocks: Sequence[Block]) -> None:
    heights = [max(HEIGHT, 0.17 * len(block.shares)) for block in blocks]
    shown = [loss for loss in spec.losses if any(loss in block.margins for block in blocks)]
    looks = dict(zip(spec.losses, LOOKS, strict=False))
    total = sum(heights) + len(blocks) * (HEADING + BETWEEN) + LINE * max(len(shown), 2) + 0.06
    canvas.set_size_inches(WIDTH, total)
    edges = [edge for block in blocks for one in block.margins.values() for edge in _range(one)]
    limits = (min([0.0, *edges]), max([CAP, *edges]) * 1.04)
    top = 0.0
    for block, height in zip(blocks, heights, strict=True):
        dataset, fraction = context.study.label_of(block.dataset), label_of(context.study, "fraction", block.fraction)
        text_at(canvas, LEFT, top + 0.06, f"{dataset}, {fraction} of the training captions", fontsize=9, weight="bold")
        top += HEADING
        own = {context.study.losses[loss].margin for loss in block.margins}
        panel = panel_at(canvas, LEFT, top, PANEL, height)
        _draw_margins(panel, block, looks, limits, sorted(own))
        bars = panel_at(canvas, WIDTH - BARS - RIGHT, top, BARS, height)
        _draw_shares(bars, block, context)
        top += height + BETWEEN
    names = {loss: loss_in_words(context.study, loss) for loss in shown}
    draw_legend(canvas, LEFT, top, 0, {loss: looks[loss] for loss in shown}, names)
    parts = [("■", POSITIVES, "variance from positives"), ("■", OTHERS_COLOUR, "variance from negatives")]
    legend_at(canvas, WIDTH - BARS - RIGHT, top, parts)


def _range(numbers: Numbers) -> tuple[float, float]:
    """Where nearly all margins are: a few outliers would make the others narrow."""
    margin = numbers["margin"]
    counts = np.array(margin["counts"])
    low, high = np.searchsorted(np.cumsum(counts) / counts.sum(), (0.001, 0.999))
    return margin["edges"][low], margin["edges"][min(high + 1, len(counts))]


def _draw_margins(
    panel: Any, block: Block, looks: dict[str, Look], limits: tuple[float, float], own: Sequence[float]
) -> None:
    for loss, numbers in block.margins.items():
        margin = numbers["margin"]
        counts = np.array(margin["counts"], dtype=float)
        colour, dashes = looks[loss]
        panel.stairs(counts / counts.max(), margin["edges"], color=colour, fill=True, alpha=0.2)
        panel.stairs(counts / counts.max(), margin["edges"], color=colour, linewidth=1.0, linestyle=dashes)
    for place, text in [*((margin, f"{margin:g}: triplet") for margin in own), (CAP, "1: released cap")]:
        panel.axvline(place, color=SOFT, linewidth=0.7, linestyle=(0, (3, 2)))
        right = place > sum(limits) * 0.7
        panel.annotate(
            text,
            (place, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-2 if right else 2, 1),
            textcoords="offset points",
            fontsize=6.5,
            color=SOFT,
            ha="right" if right else "left",
            va="bottom",
            annotation_clip=False,
        )
    panel.set_xlim(*limits)
    panel.set_ylim(0, 1.08)
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    panel.tick_params(labelsize=7)
    panel.set_xlabel("margin", fontsize=7.5, labelpad=1)


def _draw_shares(panel: Any, block: Block, context: Context) -> None:
    names = list(block.shares)
    for place, loss in enumerate(names):
        shares = block.shares[loss]["shares"]
        if shares["negative"] is None:
            continue
        negative = min(max(shares["negative"], 0.0), 1.0)
        panel.barh(place, 1 - negative, color=POSITIVES, height=0.62)
        panel.barh(place, negative, left=1 - negative, color=OTHERS_COLOUR, height=0.62)
        panel.annotate(
            f"{shares['negative']:.1%}",
            (1.0, place),
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            annotation_clip=False,
        )
    panel.set_yticks(range(len(names)), [loss_in_words(context.study, loss) for loss in names], fontsize=6.5)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_xlim(0, 1)
    panel.set_xticks([0, 0.5, 1], ["0", "50%", "100%"], fontsize=7)
    panel.tick_params(axis="y", length=0)
    panel.set_xlabel("share of the variance", fontsize=7.5, labelpad=1)
