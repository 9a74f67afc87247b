"""README's figure of masking shows the intervals of the kept tables, by a program that can be run again."""

from __future__ import annotations

import runpy

import pandas as pd
import pytest

from fivesentences.metrics.seed_intervals import paired_interval


@pytest.fixture(scope="module")
def shares(root):
    return pd.read_csv(root / "docs/images/shares.csv").set_index(["amount", "share"])


def test_the_figure_is_of_the_kept_tables(root, shares):
    tool = runpy.run_path(str(root / "docs/tools/shares"))
    pd.testing.assert_frame_equal(tool["rows"]().set_index(["amount", "share"]), shares)
    svg = (root / "docs/images/shares.svg").read_text("utf-8")
    for gain in shares["gain"]:
        assert f"{gain:+.1f}".replace("-", "\N{MINUS SIGN}") in svg


def test_with_all_captions_the_intervals_are_those_of_the_runs(root, shares):
    runs = pd.read_csv(root / "results/gpu/rivals_runs.csv")
    of_rule = {rule: dict(zip(part["seed"], part["Rsum"], strict=True)) for rule, part in runs.groupby("rule")}
    (hardest,) = (rule for rule in of_rule if rule in ("triplet=hardest,margin=0.2", "hardest", "margin=0.2"))
    for share, threshold in {1: 0.516, 5: 0.363, 20: 0.199}.items():
        found = paired_interval(of_rule[f"sparing={threshold},phi=embedding,margin=0.2"], of_rule[hardest])
        row = shares.loc[(1.0, share)]
        assert (found.mean, found.low, found.high) == pytest.approx((row["gain"], row["low"], row["high"]), abs=0.01)
