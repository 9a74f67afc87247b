"""The page of runs: one line per setting with means over its seeds; beside it every run as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from fivesentences.reproduction.categories.evaluation import read_subspace_table
from fivesentences.reproduction.evaluation.tidy import read_tidy
from fivesentences.reproduction.paper.numbers.results import BESIDE, MEASURES, kind_of, values_of_runs
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.text.names import number
from fivesentences.storage import replacing

HERE = "runs/index.html"
ABOUT = ["model", "loss", "dataset", "features", "fraction", "seed", "kept_epoch", "dev_Rsum"]
ABOUT_CATEGORIES = ["method", "documents", "division", "selection", "seed"]
DECIMALS = {"matching": 1, "categories": 3}


def write_runs_page(site: Site, tidy: Sequence[Path], subspaces: Sequence[Path], folder: Path) -> Path:
    """Write ``folder/runs/index.html``, and beside it ``runs.csv`` with one row per run.

    Args:
        site: The site of the scale.
        tidy: The tidy tables of image-text matching; none if the scale has no such run.
        subspaces: The tables of metrics of category retrieval, one per job.
        folder: Folder of the site.

    Raises:
        InputError: If a file is missing or damaged.
    """
    runs: dict[str, pd.DataFrame] = {}
    if tidy:
        numbers = _each_once([read_tidy(path) for path in tidy])
        about = numbers.drop_duplicates("run").set_index("run")[ABOUT]
        runs["matching"] = about.join(values_of_runs(numbers, MEASURES | BESIDE)).reset_index()
    if subspaces:
        numbers = read_subspace_table(subspaces, "metrics").query("metric == 'mAP'")
        keys = ["run", *ABOUT_CATEGORIES]
        found = numbers.pivot_table("value", keys, "direction", sort=False)[["mean", "i2t", "t2i"]].reset_index()
        runs["categories"] = found.rename(columns={"mean": "mAP", "i2t": "mAP i2t", "t2i": "mAP t2i"})
    tables = {part: _table(found, DECIMALS[part]) for part, found in runs.items()}
    page = site.write(folder, "runs.html", HERE, tables=tables)
    with replacing(page.with_name("runs.csv")) as temporary:
        pd.concat(runs.values(), ignore_index=True).to_csv(
            temporary, index=False, lineterminator="\n", float_format="%.6g"
        )
    return page


def _each_once(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put tables together; a run that several studies show is taken from the first."""
    kept, known = list[pd.DataFrame](), set[str]()
    for table in tables:
        kept.append(table[~table["run"].isin(known)])
        known |= set(table["run"])
    return pd.concat(kept, ignore_index=True)


def anchor_of(kind: str) -> str:
    """Return the fragment of a link to a setting, which is named like its runs without their seeds."""
    return quote(kind, safe="/=,+@:|")


def _table(runs: pd.DataFrame, decimals: int) -> dict[str, Any]:
    """Make headings and rows of a table: a setting, named by everything that tells it apart, and its means.

    Each number is what it is sorted by, and its text.
    """
    texts = ["setting", *(name for name in ("features", "selection") if name in runs)]
    means = runs.assign(setting=runs["run"].map(kind_of), seeds=1).groupby(texts, sort=False, dropna=False)
    numbers = [name for name in runs.select_dtypes("number").columns if name != "seed"]
    lines = means.agg(dict.fromkeys(numbers, "mean") | {"seeds": "sum"}).reset_index()
    shown = dict.fromkeys(numbers, decimals) | {"fraction": 2, "seeds": 0}
    rows = []
    for first, line in zip(~lines["setting"].duplicated(), lines.to_dict("records"), strict=True):
        known = {name: None if pd.isna(line[name]) else line[name] for name in (*numbers, "seeds")}
        cells = [("" if value is None else repr(value), number(value, shown[name])) for name, value in known.items()]
        rows.append({"id": line["setting"] if first else "", "texts": [line[name] for name in texts], "cells": cells})
    return {"texts": texts, "numbers": [name.replace("_", " ") for name in (*numbers, "seeds")], "rows": rows}
