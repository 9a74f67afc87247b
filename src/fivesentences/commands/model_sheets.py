"""The numbers of several models, and their differences, as tables for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fivesentences.commands.score_sheets import labelled, metric_decimals, notes_of, tables, titled
from fivesentences.commands.sheets import Best, Sheet, number

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.metrics import Evaluation

ALPHA = 0.05
Key = tuple[Any, ...]


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
    from fivesentences.config.metrics import metric_of

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
    import pandas as pd

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
        p = "<.0001" if row["p_holm"] < 1e-4 else f"{row['p_holm']:.4f}".removeprefix("0")
        text = f"{difference} ({p})"
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


def _key(value: Mapping[str, Any]) -> Key:
    from fivesentences.metrics.values import KEYS

    return tuple(value[key] for key in KEYS)
