from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.metrics import METRICS, Metric, metric_of
from fivesentences.errors import InputError
from fivesentences.metrics import recall_at_k
from fivesentences.metrics.values import key_of
from fivesentences.reproduction.evaluation.tidy import collect
from fivesentences.reproduction.paper.numbers.results import Measure, Results, chance_of, rsum_by_chance
from fivesentences.reproduction.study.exhibits import ColumnSpec


@pytest.fixture
def frame(everything):
    return collect(everything.numbers("knn_margin/table1"), "tiny")


@pytest.fixture
def run(frame):
    return frame["run"].iloc[0]


def test_a_value_of_the_test_split_is_found_by_everything_that_tells_it_from_others(frame, run, tmp_path):
    chosen = frame.query("run == @run and metric == 'N@5' and direction == 't2i'")
    nulls = frame.replace({name: {"": None} for name in ("formula", "style", "direction")})
    nulls.to_parquet(tmp_path / "t.parquet")  # gives empty texts back as nulls
    dev = frame.assign(split="dev", value=-1.0)
    for results in map(Results, (frame, pd.read_parquet(tmp_path / "t.parquet"), pd.concat([dev, frame]))):
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
    kinds = frame[["metric", "ground_truth"]].drop_duplicates()
    assert all(metric_of(line.metric).formulas == bool(line.ground_truth) for line in kinds.itertuples())


@pytest.mark.parametrize(
    ("run_name", "measure", "message"),
    [
        ("nobody", Measure("Rsum"), "nobody"),
        (
            None,
            Measure("Nsum", "", "released", "kept", 0, "", "spice"),
            r"Nsum \(released formula, own items kept, spice\)",
        ),
        (None, Measure("Rsum"), "Rsum"),  # it is NaN
    ],
)
def test_missing_runs_and_values_are_named(frame, run, run_name, measure, message):
    results = Results(frame.assign(value=frame["value"].where(frame["metric"] != "Rsum")))
    with pytest.raises(InputError, match=message):
        results.value(run_name or run, measure)


def test_recall_by_chance_is_that_of_random_rankings():
    draw = np.random.default_rng(0)
    images, each = 12, 3
    owners = np.repeat(np.arange(images), each)

    def rsum(similarity):
        sides = [recall_at_k(similarity, direction=side, image_of_caption=owners) for side in ("i2t", "t2i")]
        return sum(sum(side.values()) for side in sides)

    found = [rsum(draw.random((images, images * each))) for _ in range(400)]
    chance, most = rsum_by_chance(images, images * each)
    assert chance == pytest.approx(np.mean(found), abs=4 * np.std(found) / 20)
    assert np.mean(np.array(found) > most) <= 0.025 and most < np.max(found) + np.std(found)
    assert rsum_by_chance(3, 6)[0] == pytest.approx(100 * (1 / 3 + 1 / 3 + 4))  # galleries smaller than 5 and 10
    assert rsum_by_chance(1000, 5000)[0] == pytest.approx(3.2, abs=0.01)


@pytest.mark.parametrize(("beyond", "flagged"), [(-0.1, True), (0.1, False)])
def test_a_row_learnt_nothing_if_a_random_ranking_may_have_its_rsum(everything, frame, beyond, flagged):
    row = next(row for row in everything.plan.rows["tiny", "knn_margin/table1"] if row.runs)
    gallery = Results(frame).gallery(row.runs[0].name)
    chance, most = rsum_by_chance(int(gallery.images), int(gallery.captions))
    changed = frame.assign(value=frame["value"].where(frame["metric"] != "Rsum", most + beyond))
    assert chance_of(row, Results(changed)) == (pytest.approx(chance) if flagged else None)
