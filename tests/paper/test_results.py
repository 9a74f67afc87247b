from __future__ import annotations

import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.results import Measure, Results

RSUM, NSUM = Measure("Rsum"), Measure("Nsum", "", "released", "kept", 0, "", "cider")


def test_a_value_is_found_by_everything_that_tells_it_from_others(frame):
    results = Results(frame)
    run = frame["run"].iloc[0]
    for formula in ("released", "paper"):
        for ground_truth in ("kept", "removed"):
            chosen = frame.query("run == @run and metric == 'N@5' and direction == 't2i'")
            chosen = chosen[(chosen["formula"] == formula) & (chosen["ground_truth"] == ground_truth)]
            assert (
                results.value(run, Measure("N@5", "t2i", formula, ground_truth, 0, "", "cider"))
                == chosen["value"].item()
            )


def test_missing_runs_and_values_are_named(frame):
    results = Results(frame)
    run = frame["run"].iloc[0]
    with pytest.raises(InputError, match="the run 'nobody' has no results at all"):
        results.value("nobody", RSUM)
    with pytest.raises(InputError, match=r"has no value of Nsum \(released formula, own items kept, spice\)"):
        results.value(run, Measure("Nsum", "", "released", "kept", 0, "", "spice"))


def test_values_that_are_nan_or_stand_twice_are_refused(frame):
    nan = frame.copy()
    nan.loc[nan["metric"] == "Rsum", "value"] = float("nan")
    with pytest.raises(InputError, match="NaN as its Rsum"):
        Results(nan).value(frame["run"].iloc[0], RSUM)
    with pytest.raises(InputError, match="two values of"):
        Results(pd.concat([frame, frame.tail(1)]))


def test_other_splits_are_not_seen(frame):
    dev = frame.assign(split="dev", value=-1.0)
    run = frame["run"].iloc[0]
    assert Results(pd.concat([dev, frame])).value(run, RSUM) == Results(frame).value(run, RSUM)


def test_empty_texts_may_be_null_as_parquet_gives_them_back(frame, tmp_path):
    frame.replace({"formula": {"": None}, "style": {"": None}, "direction": {"": None}}).to_parquet(
        tmp_path / "t.parquet"
    )
    again = pd.read_parquet(tmp_path / "t.parquet")
    run = frame["run"].iloc[0]
    for measure in (RSUM, NSUM):
        assert Results(again).value(run, measure) == Results(frame).value(run, measure)


def test_a_missing_column_is_named(frame):
    with pytest.raises(InputError, match="no column 'tie_rule'"):
        Results(frame.drop(columns="tie_rule"))
