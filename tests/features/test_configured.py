"""Features as a configuration asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.features import FeatureSpec
from fivesentences.config.reading import check
from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features import extract_features
from fivesentences.features.detectors import bottom_up
from fivesentences.features.extract import extract_as_configured, part_of
from fivesentences.features.formats import convert
from random_networks import fresh

BOTTOM_UP = {"extractor": "bottom_up", "layout": "regions"}


def spec(**keys: Any) -> FeatureSpec:
    return check(FeatureSpec, keys, "scale")


@pytest.mark.parametrize(
    "keys, source, reduced",
    [
        ({"extractor": "vgg19"}, "vgg19-global", ""),
        ({"extractor": "vgg19", "crops": "ten", "dimensions": 110}, "vgg19-global-ten_crops", "-110d"),
        ({"extractor": "r", "layout": "grid", "regions": 36, "precision": "bfloat16"}, "r-grid-bfloat16", "-36regions"),
        ({"extractor": "faster_rcnn", "layout": "regions"}, "faster_rcnn-regions36", ""),
        (BOTTOM_UP | {"regions": 50, "flavour": "caffe", "short": 300}, "bottom_up-regions50-caffe-300", ""),
        (
            BOTTOM_UP | {"selection": "class_agnostic", "resize": "torch"},
            "bottom_up-regions36-class_agnostic-torch",
            "",
        ),
        (BOTTOM_UP | {"selection": "per_class", "resize": "opencv", "flavour": "d2"}, "bottom_up-regions36", ""),
        (
            {"extractor": "faster_rcnn", "layout": "regions", "short": 320, "dimensions": 9},
            "faster_rcnn-regions36-320",
            "-9d",
        ),
    ],
)
def test_files_are_named_by_what_features_depend_on(keys, source, reduced):
    assert (spec(**keys).source, spec(**keys).stem) == (source, source + reduced)
    assert spec(**keys).extraction.source == source


def test_a_network_gets_its_options(archive, images, tmp_path):
    _, weights = fresh("test_resnet", tmp_path)
    some, there = images.iloc[:7], Photographs(archive)
    extract_as_configured(
        spec(extractor="test_resnet", crops="ten"), there, some, tmp_path / "a.npy", workers=0, weights=weights
    )
    extract_features(there, some, "test_resnet", "global", tmp_path / "b.npy", workers=0, weights=weights, crops="ten")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    assert json.loads((tmp_path / "a.source.json").read_text())["crops"].startswith("mean over ten")


def test_parts_make_the_same_features(archive, images, tmp_path):
    there, asked = Photographs(archive), spec(extractor="grid_descriptors", parts=3)
    for number in (1, 2, 3):
        some = part_of(images, number, asked.parts)
        extract_as_configured(asked, there, some, tmp_path / f"{number}.npy", workers=0)
    convert([tmp_path / f"{number}.npy" for number in (1, 2, 3)], tmp_path / "joined.npy")
    extract_as_configured(asked, there, images, tmp_path / "whole.npy", workers=0)
    np.testing.assert_array_equal(np.load(tmp_path / "joined.npy"), np.load(tmp_path / "whole.npy"))
    ids = [pd.read_parquet(tmp_path / f"{name}.images.parquet")["image_id"].tolist() for name in ("joined", "whole")]
    assert ids[0] == ids[1]
    with pytest.raises(InputError, match=r"900 parts of .* images are too many"):
        part_of(images, 1, 900)


class Asked(Exception):
    """What a detector would be built from."""


def test_bottom_up_gets_its_rules(archive, images, tmp_path, monkeypatch):
    def refuse(*arguments: object) -> None:  # instead of a detector, which would need its weights
        raise Asked(*arguments)

    monkeypatch.setattr(bottom_up, "BottomUpAttention", refuse)
    asked, there = spec(**BOTTOM_UP, selection="class_agnostic", resize="pillow"), Photographs(archive)
    with pytest.raises(Asked) as caught:
        extract_as_configured(asked, there, images, tmp_path / "r.npy", workers=0, weights=Path("w.pkl"))
    weights, flavour, settings, _ = caught.value.args
    assert (weights, flavour) == (Path("w.pkl"), "d2")
    assert (settings.selection, settings.resize, settings.most) == ("class_agnostic", "pillow", 36)
    with pytest.raises(InputError, match="bottom_up"):
        extract_as_configured(spec(**BOTTOM_UP), there, images, tmp_path / "r.npy", workers=0)
