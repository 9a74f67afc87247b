"""Runs on two sides, paired by seed and tested on the same images -> their differences, with intervals over both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.evaluation.per_image import SUMMED, read_per_image
from fivesentences.metrics.crossed import POWER, RESAMPLES, crossed_differences
from fivesentences.storage import write_json

FORMAT = "fivesentences.contrasts 1"
CONFIDENCE = 0.95


@dataclass(frozen=True)
class PairedRuns:
    """Runs or ensembles of one dataset on two sides.

    Attributes:
        dataset: The dataset.
        a: Names of those of the first side, one per seed.
        b: Names of those of the second, in the same order of seeds.
        seeds: The seeds.
    """

    dataset: str
    a: Sequence[str]
    b: Sequence[str]
    seeds: Sequence[int]


def contrast_runs(
    pairs: Sequence[PairedRuns], per_image: Mapping[str, pd.DataFrame], *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """The differences a - b of some pairs of runs.

    Args:
        pairs: Which runs are compared.
        per_image: What each image contributes to the sums of each run, by the run's name; see ``read_per_image``.
        resamples: Draws of the bootstrap.

    Returns:
        For each pair ``dataset``, ``a``, ``b``, ``seeds``, ``images`` and ``metrics``: for each column of
        ``per_image.SUMMED`` what ``CrossedDifference`` has, ``mean_a`` and ``mean_b``, and ``differences``: one per
        seed, each a mean over images.

    Raises:
        InputError: If a run has no values, or two runs of a pair were tested on different images.
    """
    return [_contrast(pair, per_image, resamples) for pair in pairs]


def _contrast(pair: PairedRuns, per_image: Mapping[str, pd.DataFrame], resamples: int) -> dict[str, Any]:
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
    a, b = values[: len(pair.a)], values[len(pair.a) :]
    differences = (a - b).swapaxes(0, 1)  # [metrics, seeds, images]
    found = crossed_differences(differences, CONFIDENCE, resamples)
    metrics = {
        name: {
            **asdict(one),
            "mean_a": float(a[:, metric].mean()),
            "mean_b": float(b[:, metric].mean()),
            "differences": differences[metric].mean(axis=1).tolist(),
        }
        for metric, (name, one) in enumerate(zip(SUMMED, found, strict=True))
    }
    return asdict(pair) | {"images": values.shape[2], "metrics": metrics}


def write_contrasts(
    pairs: Sequence[PairedRuns], per_image: Sequence[Path], out: Path, *, phi: str, resamples: int = RESAMPLES
) -> None:
    """Write the differences of some pairs of runs as JSON; see ``contrast_runs``.

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
    found = contrast_runs(pairs, values, resamples=resamples)
    about = {"format": FORMAT, "phi": phi, "confidence": CONFIDENCE, "power": POWER, "resamples": resamples}
    write_json(out, about | {"contrasts": found})


def read_contrasts(path: Path | str) -> dict[str, Any]:
    """What ``write_contrasts`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not contrasts of this version; make them again.")
