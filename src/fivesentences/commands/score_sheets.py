"""The numbers of one or several models, and their differences, as tables for people and for programs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fivesentences.commands.sheets import number
from fivesentences.config.metrics import METRICS, SUMS, UNITS, metric_of, parse_metric, shown_name
from fivesentences.errors import counted
from fivesentences.evaluation.query_tests import disagreements
from fivesentences.metrics import Evaluation
from fivesentences.metrics.sheet import Marked, Sheet
from fivesentences.metrics.values import row_key

ALPHA = 0.05
ORDER = ("i2t", "t2i", "both", "sum")  # of columns
STUB = ("metric", "phi", "GT", "m", "variant")
CHANCE = "chance"  # the row of a random ranking
OF_CHANCE = "chance: what a ranking in random order reaches on average; medians and hubs have no closed form."
GROUND_TRUTH = "GT: ground truth, the query's own items."
FORMULAS = {"released": "released formulas (of the authors' code)", "paper": "formulas of the paper"}
Entry = tuple[Mapping[str, Any], str, str]  # the key of a number, what it is of, and its text
# By what names a row: its place, its m, and its cells by group and heading.
Rows = dict[tuple[str, ...], tuple[int, int, dict[tuple[str, str], str]]]


def sheets(result: Evaluation, notes: Sequence[str] = ()) -> list[Sheet]:
    """Return up to three tables of one model; ``about["similarity"]`` names its file."""
    chance, entries = _of_chance(result), list[Entry]()
    for value in result.values:
        entries += [(value, "", _text(value)), *chance.get(row_key(value), ())]
    return tables(entries, "", sized(result.about["similarity"], result.about), [*notes_of(result), *notes])


def _of_chance(*results: Evaluation) -> dict[tuple[Any, ...], list[Entry]]:
    """Return what a random ranking reaches, by key, from the first of several models of which it is known."""
    known = next((one.chance.values for one in results if one.chance is not None), [])
    return {row_key(value): [(value, CHANCE, _text(value))] for value in known}


def _text(value: Mapping[str, Any]) -> str:
    return number(value["value"], metric_of(value["metric"]).decimals)


def notes_of(result: Evaluation) -> list[str]:
    """Return sentences on galleries, units and formulas."""
    below = [rules(result.about), units({value["metric"] for value in result.values})]
    below += [OF_CHANCE] if result.chance is not None else []
    semantic = {v["formula"] for v in result.values if metric_of(v["metric"]).name in ("N@k", "SR@k")}
    if semantic:
        formulas = [FORMULAS[name] for name in sorted(semantic, reverse=True)]
        below.append(f"NCS and SR: {' and '.join(formulas)}; {GROUND_TRUTH}")
    return below


def tables(entries: Sequence[Entry], heading: str, title: str, notes: Sequence[str]) -> list[Sheet]:
    """Return up to three tables: cut-offs beside each other in a group per direction, other numbers, and fractions.

    Args:
        entries: The key of a number, what it is of (such as a model), and its text.
        heading: Header of the column that says what it is of.
        title: The text above the first table.
        notes: The sentences below the last one.
    """
    semantic = {key["formula"] for key, _, _ in entries if metric_of(key["metric"]).name in ("N@k", "SR@k")}
    first: dict[tuple[str, ...], int] = {}  # place of each metric and variant
    at_k: Rows = {}
    single: Rows = {}
    fractions: Rows = {}
    for key, of, text in entries:
        named = parse_metric(key["metric"])
        metric = named.metric
        rows, name, column = single, key["metric"], ("", key["direction"] or "both")
        if metric.decimals > 2:
            rows = fractions
        elif named.cutoff is not None and not metric.is_hubness:
            rows, name, column = at_k, named.family, (key["direction"], f"@{named.cutoff}")
        elif metric.name in SUMS:  # in the last column of the row that it sums
            rows, name, column = at_k, SUMS[metric.name], ("", "sum")
        variant = _stub({**key, "m": 0}, named.family, len(semantic) > 1)
        row = (*_stub(key, name, len(semantic) > 1), of)
        rows.setdefault(row, (first.setdefault(variant, len(first)), key["m"], {}))[2][column] = text
    found: list[Sheet] = []
    for rows in filter(None, (at_k, single, fractions)):
        columns = sorted({column for *_, cells in rows.values() for column in cells}, key=_place)
        used = [at for at in range(len(STUB) + 1) if any(row[at] for row in rows)]
        ordered = sorted(rows.items(), key=lambda row: row[1][:2])  # smallest m first
        lines = [[*(row[at] for at in used), *(cells.get(one, "") for one in columns)] for row, (*_, cells) in ordered]
        found.append(Sheet([(*STUB, heading)[at] for at in used], columns, lines, "" if found else title))
    return [*found[:-1], replace(found[-1], notes=notes)]


def _place(column: tuple[str, str]) -> tuple[int, int]:
    group, name = column
    return ORDER.index(group or name), int(name[1:]) if group else 0


def rules(about: Mapping[str, Any]) -> str:
    """Return a sentence on what the queries are, how the galleries were made, and ties."""
    return f"i2t: images are queries, t2i: captions are; {about['protocol_words']}; {about['tie_rule']}."


def sized(name: str, about: Mapping[str, Any]) -> str:
    """Return what was scored, its size, and that of a gallery where it differs."""
    title = f"{name}: {counted(about['file_images'], 'image')}, {counted(about['file_captions'], 'caption')}"
    if about["file_images"] == about["images"]:
        return title
    several = f"mean of {about['galleries']} galleries of" if about["galleries"] > 1 else "scored:"
    return f"{title}; {several} {counted(about['images'], 'image')}, {counted(about['captions'], 'caption')}"


def units(metrics: Collection[str]) -> str:
    """Return a sentence on the units of metrics, of which most are percentages."""
    order = list(METRICS)
    names = sorted(metrics, key=lambda name: (order.index(metric_of(name).name), name))
    by_unit = {words: [name for name in names if metric_of(name).unit == unit] for unit, words in UNITS.items()}
    shown = {words: ", ".join(map(shown_name, of)) for words, of in by_unit.items() if words != UNITS["percent"]}
    parts = [f"{of}: {words}" for words, of in shown.items() if of]
    return f"In percent, except {'; '.join(parts)}." if parts else "In percent."


def labelled(frame: pd.DataFrame, about: Mapping[str, Any]) -> pd.DataFrame:
    """Return a tidy table whose first columns say what each row is of, so that tables of models can be joined."""
    rest = pd.DataFrame(frame.drop(columns=[name for name in about if name in frame.columns]))
    return pd.concat([pd.DataFrame(dict(about), index=frame.index), rest], axis=1)


def _stub(value: Mapping[str, Any], metric: str, with_formula: bool) -> tuple[str, ...]:
    """Return the cells that name a row, in the order of ``STUB``; the last one is the rest of the variant in words."""
    words = [value["formula"]] if value["formula"] and with_formula and metric != "ASP" else []
    words += [value[key] for key in ("style", "weighting", "discount") if value[key] not in ("", "recall", "hard")]
    words += [f"ties by {value['formula']}"] if metric == "ASP" else []
    return shown_name(metric), value["phi"], value["ground_truth"], str(value["m"] or ""), ", ".join(words)


# --- several models -----------------------------------------------------------------------------------------


def model_sheets(models: Mapping[str, Evaluation], tests: pd.DataFrame | None, notes: Sequence[str]) -> list[Sheet]:
    """Return one row per metric and model, the best in bold; then one row per metric and pair of models.

    Args:
        models: Evaluations by name, of the same images and captions.
        tests: As ``compare_all`` returns them; None if models are not compared.
        notes: Further sentences.
    """
    first = next(iter(models.values()))
    values = {name: {row_key(value): value for value in result.values} for name, result in models.items()}
    chance, entries = _of_chance(*models.values()), list[Entry]()
    for key in dict.fromkeys(itertools.chain.from_iterable(values.values())):
        same = {name: of_model[key] for name, of_model in values.items() if key in of_model}
        best = best_of({name: value["value"] for name, value in same.items()}, key[0])
        entries += [(value, name, Marked(_text(value), name in best)) for name, value in same.items()]
        entries += chance.get(key, [])
    title, below = sized(f"{len(models)} models", first.about), [*notes_of(first)]
    below.append("Bold: the best of the models, and what equals it.")
    if tests is None:
        return tables(entries, "model", title, [*below, *notes])
    tested = set(tests["metric"])
    if untested := dict.fromkeys(value["metric"] for value in first.values if value["metric"] not in tested):
        below[-1] += f" Not tested: {', '.join(untested)}."
    return [*tables(entries, "model", title, below), *_comparisons(tests, tests.to_dict("records"), notes)]


def best_of(values: Mapping[str, float], metric: str) -> set[str]:
    """Return which models have the best value; none if no direction is better, or all are equal."""
    better = metric_of(metric).better
    finite = [value for value in values.values() if value == value]
    if better == "neither" or not finite:
        return set()
    best = max(finite) if better == "higher" else min(finite)
    found = {name for name, value in values.items() if value == best}
    return set() if len(found) == len(values) else found


def content_of_models(models: Mapping[str, Evaluation], tests: pd.DataFrame | None) -> dict[str, Any]:
    """Return the same for JSON: the numbers of each model, and the tests where there are any."""
    found = [
        {"model": name, "similarity": result.about["similarity"], "values": result.rows}
        for name, result in models.items()
    ]
    if tests is None:
        return {"models": found}
    how = {key: tests.attrs[key] for key in ("method", "resamples", "confidence", "seed")}
    return {"models": found, **how, "tests": tests.to_dict("records")}


def tidy_of_models(
    models: Mapping[str, Evaluation], tests: pd.DataFrame | None, labels: Mapping[str, Any]
) -> pd.DataFrame:
    """Return one row per number and model, and one per comparison: there ``against`` names the other model.

    Args:
        models: Evaluations by name.
        tests: Comparisons; None if there are none.
        labels: Columns that say what a number is of, in addition to model and file.
    """
    files = {name: result.about["similarity"] for name, result in models.items()}
    parts = [labelled(one.tidy(), {"model": name, "file": files[name], **labels}) for name, one in models.items()]
    if tests is None:
        return pd.concat(parts, ignore_index=True)
    first = [name for name in parts[0].columns if name not in ("model", "value")]
    of_tests = pd.DataFrame(tests.rename(columns={"a": "value", "b": "value_against"}))
    joined = pd.concat([*parts, of_tests.assign(**labels, file=of_tests["model"].map(files))], ignore_index=True)
    joined[["n", "clusters"]] = joined[["n", "clusters"]].astype("Int64")
    columns = ["value_against", "difference", "low", "high", "p", "p_holm", "p_holm_all", "n", "clusters"]
    columns = ["chance", *columns] if "chance" in joined else columns
    return joined[["model", "against", *first, "value", *columns]]


def _comparisons(tests: pd.DataFrame, records: Sequence[Mapping[Any, Any]], notes: Sequence[str]) -> list[Sheet]:
    """Return the differences: of one pair with their intervals and p, of several with p after Holm's correction."""
    pairs, metrics = tests.attrs["pairs"], tests.attrs["metrics"]
    below = [f"Bold: p < {ALPHA:g}. {tests.attrs['notes'][0]}", *notes]
    if pairs == 1:
        below[0] += f" p is not adjusted for {counted(metrics, 'metric')}."
        below[1:1] = disagreements(tests)
        return [_differences(records, tests.attrs["confidence"], below)]
    entries: list[Entry] = []
    for row in records:
        text = f"{_signed(row, 'difference')} ({p_in_words(row['p_holm']).removeprefix('0')})"
        entries.append((row, f"{row['model']} - {row['against']}", Marked(text, row["p_holm"] < ALPHA)))
    below[:0] = [
        f"Differences, and p in brackets, with Holm's correction for the {pairs} pairs of models, not for the "
        f"{metrics} metrics. --csv and --json have intervals, p without correction, and p with Holm's correction for "
        f"all {len(tests):,} tests (p_holm_all)."
    ]
    return tables(entries, "difference", "", [*below, *too_few_resamples(tests)])


