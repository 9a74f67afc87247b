"""Retrievals of two models for queries that recall calls equal, with photographs, captions and phi (after Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.disagreements import read_retrievals
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.pictures import (
    CAPTION,
    CAPTION_LINE,
    CHARACTERS,
    boxed,
    caption_at,
    photograph_at,
    rule_at,
    text_at,
)
from fivesentences.reproduction.paper.figures.style import OWN_COLOUR, SMALL, SOFT
from fivesentences.reproduction.paper.text.labels import line_labels
from fivesentences.reproduction.paper.text.names import DIRECTIONS, capitalised, phi_in_words, wrapped
from fivesentences.reproduction.paper.text.run_notes import notes_on_missing
from fivesentences.reproduction.study.exhibits import RetrievalsFigure
from fivesentences.reproduction.study.study import Study

COLUMNS = ["dataset", "direction", "outcome", "query", "query_image_id", "model", "ncs", "place", "phi", "own"]
COLUMNS += ["image_id", "caption"]
OUTCOMES = {
    ("i2t", "neither"): "both miss: no own caption among the first {k}",
    ("i2t", "both"): "both hit: the same own captions among the first {k}",
    ("t2i", "neither"): "both miss: its own image is not among the first {k}",
    ("t2i", "both"): "both hit: its own image is among the first {k}",
}
LONGEST_SIDE = 420  # pixels of a photograph on the page
QUERY, GAP, HEADING, PAD, TITLE, VALUE = 1.35, 0.16, 0.38, 0.2, 0.2, 0.3  # inches
QUERY_LINE = CAPTION_LINE * 1.15


def retrievals_figure(spec: RetrievalsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Show the retrievals that the evaluation chose.

    Raises:
        InputError: If a run that was compared is in no row of the figure.
    """
    rows, how_to_read = context.rows(spec), []
    found: dict[str, Any] = {"chosen": []}
    if numbers:
        found = read_retrievals(numbers[0])
        row_of = {run.name: row for row in reversed(rows) for run in row.runs}
        if strange := [run for run in found["models"] if run not in row_of]:
            where = f"{numbers[0]}: the run '{strange[0]}' is in no row of {context.where(spec)}"
            raise InputError(f"{where}; compare again.")
        found["models"] = line_labels([row_of[run] for run in found["models"]], context.study)
        how_to_read = _how_to_read(found, context.study)
    lines = []
    for query in found["chosen"]:
        start = (found["dataset"], query["direction"], query["outcome"], query["query"], query["image_id"])
        for model, answer in zip(found["models"], query["answers"], strict=True):
            for place, item in enumerate(answer["items"], start=1):
                shown = (item["phi"], item["own"], item["image_id"], item.get("caption"))
                lines.append((*start, model, answer["ncs"], place, *shown))
    notes = [*how_to_read, *notes_on_missing(context.study, context.scale, rows), *spec.notes]
    data = pd.DataFrame(lines, columns=COLUMNS)
    return Drawing(data, notes, lambda canvas: _draw(canvas, found, context.photographs.get(found["dataset"])))


def _how_to_read(found: Mapping[str, Any], study: Study) -> list[str]:
    """Say how queries were chosen, how many there are, and what the numbers are."""
    k, phi = found["k"], phi_in_words(found["phi"])
    notes = [
        f"Queries of {study.label_of(found['dataset'])}/{found['split']} for which both models find the "
        f"same own items, or none, among their first {k}: recall cannot tell the two apart. Shown are those whose NCS "
        f"at {k} ({phi}, released formula, own items kept) differs most, whichever model it favours; one seed each.",
        f"Numbers beside captions and below photographs are φ ({phi}) of the caption against the image’s own "
        "captions; a dot and colour, or a frame: own items.",
    ]
    for direction, counts in found["counts"].items():
        total = found["images"] if direction == "i2t" else found["captions"]
        sums = pd.DataFrame(counts.values()).sum()
        notes.append(
            f"{capitalised(DIRECTIONS[direction])}: the same own items, or none, on {sums['equal']:,} of {total:,} "
            f"queries. On {sums['first_better']:,} of these φ prefers the first model, on {sums['second_better']:,} "
            f"the second; on {sums['much']:,} by 10 points of NCS or more."
        )
    return [*notes, f"{capitalised(found['tie_rule'])}."]


