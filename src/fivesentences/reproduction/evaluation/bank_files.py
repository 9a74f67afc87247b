"""Banks of training queries of finished runs in one table: what re-scoring reads of them, a line for each item."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fivesentences.choices import Direction
from fivesentences.corpus.parquet import read_frame, write_frame
from fivesentences.retrieval.query_banks import Bank, BanksOfDirection

COLUMNS = ["run", "direction", "bank", "beta", "k", "log_sum", "retrieved"]
BanksOfRun = Mapping[Direction, BanksOfDirection]


def write_banks(banks: Mapping[str, BanksOfRun], out: Path) -> None:
    """Write the banks of some runs, by the run's name, as parquet; items are in the order of the gallery."""
    frames = [
        pd.DataFrame(
            {"run": run, "direction": side, "bank": name, "beta": bank.beta, "k": bank.k}
            | {"log_sum": bank.log_sums, "retrieved": bank.retrieved}
        )
        for run, of_run in banks.items()
        for side, of_side in of_run.items()
        for name, bank in of_side.items()
    ]
    write_frame(pd.concat(frames, ignore_index=True)[COLUMNS], out)


def read_banks(path: Path) -> dict[str, BanksOfRun]:
    """Read what ``write_banks`` wrote.

    Raises:
        InputError: If the file is missing or damaged.
    """
    lines = read_frame(path, "score the banks again", COLUMNS)
    found: dict[str, dict[Direction, dict[str, Bank]]] = {}
    for _, items in lines.groupby(COLUMNS[:5], sort=False):
        run, side, name, beta, k = (items[column].iloc[0] for column in COLUMNS[:5])
        bank = Bank(items["log_sum"].to_numpy(float), items["retrieved"].to_numpy(bool), float(beta), int(k))
        found.setdefault(str(run), {}).setdefault("i2t" if side == "i2t" else "t2i", {})[str(name)] = bank
    return dict(found)
