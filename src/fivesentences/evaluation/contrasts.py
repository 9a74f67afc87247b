"""Runs on two sides, paired by seed -> their differences, with intervals over seeds and what they were tested on.

Matching runs are tested on the same images, so that seeds and images are crossed. In category retrieval a document is
one unit (its image and its text are two queries of one category); each seed may draw its own test documents from one
pool, so that seeds and documents are crossed in part only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from fivesentences.evaluation.tidy import SUMMED, read_per_image
from fivesentences.metrics.crossed import (
    POWER,
    RESAMPLES,
    CrossedDifference,
    crossed_differences,
    partly_crossed_differences,
)
from fivesentences.storage import write_json

FORMAT = "fivesentences.contrasts 1"
FORMAT_OF_CATEGORIES = "fivesentences.subspace_contrasts 1"
CONFIDENCE = 0.95
CONTRASTED = tuple(product(READINGS, ("i2t", "t2i", "mean")))  # (metric, direction)
# By run and selection: one row per document, columns are CONTRASTED.
Precisions = Mapping[tuple[str, str], pd.DataFrame]


@dataclass(frozen=True)
class PairedRuns:
    """Runs or ensembles of one dataset on two sides.

    Attributes:
        dataset: The dataset.
        a: Names of the runs of the first side, one per seed.
        b: Names of the runs of the second side, in the same order of seeds.
        seeds: The seeds.
    """

    dataset: str
    a: Sequence[str]
    b: Sequence[str]
    seeds: Sequence[int]


@dataclass(frozen=True)
class PairedSubspaces:
    """Runs of category retrieval of the same documents on two sides.

    Attributes:
        role: Role of the documents in a study.
        documents: The documents.
        division: How they are divided.
        a: Names of the runs of the first side, one per seed.
        b: Names of the runs of the second side, in the same order of seeds.
        a_selection: Epoch whose weights are compared on the first side.
        b_selection: The same of the second side.
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