def too_few_resamples(tests: pd.DataFrame) -> list[str]:
    """Return a sentence if no p can be small after Holm's correction."""
    pairs, resamples = tests.attrs["pairs"], tests.attrs["resamples"]
    if pairs / (resamples + 1) < ALPHA:
        return []
    return [f"With {resamples:,} resamples no p of {counted(pairs, 'pair')} can be below {ALPHA:g}; raise --resamples."]


def _differences(records: Sequence[Mapping[Any, Any]], confidence: float, notes: Sequence[str]) -> Sheet:
    """Return one row per metric of the only pair of models."""
    several = len({row["formula"] for row in records if metric_of(row["metric"]).name in ("N@k", "SR@k")}) > 1
    rows = []
    for row in records:
        stub = [row["direction"] or "both", *_stub(row, row["metric"], several)]
        interval = f"{_signed(row, 'low')}, {_signed(row, 'high')}" if row["low"] == row["low"] else ""
        cells = [_signed(row, "difference"), interval, p_in_words(row["p"])]
        rows.append(([stub[1], stub[0], *stub[2:]], [Marked(cell, row["p"] < ALPHA) for cell in cells]))
    headings = [STUB[0], "side", *STUB[1:]]
    used = [at for at in range(len(headings)) if any(stub[at] for stub, _ in rows)]
    columns = [("", f"{records[0]['model']} - {records[0]['against']}"), ("", f"{100 * confidence:g} % interval")]
    lines = [[*(stub[at] for at in used), *cells] for stub, cells in rows]
    return Sheet([headings[at] for at in used], [*columns, ("", "p")], lines, "", notes)


def _signed(row: Mapping[Any, Any], column: str) -> str:
    return f"{row[column]:+.{metric_of(row['metric']).decimals}f}"


def p_in_words(p: float) -> str:
    """Return a p-value with four decimals."""
    return "<.0001" if p < 1e-4 else f"{p:.4f}"
