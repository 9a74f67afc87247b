"""NCS and semantic recall against what the released class returned, every number of the file."""

from __future__ import annotations

import json
import re

import pytest

from fivesentences.metrics import ncs, semantic_recall

pytestmark = pytest.mark.parity


@pytest.fixture(scope="module")
def released(parity, parity_folder):
    arrays = parity("ncs_released")
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
