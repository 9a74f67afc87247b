"""What two models retrieve for queries that recall calls equal, with photographs, captions and phi (after Figure 1)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.evaluation.disagreements import read_retrievals
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import OWN_COLOUR, SOFT, WIDTH, mark_at, photograph_at, rule_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.text.captions import wrapped
from fivesentences.paper.text.labels import line_labels
from fivesentences.paper.text.names import DIRECTIONS, capitalised, phi_in_words
from fivesentences.paper.text.run_notes import notes_on_missing
from fivesentences.study.exhibits import RetrievalsFigure
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = [
    "dataset", "direction", "outcome", "query", "query_image_id", "model", "ncs", "place", "phi", "own", "image_id",
    "caption",
]  # fmt: skip
OUTCOMES = {
    ("i2t", "neither"): "both miss: no own caption among the first {k}",
    ("i2t", "both"): "both hit: the same own captions among the first {k}",
    ("t2i", "neither"): "both miss: its own image is not among the first {k}",
    ("t2i", "both"): "both hit: its own image is among the first {k}",
}
LONGEST_SIDE = 420  # pixels of a photograph on the page
# Sizes in inches, points, and characters that fit into an inch of that type.
QUERY, GAP, HEADING, PAD, SIZE, LINE, CHARACTERS = 1.35, 0.16, 0.38, 0.2, 6.2, 0.105, 20.5
TITLE, VALUE = 0.2, 0.3


def retrievals_figure(spec: RetrievalsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Show the retrievals that the evaluation chose."""
    study, rows = context.study, context.rows(spec)
    missing = [*notes_on_missing(study, context.scale, rows), *spec.notes]
    if not numbers:
        return Drawing(_tidy({"chosen": []}), missing, None)
    found = read_retrievals(numbers[0])
    row_of = {run.name: row for row in reversed(rows) for run in row.runs}
    strange = [run for run in found["models"] if run not in row_of]
    if strange:
        raise InputError(f"{numbers[0]}: the run '{strange[0]}' is in no row of {context.where(spec)}; compare again.")
    found["models"] = line_labels([row_of[run] for run in found["models"]], study)
    data, photographs = _tidy(found), context.photographs.get(found["dataset"])
    draw = functools.partial(_draw, found=found, photographs=photographs)
    return Drawing(data, [*_how_to_read(found, study), *missing], None if data.empty else draw)


def _tidy(found: Mapping[str, Any]) -> pd.DataFrame:
    """One line per item that a model retrieves for a query that is shown."""
    lines: list[tuple[Any, ...]] = []
    for query in found["chosen"]:
        start = (found["dataset"], query["direction"], query["outcome"], query["query"], query["image_id"])
        for model, answer in zip(found["models"], query["answers"], strict=True):
            for place, item in enumerate(answer["items"], start=1):
                shown = (item["phi"], item["own"], item["image_id"], item.get("caption"))
                lines.append((*start, model, answer["ncs"], place, *shown))
    return pd.DataFrame(lines, columns=COLUMNS)


def _how_to_read(found: Mapping[str, Any], study: Study) -> list[str]:
    """How queries were chosen, how many there are, and what the numbers are."""
    k, phi = found["k"], phi_in_words(found["phi"])
    notes = [
        f"Queries of {study.label_of(found['dataset'])}/{found['split']} for which both models find the "
        f"same own items, or none, among their first {k}: recall cannot tell the two apart. Shown are those whose NCS "
        f"at {k} ({phi}, released formula, own items kept) differs most, whichever model it favours; one seed each.",
        f"Numbers beside captions and below photographs are φ ({phi}) of the caption against the image’s own "
        "captions; a dot and colour, or a frame: own items.",
    ]
    for direction, of_direction in found["counts"].items():
        total = found["images"] if direction == "i2t" else found["captions"]
        equal = sum(one["equal"] for one in of_direction.values())
        much = sum(one["much"] for one in of_direction.values())
        better = [sum(one[side] for one in of_direction.values()) for side in ("first_better", "second_better")]
        notes.append(
            f"{capitalised(DIRECTIONS[direction])}: the same own items, or none, on {equal:,} of {total:,} queries. "
            f"On {better[0]:,} of these φ prefers the first model, on {better[1]:,} the second; on {much:,} by 10 "
            "points of NCS or more."
        )
    return [*notes, f"{capitalised(found['tie_rule'])}."]


