from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.scales import JUDGED_LOADER
from fivesentences.config.types import Judge
from fivesentences.errors import InputError
from fivesentences.paper.figures.agreement import BINS, bin_pairs

EXPERT, CROWD = "flickr8k_expert", "flickr8k_crowdflower"


@pytest.fixture
def spec(studies):
    return studies["five_sentences"].exhibit("judged")


@pytest.fixture(scope="module")
def two_judges(judged_by):
    return judged_by(EXPERT, CROWD)


@pytest.fixture
def pairs(make_up, two_judges):
    """Judged pairs of both judges."""
    paths = make_up(two_judges).numbers("five_sentences/judged")
    return {path.stem: pd.read_parquet(path) for path in paths}


def test_every_judge_has_bins():
    assert set(BINS) == set(get_args(Judge))
    for ends, labels, _ in BINS.values():
        assert len(ends) == len(labels) == len(set(labels))
        assert list(ends) == sorted(ends)


@pytest.mark.parametrize(
    ("judge", "scores"),
    [
        ("cxc", {0.0: "0", 0.5: "0", 0.51: "1", 2.2: "2", 4.4: "4", 4.97: "5", 5.0: "5"}),
        (EXPERT, {1.0: "1", 4 / 3: "1–2", 6 / 3: "2", 7 / 3: "2–3", 9 / 3: "3", 11 / 3: "3–4", 4.0: "4"}),
        (CROWD, {0.0: "0", 1 / 6: "below ½", 0.4: "below ½", 0.5: "½ to 1", 0.8: "½ to 1", 1.0: "1"}),
        ("scenes_truth", {0.0: "0", 0.2: "≤ ¼", 0.25: "≤ ¼", 1 / 3: "≤ ½", 2 / 3: "≤ ¾", 0.8: "< 1", 1.0: "1"}),
    ],
)
def test_scores_fall_into_the_bin_that_a_reader_expects(spec, judged_by, judge, scores):
    for score, label in scores.items():
        pairs = pd.DataFrame({"human": [score], "own": [False]} | {f"{phi}|own_left_out": [0.5] for phi in spec.phis})
        assert bin_pairs(spec, judged_by(judge), {judge: pairs})["score"].unique().tolist() == [label], score
    assert judge in JUDGED_LOADER


def test_boxes_are_numpys_quantiles_of_the_pairs_in_a_bin(spec, two_judges, pairs):
    data = bin_pairs(spec, two_judges, pairs)
    crowd = pairs[CROWD]
    chosen = crowd[(crowd["human"] == 1) & crowd["own"]]["spice|own_left_out"]
    line = data.query("judge == @CROWD and phi == 'spice' and score == '1' and pairs == 'own'").iloc[0]
    assert line["count"] == len(chosen) > 10
    drawn = line[["low", "first_quartile", "median", "third_quartile", "high"]].tolist()
    assert drawn == np.quantile(chosen, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    assert line["mean"] == pytest.approx(chosen.mean(), abs=1e-12)


def test_every_pair_with_a_phi_is_in_one_bin(spec, two_judges, pairs):
    pairs[EXPERT].loc[:9, "spice|own_left_out"] = np.nan  # the caption was its image's only one
    counts = bin_pairs(spec, two_judges, pairs).groupby(["judge", "phi"])["count"].sum()
    assert counts[EXPERT, "spice"] == len(pairs[EXPERT]) - 10
    assert (counts.drop((EXPERT, "spice")) == len(pairs[EXPERT])).all()


def test_notes_say_who_judged_and_what_is_left_out(make_up, two_judges, judged_by):
    drawing = make_up(two_judges).drawing("five_sentences/judged")
    assert drawing.data["judge"].unique().tolist() == [EXPERT, CROWD]
    notes = "\n".join(drawing.notes)
    for part in (
        "Flickr8k Expert",
        "Flickr8k CrowdFlower",
        "own caption taken out of its references",
        "SPICE’s tuples",
    ):
        assert part in notes
    less = make_up(judged_by(EXPERT, CROWD, leave_out={"phis": ["spice", "tfidf"]})).drawing("five_sentences/judged")
    assert not {"spice", "tfidf"} & set(less.data["phi"])
    assert "Left out at the scale tiny: SPICE, tf-idf cosine." in less.notes
    assert "Nobody judges at the scale tiny." in make_up(judged_by()).drawing("five_sentences/judged").notes


def test_missing_pairs_or_a_missing_phi_are_named(spec, two_judges, pairs):
    with pytest.raises(InputError, match="pairs of the judge 'flickr8k_crowdflower' are missing"):
        bin_pairs(spec, two_judges, {EXPERT: pairs[EXPERT]})
    pairs[EXPERT] = pairs[EXPERT].drop(columns="tfidf|own_left_out")
    with pytest.raises(InputError, match=r"'flickr8k_expert' have no phi 'tfidf\|own_left_out'"):
        bin_pairs(spec, two_judges, pairs)
