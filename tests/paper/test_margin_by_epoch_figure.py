from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from drawn_texts import drawn, misplaced
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.study.study import Study

METHODS = {
    "sam": {"method": "triplets"},
    "constant": {"method": "triplets", "loss": {"toward": "constant", "constant": 0.5}},
    "late": {"method": "triplets", "loss": {"start": 0.7}},
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
    "cca": {"method": "cca"},
}
LABELS = {"sam": "scheduled adaptive margin", "constant": "the same schedule to a constant margin", "late": "later"}


@pytest.fixture
def made(make_scale, make_up, categories):
    """Everything that is measured for a figure of some rows."""

    def build(rows, **changes):
        figure = {"name": "f", "kind": "margin_by_epoch", "title": "T", "caption": "C", "rows": rows}
        study = check(Study, {"paper": "P", "methods": METHODS, "labels": LABELS, "figures": [figure]}, "toy")
        scale = make_scale(
            studies=["toy"], roles={}, features=None, keep=None, categories=categories(study, methods=None, **changes)
        )
        return make_up(scale, toy=study)

    return build


def row(*methods, **settings):
    return {"role": "wikipedia", "method": list(methods)} | settings


def test_every_point_is_the_mean_and_range_over_the_seeds_histories(made):
    made_up = made([row("sam", "fixed")])
    data = made_up.drawing("toy/f").data
    frame = pd.concat([pd.read_parquet(path) for path in made_up.numbers("toy/f") if "histories" in path.name])
    for (what, epoch), point in data[data["line"] != "fixed"].groupby(["what", "epoch"]):
        column = {"mean margin": "mean_margin", "alpha": "alpha"}[what]
        folder = METHODS["sam"]["method"]
        values = [
            line[column] for _, line in frame.iterrows() if line["epoch"] == epoch and f"/{folder}/seed" in line["run"]
        ]
        one = point[point["line"].isin([LABELS["sam"], "α(t), fₐ = 0.4, k = 0.1"])].iloc[0]
        assert one["seeds"] == len(values) == 3
        assert tuple(one[["mean", "low", "high"]]) == pytest.approx((np.mean(values), min(values), max(values)))


def test_methods_with_one_schedule_share_its_line_and_a_fixed_margin_has_none(made):
    data = made([row("sam", "constant", "late", "fixed")]).drawing("toy/f").data
    schedules = data[data["what"] == "alpha"]["line"].unique().tolist()
    assert schedules == ["α(t), fₐ = 0.4, k = 0.1", "α(t), fₐ = 0.7, k = 0.1"]
    assert data[data["what"] == "mean margin"]["line"].nunique() == 4


def test_rows_that_differ_in_the_chosen_epoch_alone_are_one_line(made):
    data = made([row("sam", selection=["map", "last"])]).drawing("toy/f").data
    assert not data.duplicated(["setting", "line", "what", "epoch"]).any()
    assert data["line"].nunique() == 2


@pytest.mark.parametrize("methods", [["sam"], ["sam", "constant", "late", "fixed"]])
@pytest.mark.parametrize("divisions", [["printed"], ["printed", "whole_test"]])
def test_lines_and_labels_are_drawn_for_every_setting(made, methods, divisions):
    drawing = made([row(*methods, division=divisions)]).drawing("toy/f")
    canvas = drawn(drawing.draw)
    assert len(canvas.axes) == len(divisions)
    for panel in canvas.axes:
        assert len(panel.lines) == drawing.data["line"].nunique()
    assert misplaced(canvas) == []


def test_a_method_without_triplets_is_named(made):
    with pytest.raises(InputError, match="/cca/seed=0' recorded no margins"):
        made([row("cca")]).drawing("toy/f")


def test_one_seed_and_a_role_that_nobody_plays_are_said(made):
    notes = made([row("sam"), {"role": "pascal", "method": "sam"}], seeds=[4]).drawing("toy/f").notes
    assert any("seed 4" in note and "no spread" in note for note in notes)
    assert any("No documents play the role of pascal" in note for note in notes)


@pytest.mark.filterwarnings("error")
def test_one_epoch_is_drawn_too(made):
    assert drawn(made([row("sam")], training={"epochs": 1}).drawing("toy/f").draw).axes
