"""Runs of category retrieval on two sides, paired by seed -> their differences, with intervals over seeds and queries.

A document is one unit: its image and its text are two queries of one category. Where all seeds have the same test
documents, seeds and documents are crossed; where each seed draws its own from one pool, partly so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.config.documents import Selection
from fivesentences.corpus.parquet import read_frame
from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.evaluation.categories import PER_QUERY, READINGS
from fivesentences.metrics.crossed import POWER, RESAMPLES, partly_crossed_differences
from fivesentences.storage import write_json

FORMAT = "fivesentences.subspace_contrasts 1"
CONFIDENCE = 0.95
CONTRASTED = tuple(product(READINGS, ("i2t", "t2i", "mean")))  # (metric, direction)
# Of a run and a selection: lines are documents, columns are CONTRASTED.
Precisions = Mapping[tuple[str, str], pd.DataFrame]


@dataclass(frozen=True)
class PairedSubspaces:
    """Runs of the same documents on two sides.

    Attributes:
        role: What the documents play.
        documents: The documents.
        division: How they are divided.
        a: Names of the runs of the first side, one per seed.
        b: Names of those of the second, in the same order of seeds.
        a_selection: Which epoch's weights of the first side.
        b_selection: Of the second.
        seeds: The seeds.
    """

    role: str
    documents: str
    division: str
    a: Sequence[str]
    b: Sequence[str]
    a_selection: Selection
    b_selection: Selection
    seeds: Sequence[int]


def contrast_subspaces(
    pairs: Sequence[PairedSubspaces], precisions: Precisions, *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """The differences a - b of mean average precision, in each of its readings.

    Args:
        pairs: Which runs are compared.
        precisions: Average precisions of every test document; see ``read_precisions``.
        resamples: Draws of the bootstrap.

    Returns:
        For each pair its attributes, ``images`` (test documents of all seeds together), ``per_seed`` (of each),
        ``same_queries`` (whether all seeds have the same ones) and ``metrics``: by metric and, within, by direction
        ("i2t", "t2i" and "mean") what ``CrossedDifference`` has, ``mean_a`` and ``mean_b``, and ``differences``, one
        per seed; fractions.

    Raises:
        InputError: If a run has no values, or two runs of one seed were tested on different documents.
    """
    return [_contrast(pair, precisions, resamples) for pair in pairs]


def _contrast(pair: PairedSubspaces, precisions: Precisions, resamples: int) -> dict[str, Any]:
    first = [_of_run(run, pair.a_selection, precisions) for run in pair.a]
    second = [_of_run(run, pair.b_selection, precisions) for run in pair.b]
    for run, ours, other, theirs in zip(pair.a, first, pair.b, second, strict=True):
        if not ours.index.equals(theirs.index):
            raise InputError(f"the runs '{run}' and '{other}' were tested on different documents; evaluate both again.")
    pool = list(dict.fromkeys(document for frame in first for document in frame.index))
    a, b = _table(first, pool), _table(second, pool)  # [metrics, seeds, documents of the pool]
    differences = a - b
    found = partly_crossed_differences(differences, CONFIDENCE, resamples)
    metrics: dict[str, dict[str, Any]] = {}
    for place, ((metric, direction), one) in enumerate(zip(CONTRASTED, found, strict=True)):
        metrics.setdefault(metric, {})[direction] = {
            **asdict(one),
            "mean_a": float(np.nanmean(a[place])),
            "mean_b": float(np.nanmean(b[place])),
            "differences": np.nanmean(differences[place], axis=1).tolist(),
        }
    same = not np.isnan(differences).any()
    sizes = [len(frame) for frame in first]
    return asdict(pair) | {"images": len(pool), "per_seed": sizes, "same_queries": same, "metrics": metrics}


def _of_run(run: str, selection: str, precisions: Precisions) -> pd.DataFrame:
    if (run, selection) not in precisions:
        raise InputError(f"the run '{run}' has no values of the epoch by '{selection}'; evaluate it again.")
    return precisions[run, selection]


def _table(frames: Sequence[pd.DataFrame], pool: Sequence[str]) -> NDArray[np.float64]:
    """``[metrics, seeds, documents]``, NaN where a document is not of a seed's test part."""
    return np.array([frame.reindex(list(pool)).to_numpy(np.float64).T for frame in frames]).swapaxes(0, 1)


def read_precisions(files: Iterable[Path], runs: Iterable[str]) -> dict[tuple[str, str], pd.DataFrame]:
    """Average precision of every test document of some runs, as far as the files have them.

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
            found[str(run), str(selection)] = pd.DataFrame(
                {
                    (metric, direction): values
                    for metric, column in PER_QUERY.items()
                    for direction, values in (
                        ("i2t", images[column]),
                        ("t2i", texts[column]),
                        ("mean", (images[column] + texts[column]) / 2),
                    )
                }
            )
    return found


def write_contrasts(
    pairs: Sequence[PairedSubspaces], queries: Sequence[Path], out: Path, *, resamples: int = RESAMPLES
) -> None:
    """Write the differences of some pairs of runs as JSON; see ``contrast_subspaces``.

    Args:
        pairs: Which runs are compared.
        queries: Files of average precisions; see ``read_precisions``.
        out: The JSON file.
        resamples: Draws of the bootstrap.

    Raises:
        InputError: As ``contrast_subspaces``.
    """
    precisions = read_precisions(queries, [run for pair in pairs for run in (*pair.a, *pair.b)])
    found = contrast_subspaces(pairs, precisions, resamples=resamples)
    about = {"format": FORMAT, "confidence": CONFIDENCE, "power": POWER, "resamples": resamples}
    write_json(out, about | {"contrasts": found})


def read_contrasts(path: Path | str) -> dict[str, Any]:
    """What ``write_contrasts`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not contrasts of this version; make them again.")
