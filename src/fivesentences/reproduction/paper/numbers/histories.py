"""Records of the training of subspace networks: each epoch, and the margins between categories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pandas as pd

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.evaluation import read_subspace_table


def read_recorded(numbers: Sequence[Path], table: Literal["histories", "category_margins"]) -> pd.DataFrame:
    """Read one line per run and epoch, or per ordered pair of categories too, from those of a figure's files.

    Returns:
        Of histories the columns run, epoch, alpha (0 to 1) and mean_margin (over all triplets; both NaN without
        triplets), and others; of margins run, epoch, anchor and negative (names of categories), mean_margin, pairs.

    Raises:
        InputError: If a file is missing or is another table.
    """
    return read_subspace_table([path for path in numbers if path.name.endswith(f".{table}.parquet")], table)


def of_run(frame: pd.DataFrame, run: str) -> pd.DataFrame:
    """Select the lines of a run whose mean margin is known, by epoch.

    Raises:
        InputError: If there is none.
    """
    found = frame[frame["run"] == run].dropna(subset="mean_margin").sort_values("epoch", kind="stable")
    if found.empty:
        raise InputError(f"the run '{run}' recorded no margins; name a method with triplets, or train it again.")
    return found
