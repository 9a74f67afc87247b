"""Regions of our own are checked on a few photographs before all are described."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drawn_features import Records, drawn, write
from fivesentences.config.features import FeatureSpec
from fivesentences.corpus import Photographs
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features import released_sample
from fivesentences.features.released_sample import check_sample

SPEC = FeatureSpec(extractor="bottom_up", layout="regions", weights=Path("w.pkl"))


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Check a sample: released features of four images, photographs of three of them, and what our network finds."""
    theirs = [
        replace(one, features=np.abs(one.features) + 1)
        for one in drawn(4, ("boxes", "sizes", "classes"), regions=(6, 6), dim=9, ids=lambda image: f"{image:03}")
    ]
    (tmp_path / "photographs").mkdir()
    for one in theirs[:3]:
        Image.new("RGB", (one.width, one.height), "white").save(tmp_path / f"photographs/{one.image_id}.jpg")

    def check(ours: Records, released: Records = theirs) -> Path:
        def find(spec, photographs, images, out, *, workers, weights):
            assert (spec, weights) == (SPEC, Path("w.pkl"))
            assert list(images["filename"]) == [f"{name}.jpg" for name in images["image_id"]]
            write([one for one in ours if one.image_id in set(images["image_id"])], out, "table")

        monkeypatch.setattr(released_sample, "extract_as_configured", find)
        write(released, tmp_path / "theirs.npy", "table")
        (tmp_path / "checks").mkdir(exist_ok=True)
        out = tmp_path / "checks" / "bottom_up.json"
        check_sample(SPEC, Photographs(tmp_path / "photographs"), tmp_path / "theirs.npy", out, weights=Path("w.pkl"))
        return out

    return check, theirs


def test_regions_as_released_pass_and_photographs_without_any_are_left_out(sample):
    check, theirs = sample
    found = read_json(check(theirs))
    assert found["images"] == 3 and found["same_regions"] == found["same_classes"] == 1


def test_of_released_regions_without_classes_the_rest_is_compared(sample):
    check, theirs = sample
    found = read_json(check(theirs, [one.without(["classes"]) for one in theirs]))
    assert found["same_regions"] == 1 and found["same_classes"] is None


def test_other_weights_end_it_with_what_falls_short_and_leave_ours_for_a_picture(sample, tmp_path):
    check, theirs = sample
    with pytest.raises(
        InputError, match=r"^w\.pkl: .*of 3 photographs are not as in .*theirs\.npy: 0% of the classes.*released_sample"
    ):
        check([replace(one, classes=one.classes + 1) for one in theirs])
    assert not (tmp_path / "checks" / "bottom_up.json").exists() and (tmp_path / "checks" / "bottom_up.npy").exists()


def test_a_sample_that_tells_nothing_is_refused(sample):
    check, theirs = sample
    with pytest.raises(InputError, match=r"theirs\.npy: these features have no boxes"):
        check(theirs, [one.without(["boxes", "sizes", "classes"]) for one in theirs])
    with pytest.raises(InputError, match=r"photographs: no photograph is of an image of .*theirs\.npy, such as 'x000'"):
        check(theirs, [replace(one, image_id=f"x{one.image_id}") for one in theirs])
