"""What was recorded while runs were trained: one table of all epochs of a scale, small enough to be shared.

The folders of runs hold weights and similarities, which a reader of results need not fetch; their curves are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fivesentences.corpus.parquet import read_frame
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.evaluation.recorded import CURE, read_recorded
from fivesentences.storage import replacing

# Further columns are what a loss learns, such as a temperature, and the sum of NCS where that selects.
EPOCH = {"epoch": "int64", "learning_rate": "float64", "loss": "float64", "dev_Rsum": "float64", "best": "int64"}
# Where a run was trained, and with what: keys of the record that training leaves.
FACTS = {"device": "the device", "torch": "the version of torch"}
COLUMNS = {"run": "str"} | EPOCH | dict.fromkeys(FACTS, "str")


def collect_histories(folders: Mapping[str, Path]) -> pd.DataFrame:
    """The histories of some runs.

    Args:
        folders: Of each run, by its name.

    Returns:
        One row per run and epoch (from 1): run, epoch, learning_rate, loss (mean per caption), dev_Rsum (0 to 600; NaN
        where dev was not scored), best (1: the epoch whose weights were kept), device and torch (empty if unknown),
        and what else was recorded.

    Raises:
        InputError: If a folder has no history, or a damaged one.
    """
    none = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in COLUMNS.items()})
    frames = [_of_run(folder).assign(run=run, **_facts(folder)) for run, folder in folders.items()]
    whole = pd.concat(frames, ignore_index=True) if frames else none
    further = [name for name in whole.columns if name not in COLUMNS]
    return whole.reindex(columns=[*COLUMNS, *further]).astype(COLUMNS)


def write_histories(histories: pd.DataFrame, out: Path) -> None:
    """Write the table as parquet."""
    with replacing(out) as temporary:
        histories.to_parquet(temporary, index=False)


def read_training_histories(path: Path) -> pd.DataFrame:
    """The table that ``write_histories`` wrote.

    Raises:
        InputError: If it is missing or damaged, or lacks a column.
    """
    return read_frame(path, "remove it and make it again with the workflow", COLUMNS)


def _of_run(folder: Path) -> pd.DataFrame:
    path = folder / "history.csv"
    found = read_recorded(path, EPOCH)
    needed = [name for name in EPOCH if name != "dev_Rsum"]
    if missing := [name for name in needed if name not in found.columns]:
        raise InputError(f"the column '{missing[0]}' is missing", where=path, cure=CURE)
    try:
        return found.astype({name: EPOCH[name] for name in EPOCH if name in found.columns})
    except ValueError as error:
        raise InputError(f"it holds what is no number ({str(error)[:80]})", where=path, cure=CURE) from None


def _facts(folder: Path) -> dict[str, str]:
    """Of a folder without a record, as of a run that was brought from elsewhere in part, nothing is known."""
    path = folder / "finished.json"
    record = read_json(path, CURE) if path.is_file() else {}
    made_from = record.get("made_from") if isinstance(record, dict) else None
    known = made_from if isinstance(made_from, dict) else {}
    return {name: str(known.get(key, "")) for name, key in FACTS.items()}
