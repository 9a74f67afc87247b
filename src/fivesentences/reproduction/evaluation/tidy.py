"""Numbers of many runs as tidy tables: values, contributions of single images, and epochs of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.config.metrics import parse_metric
from fivesentences.corpus.parquet import read_frame, write_frame
from fivesentences.documents import check_file, read_json
from fivesentences.errors import InputError
from fivesentences.metrics.values import QueryValues
from fivesentences.seals import check_record

RUN_COLUMNS = ["run", "scale", "dataset", "model", "loss", "fraction", "seed", "features", "main_phi", "split"]
RUN_COLUMNS += ["kept_epoch", "dev_Rsum"]  # whose weights were kept; missing where that is not known, as of an ensemble
GALLERY_COLUMNS = ["images", "captions", "tie_rule", "labels"]
VALUE_COLUMNS = ["inference", "metric", "direction", "formula", "ground_truth", "m", "style", "phi", "value"]
COLUMNS = RUN_COLUMNS + GALLERY_COLUMNS + VALUE_COLUMNS

# Which values of the evaluation each column of the contributions adds up: the name of the metric or of its sum, the
# direction (empty: both), whether the query's own items stay, and the formula (of ASP: its rule for ties).
SUMMED = {
    "Rsum": ("Rsum", "", "", ""),
    "Nsum": ("Nsum", "", "kept", "released"),
    "Nsum_own_removed": ("Nsum", "", "removed", "released"),
    "ASP_i2t": ("ASP", "i2t", "", "index"),
    "ASP_t2i": ("ASP", "t2i", "", "index"),
}

EVALUATE_AGAIN = "evaluate the runs again"
TRAIN_AGAIN, MAKE_AGAIN = "train the run again", "remove it and make it again with the workflow"
# Further columns of histories are what a loss learns, such as a temperature, and the sum of NCS where that selects.
EPOCH = {"epoch": "int64", "learning_rate": "float64", "loss": "float64", "dev_Rsum": "float64", "best": "int64"}
# Where a run was trained, and with what: keys of the record that training leaves.
FACTS = {"device": "the device", "torch": "the version of torch"}
HISTORY_COLUMNS = {"run": "str"} | EPOCH | dict.fromkeys(FACTS, "str")


# --- values -------------------------------------------------------------------------------------------------


def read_evaluations(files: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Read the entries of files that ``evaluate_runs`` wrote, one per run.

    Raises:
        InputError: If a file is missing or damaged.
    """
    return [entry for file in files for entry in read_json(file, EVALUATE_AGAIN)]


def collect(files: Iterable[str | Path], scale: str) -> pd.DataFrame:
    """Read the numbers of many runs into one table with one row per number.

    Args:
        files: JSON files that ``evaluate_runs`` wrote, or one table that ``write_tidy`` did, of these and other runs.
        scale: Value of the column ``scale``.

    Returns:
        Columns that say which run it is (run, scale, dataset, model, loss, fraction, seed, features, main_phi, split,
        kept_epoch, dev_Rsum), its gallery (images, captions, tie_rule, labels), and the number (inference, metric,
        direction, formula, ground_truth, m, style, phi, value); units are those of ``METRICS``.

    Raises:
        InputError: If a file is missing or damaged.
    """
    paths = [Path(file) for file in files]
    if [path.suffix for path in paths] == [".parquet"]:
        return read_tidy(paths[0])
    return tidy_of(read_evaluations(paths), scale)


def tidy_of(entries: Iterable[Mapping[str, Any]], scale: str) -> pd.DataFrame:
    """Make the table of ``collect`` from entries that were read."""
    rows = ({"scale": scale, **entry, **value} for entry in entries for value in entry["values"])
    return pd.DataFrame([[row[key] for key in COLUMNS] for row in rows], columns=COLUMNS)


def write_tidy(tidy: pd.DataFrame, out: str | Path) -> None:
    """Write the table as parquet."""
    write_frame(tidy, out)


def read_tidy(path: Path) -> pd.DataFrame:
    """Read the table that ``write_tidy`` wrote.

    Raises:
        InputError: If it is missing or damaged, or lacks a column.
    """
    earlier = [name for name in COLUMNS if name != "dev_Rsum"]  # of results that are kept from before it was there
    return read_frame(path, MAKE_AGAIN, earlier).reindex(columns=COLUMNS)


