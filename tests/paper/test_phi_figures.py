"""The histograms of phi, and the best captions of other images."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.numbers.phi_statistics import OTHERS
from fivesentences.paper.rendering import drawing_of
from fivesentences.paper.text.captions import as_written, wrapped
from fivesentences.storage import write_json

HISTOGRAM, BEST = "five_sentences/phi_histogram", "five_sentences/best_captions"


@pytest.fixture
def measured(everything):
    return read_json(everything.numbers(HISTOGRAM)[0])


def test_the_histogram_draws_what_was_measured(everything, measured):
    data = everything.drawing(HISTOGRAM).data.set_index(["phi", "what"]).sort_index()
    assert set(data.index.get_level_values("phi")) == {"cider", "spice", "bleu4", "rouge_l"}
    for phi, numbers in measured["phis"].items():
        if phi not in data.index:
            continue
        assert data.loc[phi, OTHERS]["count"].tolist() == numbers[OTHERS]
        for kind in ("kept", "own_left_out"):
            bins = data.loc[phi, kind]
            assert bins["count"].tolist() == numbers[kind]["own"]
            np.testing.assert_allclose([*bins["from"], bins["to"].iloc[-1]], numbers["edges"])
            for name, of in (("captions_beat_own", "captions"), ("images_beaten", "images")):
                line = data.loc[phi, f"{kind}: {name}"]
                assert (line["count"], line["of"]) == (numbers[kind][name], measured[of])


def test_the_best_captions_of_other_images_stand_beside_the_median_of_the_own(everything, measured):
    drawing = everything.drawing(BEST)
    data = drawing.data
    assert data["phi"].unique().tolist() == ["cider", "spice", "rouge_l"]
    for image in measured["chosen"]:
        shown = data[(data["image_id"] == image["image_id"]) & (data["phi"] == "spice")]
        assert shown["caption"].tolist() == [one["caption"] for one in image[OTHERS]["spice"]]
        assert shown["of_image"].tolist() == [one["image_id"] for one in image[OTHERS]["spice"]]
        assert set(shown["median_own"]) == {statistics.median(image["own"]["spice"]["own_left_out"])}
    assert drawing.notes[0].startswith("5 of 12 images of scenes/test, chosen by rule: all are ordered by the")


@pytest.mark.parametrize("exhibit", [HISTOGRAM, BEST])
def test_phis_that_the_scale_leaves_out_are_not_drawn_and_named(everything, make_up, make_scale, exhibit):
    source = "SPICE’s tuples of scenes: the generator of the scenes, not parsed."
    assert source in everything.drawing(exhibit).notes
    drawing = make_up(make_scale(leave_out={"phis": ["spice"]})).drawing(exhibit)
    assert "spice" not in set(drawing.data["phi"]) and source not in drawing.notes
    assert "Left out at the scale tiny: SPICE." in drawing.notes


def test_a_phi_that_was_not_measured_is_named(everything, measured, tmp_path):
    write_json(tmp_path / "scenes.json", measured | {"phis": {"cider": measured["phis"]["cider"]}})
    with pytest.raises(InputError, match=r"scenes/test lack 'spice'; measure it again"):
        drawing_of(everything.plan.figures[HISTOGRAM], everything.contexts[HISTOGRAM], [tmp_path / "scenes.json"])


def test_captions_are_shown_as_people_write_them_and_never_too_long():
    assert as_written("A dog , the boy 's cat ; they do n't run .") == "A dog, the boy's cat; they don't run."
    lines = wrapped("word " * 2000, 30, lines=4).split("\n")
    assert len(lines) == 4 and max(map(len, lines)) <= 30
