from __future__ import annotations

import itertools

import pytest
from scipy.stats import kendalltau, spearmanr

from fivesentences.documents import read_json
from fivesentences.evaluation.tidy import collect
from fivesentences.paper.figures.drawing import write_drawing
from fivesentences.paper.rendering import drawing_of
from fivesentences.storage import write_json

FIGURE = "metric_agreement/agreement"


@pytest.fixture(scope="module")
def evaluated(make_up, make_scale):
    """A scale that evaluates with every phi of the figure."""

    def made(**changes):
        return make_up(make_scale(evaluation_phis=["tfidf+bleu_daa+rouge_daa"], **changes))

    return made


def changed(made_up, folder, metric, value):
    """The figure with other values of a metric: ``value`` of its place among a run's values and the run."""
    paths = []
    for path in made_up.numbers(FIGURE):
        contents = read_json(path)
        for one in contents:
            for line in one["values"]:
                line["value"] = value(one["run"]) if line["metric"] == metric else line["value"]
        paths.append(folder / f"{len(paths)}.json")
        write_json(paths[-1], contents)
    return drawing_of(made_up.plan.figures[FIGURE], made_up.contexts[FIGURE], paths)


def values_of(made_up, fraction, metric, **keys):
    """Of each run, in the order of the plan."""
    frame = collect(made_up.numbers(FIGURE), "tiny").query("metric == @metric and inference == 'naive'")
    for key, value in keys.items():
        frame = frame[frame[key] == value]
    known = made_up.plan.runs.items()
    runs = [name for name, run in known if fraction in (None, run.fraction) and not run.epochs_named]
    return frame.groupby("run")["value"].mean().loc[runs]


@pytest.mark.parametrize("fraction", [None, 1.0])
def test_correlations_are_those_of_the_runs(evaluated, fraction):
    made_up = evaluated()
    data = made_up.drawing(FIGURE).data.query("first == 'Rsum'").set_index("second")
    data = data[data["fraction"].isna() if fraction is None else data["fraction"] == fraction]
    rsum = values_of(made_up, fraction, "Rsum").to_numpy()
    for label, chosen in {
        "Nsum, own removed": {"metric": "Nsum", "formula": "released", "ground_truth": "removed"},
        "ASP": {"metric": "ASP", "formula": "index", "phi": "cider"},
        "SR@5, m = 5": {"metric": "SR@5", "m": 5, "style": "recall"},
    }.items():
        values = values_of(made_up, fraction, **chosen).to_numpy()
        assert data.loc[label, "runs"] == len(values)
        assert data.loc[label, "kendall_b"] == pytest.approx(kendalltau(rsum, values).statistic)
        assert data.loc[label, "spearman"] == pytest.approx(spearmanr(rsum, values).statistic)


def test_swapped_pairs_are_counted_over_means_of_seeds(evaluated):
    made_up = evaluated()
    drawing = made_up.drawing(FIGURE)
    first, second = (
        values_of(made_up, 1.0, metric).groupby(lambda run: run.rpartition("/")[0]).mean().to_numpy()
        for metric in ("Rsum", "PMRP")
    )
    pairs = list(itertools.combinations(range(len(first)), 2))
    swapped = sum((first[i] - first[j]) * (second[i] - second[j]) < 0 for i, j in pairs)
    line = drawing.data.query("fraction == 1 and first == 'Rsum' and second == 'PMRP'").iloc[0]
    assert (line["settings"], line["pairs"], line["swapped"]) == (len(first), len(pairs), swapped)
    assert f"PMRP {swapped}" in " ".join(drawing.notes)


def test_a_metric_meets_itself_at_other_seeds(evaluated, tmp_path):
    data = changed(evaluated(), tmp_path, "Rsum", lambda run: sum(map(ord, run[:-1])) + len(run) / 7).data
    itself = data[data["first"] == data["second"]].set_index("first")
    assert itself.loc["Rsum", "kendall_b"].tolist() == pytest.approx([1.0] * len(itself.loc["Rsum"]))
    assert (itself.loc["PMRP", "kendall_b"] < 1).all()


def test_one_seed_knows_nothing_of_itself_and_a_constant_metric_of_nothing(evaluated, tmp_path):
    drawing = changed(evaluated(seeds=[3]), tmp_path, "PMRP", lambda _: 20.0)
    data = drawing.data
    assert data[data["first"] == data["second"]]["kendall_b"].isna().all()
    assert data[data["second"] == "PMRP"]["spearman"].isna().all()
    assert data.query("first == 'Rsum' and second == 'ASP'")["spearman"].notna().all()
    write_drawing(tmp_path / "f", "T", "C", drawing)


def test_what_a_scale_does_not_evaluate_is_left_out_and_named(everything, tmp_path):
    spec, paths = everything.plan.figures[FIGURE], []
    for path in everything.numbers(FIGURE):
        paths.append(tmp_path / f"{len(paths)}.json")
        write_json(paths[-1], [one | {"labels": False} for one in read_json(path)])
    drawing = drawing_of(spec, everything.contexts[FIGURE], paths)
    assert not {"PMRP", "ASP, DAA (A)"} & set(drawing.data["second"])
    left_out = "Left out at the scale tiny, which has no labels or does not use the φ: ASP, DAA (A) and PMRP."
    assert left_out in drawing.notes
