from __future__ import annotations

import json
import statistics

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.figures.semantic_recall import read_texts
from fivesentences.paper.making import make_figure
from fivesentences.paper.text.captions import as_written, wrapped


@pytest.fixture
def study(studies):
    return studies["five_sentences"]


@pytest.fixture
def made(study, scale, meaning_file, photographs, tmp_path):
    """Draw a figure of meaning; its stem, and the measured numbers."""

    def draw(name, with_photographs=True, scale=scale):
        path = meaning_file(["cider", "spice", "bleu4", "rouge_l"])
        shown = {"scenes": photographs} if with_photographs else None
        make_figure("five_sentences", name, study, scale, [path], tmp_path / name, shown)
        return tmp_path / name, json.loads(path.read_text(encoding="utf-8"))

    return draw


@pytest.mark.parametrize("name", ["own_and_foreign", "foreign_captions"])
def test_the_files_are_written_whole_and_alike(made, name):
    stem, _ = made(name)
    first = {suffix: stem.with_suffix(f".{suffix}").read_bytes() for suffix in ("png", "pdf", "csv", "json")}
    made(name)
    assert first == {suffix: stem.with_suffix(f".{suffix}").read_bytes() for suffix in first}


@pytest.mark.parametrize("name", ["own_and_foreign", "foreign_captions"])
def test_notes_say_that_tuples_came_from_the_generator(made, name):
    stem, _ = made(name)
    assert (
        "SPICE’s tuples of scenes: the generator of the scenes, not parsed." in read_texts(stem.with_suffix(".json"))[2]
    )


def test_the_histogram_draws_what_was_measured(made):
    stem, measured = made("own_and_foreign")
    data = pd.read_csv(stem.with_suffix(".csv"))
    for phi, numbers in measured["phis"].items():
        of_phi = data[data["phi"] == phi]
        assert of_phi[of_phi["what"] == "other"]["count"].tolist() == numbers["other"]
        for kind in ("kept", "own_left_out"):
            bins = of_phi[of_phi["what"] == kind]
            assert bins["count"].tolist() == numbers[kind]["own"]
            np.testing.assert_allclose([*bins["from"], bins["to"].iloc[-1]], numbers["edges"])
            beat = of_phi[of_phi["what"] == f"{kind}: captions_beat_own"].iloc[0]
            assert (beat["count"], beat["of"]) == (numbers[kind]["captions_beat_own"], measured["captions"])
            beaten = of_phi[of_phi["what"] == f"{kind}: images_beaten"].iloc[0]
            assert (beaten["count"], beaten["of"]) == (numbers[kind]["images_beaten"], measured["images"])


def test_the_pictures_show_the_best_foreign_captions_and_the_median_of_the_own(made):
    stem, measured = made("foreign_captions")
    data = pd.read_csv(stem.with_suffix(".csv"))
    assert data["phi"].unique().tolist() == ["cider", "spice", "rouge_l"]
    for image in measured["chosen"]:
        shown = data[(data["image_id"] == image["image_id"]) & (data["phi"] == "spice")]
        assert shown["caption"].tolist() == [one["caption"] for one in image["other"]["spice"]]
        assert shown["of_image"].tolist() == [one["image_id"] for one in image["other"]["spice"]]
        assert set(shown["median_own"]) == {statistics.median(image["own"]["spice"]["own_left_out"])}


def test_the_rule_by_which_images_were_chosen_is_told(made):
    notes = read_texts(made("foreign_captions")[0].with_suffix(".json"))[2]
    assert notes[0].startswith(
        "5 of 12 images of scenes/test, chosen by rule: all are ordered by the score of their best"
    )


def test_without_photographs_captions_are_drawn_all_the_same(made):
    stem, _ = made("foreign_captions", with_photographs=False)
    assert stem.with_suffix(".png").stat().st_size > 10_000


def test_phis_that_the_scale_leaves_out_are_not_drawn_and_named(made, make_scale):
    stem, _ = made("own_and_foreign", scale=make_scale(leave_out={"phis": ["spice"]}))
    assert "spice" not in set(pd.read_csv(stem.with_suffix(".csv"))["phi"])
    notes = read_texts(stem.with_suffix(".json"))[2]
    assert "Left out at the scale tiny: SPICE." in notes
    assert not any("tuples" in note for note in notes)


def test_a_phi_that_was_not_measured_is_named(study, scale, meaning_file, tmp_path):
    path = meaning_file(["cider", "spice"])
    with pytest.raises(InputError, match=r"scenes/test lacks 'bleu4'; measure meaning again"):
        make_figure("five_sentences", "own_and_foreign", study, scale, [path], tmp_path / "x")


def test_captions_are_shown_as_people_write_them_and_never_too_long():
    assert as_written("A dog , the boy 's cat ; they do n't run .") == "A dog, the boy's cat; they don't run."
    assert wrapped("word " * 2000, 30, lines=4).count("\n") == 3
    assert max(map(len, wrapped("word " * 2000, 30, lines=4).split("\n"))) <= 30
