"""What each test image contributes to a run's Rsum, Nsum and ASP, so that runs can be compared image by image.

An image and its captions are one unit: the captions of an image are alike, so their queries are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.config.metrics import parse_metric
from fivesentences.corpus.parquet import read_frame
from fivesentences.metrics.values import QueryValues
from fivesentences.storage import replacing
from fivesentences.study.exhibits import Summed

# Which values of the evaluation each column adds up: the name of the metric or of its sum, the direction (empty: both),
# whether the query's own items stay, and the formula (of ASP: its rule for ties).
SUMMED: dict[Summed, tuple[str, str, str, str]] = {
    "Rsum": ("Rsum", "", "", ""),
    "Nsum": ("Nsum", "", "kept", "released"),
    "Nsum_own_removed": ("Nsum", "", "removed", "released"),
    "ASP_i2t": ("ASP", "i2t", "", "index"),
    "ASP_t2i": ("ASP", "t2i", "", "index"),
}


def contributions(
    queries: Iterable[QueryValues], image_of_caption: ArrayLike, phi: str
) -> dict[Summed, NDArray[np.float64]]:
    """The contribution of each image to Rsum, Nsum and ASP: their means over images are the run's.

    An image contributes the values of its own query (R@1 + R@5 + R@10, or NCS at these cut-offs, in percent) and the
    mean of the values of its captions as queries; to ASP, of which there is one per direction, one of them. Where
    images have different numbers of captions, each caption counts ``images / captions`` instead of one over its
    image's number, so that the mean over images remains the sum of the mean over image queries and the mean over
    caption queries, as the metrics define it.

    Args:
        queries: Values of every query of both directions, as ``Evaluator.per_query`` gives them.
        image_of_caption: ``[captions]`` image index of each caption.
        phi: The phi of Nsum, which is that of the released formula, and of ASP, which breaks ties by index.

    Returns:
        ``[images]`` float64: "Rsum", "Nsum" and "Nsum_own_removed", 0 to 600, "ASP_i2t" and "ASP_t2i", 0 to 100; 0 for
        what the queries have no values of.
    """
    owner = np.asarray(image_of_caption)
    n_images = int(owner.max()) + 1
    found: dict[Summed, NDArray[np.float64]] = {column: np.zeros(n_images) for column in SUMMED}
    for row in queries:
        if row["phi"] not in ("", phi):
            continue
        name = parse_metric(row["metric"]).metric.sum or row["metric"]
        for column, (wanted, direction, *rest) in SUMMED.items():
            if (name, row["ground_truth"], row["formula"]) != (wanted, *rest):
                continue
            if direction not in ("", row["direction"]):
                continue
            if row["direction"] == "i2t":
                found[column] += row["values"]
            else:
                found[column] += np.bincount(owner, row["values"], n_images) * (n_images / len(owner))
    return found


def frame_of_run(run: str, image_ids: Sequence[str], values: Mapping[Summed, NDArray[np.float64]]) -> pd.DataFrame:
    """The lines of one run: one per image, with columns ``run``, ``image_id`` and the contributions, float32."""
    numbers: dict[str, NDArray[np.float32]] = {column: values[column].astype(np.float32) for column in SUMMED}
    return pd.DataFrame({"run": run, "image_id": list(image_ids), **numbers})


def write_per_image(frames: Sequence[pd.DataFrame], out: Path) -> None:
    """Write the lines of some runs of one dataset as one parquet file."""
    none = frame_of_run("", [""], {column: np.zeros(1) for column in SUMMED}).iloc[:0]  # columns have their types
    with replacing(out) as temporary:
        pd.concat([none, *frames], ignore_index=True).to_parquet(temporary, index=False)


def read_per_image(files: Iterable[Path], runs: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The contributions of some runs, as far as the files have them: each a frame with one row per ``image_id``."""
    wanted = list(dict.fromkeys(runs))
    frames = [read_frame(file, "evaluate the runs again", ["run", "image_id", *SUMMED]) for file in files]
    return {
        str(run): of_run.set_index("image_id")[list(SUMMED)]
        for frame in frames
        for run, of_run in frame[frame["run"].isin(wanted)].groupby("run", sort=False)
    }
