"""The numbers of an evaluation as tables for people, in the layout of papers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fivesentences.commands.sheets import Sheet, number

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.metrics import Evaluation

SIDES = ("i2t", "t2i")
STUB = ("metric", "phi", "GT", "m", "variant")
GROUND_TRUTH = "GT: ground truth, the query's own items."
Cells = dict[tuple[str, ...], dict[tuple[str, str], str]]  # rows by their stub, numbers by group and heading


def sheets(result: Evaluation, notes: Sequence[str] = ()) -> list[Sheet]:
    """Up to three tables: cut-offs beside each other in a group per direction, other numbers, and fractions.

    Args:
        result: The numbers; ``about["similarity"]`` names the file.
        notes: Further sentences below the last table.
    """
    from fivesentences.metrics.registry import SUMS, metric_of, parse_metric

    about = result.about
    at_k: Cells = {}
    single: Cells = {}
    fractions: Cells = {}
    semantic = [value for value in result.values if metric_of(value["metric"]).name in ("N@k", "SR@k")]
    formulas = sorted({value["formula"] for value in semantic})
    with_formula = len(formulas) > 1

    def row_of(value: Mapping[str, Any]) -> tuple[str, ...]:
        return _stub({**value, "m": 0}, parse_metric(value["metric"]).family, with_formula)

    place = {row_of(value): at for at, value in reversed(list(enumerate(result.values)))}
    for value in sorted(result.values, key=lambda value: (place[row_of(value)], value["m"])):  # smallest m first
        named = parse_metric(value["metric"])
        metric, side = named.metric, ("", value["direction"] or "both")
        shown = number(value["value"], metric.decimals)
        if metric.decimals > 2:
            fractions.setdefault(_stub(value, value["metric"], with_formula), {})[side] = shown
        elif named.cutoff is not None and not metric.is_hubness:
            row = at_k.setdefault(_stub(value, named.family, with_formula), {})
            row[value["direction"], f"@{named.cutoff}"] = shown
        elif metric.name in SUMS:  # in the last column of the row that it sums
            at_k.setdefault(_stub(value, SUMS[metric.name], with_formula), {})["", "sum"] = shown
        else:
            single.setdefault(_stub(value, value["metric"], with_formula), {})[side] = shown
    ks = sorted({int(name[1:]) for row in at_k.values() for side, name in row if side})
    found = []
    both = [("", name) for name in (*SIDES, "both")]
    for cells, columns in (
        (at_k, [*((side, f"@{k}") for side in SIDES for k in ks), ("", "sum")]),
        (single, both),
        (fractions, both),
    ):
        present = [column for column in columns if any(column in row for row in cells.values())]
        used = [at for at in range(len(STUB)) if any(stub[at] for stub in cells)]
        rows = [[*(stub[at] for at in used), *(row.get(at, "") for at in present)] for stub, row in cells.items()]
        if rows:
            found.append(Sheet([STUB[at] for at in used], present, rows))
    below = [rules(about)]
    below.append(units({value["metric"] for value in result.values}))
    if formulas:
        below.append(f"N and SR: {' and '.join(formulas)} formulas; {GROUND_TRUTH}")
    first, last = found[0], found[-1]
    return [
        replace(sheet, title=_title(about) if sheet is first else "", notes=[*below, *notes] if sheet is last else [])
        for sheet in found
    ]


def rules(about: Mapping[str, Any]) -> str:
    """A sentence on what the queries are, how the galleries were made, and ties."""
    return f"i2t: images are queries, t2i: captions are; {about['protocol_words']}; {about['tie_rule']}."


def sized(name: str, about: Mapping[str, Any]) -> str:
    """What was given, with its size."""
    return f"{name}: {about['file_images']:,} images, {about['file_captions']:,} captions"


def units(metrics: Collection[str]) -> str:
    """A sentence on the units of metrics, of which most are percentages."""
    from fivesentences.metrics.registry import METRICS, UNITS, metric_of

    order = list(METRICS)
    names = sorted(metrics, key=lambda name: (order.index(metric_of(name).name), name))
    parts = []
    for unit, words in UNITS.items():
        of_unit = [name for name in names if metric_of(name).unit == unit]
        if of_unit and unit != "percent":
            parts.append(f"{', '.join(of_unit)}: {words}")
    return f"Percent, but {'; '.join(parts)}." if parts else "Percent."


def labelled(frame: pd.DataFrame, about: Mapping[str, Any]) -> pd.DataFrame:
    """A tidy table whose first columns say what each row is of, so that tables of several models can be joined."""
    labels = {name: [value] * len(frame) for name, value in about.items()}
    rest = frame.drop(columns=[name for name in about if name in frame.columns])
    for at, (name, values) in enumerate(labels.items()):
        rest.insert(at, name, values)
    return rest


def _title(about: Mapping[str, Any]) -> str:
    """The file and its size, and that of a gallery where it differs."""
    title = sized(about["similarity"], about)
    if about["file_images"] == about["images"]:
        return title
    gallery = f"{about['images']:,} images, {about['captions']:,} captions"
    several = about["galleries"] > 1
    return f"{title}; mean of {about['galleries']} galleries of {gallery}" if several else f"{title}; scored: {gallery}"


def _stub(value: Mapping[str, Any], metric: str, with_formula: bool) -> tuple[str, ...]:
    """The cells that name a row, in the order of ``STUB``; the last one is the rest of the variant in words."""
    words = [value["formula"]] if value["formula"] and with_formula and metric != "ASP" else []
    words += [value[key] for key in ("style", "weighting", "discount") if value[key] not in ("", "recall", "hard")]
    if metric == "ASP":
        words.append(f"ties by {value['formula']}")
    m = str(value["m"] or "")
    return metric, value["phi"], value["ground_truth"], m, ", ".join(words)