def typed_frame(frames: Iterable[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """Join frames below each other, with these columns in these types first, whether or not there are rows."""
    filled = [frame for frame in frames if len(frame)]
    none = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})
    whole = pd.concat(filled, ignore_index=True) if filled else none
    further = [name for name in whole.columns if name not in columns]
    return whole.reindex(columns=[*columns, *further]).astype(dict(columns))


# --- contributions of images --------------------------------------------------------------------------------


def contributions(queries: Iterable[QueryValues], image_of_caption: ArrayLike, phi: str) -> dict[str, NDArray]:
    """Compute the contribution of each image to Rsum, Nsum and ASP: their means over images are the run's.

    An image and its captions are one unit: the captions of an image are alike, so their queries are not independent.
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
        ``[images]`` float64: "Rsum", "Nsum" and "Nsum_own_removed", 0 to 600, "ASP_i2t" and "ASP_t2i", 0 to 100; 0
        where the queries have no such values.
    """
    owner = np.asarray(image_of_caption)
    n_images = int(owner.max()) + 1
    found: dict[str, NDArray] = {column: np.zeros(n_images) for column in SUMMED}
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


def read_as(run: str, inference: str = "naive", phi: str = "") -> str:
    """Name a run in the table of contributions.

    Args:
        run: Name of the run.
        inference: How its similarity is read.
        phi: The phi of Nsum and ASP; empty: the main one of its evaluation.
    """
    read = "" if inference == "naive" else f",inference={inference}"
    return f"{run}{read}{phi and f',phi={phi}'}"


def frame_of_run(run: str, image_ids: Sequence[str], values: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return the lines of one run: one per image, with columns ``run``, ``image_id`` and the contributions, float32."""
    numbers = {column: values[column].astype(np.float32) for column in SUMMED}
    return pd.DataFrame({"run": run, "image_id": list(image_ids), **numbers})


def write_per_image(frames: Sequence[pd.DataFrame], out: Path) -> None:
    """Write the lines of some runs of one dataset as one parquet file."""
    none = frame_of_run("", [""], {column: np.zeros(1) for column in SUMMED}).iloc[:0]  # columns have their types
    write_frame(pd.concat([none, *frames], ignore_index=True), out)


def read_per_image(files: Iterable[Path], runs: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Read the contributions of some runs, as far as the files have them: a frame each, one row per ``image_id``."""
    wanted = list(dict.fromkeys(runs))
    frames = [read_frame(file, EVALUATE_AGAIN, ["run", "image_id", *SUMMED]) for file in files]
    return {
        str(run): of_run.set_index("image_id")[list(SUMMED)]
        for frame in frames
        for run, of_run in frame[frame["run"].isin(wanted)].groupby("run", sort=False)
    }


# --- epochs -------------------------------------------------------------------------------------------------


def read_recorded(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """Read a CSV table that training left in the folder of a run; some columns may be missing.

    Args:
        path: The file.
        columns: Known columns with their types; those that are ``str`` are read as text.

    Raises:
        InputError: If there is no such file, it is not a table, or not what the run ended with.
    """
    check_file(path, TRAIN_AGAIN)
    check_record(path.parent, (path.name,), TRAIN_AGAIN)
    texts = {name: "str" for name, kind in columns.items() if kind == "str"}
    try:
        # Categories may be called NA or null; only what is empty is missing.
        return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"this is not a table ({error}); {TRAIN_AGAIN}.", where=path) from None


def collect_histories(folders: Mapping[str, Path]) -> pd.DataFrame:
    """Read the histories of some runs into one table, small enough to be shared: the runs' folders need not be fetched.

    Args:
        folders: Folder of each run, by its name.

    Returns:
        One row per run and epoch (from 1): run, epoch, learning_rate, loss (mean per caption), dev_Rsum (0 to 600; NaN
        where dev was not scored), best (1: the epoch whose weights were kept), device and torch (empty if unknown),
        and what else was recorded.

    Raises:
        InputError: If a folder has no history, or a damaged one.
    """
    histories = [
        read_recorded(folder / "history.csv", EPOCH).assign(run=run, **_facts(folder))
        for run, folder in folders.items()
    ]
    return typed_frame(histories, HISTORY_COLUMNS)


def _facts(folder: Path) -> dict[str, str]:
    """Return facts of the record of training; empty where there is none, as in a folder that was copied in part."""
    path = folder / "finished.json"
    made_from = read_json(path, TRAIN_AGAIN)["made_from"] if path.is_file() else {}
    return {name: str(made_from.get(key, "")) for name, key in FACTS.items()}