def _draw(canvas: Figure, found: Mapping[str, Any], photographs: Photographs | None) -> None:
    """Draw one block per query: the query at the left, and for each model a column with what it retrieves."""
    column = (canvas.get_figwidth() - QUERY - 2 * GAP) / 2
    lefts = [QUERY + GAP, QUERY + 2 * GAP + column]
    heights = [_height(query, column) for query in found["chosen"]]
    canvas.set_figheight(HEADING + sum(heights))
    for left, heading in zip((0, *lefts), ("query", *found["models"]), strict=True):
        text_at(canvas, left, 0.08, heading, fontsize=8.5, weight="bold")
    top = HEADING
    for query, height in zip(found["chosen"], heights, strict=True):
        rule_at(canvas, top - PAD / 2)
        outcome = OUTCOMES[query["direction"], query["outcome"]].format(k=found["k"])
        text_at(canvas, 0, top, f"{DIRECTIONS[query['direction']]}, {outcome}", fontsize=7, color=SOFT)
        down = top + TITLE
        if query["direction"] == "i2t":
            place = (0, down, QUERY, height - TITLE - PAD)
            photograph_at(canvas, place, query["filename"], photographs, LONGEST_SIDE)
        else:
            for index, line in enumerate(_query_lines(query)):
                text_at(canvas, 0, down + 0.02 + index * QUERY_LINE, line, fontsize=7)
        for left, answer in zip(lefts, query["answers"], strict=True):
            text_at(canvas, left, down, f"NCS {answer['ncs']:.1f}", fontsize=SMALL, weight="bold")
            if query["direction"] == "i2t":
                _draw_captions(canvas, left, down + 0.24, column, answer["items"])
            else:
                _draw_photographs(canvas, left, down + 0.18, column, answer["items"], photographs)
        top += height


def _height(query: Mapping[str, Any], column: float) -> float:
    """Inches of a query's block, whose answers stand in columns."""
    answers = [answer["items"] for answer in query["answers"]]
    if query["direction"] == "t2i":
        photographs = 0.18 + column / len(answers[0]) * 0.78 + 0.16
        return TITLE + max(photographs, len(_query_lines(query)) * QUERY_LINE) + PAD
    captions = [sum(CAPTION_LINE * (_caption(item, column).count("\n") + 1.45) for item in items) for items in answers]
    return TITLE + max(QUERY * 0.8, 0.2 + max(captions)) + PAD


def _query_lines(query: Mapping[str, Any]) -> list[str]:
    return wrapped(query["captions"][0], int(QUERY * CHARACTERS), 9).split("\n")


def _caption(item: Mapping[str, Any], column: float) -> str:
    return wrapped(item["caption"], int((column - VALUE) * CHARACTERS), 3)


def _draw_captions(canvas: Figure, left: float, down: float, column: float, items: Sequence[Mapping[str, Any]]) -> None:
    for item in items:
        colour, sign = (OWN_COLOUR, "●") if item["own"] else ("black", "")
        down = caption_at(canvas, left, down, f"{item['phi']:.2f}", _caption(item, column), colour, sign, colour)
        down += CAPTION_LINE * 0.45


def _draw_photographs(
    canvas: Figure,
    left: float,
    top: float,
    column: float,
    items: Sequence[Mapping[str, Any]],
    photographs: Photographs | None,
) -> None:
    each = column / len(items)
    for place, item in enumerate(items):
        at = (left + place * each, top, each - 0.05, each * 0.78)
        panel = photograph_at(canvas, at, item["filename"], photographs, LONGEST_SIDE, anchor="N")
        if item["own"] and panel is not None:
            boxed(panel, (0, 0), 1, 1, transform=panel.transAxes, edgecolor=OWN_COLOUR, linewidth=2.2)
        how: dict[str, Any] = {"fontsize": CAPTION, "ha": "center", "weight": "bold"}
        how["color"] = OWN_COLOUR if item["own"] else "black"
        text_at(canvas, left + (place + 0.5) * each - 0.025, top + each * 0.78 + 0.02, f"{item['phi']:.2f}", **how)
