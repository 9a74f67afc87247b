from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from drawn_texts import drawn, misplaced
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.study.study import Study

STARTS, SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.0, 0.1, 0.25, 0.75, 1.0)
GRID = {
    f"grid_{start:g}_{share:g}": {"method": "triplets", "loss": {"start": start, "feature_share": share}}
    for start in STARTS
    for share in SHARES
}
METHODS = GRID | {
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
    "half": {"method": "triplets", "loss": {"toward": "nothing", "margin": 0.5}},
    "constant": {"method": "triplets", "loss": {"toward": "constant", "constant": 0.5}},
    "wide": {"method": "triplets", "hidden": 2048, "loss": {"start": 0.2, "feature_share": 0.1}},
    "cca": {"method": "cca"},
}
LABELS = {"fixed": "a fixed margin of 1", "half": "a fixed margin of a half"}


@pytest.fixture
def made(make_scale, make_up, categories):
    """Everything that is measured for a figure of some methods."""

    def build(methods, seeds=(0, 1, 2), selection="map", **settings):
        rows = [{"role": "wikipedia", "method": list(methods), "selection": selection}]
        figure = {"name": "f", "kind": "start_and_share", "title": "T", "caption": "C", "rows": rows} | settings
        study = check(Study, {"paper": "P", "methods": METHODS, "labels": LABELS, "figures": [figure]}, "toy")
        scale = make_scale(
            studies=["toy"],
            roles={},
            features=None,
            keep=None,
            categories=categories(study, methods=None, seeds=list(seeds)),
        )
        return make_up(scale, toy=study)

    return build


def values_of(made_up, folder, selection, metric, direction):
    """Values of a method by seed, straight from the files."""
    frame = pd.concat([pd.read_parquet(path) for path in made_up.numbers("toy/f")])
    frame = frame[(frame["selection"] == selection) & (frame["metric"] == metric) & (frame["direction"] == direction)]
    return frame[frame["method"] == folder].set_index("seed")["value"].sort_index().to_numpy()


@pytest.mark.parametrize(("metric", "direction"), [("mAP", "mean"), ("mAP@100", "i2t")])
def test_points_are_means_and_differences_are_scipys_paired_intervals(made, metric, direction):
    made_up = made(["fixed", *GRID], selection="last", metric=metric, direction=direction)
    data = made_up.drawing("toy/f").data
    fixed = values_of(made_up, "triplets,toward=nothing", "last", metric, direction)
    curves = data[data["line"] == "curve"]
    assert sorted(zip(curves["start"], curves["feature_share"], strict=True)) == sorted(
        (start, share) for start in STARTS for share in SHARES
    )
    for point in curves.itertuples():
        folder = f"triplets,start={point.start:g},feature_share={point.feature_share:g}"
        values = values_of(made_up, folder, "last", metric, direction)
        assert (point.mean, point.low, point.high) == pytest.approx((np.mean(values), min(values), max(values)))
        found = ttest_rel(values, fixed).confidence_interval(0.95)
        shown = (point.difference, point.difference_low, point.difference_high)
        assert shown == pytest.approx((np.mean(values - fixed), found.low, found.high), abs=1e-12)


@pytest.mark.parametrize("fixed", [[], ["fixed"], ["fixed", "half"]])
@pytest.mark.parametrize("selection", ["map", ["map", "last"]])
def test_values_stand_beside_differences_where_there_is_a_fixed_margin(made, fixed, selection):
    drawing = made([*fixed, *GRID], selection=selection).drawing("toy/f")
    canvas = drawn(drawing.draw)
    blocks = 1 if selection == "map" else 2
    assert len(canvas.axes) == blocks * (2 if fixed else 1)
    ends = [text.get_text() for text in canvas.axes[-1].texts]
    assert {f"λ = {share:g}" for share in SHARES} < {*ends, ""} and len(ends) == len(SHARES) + len(fixed)
    assert misplaced(canvas) == []


@pytest.mark.parametrize("methods", [["grid_0_0"], ["fixed", "grid_0.4_0.1"], ["fixed", "grid_0_0", "grid_1_1"]])
def test_few_points_are_drawn_too(made, methods):
    assert misplaced(drawn(made(methods).drawing("toy/f").draw)) == []


def test_one_seed_has_no_interval_and_the_notes_say_so(made):
    drawing = made(["fixed", *GRID], seeds=[3]).drawing("toy/f")
    assert drawing.data["difference_low"].isna().all() and drawing.data["difference"].notna().sum() == len(GRID)
    assert any("seed 3" in note and "no spread" in note for note in drawing.notes)
    assert any("no interval is known" in note for note in drawing.notes)
    assert misplaced(drawn(drawing.draw)) == []


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["constant", "grid_0_0"], "'constant' has no place in it"),
        (["cca", "grid_0_0"], "'cca' has no place in it"),
        (["wide", "grid_0.2_0.1"], "two rows have fₐ = 0.2 and λ = 0.1"),
    ],
)
def test_rows_that_have_no_place_or_the_same_one_are_refused(made, methods, message):
    with pytest.raises(InputError, match=message):
        made(methods).drawing("toy/f")


def test_fixed_margins_alone_are_no_figure(made):
    drawing = made(["fixed", "half"]).drawing("toy/f")
    assert drawing.draw is None and drawing.data.empty
