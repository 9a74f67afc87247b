"""Contrasts of category retrieval are paired by seed and document, whether or not seeds share their documents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics.crossed import crossed_differences
from fivesentences.reproduction.categories.evaluation import PER_QUERY, TABLES, write_subspace_table
from fivesentences.reproduction.evaluation.seed_contrasts import (
    FORMAT_OF_CATEGORIES,
    read_contrasts,
    read_precisions,
    write_subspace_contrasts,
)

POOL = np.array([f"d{place}" for place in range(60)])
A, B = [f"a{seed}" for seed in range(4)], [f"b{seed}" for seed in range(4)]
PAIR = {"role": "wikipedia", "documents": "made", "division": "printed", "seeds": [0, 1, 2, 3], "a": A, "b": B}
PAIR |= {"a_selection": "map", "b_selection": "last"}


def queries(test_documents: int) -> pd.DataFrame:
    """Runs ``a0`` to ``a3`` are 0.02 better than ``b0`` to ``b3``; some documents are hard for all of them."""
    draw, frames = np.random.default_rng(0), []
    hard = draw.uniform(0.2, 0.6, 60)
    for seed in range(4):
        chosen = np.sort(draw.permutation(60)[:test_documents])
        of_seed = 0.05 * draw.normal()
        for run, selection, better in ((f"a{seed}", "map", 0.02), (f"b{seed}", "last", 0.0)):
            for direction in ("i2t", "t2i"):
                value = hard[chosen] + of_seed + better + 0.01 * draw.normal(size=test_documents)
                lines = {"run": run, "selection": selection, "direction": direction, "document": POOL[chosen]}
                columns = {name: value * factor for factor, name in enumerate(PER_QUERY.values(), start=1)}
                frames.append(pd.DataFrame(lines | {"category": "c", **columns}))
    return pd.concat(frames, ignore_index=True)


def contrasted(frame: pd.DataFrame, folder, pair=PAIR, resamples=200):
    half = frame["run"].isin(["a0", "b2"])
    files = [folder / "1.queries.parquet", folder / "2.queries.parquet"]
    for file, part in zip(files, (frame[half], frame[~half]), strict=True):
        write_subspace_table([part], file, TABLES["queries"])
    write_subspace_contrasts([pair], files, folder / "c.json", resamples=resamples)
    found = read_contrasts(folder / "c.json", FORMAT_OF_CATEGORIES)
    assert (found["confidence"], found["resamples"]) == (0.95, resamples)
    return found["contrasts"][0]


def test_the_same_test_documents_for_all_seeds_are_crossed_with_the_seeds(tmp_path):
    frame = queries(60)
    found = contrasted(frame, tmp_path)
    assert found["same_queries"] and found["images"] == 60 and found["per_seed"] == [60] * 4
    table = frame.pivot(index=["run", "direction"], columns="document", values="average_precision")[list(POOL)]
    sides = {one: table.xs(one, level="direction") for one in ("i2t", "t2i")}
    sides["mean"] = (sides["i2t"] + sides["t2i"]) / 2
    for metric in sides:
        of_metric = (sides[metric].loc[A].to_numpy() - sides[metric].loc[B].to_numpy())[None]
        (expected,) = crossed_differences(of_metric, resamples=1)
        one = found["metrics"]["mAP"][metric]
        names = ("mean", "standard_error", "degrees", "low", "high", "spread", "equivalence", "detectable")
        assert [one[name] for name in names] == pytest.approx([getattr(expected, name) for name in names])
        assert one["differences"] == pytest.approx(of_metric[0].mean(axis=1).tolist())
        assert one["mean_a"] - one["mean_b"] == pytest.approx(one["mean"])
        assert one["low"] < 0.02 < one["high"] and one["high"] - one["low"] < 0.01
        assert one["bootstrap_low"] < one["mean"] < one["bootstrap_high"]
        assert found["metrics"]["mAP@100"][metric]["mean"] == pytest.approx(2 * one["mean"])  # as made up above


def test_test_documents_drawn_by_each_seed_are_paired_within_the_seed(tmp_path):
    frame = queries(40)
    found = contrasted(frame, tmp_path)
    assert not found["same_queries"] and found["per_seed"] == [40] * 4
    assert found["images"] == frame["document"].nunique() > 40
    means = frame.groupby(["run", "direction"])["average_precision"].mean()
    for direction in ("i2t", "t2i"):
        of_seeds = [means[a, direction] - means[b, direction] for a, b in zip(A, B, strict=True)]
        assert found["metrics"]["mAP"][direction]["differences"] == pytest.approx(of_seeds)
        assert found["metrics"]["mAP"][direction]["mean"] == pytest.approx(np.mean(of_seeds))
        assert found["metrics"]["mAP"][direction]["spread"] == pytest.approx(np.std(of_seeds, ddof=1))
    one = found["metrics"]["mAP"]["mean"]
    assert one["mean_a"] == pytest.approx(means[A].mean())
    assert one["low"] < 0.02 < one["high"] and one["high"] - one["low"] < 0.02


def test_runs_that_cannot_be_paired_are_refused(tmp_path):
    frame = queries(40)
    with pytest.raises(InputError, match="'a0'"):
        contrasted(frame, tmp_path, PAIR | {"a_selection": "loss"})
    with pytest.raises(InputError, match="'a0' and 'b3'"):
        contrasted(frame, tmp_path, PAIR | {"b": B[::-1]})
    assert read_precisions([tmp_path / "1.queries.parquet"], ["a0"]).keys() == {("a0", "map")}
