"""NCS and semantic recall against what the released class returned, every number of the file."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from fivesentences.metrics import Evaluator, ncs, semantic_recall

pytestmark = pytest.mark.parity


@pytest.fixture(scope="module")
def released(parity_folder):
    arrays = np.load(parity_folder / "ncs_released.npz", allow_pickle=False)
    numbers = json.loads((parity_folder / "ncs_released.json").read_text())
    phi, similarity = arrays["phi"], arrays["sims"]
    assert phi.shape == similarity.shape[::-1]
    return similarity, phi, numbers


def settings(key: str) -> tuple[bool, str, int]:
    """Ground truth kept, style and m from a key such as ``keep=True,type=recall,m=1``."""
    named = re.fullmatch(r"keep=(True|False),type=(recall|vse_recall),m=(\d+)", key)
    assert named, f"the key {key!r} is not understood, so nothing would be compared"
    return named[1] == "True", named[2], int(named[3])


def test_every_released_number_is_reached(released):
    similarity, phi, numbers = released
    compared, differences = 0, []
    for key, directions in numbers.items():
        keep, style, m = settings(key)
        for direction, kinds in directions.items():
            for kind, wanted in kinds.items():
                ks = [int(k) for k in wanted]
                if kind == "NCS":
                    ours = ncs(similarity, phi, ks, direction, keep_ground_truth=keep)
                else:
                    assert kind in ("hard", "soft"), f"{key} {direction} has {kind!r}, which nothing compares"
                    ours = semantic_recall(
                        similarity, phi, ks, direction, m=m, keep_ground_truth=keep, style=style, weighting=kind
                    )
                for k in ks:
                    differences.append(abs(ours[k] - wanted[str(k)]))
                    compared += 1
    in_file = sum(
        len(wanted) for directions in numbers.values() for kinds in directions.values() for wanted in kinds.values()
    )
    assert compared == in_file > 0
    assert max(differences) < 1e-9


def test_the_evaluator_reaches_the_released_numbers_in_one_pass(released):
    similarity, phi, numbers = released
    known = [settings(key) for key in numbers]
    ks = [int(k) for k in next(iter(numbers.values()))["i2t"]["NCS"]]
    options = {"ms": sorted({m for _, _, m in known}), "styles": ("recall", "vse_recall")}
    values = Evaluator(phi, ks=ks, **options)(similarity).values
    ours = {
        (v["ground_truth"] == "kept", v["style"], v["m"], v["direction"], v["metric"]): v["value"]
        for v in values
        if v["formula"] == "released"
    }
    for key, directions in numbers.items():
        keep, style, m = settings(key)
        for direction, kinds in directions.items():
            for k in ks:
                wanted = kinds["hard"][str(k)], kinds["NCS"][str(k)]
                found = ours[keep, style, m, direction, f"SR@{k}"], ours[keep, "", 0, direction, f"N@{k}"]
                np.testing.assert_allclose(found, wanted, atol=1e-9, rtol=0)
