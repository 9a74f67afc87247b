from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from drawn_texts import drawn, misplaced
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.paper.context import Context
from fivesentences.paper.figures.subspace import margins_at
from fivesentences.paper.numbers.published import COLUMNS
from fivesentences.paper.rendering import drawing_of
from fivesentences.study.expand import subspace_rows
from fivesentences.study.study import Study
from many_categories import PASCAL, category_margins, projection


@pytest.fixture
def drawing(make_scale, categories, tmp_path):
    """The figure, and the margins and points that it was made from."""

    def made(names=PASCAL[:4], change=lambda points: points, **settings):
        rows = [{"role": role, "method": "sam"} for role in ("pascal", "wikipedia")]
        figure = {"name": "f", "kind": "subspace", "title": "T", "caption": "C", "rows": rows} | settings
        content = {"paper": "P", "methods": {"sam": {"method": "triplets"}}, "figures": [figure]}
        study = check(Study, content, "toy")
        scale = make_scale(categories=categories(study, methods=None, training={"epochs": 100}))
        spec = study.exhibit("f")
        runs = [run.name for row in subspace_rows(spec.subspace_rows(), study, scale) for run in row.runs]
        margins, points = category_margins(runs, names), change(projection(names))
        files = [tmp_path / "f.parquet", tmp_path / "job.category_margins.parquet"]
        points.to_parquet(files[0], index=False)
        margins.to_parquet(files[1], index=False)
        return drawing_of(spec, Context("toy", study, scale), files), margins, points

    return made


def test_maps_show_the_margins_of_the_first_seed_at_the_recorded_epochs_next_to_the_shares(drawing):
    found, margins, _ = drawing(at=[0, 0.33, 1])
    canvas = drawn(found.draw)
    maps = [panel for panel in canvas.axes if panel.images]
    assert [panel.get_title(loc="left") for panel in maps] == ["epoch 2", "epoch 32", "epoch 100"]
    for panel, epoch in zip(maps, (2, 32, 100), strict=True):
        shown = np.ma.filled(panel.images[0].get_array().astype(float), np.nan)
        for (row, column), value in np.ndenumerate(shown):
            chosen = margins[
                margins["run"].str.endswith("seed=0")
                & (margins["epoch"] == epoch)
                & (margins["anchor"] == sorted(PASCAL[:4])[row])
                & (margins["negative"] == sorted(PASCAL[:4])[column])
            ]["mean_margin"]
            assert np.isnan(value) if row == column else value == pytest.approx(chosen.item())
    assert len({panel.images[0].get_clim() for panel in maps}) == 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.77, 1.0])
def test_no_recorded_epoch_is_nearer_to_a_share(share):
    frame = category_margins(["r"], PASCAL[:2], epochs=37)
    recorded = frame["epoch"].unique()
    (epoch,) = margins_at(frame, [share])["epoch"].unique()
    assert abs(epoch - share * recorded.max()) == min(abs(one - share * recorded.max()) for one in recorded)


def test_every_image_and_text_is_a_point_of_its_category_in_scales_that_agree(drawing):
    found, _, points = drawing()
    canvas = drawn(found.draw)
    panel = max(canvas.axes, key=lambda one: sum(len(found.get_offsets()) for found in one.collections))
    for collection, modality in zip(panel.collections, ("image", "text"), strict=True):
        expected = points[points["modality"] == modality]
        np.testing.assert_allclose(collection.get_offsets(), expected[["x", "y"]])
        colours = {}
        for category, colour in zip(expected["category"], map(tuple, collection.get_facecolors()), strict=True):
            assert colours.setdefault(category, colour) == colour
        assert len(set(colours.values())) == 4
    box = panel.get_window_extent()
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    assert (right - left) / box.width == pytest.approx((high - low) / box.height)
    assert left < points["x"].min() and points["x"].max() < right
    assert low < points["y"].min() and points["y"].max() < high


