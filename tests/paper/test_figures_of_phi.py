"""The figures of phi: judges, right pairs among the first n, histograms, and the best captions of other images."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.types import Judge
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.paper.figures.judges import BINS, bin_pairs
from fivesentences.reproduction.paper.figures.phi import OTHERS
from fivesentences.reproduction.paper.rendering import make
from fivesentences.reproduction.paper.text.names import as_written, wrapped
from fivesentences.storage import write_json

EXPERT, CROWD = "flickr8k_expert", "flickr8k_crowdflower"
JUDGED, POSITIVES = "five_sentences/judged", "daa_supp/found_positives"
HISTOGRAM, BEST = "five_sentences/phi_histogram", "five_sentences/best_captions"


@pytest.fixture(scope="module")
def spec(studies):
    return studies["five_sentences"].exhibit("judged")


@pytest.fixture(scope="module")
def two_judges(judged_by):
    return judged_by(EXPERT, CROWD)


@pytest.fixture
def pairs(make_up, two_judges):
    """Judged pairs of both judges."""
    return {path.stem: pd.read_parquet(path) for path in make_up(two_judges).numbers(JUDGED)}


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
    assert set(BINS) == set(get_args(Judge))
    for score, label in scores.items():
        pairs = pd.DataFrame({"human": [score], "own": [False]} | {f"{phi}|own_left_out": [0.5] for phi in spec.phis})
        assert bin_pairs(spec, judged_by(judge), {judge: pairs})["score"].unique().tolist() == [label], score


def test_boxes_are_numpys_quantiles_and_every_pair_with_a_phi_is_in_one_bin(spec, two_judges, pairs):
    pairs[EXPERT].loc[:9, "spice|own_left_out"] = np.nan  # the caption was its image's only one
    data, crowd = bin_pairs(spec, two_judges, pairs), pairs[CROWD]
    chosen = crowd[(crowd["human"] == 1) & crowd["own"]]["spice|own_left_out"]
    line = data.query("judge == @CROWD and phi == 'spice' and score == '1' and pairs == 'own'").iloc[0]
    assert line["count"] == len(chosen) > 10
    shown = line[["low", "first_quartile", "median", "third_quartile", "high"]].tolist()
    assert shown == np.quantile(chosen, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    assert line["mean"] == pytest.approx(chosen.mean(), abs=1e-12)
    counts = data.groupby(["judge", "phi"])["count"].sum()
    assert counts[EXPERT, "spice"] == len(pairs[EXPERT]) - 10
    assert (counts.drop((EXPERT, "spice")) == len(pairs[EXPERT])).all()
    pairs[EXPERT] = pairs[EXPERT].drop(columns="tfidf|own_left_out")
    with pytest.raises(InputError, match=r"'flickr8k_expert'.*'tfidf\|own_left_out'"):
        bin_pairs(spec, two_judges, pairs)


def test_every_point_of_a_line_is_a_measured_step(everything):
    measured, data = pd.read_parquet(everything.numbers(POSITIVES)[0]), everything.drawing(POSITIVES).data
    for order, found, searched in data[["order", "found", "searched"]].itertuples(index=False):
        of_order = measured[measured["order"] == order]
        assert found == (of_order["searched"] <= searched).sum() and searched in set(of_order["searched"])
    last = data.groupby("order", sort=False).last()
    assert set(last.index) == {"tfidf", "cider", "bleu_daa", "rouge_daa", "spice", "labels"}
    assert (last["found"] == 100).all() and last.loc["cider", "searched"] == 200


@pytest.fixture
def measured(everything):
    return read_json(everything.numbers(HISTOGRAM)[0])


def test_the_histogram_draws_what_was_measured(everything, measured, tmp_path):
    data = everything.drawing(HISTOGRAM).data.set_index(["phi", "what"]).sort_index()
    shown = {"cider", "spice", "bleu4", "rouge_l"}
    assert set(data.index.get_level_values("phi")) == shown
    for phi, numbers in ((phi, measured["phis"][phi]) for phi in shown):
        assert data.loc[phi, OTHERS]["count"].tolist() == numbers[OTHERS]
        for kind in ("kept", "own_left_out"):
            bins = data.loc[phi, kind]
            assert bins["count"].tolist() == numbers[kind]["own"]
            np.testing.assert_allclose([*bins["from"], bins["to"].iloc[-1]], numbers["edges"])
            for name, of in (("captions_beat_own", "captions"), ("images_beaten", "images")):
                line = data.loc[phi, f"{kind}: {name}"]
                assert (line["count"], line["of"]) == (numbers[kind][name], measured[of])
    write_json(tmp_path / "scenes.json", measured | {"phis": {"cider": measured["phis"]["cider"]}})
    with pytest.raises(InputError, match=r"scenes/test .*'spice'"):
        make(everything.plan.figures[HISTOGRAM], everything.contexts[HISTOGRAM], [tmp_path / "scenes.json"])


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", [HISTOGRAM, BEST])
def test_phis_that_the_scale_leaves_out_are_not_drawn_and_named(everything, make_up, make_scale, exhibit):
    source = "SPICE’s tuples of scenes: the generator of the scenes, not parsed."
    assert source in everything.drawing(exhibit).notes
    drawing = make_up(make_scale(leave_out={"phis": ["spice"]})).drawing(exhibit)
    assert "spice" not in set(drawing.data["phi"]) and source not in drawing.notes
    assert any("tiny: SPICE" in note for note in drawing.notes)


def test_captions_are_shown_as_people_write_them_and_never_too_long():
    assert as_written("A dog , the boy 's cat ; they do n't run .") == "A dog, the boy's cat; they don't run."
    lines = wrapped("word " * 2000, 30, lines=4).split("\n")
    assert len(lines) == 4 and max(map(len, lines)) <= 30
