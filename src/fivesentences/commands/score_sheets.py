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
FORMULAS = {"released": "released formulas (of the authors' code)", "paper": "formulas of the paper"}
Cells = dict[tuple[str, ...], dict[tuple[str, str], str]]  # rows by their stub, numbers by group and heading


def sheets(result: Evaluation, notes: Sequence[str] = ()) -> list[Sheet]:
    """Up to three tables: cut-offs beside each other in a group per direction, other numbers, and fractions.

    Args:
        result: The numbers; ``about["similarity"]`` names the file.
        notes: Further sentences below the last table.
    """
    about = result.about
    found = tables([(value, "", number(value["value"], metric_decimals(value))) for value in result.values])
    return titled(found, _title(about), [*notes_of(result), *notes])


def metric_decimals(value: Mapping[str, Any]) -> int:
    """Digits after the point of a number."""
    from fivesentences.config.metrics import metric_of

    return metric_of(value["metric"]).decimals


def notes_of(result: Evaluation) -> list[str]:
    """Sentences on galleries, units and formulas."""
    from fivesentences.config.metrics import metric_of

    below = [rules(result.about), units({value["metric"] for value in result.values})]
    semantic = [value for value in result.values if metric_of(value["metric"]).name in ("N@k", "SR@k")]
    if formulas := sorted({value["formula"] for value in semantic}):
        below.append(f"N and SR: {' and '.join(FORMULAS[name] for name in reversed(formulas))}; {GROUND_TRUTH}")
    return below


def titled(found: Sequence[Sheet], title: str, notes: Sequence[str]) -> list[Sheet]:
    """Sheets with a title above the first and notes below the last."""
    first, last = found[0], found[-1]
    return [
        replace(sheet, title=title if sheet is first else "", notes=notes if sheet is last else []) for sheet in found
    ]


def tables(entries: Sequence[tuple[Mapping[str, Any], str, str]], heading: str = "") -> list[Sheet]:
    """Up to three tables, without title and notes.

    Args:
        entries: The key of a number, what it is of (such as a model), and its text.
        heading: Of the column that says what a number is of.
    """
    from fivesentences.config.metrics import SUMS, metric_of, parse_metric

    at_k: Cells = {}
    single: Cells = {}
    fractions: Cells = {}
    semantic = {key["formula"] for key, _, _ in entries if metric_of(key["metric"]).name in ("N@k", "SR@k")}
    with_formula = len(semantic) > 1

    def row_of(value: Mapping[str, Any]) -> tuple[str, ...]:
        return _stub({**value, "m": 0}, parse_metric(value["metric"]).family, with_formula)

    place = {row_of(key): at for at, (key, _, _) in reversed(list(enumerate(entries)))}
    for value, of, shown in sorted(entries, key=lambda one: (place[row_of(one[0])], one[0]["m"])):  # smallest m first
        named = parse_metric(value["metric"])
        metric, side = named.metric, ("", value["direction"] or "both")

        def row(cells: Cells, name: str, value: Mapping[str, Any] = value, of: str = of) -> dict[tuple[str, str], str]:
            return cells.setdefault((*_stub(value, name, with_formula), of), {})

        if metric.decimals > 2:
            row(fractions, value["metric"])[side] = shown
        elif named.cutoff is not None and not metric.is_hubness:
            row(at_k, named.family)[value["direction"], f"@{named.cutoff}"] = shown
        elif metric.name in SUMS:  # in the last column of the row that it sums
            row(at_k, SUMS[metric.name])["", "sum"] = shown
        else:
            row(single, value["metric"])[side] = shown
    ks = sorted({int(name[1:]) for row in at_k.values() for side, name in row if side})
    found = []
    both = [("", name) for name in (*SIDES, "both")]
    stub_headings = (*STUB, heading)
    for cells, columns in (
        (at_k, [*((side, f"@{k}") for side in SIDES for k in ks), ("", "sum")]),
        (single, both),
        (fractions, both),
    ):
        present = [column for column in columns if any(column in row for row in cells.values())]
        used = [at for at in range(len(stub_headings)) if any(stub[at] for stub in cells)]
        rows = [[*(stub[at] for at in used), *(row.get(at, "") for at in present)] for stub, row in cells.items()]
        if rows:
            found.append(Sheet([stub_headings[at] for at in used], present, rows))
    return found


def rules(about: Mapping[str, Any]) -> str:
    """A sentence on what the queries are, how the galleries were made, and ties."""
    return f"i2t: images are queries, t2i: captions are; {about['protocol_words']}; {about['tie_rule']}."


def sized(name: str, about: Mapping[str, Any]) -> str:
    """What was given, with its size."""
    return f"{name}: {about['file_images']:,} images, {about['file_captions']:,} captions"


def units(metrics: Collection[str]) -> str:
    """A sentence on the units of metrics, of which most are percentages."""
    from fivesentences.config.metrics import METRICS, UNITS, metric_of

    order = list(METRICS)
    names = sorted(metrics, key=lambda name: (order.index(metric_of(name).name), name))
    parts = []
    for unit, words in UNITS.items():
        of_unit = [name for name in names if metric_of(name).unit == unit]
        if of_unit and unit != "percent":
            parts.append(f"{', '.join(of_unit)}: {words}")
    return f"In percent, except {'; '.join(parts)}." if parts else "In percent."


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
