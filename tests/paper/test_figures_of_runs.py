"""The figures of runs: curves, fronts, semantic recall, hubs and agreement of metrics, against numpy and scipy."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from drawn_texts import drawn, misplaced
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.tidy import collect
from fivesentences.reproduction.paper.figures.front import undominated
from fivesentences.reproduction.paper.rendering import make
from fivesentences.reproduction.study.study import Study
from fivesentences.storage import write_json

CROSSING, FRONT, FIGURE3 = "evidence_fractions/crossing", "evidence_daa/front", "five_sentences/figure3"
HUBNESS, AGREEMENT, RETRIEVALS = "knn_margin/hubness", "metric_agreement/agreement", "five_sentences/figure1"
LOSSES = {"hardest": {}, "all": {"triplet": "all"}, "knn3": {"triplet": 3}}
TRADED = {"hardest": {}, "all": {"triplet": "all"}} | {
    f"daa{weight}_{variant}_{temperature}": {
        "soft_rank": {"weight": weight, "variant": variant, "temperature": temperature}
    }
    for weight in (10, 100)
    for variant in ("paper", "released")
    for temperature in (0.001, 0.05)
}
ROWS = [{"role": "flickr30k", "fraction": 0.1, "epochs": [15, 30, 60], "loss": list(LOSSES)}]
FOLDERS = {"hardest": "triplet=hardest,margin=0.2", "all": "triplet=all,margin=0.2"}


def study_of(kind, losses, **settings) -> Study:
    figure = {"name": "f", "kind": kind, "title": "T", "caption": "C", "rows": ROWS} | settings
    return Study.model_validate({"paper": "P", "losses": losses, "figures": [figure]})


def curves_of(**settings) -> Study:
    return study_of("curves", LOSSES, **{"over": "epochs", "columns": [{"metric": "Rsum"}]} | settings)


def front_of(**settings) -> Study:
    asp = [{"metric": "ASP", "direction": side} for side in ("i2t", "t2i")]
    rows = [{"role": "flickr30k", "loss": list(TRADED)}]
    return study_of("front", TRADED, **{"rows": rows, "x": {"metric": "Rsum"}, "y": asp} | settings)


@pytest.fixture(scope="module")
def seen(build):
    """The drawing of a figure at a scale, and the results that it is made from."""

    def made(figure, scale, **settings):
        kept = []
        drawing = build(figure, scale, lambda frame: kept.append(frame) or frame, **settings)
        return drawing, kept[0].query("inference == 'naive'")

    return made


@pytest.fixture(scope="module")
def complete(make_scale):
    return make_scale(keep=None, evaluation_phis=["tfidf"])


def sums_of(frame, loss, fraction):
    """Rsum of the runs of a loss, by seed."""
    chosen = frame.query("metric == 'Rsum' and fraction == @fraction")
    return chosen[chosen["loss"] == FOLDERS[loss]].set_index("seed")["value"]


def test_points_and_paired_differences_of_curves_are_scipys_means_and_t_intervals(seen, scale):
    drawing, frame = seen(CROSSING, scale)
    points = drawing.data.query("metric == 'Rsum' and loss == 'all'").set_index("fraction")
    assert points.index.tolist() == [0.1, 0.25, 1.0] and points["epochs"].tolist() == [30, 20, 12]
    for fraction, point in points.iterrows():
        ours, theirs = (sums_of(frame, loss, fraction) for loss in ("all", "hardest"))
        interval = stats.ttest_1samp(ours, 0).confidence_interval(0.95)
        assert tuple(point[["mean", "low", "high", "seeds"]]) == pytest.approx((ours.mean(), *interval, 3), abs=1e-9)
        interval, names = stats.ttest_rel(ours, theirs[ours.index]).confidence_interval(0.95), ["difference_low"]
        found = point[["difference", *names, "difference_high", "paired_seeds"]]
        assert tuple(found) == pytest.approx(((ours - theirs).mean(), *interval, 3), abs=1e-9)
    assert drawing.data.query("loss == 'hardest'")["difference"].eq(0).all()


def test_seeds_that_only_one_of_two_losses_has_are_left_out_of_the_difference(seen, make_scale):
    drawing, frame = seen(CROSSING, make_scale(other_seeds=[{"loss": "all", "seeds": [1, 2, 7]}]))
    point = drawing.data.query("metric == 'Rsum' and loss == 'all' and fraction == 0.1").iloc[0]
    ours, theirs = (sums_of(frame, loss, 0.1) for loss in ("all", "hardest"))
    assert point["seeds"] == 3 and point["paired_seeds"] == 2
    assert point["difference"] == pytest.approx(np.mean([ours[seed] - theirs[seed] for seed in (1, 2)]))


def test_one_seed_has_a_mean_without_an_interval_and_the_notes_say_so(build, make_scale):
    drawing = build(CROSSING, make_scale(seeds=[0]))
    assert drawing.data["mean"].notna().all() and drawing.data[["low", "high", "difference_low"]].isna().all(axis=None)
    assert any("One seed (0)" in note for note in drawing.notes)
    assert drawn(drawing.draw).axes
    assert build(FIGURE3, make_scale(seeds=[0])).data["spread"].isna().all()


def test_without_the_loss_to_which_differences_are_taken_the_values_are_drawn_alone(build, make_scale):
    drawing = build(CROSSING, make_scale(keep=[{"loss": ["all", "knn3"]}]))
    assert drawing.data["difference"].isna().all()
    assert len(drawn(drawing.draw).axes) == drawing.data["metric"].nunique()


@pytest.mark.parametrize(
    ("made", "settings", "message"),
    [
        (curves_of, {"rows": [{"role": "flickr30k", "loss": "all"}]}, "epochs"),
        (curves_of, {"rows": ROWS * 2}, "rows holds the same entry twice"),
        (curves_of, {"over": "fraction"}, "hardest at fraction 0.1"),
        (curves_of, {"relative_to": "max"}, "relative_to is max.*hardest, all, knn3"),
        (
            front_of,
            {"rows": [{"role": "flickr30k", "loss": "all", "fraction": [0.1, 1.0]}]},
            "fraction",
        ),
        (front_of, {"x": {"metric": "hubs >=10", "direction": "i2t"}}, "hubs >=10"),
    ],
)
def test_what_a_figure_cannot_show_is_refused_before_anything_is_trained(made, settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


@pytest.mark.parametrize(("figure", "metric"), [(CROSSING, "Rsum"), (FRONT, "ASP i2t"), (FIGURE3, "SR@5 i2t")])
def test_a_missing_value_is_named(build, complete, figure, metric):
    with pytest.raises(InputError, match=metric):
        build(figure, complete, lambda frame: frame[frame["metric"] != metric.split()[0]])


def test_every_mark_of_a_front_is_numpys_mean_and_range_over_seeds(seen, complete):
    drawing, frame = seen(FRONT, complete)
    assert len(drawing.data) == 6 * 4
    line = drawing.data.query("loss == 'daa100_paper_t05' and y_metric == 'ASP (tf-idf) t2i'").iloc[0]
    of_loss = frame[frame["loss"] == "triplet=hardest,margin=0.2,soft_rank=paper,T=0.05,rank_weight=100"]
    asp = of_loss.query("metric == 'ASP' and direction == 't2i' and phi == 'tfidf' and formula == 'index'")["value"]
    for axis, values in (("y", asp), ("x", of_loss.query("metric == 'Rsum'")["value"])):
        assert len(values) == line["seeds"] == 3
        expected = (values.mean(), values.min(), values.max())
        assert tuple(line[[axis, f"{axis}_low", f"{axis}_high"]]) == pytest.approx(expected)


def test_families_come_from_the_settings_of_the_losses(build, complete):
    data = build("toy/f", complete, study=front_of()).data.drop_duplicates("loss").set_index("loss")
    line = data.loc["daa100_released_0.05"]
    assert tuple(line[["family", "variant", "weight"]]) == ("temperature 0.05", "released", 100)
    assert line["begins_at"] == "hardest"
    # Losses that have no weight are no family.
    assert data.loc[["hardest", "all"], ["family", "variant", "weight", "begins_at"]].isna().all(axis=None)


def test_the_front_is_what_a_slow_comparison_of_all_pairs_leaves(build, complete):
    for _, panel in build(FRONT, complete).data.groupby("y_metric"):
        points = panel[["x", "y"]].to_numpy()
        beaten = [any((other >= point).all() and (other > point).any() for other in points) for point in points]
        assert panel["on_front"].tolist() == [not one for one in beaten] and panel["on_front"].any()
    equal = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 0.5]])
    assert undominated(equal).tolist() == [True, True, True, False, False]
    study = front_of(x={"metric": "Med r", "direction": "i2t"})  # the lower is better
    data = build("toy/f", complete, study=study).data.query("y_metric == 'ASP (CIDEr) i2t'")
    best = data["x"].idxmin()
    assert data.loc[best, "on_front"]
    assert not data.loc[(data["x"] > data.loc[best, "x"]) & (data["y"] < data.loc[best, "y"]), "on_front"].any()


@pytest.mark.slow
@pytest.mark.parametrize("losses", [["hardest", "all"], list(TRADED), list(TRADED)[2:]])
@pytest.mark.parametrize("models", [["vsepp"], ["vsepp", "cvse"]])
def test_a_front_of_any_losses_is_drawn_with_panels_for_each_model(build, complete, losses, models):
    rows = [{"role": "flickr30k", "model": models, "loss": losses}]
    canvas = drawn(build("toy/f", complete, study=front_of(rows=rows)).draw)
    assert len(canvas.axes) == 2 * len(models)
    assert not [one for one in misplaced(canvas) if "leaves" in one]


def test_a_scale_that_does_not_evaluate_with_a_phi_has_no_panel_for_it(build, make_scale):
    drawing = build(FRONT, make_scale(keep=None))
    assert drawing.data["y_metric"].unique().tolist() == ["ASP (CIDEr) i2t", "ASP (CIDEr) t2i"]
    assert any("tiny" in note and "tf-idf" in note for note in drawing.notes)


# --- semantic recall ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_point_of_semantic_recall_is_numpys_mean_and_spread_over_seeds(everything):
    data = everything.drawing(FIGURE3).data
    assert len(data) == 5 * 2 * 2 * 5  # losses, directions, styles, m
    frame = collect(everything.numbers(FIGURE3), "tiny").query("fraction == 1.0 and metric == 'SR@5'")
    chosen = frame[(frame["loss"] == FOLDERS["all"]) & (frame["direction"] == "t2i")]
    lines = data.query("loss == 'all' and direction == 't2i'").set_index(["m", "style"])
    for point, values in chosen.groupby(["m", "style"])["value"]:
        expected = (np.mean(values), np.std(values, ddof=1))
        assert tuple(lines.loc[point][["mean", "spread"]]) == pytest.approx(expected, abs=1e-12)


def test_runs_evaluated_at_other_m_are_named(build, scale):
    def lose_the_last_m(frame):
        last = frame["loss"].eq(FOLDERS["hardest"]) & frame["seed"].eq(2) & frame["m"].eq(5)
        return frame[~(frame["fraction"].eq(1.0) & last)]

    with pytest.raises(InputError, match=r"seed=2'.* \[1, 2, 3, 4\]"):
        build(FIGURE3, scale, lose_the_last_m)


# --- hubs, retrievals and agreement of metrics ----------------------------------------------------------------------


def changed(made_up, figure, folder, change):
    """A figure of files whose contents were changed, each a list of runs."""
    paths = []
    for number, path in enumerate(made_up.numbers(figure)):
        paths.append(folder / f"{number}.json")
        write_json(paths[-1], [change(one) for one in read_json(path)])
    return make(made_up.plan.figures[figure], made_up.contexts[figure], paths)


@pytest.mark.slow
def test_every_point_is_the_share_of_items_that_are_nearest_so_often(everything):
    data = everything.drawing(HUBNESS).data
    known = {one["run"]: one for path in everything.numbers(HUBNESS) for one in read_json(path)}
    line = data.query("direction == 't2i' and inference == 'csls' and loss == 'max'").set_index("at_least")
    runs = [one["hubs"]["csls"]["t2i"] for name, one in known.items() if f"{FOLDERS['hardest']}/fraction=1" in name]
    for count in (1, 3, 6):
        shares = [100 * sum(hubs[count:]) / sum(hubs) for hubs in runs]
        assert line.loc[count, "percent"] == pytest.approx(np.mean(shares)) and len(shares) == 3
        assert line.loc[count, "spread"] == pytest.approx(np.std(shares, ddof=1))
    line = data.query("direction == 't2i' and inference == 'naive' and loss == 'max'")
    chance = 100 * stats.binom.sf(line["at_least"] - 1, 200, 1 / 40)
    np.testing.assert_allclose(line["by_chance"], np.where(chance * 0.4 > 1e-3, chance, 0), atol=1e-9)


@pytest.mark.slow
def test_a_method_that_was_not_evaluated_is_named(everything, tmp_path):
    def without(one):
        return one | {"hubs": {name: hubs for name, hubs in one["hubs"].items() if name != "csls"}}

    with pytest.raises(InputError, match="csls"):
        changed(everything, HUBNESS, tmp_path, without)


def test_retrievals_are_those_that_were_compared(everything, tmp_path):
    drawing, found = everything.drawing(RETRIEVALS), read_json(everything.numbers(RETRIEVALS)[0])
    items = [item for query in found["chosen"] for answer in query["answers"] for item in answer["items"]]
    assert drawing.data["phi"].tolist() == [item["phi"] for item in items] and items
    assert drawing.data["model"].unique().tolist() == ["all negatives", "+ SAM τ = 10, random negatives"]
    write_json(tmp_path / "f.json", found | {"models": ["another/run", found["models"][1]]})
    with pytest.raises(InputError, match=r"another/run.*five_sentences: figure1"):
        make(everything.plan.figures[RETRIEVALS], everything.contexts[RETRIEVALS], [tmp_path / "f.json"])


def test_a_scale_that_trains_fewer_than_two_of_the_rows_says_what_it_leaves_out(make_up, make_scale):
    made_up = make_up(make_scale(leave_out={"losses": ["all"]}))
    drawing = made_up.drawing(RETRIEVALS)
    assert made_up.numbers(RETRIEVALS) == [] and drawing.data.empty
    assert any("tiny to save time: all negatives" in note for note in drawing.notes)


def values_of(made_up, fraction, metric, **keys):
    """A metric of each run, in the order of the plan."""
    frame = collect(made_up.numbers(AGREEMENT), "tiny").query("metric == @metric and inference == 'naive'")
    for key, value in keys.items():
        frame = frame[frame[key] == value]
    known = made_up.plan.runs.items()
    runs = [name for name, run in known if fraction in (None, run.fraction) and not run.epochs_named]
    return frame.groupby("run")["value"].mean().loc[runs]


@pytest.mark.slow
def test_correlations_and_swapped_pairs_are_those_of_scipy_and_of_a_slow_count(everything):
    drawing = everything.drawing(AGREEMENT)
    for fraction in (None, 1.0):
        of_fraction = drawing.data["fraction"].isna() if fraction is None else drawing.data["fraction"] == fraction
        data = drawing.data[of_fraction].query("first == 'Rsum'").set_index("second")
        rsum = values_of(everything, fraction, "Rsum")
        for label, chosen in {
            "Nsum, own removed": {"metric": "Nsum", "formula": "released", "ground_truth": "removed"},
            "ASP": {"metric": "ASP", "formula": "index", "phi": "cider"},
            "SR@5, m = 5": {"metric": "SR@5", "m": 5, "style": "recall"},
        }.items():
            values = values_of(everything, fraction, **chosen)
            assert data.loc[label, "runs"] == len(values)
            assert data.loc[label, "kendall_b"] == pytest.approx(stats.kendalltau(rsum, values).statistic)
            assert data.loc[label, "spearman"] == pytest.approx(stats.spearmanr(rsum, values).statistic)
    means = [
        values.groupby(lambda run: run.rpartition("/")[0]).mean().to_numpy()
        for values in (rsum, values_of(everything, 1.0, "PMRP"))
    ]
    pairs = list(itertools.combinations(range(len(means[0])), 2))
    swapped = sum(np.prod([one[i] - one[j] for one in means]) < 0 for i, j in pairs)
    assert tuple(data.loc["PMRP", ["settings", "pairs", "swapped"]]) == (len(means[0]), len(pairs), swapped)
    assert f"PMRP {swapped}" in " ".join(drawing.notes)


@pytest.mark.slow
def test_runs_of_rows_that_name_their_epochs_are_ranked_where_these_are_asked_for(everything):
    named = Counter(run.training.epochs for run in everything.plan.runs.values() if run.epochs_named)
    epochs, count = named.most_common(1)[0]
    columns = everything.plan.figures[AGREEMENT].columns[:2]
    spec = everything.plan.figures[AGREEMENT].model_copy(update={"epochs": epochs, "columns": columns})
    data = make(spec, everything.contexts[AGREEMENT], everything.numbers(AGREEMENT)).data
    assert data[data["fraction"].isna()]["runs"].unique().tolist() == [count]


@pytest.mark.slow
def test_a_metric_meets_itself_at_other_seeds_and_what_was_not_evaluated_is_named(everything, tmp_path):
    def change(one):
        values = [line | {"value": len(one["run"]) / 7} if line["metric"] == "Rsum" else line for line in one["values"]]
        return one | {"values": values, "labels": False}

    drawing = changed(everything, AGREEMENT, tmp_path, change)
    data = drawing.data[drawing.data["first"] == drawing.data["second"]].set_index("first")
    assert data.loc["Rsum", "kendall_b"].tolist() == pytest.approx([1.0] * len(data.loc["Rsum"]))
    assert (data.loc["ASP", "kendall_b"] < 1).all()
    mean = "ASP, mean (tf-idf, BLEU, ROUGE)"
    assert any(f"{mean} and PMRP" in note for note in drawing.notes) and not {"PMRP", mean} & set(
        drawing.data["second"]
    )


@pytest.mark.slow
def test_one_seed_knows_nothing_of_itself_and_a_constant_metric_of_nothing(make_up, make_scale, tmp_path):
    def change(one):
        values = [line | {"value": 20.0} if line["metric"] == "PMRP" else line for line in one["values"]]
        return one | {"values": values}

    drawing = changed(make_up(make_scale(seeds=[3])), AGREEMENT, tmp_path, change)
    data = drawing.data
    assert data[data["first"] == data["second"]]["kendall_b"].isna().all()
    assert data[data["second"] == "PMRP"]["spearman"].isna().all()
    assert data.query("first == 'Rsum' and second == 'ASP'")["spearman"].notna().all()
    assert drawn(drawing.draw).axes
