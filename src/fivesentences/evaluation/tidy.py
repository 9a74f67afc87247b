"""The JSON files of many runs as one tidy table: one row per value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fivesentences.corpus.parquet import read_frame
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import replacing, write_json

RUN_COLUMNS = ["run", "scale", "dataset", "model", "loss", "fraction", "seed", "features", "main_phi", "split"]
RUN_COLUMNS += ["kept_epoch"]  # whose weights were kept; missing where that is not known, as of an ensemble
GALLERY_COLUMNS = ["images", "captions", "tie_rule", "labels"]
VALUE_COLUMNS = ["inference", "metric", "direction", "formula", "ground_truth", "m", "style", "phi", "value"]
COLUMNS = RUN_COLUMNS + GALLERY_COLUMNS + VALUE_COLUMNS
STORED = [key for key in RUN_COLUMNS + GALLERY_COLUMNS if key != "scale"]  # of every run, beside its values


def read_evaluations(files: Iterable[str | Path]) -> list[dict[str, Any]]:
    """The entries of files that ``evaluate_runs`` wrote, one per run; a file may also hold one entry alone.

    Raises:
        InputError: If a file is not one of these, or a run lacks something.
    """
    entries: list[dict[str, Any]] = []
    for file in files:
        content = read_json(file, "evaluate the runs again")
        of_runs = content if isinstance(content, list) else [content]
        for entry in of_runs:
            if not isinstance(entry, dict) or "run" not in entry:
                raise InputError("this is no list of evaluated runs; evaluate them again.", where=file)
            lacking = _lacking(entry)
            if lacking is not None:
                raise InputError(f"the run '{entry['run']}' lacks '{lacking}'; evaluate it again.", where=file)
        entries += of_runs
    return entries


def _lacking(entry: Mapping[str, Any]) -> str | None:
    """The first key of a run or one of its values that ``evaluate_runs`` would have written; None: all are there."""
    of_run = next((key for key in STORED if key not in entry), None)
    if of_run is not None:
        return of_run
    values = entry.get("values")
    if not isinstance(values, list):
        return "values"
    of_values = (key for value in values for key in VALUE_COLUMNS if not isinstance(value, dict) or key not in value)
    return next(of_values, None)


def collect(files: Iterable[str | Path], scale: str) -> pd.DataFrame:
    """Read the numbers of many runs into one table with one row per number.

    Args:
        files: JSON files that ``evaluate_runs`` wrote.
        scale: The name that the column ``scale`` gets.

    Returns:
        Columns that say which run it is (run, scale, dataset, model, loss, fraction, seed, features, main_phi, split,
        kept_epoch), its gallery (images, captions, tie_rule, labels), and the number (inference, metric, direction,
        formula, ground_truth, m, style, phi, value); units are those of ``METRICS``.

    Raises:
        InputError: If a file is not what ``evaluate_runs`` writes.
    """
    return tidy_of(read_evaluations(files), scale)


def tidy_of(entries: Iterable[Mapping[str, Any]], scale: str) -> pd.DataFrame:
    """As ``collect``, from entries that were read."""
    rows = [
        {"scale": scale} | {key: entry[key] for key in STORED} | {key: value[key] for key in VALUE_COLUMNS}
        for entry in entries
        for value in entry["values"]
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def summary(tidy: pd.DataFrame) -> dict[str, Any]:
    """The headline numbers of every run as nested plain data, which ``dvc metrics`` can show and compare.

    They are those of the similarity as it is, and of the phi that a run's evaluation names first.
    """
    head = tidy[tidy.metric.isin(["Rsum", "Nsum"]) & tidy.formula.isin(["", "released"]) & tidy.inference.eq("naive")]
    head = head[head.phi.eq("") | head.phi.eq(head.main_phi)]
    found: dict[str, Any] = {}
    for row in head.to_dict("records"):
        name = row["metric"] if row["ground_truth"] != "removed" else f"{row['metric']} without ground truth"
        found.setdefault(row["run"], {})[name] = round(float(row["value"]), 4)
    return found


def write_tidy(tidy: pd.DataFrame, out: str | Path) -> None:
    """Write the table as parquet and its summary as JSON beside it."""
    with replacing(out) as temporary:
        tidy.to_parquet(temporary, index=False)
    write_json(Path(out).with_suffix(".json"), summary(tidy))


def read_tidy(path: Path) -> pd.DataFrame:
    """The table that ``write_tidy`` wrote.

    Raises:
        InputError: If it is missing or damaged, or lacks a column.
    """
    return read_frame(path, "remove it and make it again with the workflow", COLUMNS)
