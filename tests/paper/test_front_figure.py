from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from fivesentences.errors import InputError
from fivesentences.paper.figures.drawing import write_drawing
from fivesentences.paper.figures.front import undominated
from fivesentences.study.study import Study

FIGURE = "evidence_daa/front"
LOSSES = {"hardest": {}, "all": {"triplet": "all"}}
LOSSES |= {
    f"daa{weight}_{variant}_{temperature}": {
        "soft_rank": {"weight": weight, "variant": variant, "temperature": temperature}
    }
    for weight in (10, 100)
    for variant in ("paper", "released")
    for temperature in (0.001, 0.05)
}


def study_of(**settings) -> Study:
    """A study of one front."""
    rows = [{"role": "flickr30k", "loss": list(LOSSES)}]
    figure = {"name": "f", "kind": "front", "title": "T", "caption": "C", "rows": rows, "x": {"metric": "Rsum"}}
    figure |= {"y": [{"metric": "ASP", "direction": side} for side in ("i2t", "t2i")]}
    return Study.model_validate({"paper": "P", "losses": LOSSES, "figures": [figure | settings]})


@pytest.fixture
def complete(make_scale):
    return make_scale(keep=None, evaluation_phis=["tfidf"])


def test_every_mark_is_numpys_mean_and_range_over_seeds(build, complete):
    kept = []
    data = build(FIGURE, complete, lambda frame: kept.append(frame) or frame).data
    assert len(data) == 11 * 4
    frame = kept[0].query("inference == 'naive' and metric == 'ASP' and phi == 'tfidf' and formula == 'index'")
    line = data.query("loss == 'daa1000_released_t05' and y_metric == 'ASP (tf-idf) t2i'").iloc[0]
    folder = "triplet=hardest,margin=0.2,soft_rank=released,T=0.05,rank_weight=1000"
    values = frame[(frame["loss"] == folder) & (frame["direction"] == "t2i")]["value"]
    assert len(values) == line["seeds"] == 3
    assert tuple(line[["y", "y_low", "y_high"]]) == pytest.approx((values.mean(), values.min(), values.max()))
    sums = kept[0].query("inference == 'naive' and metric == 'Rsum' and loss == @folder")["value"]
    assert tuple(line[["x", "x_low", "x_high"]]) == pytest.approx((sums.mean(), sums.min(), sums.max()))


def test_families_come_from_the_settings_of_the_losses(build, complete):
    data = build("toy/f", complete, study=study_of()).data.drop_duplicates("loss").set_index("loss")
    line = data.loc["daa100_released_0.05"]
    assert tuple(line[["family", "variant", "weight"]]) == ("temperature 0.05", "released", 100)
    assert line["begins_at"] == "hardest"
    # Losses that have no weight are no family.
    assert data.loc[["hardest", "all"], ["family", "variant", "weight", "begins_at"]].isna().all(axis=None)


def test_the_front_is_what_a_slow_comparison_of_all_pairs_leaves(build, complete):
    data = build(FIGURE, complete).data
    for _, panel in data.groupby("y_metric"):
        points = panel[["x", "y"]].to_numpy()
        beaten = [any((other >= point).all() and (other > point).any() for other in points) for point in points]
        assert panel["on_front"].tolist() == [not one for one in beaten]
        assert panel["on_front"].any()


def test_equal_points_do_not_beat_each_other():
    points = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 0.5]])
    assert undominated(points).tolist() == [True, True, True, False, False]


def test_of_ranks_the_lower_is_better(build, complete):
    study = study_of(x={"metric": "Med r", "direction": "i2t"})
    data = build("toy/f", complete, study=study).data.query("y_metric == 'ASP (CIDEr) i2t'")
    best = data["x"].idxmin()
    assert data.loc[best, "on_front"]
    assert not data.loc[(data["x"] > data.loc[best, "x"]) & (data["y"] < data.loc[best, "y"]), "on_front"].any()


@pytest.mark.parametrize("losses", [["hardest"], ["hardest", "all"], list(LOSSES), list(LOSSES)[2:]])
def test_a_front_of_any_losses_is_drawn(build, complete, losses, tmp_path):
    drawing = build("toy/f", complete, study=study_of(rows=[{"role": "flickr30k", "loss": losses}]))
    write_drawing(tmp_path / "f", "T", "C", drawing)
    with Image.open(tmp_path / "f.png") as image:
        assert image.height > 600


def test_each_model_has_its_panels(build, complete, tmp_path):
    rows = [{"role": "flickr30k", "model": ["vsepp", "cvse"], "loss": list(LOSSES)}]
    drawing = build("toy/f", complete, study=study_of(rows=rows))
    write_drawing(tmp_path / "two", "T", "C", drawing)
    write_drawing(tmp_path / "one", "T", "C", build("toy/f", complete, study=study_of()))
    heights = [Image.open(tmp_path / f"{name}.png").height for name in ("one", "two")]
    assert heights[1] > 1.7 * heights[0]


def test_a_scale_that_does_not_evaluate_with_a_phi_has_no_panel_for_it(build, make_scale):
    drawing = build(FIGURE, make_scale(keep=None))
    assert drawing.data["y_metric"].unique().tolist() == ["ASP (CIDEr) i2t", "ASP (CIDEr) t2i"]
    assert any(note.startswith("Columns left out at the scale tiny") and "tf-idf" in note for note in drawing.notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": [{"role": "flickr30k", "loss": "all", "fraction": [0.1, 1.0]}]}, "these differ in fraction"),
        ({"x": {"metric": "hubs >=10", "direction": "i2t"}}, "has no front"),
    ],
)
def test_what_one_panel_cannot_show_is_refused_before_anything_is_trained(settings, message):
    with pytest.raises(ValueError, match=message):
        study_of(**settings)


def test_a_missing_value_is_named(build, complete):
    with pytest.raises(InputError, match="has no value of ASP i2t"):
        build(FIGURE, complete, lambda frame: frame[frame["metric"] != "ASP"])


def test_the_rows_of_the_releases_readme_stand_below_ours_and_are_not_compared(build, complete):
    table = build("evidence_daa/daa", complete)
    rows = [row for group in table.groups for row in group.rows if row.kind == "published"]
    assert [row.labels[0] for row in rows] == ["SAF + DAA", "SGR + DAA", "SGRAF + DAA"]
    asp = [
        cell.published for cell, column in zip(rows[1].cells, table.columns, strict=True) if "tf-idf" in column.label
    ]
    assert asp == [65.5, 59.0] and not rows[1].same_data
    assert any("for orientation, not for comparison" in note for note in table.notes)
