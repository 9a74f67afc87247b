"""On the real Wikipedia features, all 693 test documents, methods reach what a prototype of other code reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.io import loadmat

from fivesentences.metrics.category import category_map
from fivesentences.reproduction.categories.inputs import Inputs
from fivesentences.reproduction.categories.models.closed_forms import fit_closed_form
from fivesentences.reproduction.categories.models.specs import AnyMethod

pytestmark = pytest.mark.data


def prepared(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Square roots, standardised by training documents."""
    train, test = np.sqrt(train), np.sqrt(test)
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (test - mean) / deviation


@pytest.fixture(scope="module")
def wikipedia(mirror: Path) -> dict[str, tuple[Inputs, Inputs]]:
    """Training and test documents, as stored and prepared."""
    folder = mirror / "wikipedia"
    file = loadmat(folder / "raw_features.mat")
    categories = []
    for name in ("trainset", "testset"):
        lines = (folder / f"{name}_txt_img_cat.list").read_text(encoding="utf-8").splitlines()
        categories.append(np.array([int(line.split("\t")[2]) for line in lines]))
    stored = {side: [file[f"{side}_{part}"] for part in ("tr", "te")] for side in ("I", "T")}
    roots = {side: prepared(*parts) for side, parts in stored.items()}
    return {
        name: (Inputs(one["I"][0], one["T"][0], categories[0]), Inputs(one["I"][1], one["T"][1], categories[1]))
        for name, one in (("stored", stored), ("roots", roots))
    }


# mAP i2t and t2i, and how far they may be off. They are those of an independent prototype: means of five splits with
# 462 of the test documents, less the .009 by which mAP is higher there; CCA of stored inputs was measured on all 693.
CASES: list[tuple[dict[str, Any], str, float, float, float]] = [
    ({"method": "cca"}, "stored", 0.242, 0.197, 0.002),
    ({"method": "cca"}, "roots", 0.229, 0.187, 0.008),
    ({"method": "cca", "weighted": True}, "stored", 0.250, 0.204, 0.010),
    ({"method": "cca", "weighted": True, "ridge": 0.5}, "roots", 0.259, 0.216, 0.012),
    ({"method": "pls"}, "roots", 0.235, 0.189, 0.008),
    ({"method": "cfa"}, "roots", 0.237, 0.190, 0.008),
    ({"method": "kcca"}, "roots", 0.235, 0.198, 0.015),
    ({"method": "semantic_matching"}, "roots", 0.272, 0.243, 0.010),
    ({"method": "semantic_matching", "centre": "gallery"}, "roots", 0.302, 0.242, 0.010),
    ({"method": "semantic_matching", "classifier": "mlp", "centre": "gallery"}, "roots", 0.301, 0.238, 0.025),
    ({"method": "semantic_matching", "after_cca": True}, "roots", 0.281, 0.239, 0.010),
    ({"method": "semantic_matching", "after_cca": True}, "stored", 0.277, 0.226, 0.010),
    ({"method": "random"}, "stored", 0.118, 0.118, 0.004),
]


@pytest.mark.parametrize(("settings", "inputs", "i2t", "t2i", "band"), CASES, ids=lambda one: str(one))
def test_map_is_near_that_of_other_code(
    wikipedia: dict[str, tuple[Inputs, Inputs]],
    settings: dict[str, Any],
    inputs: str,
    i2t: float,
    t2i: float,
    band: float,
) -> None:
    train, test = wikipedia[inputs]
    projector = fit_closed_form(TypeAdapter(AnyMethod).validate_python(settings), train, 0)
    images, texts = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in projector(test.images, test.texts))
    found = [category_map(images @ texts.T, test.categories, test.categories, one) for one in ("i2t", "t2i")]
    np.testing.assert_allclose(found, [i2t, t2i], atol=band)
