"""Regions refuse arrays that do not belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.features.regions import Regions


def given(**changed: Any) -> dict[str, Any]:
    return {
        "features": np.zeros((3, 5), np.float32),
        "boxes": np.zeros((3, 4), np.float32),
        "width": 640,
        "height": 480,
        **changed,
    }


def test_optional_arrays_are_those_that_are_given() -> None:
    regions = Regions(**given(classes=np.arange(3)))
    assert len(regions) == 3
    assert list(regions.recognised()) == ["classes"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"features": np.zeros(5, np.float32)}, r"features of regions are \[5\]"),
        ({"features": np.zeros((3, 5))}, "features of regions are float64"),
        (
            {"boxes": np.zeros((2, 4), np.float32)},
            r"boxes of regions are float32 \[2, 4\]; they must be float32 \[3, 4",
        ),
        ({"scores": np.zeros(3)}, "scores of regions are float64"),
        ({"classes": np.zeros(4, np.int64)}, r"classes of regions are int64 \[4\]"),
        ({"attributes": np.zeros(3, np.int32)}, "attributes of regions are int32"),
        ({"attribute_scores": np.zeros((3, 1), np.float32)}, r"attribute_scores of regions are float32 \[3, 1\]"),
        ({"width": 0}, "0 x 480"),
    ],
)
def test_arrays_that_disagree_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Regions(**given(**changed))
