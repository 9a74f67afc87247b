from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.paper.figures.semantic_recall import read_texts
from fivesentences.paper.making import make_figure
from fivesentences.plan.rows import runs_of_scale


@pytest.fixture
def study(studies):
    return studies["metric_agreement"]


@pytest.fixture
def draw(study, studies, made_up, write_runs, tmp_path):
    """Draw the figure of a scale from results that may be changed before; its numbers and notes."""

    def drawn(scale, change=lambda frame: frame, **options):
        runs = runs_of_scale(studies, scale).values()
        numbers = write_runs(runs, change(made_up(runs, **options)))
        make_figure("metric_agreement", "agreement", study, scale, numbers, tmp_path / "a")
        return pd.read_csv(tmp_path / "a.csv"), " ".join(read_texts(tmp_path / "a.json")[2])

    return drawn


def evaluated(make_scale, **changes):
    return make_scale(evaluation_phis=["tfidf+bleu_daa+rouge_daa"], **changes)


def slow_tau_b(a, b):
    """Kendall's tau-b from its definition."""
    pairs = list(itertools.combinations(range(len(a)), 2))
    signs = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in pairs]
    untied = [sum(1 for i, j in pairs if x[i] != x[j]) for x in (a, b)]
    return sum(signs) / np.sqrt(untied[0] * untied[1])


def slow_rho(a, b):
    ranks = [pd.Series(x).rank().to_numpy() for x in (a, b)]
    return np.corrcoef(*ranks)[0, 1]


def values_of(frame, metric, runs, **keys):
    chosen = frame[(frame["metric"] == metric) & (frame["inference"] == "naive")]
    for key, value in keys.items():
        chosen = chosen[chosen[key] == value]
    return chosen.groupby("run")["value"].mean().loc[runs].to_numpy()


def test_correlations_are_those_of_the_runs(draw, studies, make_scale, made_up):
    scale = evaluated(make_scale)
    data, _ = draw(scale)
    runs = runs_of_scale(studies, scale)
    frame = made_up(runs.values())
    for fraction in (None, 1.0):
        names = [name for name, run in runs.items() if fraction is None or run.fraction == fraction]
        rsum = values_of(frame, "Rsum", names)
        others = {
            "Nsum, own removed": values_of(frame, "Nsum", names, formula="released", ground_truth="removed"),
            "ASP": values_of(frame, "ASP", names, formula="index", phi="cider"),
            "SR@5, m = 5": values_of(frame, "SR@5", names, m=5, style="recall"),
        }
        group = data[data["fraction"].isna() if fraction is None else data["fraction"] == fraction]
        for label, values in others.items():
            line = group[(group["first"] == "Rsum") & (group["second"] == label)].iloc[0]
            assert line["runs"] == len(names)
            assert line["kendall_b"] == pytest.approx(slow_tau_b(rsum, values))
            assert line["spearman"] == pytest.approx(slow_rho(rsum, values))


def test_swapped_pairs_are_counted_over_means_of_seeds(draw, studies, make_scale, made_up):
    scale = evaluated(make_scale)
    data, notes = draw(scale)
    runs = {name: run for name, run in runs_of_scale(studies, scale).items() if run.fraction == 1.0}
    frame = made_up(runs.values())
    settings = [name.rpartition("/")[0] for name in runs]
    means = [
        pd.Series(values_of(frame, metric, list(runs))).groupby(settings, sort=False).mean().to_numpy()
        for metric in ("Rsum", "PMRP")
    ]
    swapped = sum((means[0][i] - means[0][j]) * (means[1][i] - means[1][j]) < 0
                  for i, j in itertools.combinations(range(len(means[0])), 2))  # fmt: skip
    line = data.query("fraction == 1 and first == 'Rsum' and second == 'PMRP'").iloc[0]
    assert (line["settings"], line["pairs"]) == (len(means[0]), len(means[0]) * (len(means[0]) - 1) // 2)
    assert line["swapped"] == swapped
    assert f"PMRP {swapped}" in notes


def test_a_metric_meets_itself_at_other_seeds(draw, make_scale):
    def alike_at_every_seed(frame):
        rsum = frame["metric"] == "Rsum"
        level = frame["run"].str.rpartition("/")[0].map(lambda name: sum(map(ord, name)) + len(name) / 7)
        return frame.assign(value=frame["value"].where(~rsum, level))

    data, _ = draw(evaluated(make_scale), alike_at_every_seed)
    itself = data[data["first"] == data["second"]].set_index("first")
    assert itself.loc["Rsum", "kendall_b"].tolist() == pytest.approx([1.0] * len(itself.loc["Rsum"]))
    assert (itself.loc["PMRP", "kendall_b"] < 1).all()


def test_one_seed_knows_nothing_of_itself_and_a_constant_metric_of_nothing(draw, make_scale, tmp_path):
    def constant(frame):
        return frame.assign(value=frame["value"].where(frame["metric"] != "PMRP", 20.0))

    data, _ = draw(evaluated(make_scale, seeds=[3]), constant)
    assert data[data["first"] == data["second"]]["kendall_b"].isna().all()
    assert data[data["second"] == "PMRP"]["spearman"].isna().all()
    assert data.query("first == 'Rsum' and second == 'ASP'")["spearman"].notna().all()
    with Image.open(tmp_path / "a.png") as image:
        assert len(image.getcolors(maxcolors=1 << 20)) > 50


def test_what_a_scale_does_not_evaluate_is_left_out_and_said(draw, make_scale):
    data, notes = draw(make_scale(), labels=False)
    assert "PMRP" not in set(data["second"]) and "ASP, DAA (A)" not in set(data["second"])
    assert "Left out at the scale tiny" in notes and "PMRP" in notes


def test_a_scale_without_runs_draws_a_sentence(study, make_scale, tmp_path):
    make_figure("metric_agreement", "agreement", study, make_scale(roles={}), [], tmp_path / "a")
    assert pd.read_csv(tmp_path / "a.csv").empty
