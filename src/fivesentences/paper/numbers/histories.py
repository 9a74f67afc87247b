"""What was recorded while subspace networks were trained: each epoch, and the margins between categories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fivesentences.errors import InputError

HISTORIES, CATEGORY_MARGINS = ".histories.parquet", ".category_margins.parquet"
OF_EPOCHS = ["run", "epoch"]
OF_CATEGORIES = ["run", "epoch", "anchor", "negative", "mean_margin", "pairs"]


def read_histories(numbers: Sequence[Path]) -> pd.DataFrame:
    """One line per run and epoch, from those of some files that hold histories.

    Returns:
        Columns run, epoch and whatever was recorded, such as alpha (0 to 1) and mean_margin (over all triplets).

    Raises:
        InputError: If a file lacks a column.
    """
    return _read([path for path in numbers if path.name.endswith(HISTORIES)], OF_EPOCHS)


def read_category_margins(numbers: Sequence[Path]) -> pd.DataFrame:
    """One line per run, epoch and ordered pair of categories, from those of some files that hold them.

    Returns:
        Columns run, epoch, anchor and negative (names of categories), mean_margin, pairs (over how many).

    Raises:
        InputError: If a file lacks a column.
    """
    return _read([path for path in numbers if path.name.endswith(CATEGORY_MARGINS)], OF_CATEGORIES)


def of_run(frame: pd.DataFrame, run: str, what: str = "mean_margin") -> pd.DataFrame:
    """The lines of a run in which a column is known, by epoch.

    Raises:
        InputError: If there is none.
    """
    found = frame[frame["run"] == run]
    found = found.dropna(subset=what).sort_values("epoch", kind="stable") if what in found else found.iloc[:0]
    if found.empty:
        raise InputError(f"the run '{run}' recorded no {what}; name a method with triplets, or train it again.")
    return found


def _read(paths: Sequence[Path], columns: Sequence[str]) -> pd.DataFrame:
    frames = []
    for path in paths:
        frame = pd.read_parquet(path)
        missing = [column for column in columns if column not in frame]
        if missing:
            raise InputError(f"{path}: the column {missing[0]} is missing; evaluate its runs again.")
        if not frame.empty:  # a job without triplets recorded nothing
            frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(columns))
