from __future__ import annotations

import pandas as pd
import pytest

from fivesentences.config.metrics import METRICS, Metric, metric_of
from fivesentences.errors import InputError
from fivesentences.evaluation.tidy import collect
from fivesentences.metrics.values import key_of
from fivesentences.paper.numbers.results import Measure, Results
from fivesentences.study.exhibits import ColumnSpec

RSUM, NSUM = Measure("Rsum"), Measure("Nsum", "", "released", "kept", 0, "", "cider")


@pytest.fixture
def frame(everything):
    return collect(everything.numbers("knn_margin/table1"), "tiny")


@pytest.fixture
def run(frame):
    return frame["run"].iloc[0]


def test_a_value_is_found_by_everything_that_tells_it_from_others(frame, run):
    results = Results(frame)
    chosen = frame.query("run == @run and metric == 'N@5' and direction == 't2i'")
    assert len(chosen) == 4
    for line in chosen.to_dict("records"):
        measure = Measure("N@5", "t2i", line["formula"], line["ground_truth"], 0, "", "cider")
        assert results.value(run, measure) == line["value"]


def test_a_metric_of_phi_that_is_added_by_the_book_is_a_column(frame, run, monkeypatch):
    added = Metric(name="MRR by φ", measures="", source="", family="", needs="phi")
    monkeypatch.setitem(METRICS, added.name, added)
    column = ColumnSpec.model_construct(metric=added.name, direction="i2t")
    line = {**frame[frame["run"] == run].iloc[0], **key_of(added.name, "i2t", phi="cider"), "value": 12.5}
    results = Results(pd.concat([frame, pd.DataFrame([line])]))
    assert results.value(run, Measure.of_column(column, "cider")) == 12.5


def test_the_registry_knows_which_metrics_have_formulas(frame):
    for line in frame.to_dict("records"):
        assert metric_of(line["metric"]).formulas == bool(line["ground_truth"]), line


def test_missing_runs_and_values_are_named(frame, run):
    results = Results(frame)
    with pytest.raises(InputError, match="the run 'nobody' has no results at all"):
        results.value("nobody", RSUM)
    with pytest.raises(InputError, match=r"has no value of Nsum \(released formula, own items kept, spice\)"):
        results.value(run, Measure("Nsum", "", "released", "kept", 0, "", "spice"))


def test_values_that_are_nan_or_there_twice_and_missing_columns_are_refused(frame, run):
    nan = frame.assign(value=frame["value"].where(frame["metric"] != "Rsum"))
    with pytest.raises(InputError, match="NaN as its Rsum"):
        Results(nan).value(run, RSUM)
    with pytest.raises(InputError, match="two values of"):
        Results(pd.concat([frame, frame.tail(1)]))
    with pytest.raises(InputError, match="no column 'tie_rule'"):
        Results(frame.drop(columns="tie_rule"))


def test_other_splits_are_not_seen(frame, run):
    dev = frame.assign(split="dev", value=-1.0)
    assert Results(pd.concat([dev, frame])).value(run, RSUM) == Results(frame).value(run, RSUM)


def test_empty_texts_may_be_null_as_parquet_gives_them_back(frame, run, tmp_path):
    nulls = frame.replace({name: {"": None} for name in ("formula", "style", "direction")})
    nulls.to_parquet(tmp_path / "t.parquet")
    again = Results(pd.read_parquet(tmp_path / "t.parquet"))
    for measure in (RSUM, NSUM):
        assert again.value(run, measure) == Results(frame).value(run, measure)
