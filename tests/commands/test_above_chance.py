"""`evaluate` prints what chance reaches, and numbers above it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from fivesentences import evaluate


def content():
    return json.loads(Path("o.json").read_text())


def test_files_hold_chance_beside_every_number(run, folder):
    assert run("evaluate", "sims.npy", "--phi", "cider.npy", "--json", "o.json", "--csv", "o.csv").code == 0
    phi = np.load("cider.npy").astype(float)
    with Path("o.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["chance"] for row in rows] == [
        "" if v["chance"] is None else str(v["chance"]) for v in content()["values"]
    ]
    (of_t2i,) = (v for v in content()["values"] if v["metric"] == "N@1" and v["direction"] == "t2i"
                 and v["ground_truth"] == "kept")  # fmt: skip
    best = phi.max(axis=1)
    assert of_t2i["chance"] == pytest.approx(
        100 * np.mean(phi.mean(axis=1)[best > 0] / best[best > 0]) * np.mean(best > 0)
    )


@pytest.mark.parametrize("models", [["sims.npy"], ["sims.npy", "other.npy"]])
def test_numbers_above_chance_are_those_of_the_library(run, folder, models):
    given = ("--phi", "cider.npy", "--above-chance", "--json", "o.json", "--resamples", 99)
    said = run("evaluate", *models, *given)
    assert said.code == 0 and "Med r" not in said.out, said.err
    found = content()["models"] if len(models) > 1 else [content()]
    for file, one in zip(models, found, strict=True):
        raw = evaluate(np.load(file), {"cider": np.load("cider.npy")})
        by_key = {(v["metric"], v["direction"], v["ground_truth"]): v["value"] for v in one["values"]}
        wanted = 100 * (raw["R@5", "t2i"] - 25) / 75
        assert by_key["R@5", "t2i", ""] == pytest.approx(wanted)
        assert by_key["Rsum", "", ""] == pytest.approx(sum(v for (m, s, _), v in by_key.items() if m[:2] == "R@"))
    if len(models) > 1:
        (test,) = (t for t in content()["tests"] if t["metric"] == "R@5" and t["direction"] == "t2i")
        assert test["difference"] == pytest.approx(test["a"] - test["b"])
        plain = run("evaluate", *models, "--phi", "cider.npy", "--json", "o.json", "--resamples", 99)
        assert plain.code == 0
        (before,) = (t for t in content()["tests"] if t["metric"] == "R@5" and t["direction"] == "t2i")
        assert before["p"] == test["p"] and before["difference"] == pytest.approx(0.75 * test["difference"])


def test_what_has_no_chance_is_refused(run, folder):
    assert run("evaluate", "sims.npy", "--per-query", "q.parquet").code == 0
    said = run("evaluate", "other.npy", "q.parquet", "--above-chance")
    assert said.code == 1 and "q.parquet" in said.err and said.err.count("\n") == 1
    said = run("evaluate", "chance=sims.npy", "other.npy")
    assert said.code == 1 and "'chance'" in said.err and said.err.count("\n") == 1
