"""Runs on two sides, paired by seed -> their differences, with intervals over seeds and what they were tested on.

Matching runs are tested on the same images, so that seeds and images are crossed. In category retrieval a document is
one unit (its image and its text are two queries of one category); each seed may draw its own test documents from one
pool, so that seeds and documents are crossed in part only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fivesentences.corpus.parquet import read_frame
from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.metrics.crossed import POWER, RESAMPLES, crossed_differences
from fivesentences.reproduction.categories.evaluation import PER_QUERY, READINGS
from fivesentences.reproduction.evaluation.tidy import SUMMED, read_as, read_per_image
from fivesentences.storage import write_json

FORMAT = "fivesentences.contrasts 1"
FORMAT_OF_CATEGORIES = "fivesentences.subspace_contrasts 1"
CONFIDENCE = 0.95
CONTRASTED = tuple(product(READINGS, ("i2t", "t2i", "mean")))  # (metric, direction)
# Runs or ensembles on two sides: `a` and `b` (names of runs, one per seed, in the same order), `seeds`, and `dataset`;
# `inference` (how each side is read) where one is re-scored, and `phi` where it is not the main one; of category
# retrieval also `a_selection` and `b_selection` (epochs whose weights are compared), and in place of the dataset
# `role`, `documents` and `division`.
Pair = Mapping[str, Any]
# By run and selection: one row per document, columns are CONTRASTED.
Precisions = Mapping[tuple[str, str], pd.DataFrame]


def contrast_runs(
    pairs: Sequence[Pair], per_image: Mapping[str, pd.DataFrame], *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Compute the differences a - b of pairs of matching runs.

    Args:
        pairs: Runs to compare.
        per_image: Contribution of each image to the sums of each run, by the run's name; see ``read_per_image``.
        resamples: Draws of the bootstrap.

    Returns:
        For each pair what it is, ``images`` and ``metrics``: for each column of ``SUMMED`` the attributes of
        ``CrossedDifference``, ``mean_a`` and ``mean_b``, and ``differences``: one per seed, each a mean over images.

    Raises:
        InputError: If a run has no values, or two runs of a seed were tested on different images.
    """
    contrasts = []
    for pair in pairs:
        sides = [
            [_values_of(per_image, run, name)[list(SUMMED)] for run, name in zip(pair[side], read, strict=True)]
            for side, read in zip(("a", "b"), names_read(pair), strict=True)
        ]
        described, images = _described(pair, sides, resamples)
        contrasts.append({**pair, "images": images, "metrics": dict(zip(SUMMED, described, strict=True))})
    return contrasts