def _draw(canvas: Canvas, found: Mapping[str, Any], photographs: Photographs | None) -> None:
    """One block per query: the query at the left, and for each model a column with what it retrieves."""
    column = (WIDTH - QUERY - 2 * GAP) / 2
    lefts = [QUERY + GAP, QUERY + 2 * GAP + column]
    blocks = [(query, _height(query, column)) for query in found["chosen"]]
    canvas.set_size_inches(WIDTH, HEADING + sum(height for _, height in blocks))
    text_at(canvas, 0, 0.08, "query", fontsize=8.5, weight="bold")
    for left, model in zip(lefts, found["models"], strict=True):
        text_at(canvas, left, 0.08, model, fontsize=8.5, weight="bold")
    top = HEADING
    for query, height in blocks:
        rule_at(canvas, top - PAD / 2)
        outcome = OUTCOMES[query["direction"], query["outcome"]].format(k=found["k"])
        text_at(canvas, 0, top, f"{DIRECTIONS[query['direction']]}, {outcome}", fontsize=7, color=SOFT)
        down = top + TITLE
        _draw_query(canvas, down, height - TITLE - PAD, query, photographs)
        for left, answer in zip(lefts, query["answers"], strict=True):
            text_at(canvas, left, down, f"NCS {answer['ncs']:.1f}", fontsize=7.5, weight="bold")
            if query["direction"] == "i2t":
                _draw_captions(canvas, left, down + 0.24, column, answer["items"])
            else:
                _draw_photographs(canvas, left, down + 0.18, column, answer["items"], photographs)
        top += height


def _height(query: Mapping[str, Any], column: float) -> float:
    if query["direction"] == "t2i":
        lines = wrapped(query["captions"][0], _characters(QUERY), 9).count("\n") + 1
        answer = 0.18 + column / len(query["answers"][0]["items"]) * 0.78 + 0.16
        return TITLE + max(answer, lines * LINE * 1.15) + PAD
    answers = [
        sum(LINE * (_caption(item, column).count("\n") + 1.45) for item in answer["items"])
        for answer in query["answers"]
    ]
    return TITLE + max(QUERY * 0.8, 0.2 + max(answers)) + PAD


def _draw_query(
    canvas: Canvas, top: float, height: float, query: Mapping[str, Any], photographs: Photographs | None
) -> None:
    if query["direction"] == "i2t":
        at = (0, top, QUERY, height)
        photograph_at(canvas, at, query["filename"], photographs, longest_side=LONGEST_SIDE, fontsize=SIZE)
        return
    for index, line in enumerate(wrapped(query["captions"][0], _characters(QUERY), 9).split("\n")):
        text_at(canvas, 0, top + 0.02 + index * LINE * 1.15, line, fontsize=7)


def _draw_captions(canvas: Canvas, left: float, top: float, column: float, items: Sequence[Mapping[str, Any]]) -> None:
    down = top
    for item in items:
        colour = OWN_COLOUR if item["own"] else "black"
        if item["own"]:
            mark_at(canvas, left, down, "●", colour, SIZE)
        text_at(canvas, left, down, f"{item['phi']:.2f}", fontsize=SIZE, color=colour, weight="bold", va="baseline")
        for line in _caption(item, column).split("\n"):
            text_at(canvas, left + VALUE, down, line, fontsize=SIZE, color=colour, va="baseline")
            down += LINE
        down += LINE * 0.45


def _draw_photographs(
    canvas: Canvas,
    left: float,
    top: float,
    column: float,
    items: Sequence[Mapping[str, Any]],
    photographs: Photographs | None,
) -> None:
    from matplotlib.patches import Rectangle

    each = column / len(items)
    for place, item in enumerate(items):
        at = (left + place * each, top, each - 0.05, each * 0.78)
        panel = photograph_at(
            canvas, at, item["filename"], photographs, longest_side=LONGEST_SIDE, fontsize=SIZE, anchor="N"
        )
        if item["own"] and panel is not None:
            look: Any = {"fill": False, "edgecolor": OWN_COLOUR, "linewidth": 2.2}
            panel.add_patch(Rectangle((0, 0), 1, 1, transform=panel.transAxes, **look))
        how: Any = {"fontsize": SIZE, "ha": "center", "weight": "bold"}
        how["color"] = OWN_COLOUR if item["own"] else "black"
        text_at(canvas, left + (place + 0.5) * each - 0.025, top + each * 0.78 + 0.02, f"{item['phi']:.2f}", **how)


def _caption(item: Mapping[str, Any], column: float) -> str:
    return wrapped(item["caption"], _characters(column - VALUE), 3)


def _characters(inches: float) -> int:
    return int(inches * CHARACTERS)