def contrast_runs(
    pairs: Sequence[PairedRuns], per_image: Mapping[str, pd.DataFrame], *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """The differences a - b of pairs of matching runs.

    Args:
        pairs: Which runs are compared.
        per_image: Contribution of each image to the sums of each run, by the run's name; see ``read_per_image``.
        resamples: Draws of the bootstrap.

    Returns:
        For each pair ``dataset``, ``a``, ``b``, ``seeds``, ``images`` and ``metrics``: for each column of ``SUMMED``
        the attributes of ``CrossedDifference``, ``mean_a`` and ``mean_b``, and ``differences``: one per seed, each a
        mean over images.

    Raises:
        InputError: If a run has no values, or two runs of a pair were tested on different images.
    """
    return [_contrast_of_runs(pair, per_image, resamples) for pair in pairs]


def _contrast_of_runs(pair: PairedRuns, per_image: Mapping[str, pd.DataFrame], resamples: int) -> dict[str, Any]:
    frames = []
    for run in (*pair.a, *pair.b):
        if run not in per_image:
            raise InputError(f"the run '{run}' has no values per image; evaluate it again.")
        frames.append(per_image[run])
        if not frames[-1].index.equals(frames[0].index):
            raise InputError(
                f"the runs '{pair.a[0]}' and '{run}' were tested on different images; evaluate both again."
            )
    values = np.array([frame[list(SUMMED)].to_numpy(np.float64).T for frame in frames])  # [runs, metrics, images]
    a, b = (side.swapaxes(0, 1) for side in (values[: len(pair.a)], values[len(pair.a) :]))  # [metrics, seeds, images]
    described = _described(a, b, crossed_differences(a - b, CONFIDENCE, resamples), np.mean)
    return asdict(pair) | {"images": values.shape[2], "metrics": dict(zip(SUMMED, described, strict=True))}


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
        ("i2t", "t2i" and "mean") the attributes of ``CrossedDifference``, ``mean_a`` and ``mean_b``, and
        ``differences``, one per seed; fractions.

    Raises:
        InputError: If a run has no values, or two runs of one seed were tested on different documents.
    """
    return [_contrast_of_subspaces(pair, precisions, resamples) for pair in pairs]


def _contrast_of_subspaces(pair: PairedSubspaces, precisions: Precisions, resamples: int) -> dict[str, Any]:
    sides = []
    for runs, selection in ((pair.a, pair.a_selection), (pair.b, pair.b_selection)):
        for run in runs:
            if (run, selection) not in precisions:
                raise InputError(f"the run '{run}' has no values of the epoch by '{selection}'; evaluate it again.")
        sides.append([precisions[run, selection] for run in runs])
    for run, ours, other, theirs in zip(pair.a, sides[0], pair.b, sides[1], strict=True):
        if not ours.index.equals(theirs.index):
            raise InputError(f"the runs '{run}' and '{other}' were tested on different documents; evaluate both again.")
    pool = list(dict.fromkeys(document for frame in sides[0] for document in frame.index))
    a, b = (  # [metrics, seeds, documents of the pool], NaN where a document is not in the test part of a seed
        np.array([frame.reindex(pool).to_numpy(np.float64).T for frame in frames]).swapaxes(0, 1) for frames in sides
    )
    described = _described(a, b, partly_crossed_differences(a - b, CONFIDENCE, resamples), np.nanmean)
    metrics: dict[str, dict[str, Any]] = {}
    for (metric, direction), one in zip(CONTRASTED, described, strict=True):
        metrics.setdefault(metric, {})[direction] = one
    same, sizes = not np.isnan(a - b).any(), [len(frame) for frame in sides[0]]
    return asdict(pair) | {"images": len(pool), "per_seed": sizes, "same_queries": same, "metrics": metrics}


def _described(
    a: NDArray[np.float64], b: NDArray[np.float64], found: Sequence[CrossedDifference], mean: Callable[..., Any]
) -> Iterator[dict[str, Any]]:
    """The difference of each metric, with the means of both sides; ``a`` and ``b`` are ``[metrics, seeds, items]``."""
    for of_a, of_b, one in zip(a, b, found, strict=True):
        yield {
            **asdict(one),
            "mean_a": float(mean(of_a)),
            "mean_b": float(mean(of_b)),
            "differences": mean(of_a - of_b, axis=1).tolist(),
        }


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
            columns = {}
            for metric, column in PER_QUERY.items():
                columns[metric, "i2t"], columns[metric, "t2i"] = images[column], texts[column]
                columns[metric, "mean"] = (images[column] + texts[column]) / 2
            found[str(run), str(selection)] = pd.DataFrame(columns)
    return found


def write_contrasts(
    pairs: Sequence[PairedRuns], per_image: Sequence[Path], out: Path, *, phi: str, resamples: int = RESAMPLES
) -> None:
    """Write the differences of pairs of matching runs as JSON; see ``contrast_runs``.

    Args:
        pairs: Which runs are compared.
        per_image: Files that ``evaluate_runs`` wrote.
        out: The JSON file.
        phi: The phi of Nsum and ASP, which the file names.
        resamples: Draws of the bootstrap.

    Raises:
        InputError: As ``contrast_runs``.
    """
    values = read_per_image(per_image, [run for pair in pairs for run in (*pair.a, *pair.b)])
    _write(FORMAT, contrast_runs(pairs, values, resamples=resamples), out, resamples, phi=phi)


def write_subspace_contrasts(
    pairs: Sequence[PairedSubspaces], queries: Sequence[Path], out: Path, *, resamples: int = RESAMPLES
) -> None:
    """Write the differences of pairs of runs of category retrieval as JSON; see ``contrast_subspaces``.

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
    _write(FORMAT_OF_CATEGORIES, found, out, resamples)


def _write(form: str, contrasts: list[dict[str, Any]], out: Path, resamples: int, **about: str) -> None:
    settings = {"confidence": CONFIDENCE, "power": POWER, "resamples": resamples}
    write_json(out, {"format": form, **about, **settings, "contrasts": contrasts})


def read_contrasts(path: Path | str, form: str = FORMAT) -> dict[str, Any]:
    """Read contrasts of matching runs, or with ``FORMAT_OF_CATEGORIES`` of category retrieval.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    return read_formatted(path, form, "these are not contrasts of this version; make them again.")