def contrast_subspaces(
    pairs: Sequence[Pair], precisions: Precisions, *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Compute the differences a - b of mean average precision, in each of its readings.

    Args:
        pairs: Runs to compare.
        precisions: Average precisions of every test document; see ``read_precisions``.
        resamples: Draws of the bootstrap.

    Returns:
        For each pair what it is, ``images`` (test documents of all seeds together), ``per_seed`` (of each),
        ``same_queries`` (True if all seeds have the same ones) and ``metrics``: by metric and, within, by direction
        ("i2t", "t2i" and "mean") the attributes of ``CrossedDifference``, ``mean_a`` and ``mean_b``, and
        ``differences``, one per seed; fractions.

    Raises:
        InputError: If a run has no values, or two runs of one seed were tested on different documents.
    """
    contrasts = []
    for pair in pairs:
        sides = [
            [_values_of(precisions, run, (run, pair[f"{side}_selection"])) for run in pair[side]] for side in ("a", "b")
        ]
        described, documents = _described(pair, sides, resamples)
        metrics: dict[str, dict[str, Any]] = {}
        for (metric, direction), one in zip(CONTRASTED, described, strict=True):
            metrics.setdefault(metric, {})[direction] = one
        per_seed = [len(frame) for frame in sides[0]]
        about = {"per_seed": per_seed, "same_queries": min(per_seed) == documents, "images": documents}
        contrasts.append({**pair, **about, "metrics": metrics})
    return contrasts


def _values_of(found: Mapping[Any, pd.DataFrame], run: str, key: Any) -> pd.DataFrame:
    if key not in found:
        raise InputError(f"the run '{run}' has no values of each query; evaluate it again.")
    return found[key]


def _described(pair: Pair, sides: Sequence[Sequence[pd.DataFrame]], resamples: int) -> tuple[list[dict[str, Any]], int]:
    """Describe the difference of each metric (column), and count what any seed was tested on."""
    for ours, theirs, a, b in zip(*sides, pair["a"], pair["b"], strict=True):
        if not ours.index.equals(theirs.index):
            raise InputError(f"the runs '{a}' and '{b}' were tested on different items; evaluate both again.")
    pool = list(dict.fromkeys(item for frame in sides[0] for item in frame.index))
    # [metrics, seeds, items of the pool], NaN where a seed did not test an item.
    first, second = (
        np.array([frame.reindex(pool).to_numpy(np.float64).T for frame in frames]).swapaxes(0, 1) for frames in sides
    )
    found = []
    for of_a, of_b, one in zip(first, second, crossed_differences(first - second, CONFIDENCE, resamples), strict=True):
        means = {"mean_a": float(np.nanmean(of_a)), "mean_b": float(np.nanmean(of_b))}
        found.append(asdict(one) | means | {"differences": np.nanmean(of_a - of_b, axis=1).tolist()})
    return found, len(pool)


def read_precisions(files: Iterable[Path], runs: Iterable[str]) -> dict[tuple[str, str], pd.DataFrame]:
    """Read the average precision of every test document of some runs, as far as the files have them.

    Args:
        files: ``{job}.queries.parquet``, as ``evaluate_subspace_runs`` wrote them.
        runs: Names of runs.

    Returns:
        By (run, selection) a frame with a row per document and the columns ``CONTRASTED``.

    Raises:
        InputError: If a file is missing.
    """
    wanted, found = list(dict.fromkeys(runs)), {}
    for file in files:
        lines = read_frame(file, "evaluate the runs again", ["run", "selection", "document", "direction"])
        lines = lines[lines["run"].isin(wanted)]
        for (run, selection), of_run in lines.groupby(["run", "selection"], sort=False):
            sides = {side: lines.set_index("document").sort_index() for side, lines in of_run.groupby("direction")}
            images, texts = (sides[side].loc[sides["i2t"].index] for side in ("i2t", "t2i"))
            columns = {}
            for metric, column in PER_QUERY.items():
                columns[metric, "i2t"], columns[metric, "t2i"] = images[column], texts[column]
                columns[metric, "mean"] = (images[column] + texts[column]) / 2
            found[str(run), str(selection)] = pd.DataFrame(columns)
    return found


def write_contrasts(
    pairs: Sequence[Pair], per_image: Sequence[Path], out: Path, *, phi: str, resamples: int = RESAMPLES
) -> None:
    """Write what ``contrast_runs`` computes as JSON.

    Args:
        pairs: Runs to compare.
        per_image: Files that ``evaluate_runs`` wrote.
        out: The JSON file.
        phi: The phi of Nsum and ASP, which the file names.
        resamples: Draws of the bootstrap.
    """
    values = read_per_image(per_image, (name for pair in pairs for side in names_read(pair) for name in side))
    _write(FORMAT, contrast_runs(pairs, values, resamples=resamples), out, resamples, phi=phi)


def write_subspace_contrasts(
    pairs: Sequence[Pair], queries: Sequence[Path], out: Path, *, resamples: int = RESAMPLES
) -> None:
    """Write what ``contrast_subspaces`` computes as JSON; ``queries`` are the files that ``read_precisions`` reads."""
    found = contrast_subspaces(pairs, read_precisions(queries, _runs(pairs)), resamples=resamples)
    _write(FORMAT_OF_CATEGORIES, found, out, resamples)


def names_read(pair: Pair) -> list[list[str]]:
    """Return the names in the table of contributions of the runs of both sides."""
    inferences = pair.get("inference", ("naive", "naive"))
    return [
        [read_as(run, inference, pair.get("phi", "")) for run in pair[side]]
        for side, inference in zip(("a", "b"), inferences, strict=True)
    ]


def _runs(pairs: Sequence[Pair]) -> list[str]:
    return [run for pair in pairs for run in (*pair["a"], *pair["b"])]


def _write(form: str, contrasts: list[dict[str, Any]], out: Path, resamples: int, **about: str) -> None:
    settings = {"confidence": CONFIDENCE, "power": POWER, "resamples": resamples}
    write_json(out, {"format": form, **about, **settings, "contrasts": contrasts}, indent=None)


def read_contrasts(path: Path | str, form: str = FORMAT) -> dict[str, Any]:
    """Read contrasts of matching runs, or with ``FORMAT_OF_CATEGORIES`` of category retrieval.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    return read_formatted(path, form, "these are not contrasts of this version; make them again.")