@pytest.mark.parametrize("count", [2, 3, 5, 7, 10, 20])
@pytest.mark.parametrize("at", [[1.0], [0.0, 0.4, 1.0]])
def test_any_number_of_categories_can_be_read(drawing, count, at):
    canvas = drawn(drawing(PASCAL[:count], at=at)[0].draw)
    assert misplaced(canvas) == []


def test_points_in_one_place_are_drawn_all_the_same(drawing):
    found = drawing(change=lambda points: points.assign(x=0.0, y=0.0))[0]
    assert drawn(found.draw).axes


def test_notes_name_the_run_and_the_table_has_all_that_is_drawn(drawing):
    found, _, points = drawing()
    assert "made in the role of wikipedia, printed, seed 0" in found.notes[0]
    assert any("pascal" in note for note in found.notes)
    assert found.data["what"].value_counts().to_dict() == {"point": len(points), "margin": 3 * 4 * 3}


def test_published_margins_stand_beside_those_of_the_last_epoch(make_scale, categories, tmp_path):
    (tmp_path / "theirs.csv").write_text(
        f"{','.join(COLUMNS)}\n"
        "p,figure,bird-boat,NUS-WIDE-10k,train,M,,,margin,0.6\n"
        "p,figure,bird-cow,NUS-WIDE-10k,train,M,,,margin,0.77\n"
        "p,figure,bird-bus,Wikipedia,train,M,,,margin,0.5\n",
        encoding="utf-8",
    )
    figure = {"name": "f", "kind": "subspace", "title": "T", "caption": "C", "published": "theirs"}
    figure["rows"] = [{"role": "nus_wide_10k", "method": "sam"}]
    content = {"paper": "P", "methods": {"sam": {"method": "triplets"}}, "figures": [figure]}
    study = check(Study, content, "toy")
    scale = make_scale(categories=categories(study, methods=None, roles={"nus_wide_10k": "made"}))
    rows = subspace_rows(study.exhibit("f").subspace_rows(), study, scale)
    margins = category_margins([run.name for row in rows for run in row.runs], ("bird", "boat", "cat"))
    margins.to_parquet(tmp_path / "job.category_margins.parquet", index=False)
    projection(("bird", "boat", "cat")).to_parquet(tmp_path / "f.parquet", index=False)
    files = [tmp_path / "f.parquet", tmp_path / "job.category_margins.parquet"]
    found = drawing_of(study.exhibit("f"), Context("toy", study, scale, published=tmp_path), files)
    theirs = found.data[found.data["what"] == "published"]
    assert theirs[["anchor", "negative", "mean_margin", "epoch"]].to_numpy().tolist() == [
        ["bird", "boat", 0.6, 100],
        ["bird", "cow", 0.77, 100],
    ]
    last = margins[margins["run"].str.endswith("seed=0") & (margins["epoch"] == 100)]
    ours = last.set_index(["anchor", "negative"])["mean_margin"]["bird", "boat"]
    (note,) = [note for note in found.notes if note.startswith("Published")]
    assert note == (
        f"Published mean margins in the last epoch, about: bird and boat 0.6, here {ours:.2f}; bird and cow 0.77, not "
        "here."
    )


def test_a_file_that_is_no_projection_is_named(drawing):
    with pytest.raises(InputError, match=r"f\.parquet.*'modality' is missing"):
        drawing(change=lambda points: points.drop(columns="modality"))


def test_a_scale_without_these_rows_draws_nothing(make_scale):
    figure = {"name": "f", "kind": "subspace", "title": "T", "caption": "C"}
    figure["rows"] = [{"role": "wikipedia", "method": "sam"}]
    content = {"paper": "P", "methods": {"sam": {"method": "triplets"}}, "figures": [figure]}
    study = check(Study, content, "toy")
    found = drawing_of(study.exhibit("f"), Context("toy", study, make_scale()), [])
    assert found.draw is None and found.data.empty and isinstance(found.data, pd.DataFrame)
