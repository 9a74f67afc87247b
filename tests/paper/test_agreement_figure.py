from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest

from fivesentences.config import Judge
from fivesentences.errors import InputError
from fivesentences.paper.figures.agreement import BINS, bin_pairs
from fivesentences.paper.figures.semantic_recall import read_texts
from fivesentences.paper.making import make_figure


@pytest.fixture
def spec(studies):
    return studies["five_sentences"].agreement_figures["judged"]


@pytest.fixture
def two_judges(make_scale):
    judges = [{"judge": judge, "dataset": "flickr8k"} for judge in ("flickr8k_expert", "flickr8k_crowdflower")]
    return make_scale(roles={}, datasets={"flickr8k": {"loader": "flickr8k"}}, judges=judges)


def test_every_judge_has_bins():
    assert set(BINS) == set(get_args(Judge))
    for ends, labels, _ in BINS.values():
        assert len(ends) == len(labels) == len(set(labels))
        assert list(ends) == sorted(ends)


@pytest.mark.parametrize(
    ("judge", "scores"),
    [
        ("cxc", {0.0: "0", 0.5: "0", 0.51: "1", 2.2: "2", 4.4: "4", 4.97: "5", 5.0: "5"}),
        ("flickr8k_expert", {1.0: "1", 4 / 3: "1–2", 6 / 3: "2", 7 / 3: "2–3", 9 / 3: "3", 11 / 3: "3–4", 4.0: "4"}),
        ("flickr8k_crowdflower", {0.0: "0", 1 / 6: "below ½", 0.4: "below ½", 0.5: "½ to 1", 0.8: "½ to 1", 1.0: "1"}),
        ("scenes_truth", {0.0: "0", 0.2: "≤ ¼", 0.25: "≤ ¼", 1 / 3: "≤ ½", 2 / 3: "≤ ¾", 0.8: "< 1", 1.0: "1"}),
    ],
)
def test_scores_fall_into_the_bin_that_a_reader_expects(spec, make_scale, judge, scores):
    datasets = {"cxc": ("coco", "karpathy"), "scenes_truth": ("scenes", "scenes")}
    dataset, loader = datasets.get(judge, ("flickr8k", "flickr8k"))
    scale = make_scale(roles={}, datasets={dataset: {"loader": loader}}, judges=[{"judge": judge, "dataset": dataset}])
    for score, label in scores.items():
        pairs = pd.DataFrame({"human": [score], "own": [False]} | {f"{phi}|own_left_out": [0.5] for phi in spec.phis})
        assert bin_pairs(spec, scale, {judge: pairs})["score"].unique().tolist() == [label], score


def test_boxes_are_numpys_quantiles_of_the_pairs_in_a_bin(spec, two_judges, make_agreement, studies):
    _, pairs = make_agreement(studies, two_judges)
    data = bin_pairs(spec, two_judges, pairs)
    crowd = pairs["flickr8k_crowdflower"]
    chosen = crowd[(crowd["human"] == 1) & crowd["own"]]["spice|own_left_out"]
    line = data.query("judge == 'flickr8k_crowdflower' and phi == 'spice' and score == '1' and pairs == 'own'").iloc[0]
    assert line["count"] == len(chosen) > 10
    drawn = line[["low", "first_quartile", "median", "third_quartile", "high"]].tolist()
    assert drawn == np.quantile(chosen, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    assert line["mean"] == pytest.approx(chosen.mean(), abs=1e-12)


def test_every_pair_with_a_phi_is_in_one_bin(spec, two_judges, make_agreement, studies):
    _, pairs = make_agreement(studies, two_judges)
    expert = pairs["flickr8k_expert"]
    expert.loc[:9, "spice|own_left_out"] = np.nan  # the caption was its image's only one
    data = bin_pairs(spec, two_judges, pairs)
    counts = data.groupby(["judge", "phi"])["count"].sum()
    assert counts["flickr8k_expert", "spice"] == len(expert) - 10
    assert (counts.drop(("flickr8k_expert", "spice")) == len(expert)).all()


def test_the_figure_is_written_whole_alike_and_says_who_judged(studies, two_judges, write_agreement, tmp_path):
    paths = [path.with_suffix(".parquet") for path in write_agreement(studies, two_judges)]
    study = studies["five_sentences"]
    for name in ("a", "b"):
        make_figure("five_sentences", "judged", study, two_judges, paths, tmp_path / name)
    for suffix in ("png", "pdf", "csv", "json"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    data = pd.read_csv(tmp_path / "a.csv")
    assert data["judge"].unique().tolist() == ["flickr8k_expert", "flickr8k_crowdflower"]
    notes = "\n".join(read_texts(tmp_path / "a.json")[2])
    for said in (
        "Flickr8k Expert",
        "Flickr8k CrowdFlower",
        "own caption taken out of its references",
        "SPICE’s tuples",
    ):
        assert said in notes


def test_what_the_scale_leaves_out_is_not_drawn_and_nobody_judging_is_said(
    studies, make_scale, two_judges, write_agreement, tmp_path
):
    study = studies["five_sentences"]
    scale = two_judges.model_copy(
        update={"leave_out": two_judges.leave_out.model_copy(update={"phis": ["spice", "tfidf"]})}
    )
    paths = [path.with_suffix(".parquet") for path in write_agreement(studies, scale)]
    make_figure("five_sentences", "judged", study, scale, paths, tmp_path / "less")
    assert not {"spice", "tfidf"} & set(pd.read_csv(tmp_path / "less.csv")["phi"])
    assert "Left out at the scale tiny: SPICE, tf-idf cosine." in read_texts(tmp_path / "less.json")[2]
    make_figure("five_sentences", "judged", study, make_scale(), [], tmp_path / "none")
    assert "Nobody judges at the scale tiny." in read_texts(tmp_path / "none.json")[2]
    assert (tmp_path / "none.png").stat().st_size > 0


def test_missing_pairs_or_a_missing_phi_are_named(spec, two_judges, make_agreement, studies):
    _, pairs = make_agreement(studies, two_judges)
    with pytest.raises(InputError, match="pairs of the judge 'flickr8k_crowdflower' are missing"):
        bin_pairs(spec, two_judges, {"flickr8k_expert": pairs["flickr8k_expert"]})
    pairs["flickr8k_expert"] = pairs["flickr8k_expert"].drop(columns="tfidf|own_left_out")
    with pytest.raises(InputError, match=r"'flickr8k_expert' have no phi 'tfidf\|own_left_out'"):
        bin_pairs(spec, two_judges, pairs)
