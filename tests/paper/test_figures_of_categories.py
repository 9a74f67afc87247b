"""The figures of category retrieval: the schedule, margins over the epochs and between categories, and the grid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import ttest_rel

from drawn_texts import drawn, misplaced
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.evaluation.published import COLUMNS
from fivesentences.reproduction.categories.paper.figures import margins_at
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.rendering import make
from fivesentences.reproduction.study.exhibits import ActivationFigure
from fivesentences.reproduction.study.expand import subspace_rows
from fivesentences.reproduction.study.study import Study
from many_categories import PASCAL, category_margins, projection

PRINTED = [(0.2, 0.2), (0.5, 0.9), (0.8, 0.5)]
STARTS, SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.0, 0.1, 0.25, 0.75, 1.0)
GRID = {
    f"grid_{start:g}_{share:g}": {"method": "triplets", "loss": {"start": start, "feature_share": share}}
    for start in STARTS
    for share in SHARES
}
METHODS = GRID | {
    "sam": {"method": "triplets"},
    "late": {"method": "triplets", "loss": {"start": 0.7}},
    "constant": {"method": "triplets", "loss": {"toward": "constant", "constant": 0.5}},
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
    "half": {"method": "triplets", "loss": {"toward": "nothing", "margin": 0.5}},
    "wide": {"method": "triplets", "hidden": 2048, "loss": {"start": 0.2, "feature_share": 0.1}},
    "cca": {"method": "cca"},
}
LABELS = {"sam": "SAM", "constant": "the same schedule to a constant margin", "late": "later", "bird": "birds"}
LABELS |= {"fixed": "a fixed margin of 1", "half": "a fixed margin of a half"}


def study_of(kind, **settings) -> Study:
    figure = {"name": "f", "kind": kind, "title": "T", "caption": "C"} | settings
    return check(Study, {"paper": "P", "methods": METHODS, "labels": LABELS, "figures": [figure]}, "toy")


def row(*methods, **settings):
    return {"role": "wikipedia", "method": list(methods)} | settings


@pytest.fixture
def made(make_scale, make_up, categories):
    """Everything that is measured for a figure of some rows."""

    def build(kind, rows, changes=None, **settings):
        study = study_of(kind, rows=rows, **settings)
        of_scale = categories(study, methods=None, **changes or {})
        scale = make_scale(studies=["toy"], roles={}, features=None, keep=None, categories=of_scale)
        return make_up(scale, toy=study)

    return build


@pytest.fixture
def drawing(make_scale, categories, tmp_path):
    """A figure of many categories, the margins and the points that it was made from."""

    def build(kind, rows, names=PASCAL[:4], change=lambda frame: frame, roles=None, **settings):
        study = study_of(kind, rows=rows, **settings)
        changes = {"roles": roles} if roles else {}
        scale = make_scale(categories=categories(study, methods=None, training={"epochs": 100}, **changes))
        spec = study.exhibit("f")
        runs = [run.name for one in subspace_rows(spec.subspace_rows(), study, scale) for run in one.runs]
        margins, points = change(category_margins(runs, names)), change(projection(names))
        files = [tmp_path / "f.parquet", tmp_path / "job.category_margins.parquet"]
        points.to_parquet(files[0], index=False)
        margins.to_parquet(files[1], index=False)
        return make(spec, Context("toy", study, scale, published=tmp_path), files), margins, points

    return build


# --- the schedule -----------------------------------------------------------------------------------------------------


@pytest.fixture
def activation(make_scale, categories):
    def build(curves=PRINTED, scale=None, **settings):
        content = [{"start": start, "steepness": steepness} for start, steepness in curves]
        study = study_of("activation", curves=content, **settings)
        context = Context("toy", study, scale or make_scale(categories=categories(study)))
        return make(study.exhibit("f"), context, [])

    return build


@pytest.mark.parametrize("epochs", [1, 50, 100])
def test_every_curve_is_scipys_logistic_function_of_the_epoch(activation, epochs):
    data = activation(epochs=epochs).data
    assert len(data) == 3 * data["epoch"].nunique()
    expected = expit(data["steepness"] * (data["epoch"] - data["start"] * epochs))
    np.testing.assert_allclose(data["alpha"], expected, atol=1e-12)
    assert (data["epoch"].min(), data["epoch"].max()) == (0, epochs)


def test_a_schedule_that_does_not_go_from_0_to_1_is_named(activation, make_scale):
    note, first, last = activation([*PRINTED, (1.0, 0.1)]).notes[1], expit(-0.2 * 0.2 * 50), expit(0.0)
    assert f"fₐ = 0.2, k = 0.2 begins at {first:.2f}; fₐ = 1, k = 0.1 ends at {last:.2f}" in note
    assert len(activation([(0.5, 0.9)]).notes) == 1
    assert activation(scale=make_scale()).data.empty  # a scale without category retrieval


def test_dots_are_where_both_margins_weigh_the_same_and_texts_can_be_read(activation):
    canvas = drawn(activation([(share / 10, 0.1 * (1 + share)) for share in range(0, 11, 2)]).draw)
    dots = [line.get_xydata()[0].tolist() for line in canvas.axes[0].lines if line.get_marker() == "o"]
    assert dots == [pytest.approx([5.0 * share, 0.5]) for share in range(0, 11, 2)]
    assert misplaced(canvas) == []
    curves = [{"start": 0, "steepness": 1}] * 8
    with pytest.raises(ValueError, match="at most 7"):
        ActivationFigure(name="f", kind="activation", title="", caption="", curves=curves)


# --- the mean margin by epoch -----------------------------------------------------------------------------------------


def test_every_point_is_the_mean_and_range_over_the_seeds_histories(made):
    made_up = made("margin_by_epoch", [row("sam", "fixed")])
    data = made_up.drawing("toy/f").data
    frame = pd.concat([pd.read_parquet(path) for path in made_up.numbers("toy/f") if "histories" in path.name])
    of_sam = frame[frame["run"].str.contains("/triplets/seed")].groupby("epoch")
    for what, column, line in (("mean margin", "mean_margin", "SAM"), ("alpha", "alpha", "α(t), fₐ = 0.4, k = 0.1")):
        shown = data[(data["what"] == what) & (data["line"] == line)].set_index("epoch")
        expected = of_sam[column].agg(["mean", "min", "max", "count"])
        np.testing.assert_allclose(shown[["mean", "low", "high", "seeds"]], expected)
    with pytest.raises(InputError, match="/cca/seed=0"):
        made("margin_by_epoch", [row("cca")]).drawing("toy/f")


@pytest.mark.filterwarnings("error")
def test_one_seed_one_epoch_and_a_role_that_nobody_plays_are_said_and_drawn(made):
    changes = {"seeds": [4], "training": {"epochs": 1}}
    drawing = made("margin_by_epoch", [row("sam"), row("sam", role="pascal")], changes).drawing("toy/f")
    assert any("seed (4)" in note for note in drawing.notes)
    assert any("no data for pascal" in note for note in drawing.notes)
    assert drawn(drawing.draw).axes


# --- margins between categories ---------------------------------------------------------------------------------------


def test_every_point_is_the_mean_over_the_seeds_of_one_pair_of_categories(drawing):
    found, frame, _ = drawing("category_margins", [row("sam")])
    assert len(found.data) == 4 * 3 * 50
    expected = frame.groupby(["anchor", "negative", "epoch"])["mean_margin"].agg(["mean", "min", "max", "count"])
    shown = found.data.set_index(["anchor", "negative", "epoch"])[["mean_margin", "low", "high", "seeds"]]
    np.testing.assert_allclose(shown, expected.loc[shown.index])
    with pytest.raises(InputError, match="seed=1"):
        drawing("category_margins", [row("sam")], change=lambda one: one[~one.iloc[:, 0].str.endswith("seed=1")])
    with pytest.raises(InputError, match="'mean_margin'"):
        drawing("category_margins", [row("sam")], change=lambda one: one.rename(columns={"mean_margin": "margin"}))


@pytest.mark.parametrize("count", [2, 5, *(pytest.param(count, marks=pytest.mark.slow) for count in (3, 7, 10, 20))])
def test_each_category_has_a_panel_with_a_line_for_every_other(drawing, count):
    found, frame, _ = drawing("category_margins", [row("sam")], names=PASCAL[:count])
    canvas = drawn(found.draw)
    titles = [panel.get_title(loc="left").replace("birds", "bird") for panel in canvas.axes]
    assert titles == list(PASCAL[:count]) and misplaced(canvas) == []
    assert [len(panel.lines) for panel in canvas.axes] == [count - 1] * count
    assert len({panel.get_ylim() for panel in canvas.axes}) == 1
    last = frame[frame["epoch"] == 100].groupby(["anchor", "negative"])["mean_margin"].mean()
    for panel, anchor in zip(canvas.axes, PASCAL[: count if count > 2 else 0], strict=False):
        named = [text.get_text().replace("birds", "bird") for text in panel.texts]
        assert named == [f"largest: {last[anchor].idxmax()}", f"smallest: {last[anchor].idxmin()}"]


# --- the grid of starts and shares ------------------------------------------------------------------------------------


def values_of(made_up, folder, metric, direction):
    """Values of a method by seed, straight from the files."""
    frame = pd.concat([pd.read_parquet(path) for path in made_up.numbers("toy/f")])
    frame = frame.query("selection == 'last' and metric == @metric and direction == @direction and method == @folder")
    return frame.set_index("seed")["value"].sort_index().to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "direction"), [("mAP", "mean"), ("mAP@100", "i2t")])
def test_points_are_means_and_differences_are_scipys_paired_intervals(made, metric, direction):
    measure = {"metric": metric, "direction": direction}
    made_up = made("start_and_share", [row("fixed", *GRID, selection="last")], **measure)
    data = made_up.drawing("toy/f").data
    fixed = values_of(made_up, "triplets,toward=nothing", metric, direction)
    curves = data[data["line"] == "curve"]
    assert len(curves) == len(GRID) == len(curves.drop_duplicates(["start", "feature_share"]))
    for point in curves.itertuples():
        folder = f"triplets,start={point.start:g},feature_share={point.feature_share:g}"
        values = values_of(made_up, folder, metric, direction)
        assert (point.mean, point.low, point.high) == pytest.approx((np.mean(values), min(values), max(values)))
        shown = (point.difference, point.difference_low, point.difference_high)
        interval = ttest_rel(values, fixed).confidence_interval(0.95)
        assert shown == pytest.approx((np.mean(values - fixed), *interval), abs=1e-12)


@pytest.mark.parametrize("methods", [["grid_0_0"], ["fixed", "grid_0.4_0.1"], ["fixed", "grid_0_0", "grid_1_1"]])
@pytest.mark.slow
def test_few_points_and_one_seed_are_drawn_too(made, methods):
    drawing = made("start_and_share", [row(*methods)], {"seeds": [3]}).drawing("toy/f")
    assert drawing.data["difference_low"].isna().all()
    assert any("seed (3)" in note for note in drawing.notes)
    assert ("fixed" in methods) == any("no interval is known" in note for note in drawing.notes)
    assert misplaced(drawn(drawing.draw)) == []


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["constant", "grid_0_0"], "'constant'"),
        (["cca", "grid_0_0"], "'cca'"),
        (["wide", "grid_0.2_0.1"], r"0\.2.*0\.1"),
    ],
)
def test_rows_that_have_no_place_or_the_same_one_are_refused(made, methods, message):
    with pytest.raises(InputError, match=message):
        made("start_and_share", [row(*methods)]).drawing("toy/f")


def test_fixed_margins_alone_are_no_figure(made):
    assert made("start_and_share", [row("fixed", "half")]).drawing("toy/f").data.empty


# --- the subspace -----------------------------------------------------------------------------------------------------

SUBSPACE = [row("sam", role="pascal"), row("sam")]


@pytest.mark.slow
def test_maps_show_the_margins_of_the_first_seed_at_the_recorded_epochs_next_to_the_shares(drawing):
    found, margins, points = drawing("subspace", SUBSPACE, at=[0, 0.33, 1])
    maps = [panel for panel in drawn(found.draw).axes if panel.images]
    assert [panel.get_title(loc="left") for panel in maps] == ["epoch 2", "epoch 32", "epoch 100"]
    of_seed = margins[margins["run"].str.endswith("seed=0")]
    for panel, epoch in zip(maps, (2, 32, 100), strict=True):
        shown = np.ma.filled(panel.images[0].get_array().astype(float), np.nan)
        table = of_seed[of_seed["epoch"] == epoch].pivot(index="anchor", columns="negative", values="mean_margin")
        np.testing.assert_allclose(shown, table)
    assert len({panel.images[0].get_clim() for panel in maps}) == 1
    assert "made, printed, seed 0" in found.notes[0]
    assert any("pascal" in note for note in found.notes)
    assert found.data["what"].value_counts().to_dict() == {"point": len(points), "margin": 3 * 4 * 3}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.77, 1.0])
def test_no_recorded_epoch_is_nearer_to_a_share(share):
    frame = category_margins(["r"], PASCAL[:2], epochs=37)
    recorded = frame["epoch"].unique()
    (epoch,) = margins_at(frame, [share])["epoch"].unique()
    assert abs(epoch - share * recorded.max()) == min(abs(one - share * recorded.max()) for one in recorded)


@pytest.mark.slow
def test_every_image_and_text_is_a_point_of_its_category_in_scales_that_agree(drawing):
    found, _, points = drawing("subspace", SUBSPACE)
    panel = max(drawn(found.draw).axes, key=lambda one: sum(len(found.get_offsets()) for found in one.collections))
    for collection, modality in zip(panel.collections, ("image", "text"), strict=True):
        expected = points[points["modality"] == modality]
        np.testing.assert_allclose(collection.get_offsets(), expected[["x", "y"]])
        colours = set(zip(expected["category"], map(tuple, collection.get_facecolors()), strict=True))
        assert len(colours) == len({colour for _, colour in colours}) == 4
    box, (left, right), (low, high) = panel.get_window_extent(), panel.get_xlim(), panel.get_ylim()
    assert (right - left) / box.width == pytest.approx((high - low) / box.height)
    assert left < points["x"].min() and points["x"].max() < right
    assert low < points["y"].min() and points["y"].max() < high


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 5, 7, 10, 20])
@pytest.mark.parametrize("at", [[1.0], [0.0, 0.4, 1.0]])
def test_any_number_of_categories_can_be_read(drawing, count, at):
    assert misplaced(drawn(drawing("subspace", SUBSPACE, PASCAL[:count], at=at)[0].draw)) == []


@pytest.mark.slow
def test_points_in_one_place_are_drawn_and_a_file_that_is_no_projection_is_named(drawing):
    def in_one_place(frame):
        return frame.assign(x=0.0, y=0.0) if "x" in frame else frame

    assert drawn(drawing("subspace", SUBSPACE, change=in_one_place)[0].draw).axes
    with pytest.raises(InputError, match=r"f\.parquet.*'modality' is missing"):
        drawing("subspace", SUBSPACE, change=lambda frame: frame.drop(columns="modality", errors="ignore"))


def test_published_margins_stand_beside_those_of_the_last_epoch(drawing, tmp_path):
    (tmp_path / "theirs.csv").write_text(
        f"{','.join(COLUMNS)}\n"
        "p,figure,bird-boat,NUS-WIDE-10k,train,M,,,margin,0.6\n"
        "p,figure,bird-cow,NUS-WIDE-10k,train,M,,,margin,0.77\n"
        "p,figure,bird-bus,Wikipedia,train,M,,,margin,0.5\n",
        encoding="utf-8",
    )
    rows, roles = [row("sam", role="nus_wide_10k")], {"nus_wide_10k": "made"}
    found, margins, _ = drawing("subspace", rows, ("bird", "boat", "cat"), roles=roles, published="theirs")
    theirs = found.data[found.data["what"] == "published"]
    lines = theirs[["anchor", "negative", "mean_margin", "epoch"]].to_numpy().tolist()
    assert lines == [["bird", "boat", 0.6, 100], ["bird", "cow", 0.77, 100]]
    last = margins[margins["run"].str.endswith("seed=0") & (margins["epoch"] == 100)]
    ours = last.set_index(["anchor", "negative"])["mean_margin"]["bird", "boat"]
    (note,) = [note for note in found.notes if note.startswith("Published")]
    assert note.endswith(f": birds and boat 0.6, here {ours:.2f}; birds and cow 0.77, not here.")
