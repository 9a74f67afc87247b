from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import stats

from fivesentences.errors import InputError
from fivesentences.paper.figures import curves
from fivesentences.paper.figures.drawing import write_drawing
from fivesentences.study.study import Study

FIGURE = "evidence_fractions/crossing"
LOSSES = {"hardest": {}, "all": {"triplet": "all"}, "knn3": {"triplet": 3}}
ROWS = [{"role": "flickr30k", "fraction": 0.1, "epochs": [15, 30, 60], "loss": list(LOSSES)}]
FOLDERS = {"hardest": "triplet=hardest,margin=0.2", "all": "triplet=all,margin=0.2"}


def study_of(**settings) -> Study:
    """A study of one figure of curves over epochs."""
    figure = {"name": "f", "kind": "curves", "title": "T", "caption": "C", "over": "epochs", "rows": ROWS}
    figure |= {"columns": [{"metric": "Rsum"}]}
    return Study.model_validate({"paper": "P", "losses": LOSSES, "figures": [figure | settings]})


def values_of(frame, loss, fraction, metric="Rsum"):
    """The values of the runs of a loss, by seed."""
    chosen = frame[(frame["loss"] == FOLDERS[loss]) & (frame["fraction"] == fraction) & (frame["metric"] == metric)]
    return chosen[chosen["inference"] == "naive"].set_index("seed")["value"]


@pytest.fixture
def seen(build, scale):
    """The drawing of the figure at the tiny scale, and the results that it is made from."""
    kept = []
    drawing = build(FIGURE, scale, lambda frame: kept.append(frame) or frame)
    return drawing, kept[0]


def test_every_point_is_scipys_mean_and_t_interval_over_seeds(seen):
    drawing, frame = seen
    points = drawing.data.query("metric == 'Rsum' and loss == 'all'").set_index("fraction")
    assert points.index.tolist() == [0.05, 0.1, 0.25, 0.5, 1.0] and points["epochs"].tolist() == [60, 30, 20, 15, 12]
    for fraction, point in points.iterrows():
        values = values_of(frame, "all", fraction)
        interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        expected = (values.mean(), interval.low, interval.high, 3)
        assert tuple(point[["mean", "low", "high", "seeds"]]) == pytest.approx(expected, abs=1e-9)


def test_differences_are_paired_by_seed(seen):
    drawing, frame = seen
    points = drawing.data.query("metric == 'Rsum' and loss == 'all'").set_index("fraction")
    names = ["difference", "difference_low", "difference_high", "paired_seeds"]
    for fraction, point in points.iterrows():
        ours, theirs = values_of(frame, "all", fraction), values_of(frame, "hardest", fraction)
        interval = stats.ttest_rel(ours, theirs[ours.index]).confidence_interval(0.95)
        expected = ((ours - theirs).mean(), interval.low, interval.high, 3)
        assert tuple(point[names]) == pytest.approx(expected, abs=1e-9)
    assert drawing.data.query("loss == 'hardest'")["difference"].eq(0).all()
    assert any("paired by seed" in note for note in drawing.notes)


def test_seeds_that_only_one_of_two_losses_has_are_left_out_of_the_difference(build, make_scale):
    kept = []
    scale = make_scale(other_seeds=[{"loss": "all", "seeds": [1, 2, 7]}])
    data = build(FIGURE, scale, lambda frame: kept.append(frame) or frame).data
    point = data.query("metric == 'Rsum' and loss == 'all' and fraction == 0.1").iloc[0]
    ours, theirs = (values_of(kept[0], loss, 0.1) for loss in ("all", "hardest"))
    assert point["seeds"] == 3 and point["paired_seeds"] == 2
    assert point["difference"] == pytest.approx(np.mean([ours[seed] - theirs[seed] for seed in (1, 2)]))


def test_one_seed_has_a_mean_without_an_interval_and_the_notes_say_so(build, make_scale, tmp_path):
    drawing = build(FIGURE, make_scale(seeds=[0]))
    assert drawing.data["mean"].notna().all() and drawing.data[["low", "high", "difference_low"]].isna().all(axis=None)
    assert "One seed (0), so no spread is known." in drawing.notes
    assert any("no interval is known" in note for note in drawing.notes)
    write_drawing(tmp_path / "f", "T", "C", drawing)


def test_without_the_loss_to_which_differences_are_taken_the_values_are_drawn_alone(build, make_scale, tmp_path):
    drawing = build(FIGURE, make_scale(keep=[{"loss": ["all", "knn3"]}]))
    assert drawing.data["difference"].isna().all() and not any("paired" in note for note in drawing.notes)
    write_drawing(tmp_path / "f", "T", "C", drawing)


def test_each_model_has_its_panels_and_lines_are_named_by_what_tells_them_apart(build, make_scale, tmp_path):
    rows = [*ROWS, {"role": "flickr30k", "fraction": 0.1, "model": "cvse", "epochs": [15, 30], "loss": "hardest"}]
    rows.append(ROWS[0] | {"one_caption_per_image": True, "loss": "all"})
    drawing = build("toy/f", make_scale(keep=None), study=study_of(rows=rows, relative_to="hardest"))
    of_model = drawing.data.groupby("model")["label"].unique()
    together = "all negatives, one caption per image in a batch"
    assert of_model["vsepp"].tolist() == ["hardest negative", "all negatives", "kNN margin, k = 3", together]
    assert of_model["cvse"].tolist() == ["hardest negative"]
    # The row with other batches has no line of the loss that differences are taken to.
    assert drawing.data.query("label == @together")["difference"].isna().all()
    write_drawing(tmp_path / "two", "T", "C", drawing)
    one = build("toy/f", make_scale(keep=None), study=study_of(relative_to="hardest"))
    write_drawing(tmp_path / "one", "T", "C", one)
    heights = [Image.open(tmp_path / f"{name}.png").height for name in ("one", "two")]
    assert heights[1] >= 2 * heights[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": [{"role": "flickr30k", "loss": "all"}]}, "a row leaves its epochs to the scale"),
        ({"rows": ROWS * 2}, "two rows have the loss hardest at epochs 15"),
        ({"over": "fraction"}, "two rows have the loss hardest at fraction 0.1"),
        ({"relative_to": "max"}, "relative_to is max, but its rows have only: hardest, all, knn3"),
    ],
)
def test_rows_without_a_place_of_their_own_are_refused_before_anything_is_trained(settings, message):
    with pytest.raises(ValueError, match=message):
        study_of(**settings)


def test_a_missing_value_is_named(build, scale):
    with pytest.raises(InputError, match="has no value of Rsum"):
        build(FIGURE, scale, lambda frame: frame[frame["metric"] != "Rsum"])


def test_no_two_lines_look_alike_and_only_the_reference_is_dark():
    figure = study_of(relative_to="hardest").figures[0]
    data = pd.DataFrame({"label": [f"l{line}" for line in range(9)], "loss": ["hardest", *"abcdefgh"]})
    looks = curves._looks(figure, data)
    assert len({tuple(map(str, look.values())) for look in looks.values()}) == 9
    assert [look["color"] for look in looks.values()].count(looks["l0"]["color"]) == 1


def test_curves_over_epochs_say_whose_weights_were_kept(build, scale):
    drawing = build("evidence_length/length", scale, lambda frame: frame)
    assert drawing.data["kept_epoch"].eq(2).all()  # made-up seeds 0, 1 and 2 keep epochs 1, 2 and 3
    assert any("on average those of epoch 2 of 15, 2 of 30, 2 of 60, 2 of 120" in note for note in drawing.notes)
