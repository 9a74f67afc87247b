"""The numbers of one or several models, and their differences, as tables for people and for programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fivesentences.commands.sheets import Best, Sheet, number
from fivesentences.config.metrics import METRICS, SUMS, UNITS, metric_of, parse_metric
from fivesentences.metrics import Evaluation
from fivesentences.metrics.values import KEYS

ALPHA = 0.05
Key = tuple[Any, ...]
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
    return metric_of(value["metric"]).decimals


def notes_of(result: Evaluation) -> list[str]:
    """Sentences on galleries, units and formulas."""
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
        heading: Header of the column that names the models.
    """
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


# --- several models -----------------------------------------------------------------------------------------


def model_sheets(
    models: Mapping[str, Evaluation], tests: pd.DataFrame | None, against: str | None, notes: Sequence[str]
) -> list[Sheet]:
    """One row per metric and model, the best in bold; then one row per metric and pair of models.

    Args:
        models: Evaluations by name, of the same images and captions.
        tests: As ``compare_all`` returns them; None if models are not compared.
        against: The model with which the others were compared; None for every pair.
        notes: Further sentences.
    """
    results = list(models.values())
    marked = set() if tests is None else _different(models, tests, against)
    entries = []
    for same in zip(*(result.values for result in results), strict=True):
        best = best_of([value["value"] for value in same], same[0]["metric"])
        for at, (name, value) in enumerate(zip(models, same, strict=True)):
            text = number(value["value"], metric_decimals(value))
            text += "*" if text and (_key(value), name) in marked else ""
            entries.append((value, name, Best(text) if at in best else text))
    about = results[0].about
    size = f"{len(models)} models: {about['file_images']:,} images, {about['file_captions']:,} captions"
    if about["file_images"] != about["images"]:
        size += f"; scored in galleries of {about['images']:,} images, {about['captions']:,} captions"
    bold = "Bold: the best of the models, and what equals it."
    if tests is None:
        return titled(tables(entries, "model"), size, [*notes_of(results[0]), bold, *notes])
    than = f"'{against}'" if against else "the best"
    bold += f" *: differs from {than}, p < {ALPHA:g} after Holm's correction."
    tested = set(tests["metric"])
    if untested := dict.fromkeys(value["metric"] for value in results[0].values if value["metric"] not in tested):
        bold += f" Not tested: {', '.join(untested)}."
    return [
        *titled(tables(entries, "model"), size, [*notes_of(results[0]), bold]),
        *_comparisons(tests, notes),
    ]


def content_of_models(models: Mapping[str, Evaluation], tests: pd.DataFrame | None) -> dict[str, Any]:
    """The same for JSON: the numbers of each model, and the tests where there are any."""
    content: dict[str, Any] = {
        "models": [
            {"model": name, "similarity": result.about["similarity"], "values": result.values}
            for name, result in models.items()
        ]
    }
    if tests is not None:
        content |= {key: tests.attrs[key] for key in ("method", "resamples", "confidence", "seed")}
        content["tests"] = tests.to_dict("records")
    return content


def best_of(values: Sequence[float], metric: str) -> set[int]:
    """Which values are the best; none if no direction is better, or all are equal."""
    better = metric_of(metric).better
    finite = [value for value in values if value == value]
    if better == "neither" or not finite:
        return set()
    best = max(finite) if better == "higher" else min(finite)
    found = {at for at, value in enumerate(values) if value == best}
    return set() if len(found) == len(values) else found


def tidy_of_models(models: Mapping[str, Evaluation], tests: pd.DataFrame | None, labels: Mapping[str, Any]) -> Any:
    """One row per number and model, and one per comparison: there ``against`` names the other model.

    Args:
        models: Evaluations by name.
        tests: Comparisons; None if there are none.
        labels: Columns that say what a number is of: by name a value, or a dictionary of one per model.
    """
    parts = []
    for name, result in models.items():
        own = {key: value[name] if isinstance(value, dict) else value for key, value in labels.items()}
        parts.append(labelled(result.tidy(), {"model": name, **own}))
    if tests is not None:
        of_tests = tests.rename(columns={"a": "value", "b": "value_against"})
        for key, value in labels.items():
            of_tests[key] = of_tests["model"].map(value) if isinstance(value, dict) else value
        parts.append(of_tests)
        columns = ["value_against", "difference", "low", "high", "p", "p_holm", "p_holm_all", "n", "clusters"]
        joined = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)
        joined[["n", "clusters"]] = joined[["n", "clusters"]].astype("Int64")
        first = [name for name in parts[0].columns if name != "value"]
        return joined[[first[0], "against", *first[1:], "value", *columns]]
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def _comparisons(tests: pd.DataFrame, notes: Sequence[str]) -> list[Sheet]:
    """Differences, each with its adjusted p."""
    entries: list[tuple[Mapping[str, Any], str, str]] = []
    for row in _records(tests):
        difference = f"{row['difference']:+.{metric_decimals(row)}f}"
        text = f"{difference} ({p_in_words(row['p_holm']).removeprefix('0')})"
        entries.append((row, f"{row['model']} - {row['against']}", Best(text) if row["p_holm"] < ALPHA else text))
    n_tests, pairs, metrics = len(tests), tests.attrs["pairs"], tests.attrs["metrics"]
    flips = tests.attrs["resamples"]
    corrected = f"with Holm's correction for the {pairs} pairs of models, not for" if pairs > 1 else "not adjusted for"
    below = [
        f"Differences, and p in brackets, {corrected} the {metrics} metrics; bold: p < {ALPHA:g}. --csv and --json "
        f"have intervals, p without correction, and p with Holm's correction for all {n_tests:,} tests (p_holm_all).",
        f"Paired permutation tests, {flips:,} sign flips; {int(tests['clusters'].iloc[0]):,} "
        "images, each with its captions, are the clusters.",
        *notes,
    ]
    if pairs / (flips + 1) >= ALPHA:
        below.append(f"With {flips:,} sign flips no p of {pairs} pairs can be below {ALPHA:g}; raise --resamples.")
    return titled(tables(entries, "difference"), "", below)


def _different(models: Mapping[str, Evaluation], tests: pd.DataFrame, against: str | None) -> set[tuple[Key, str]]:
    """Numbers that differ from those of the best model, or of the one with which all are compared."""
    found = set()
    best: dict[Key, set[str]] = {}
    names = list(models)
    for same in zip(*(result.values for result in models.values()), strict=True):
        best[_key(same[0])] = {names[at] for at in best_of([value["value"] for value in same], same[0]["metric"])}
    for row in _records(tests):
        if row["p_holm"] >= ALPHA:
            continue
        key = _key(row)
        reference = {against} if against else best.get(key, set())
        for one, other in ((row["model"], row["against"]), (row["against"], row["model"])):
            if other in reference and one not in reference:
                found.add((key, one))
    return found


def _records(tests: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in tests.to_dict("records")]


def p_in_words(p: float) -> str:
    """A p-value with four decimals."""
    return "<.0001" if p < 1e-4 else f"{p:.4f}"


def _key(value: Mapping[str, Any]) -> Key:
    return tuple(value[key] for key in KEYS)
