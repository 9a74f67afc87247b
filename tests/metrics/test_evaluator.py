"""One pass gives what the single functions give."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import (
    Evaluator,
    ncs,
    nsum,
    rank_statistics,
    recall_at_k,
    rsum,
    semantic_recall,
    true_recall_at_k,
)

PAIRING = np.repeat(np.arange(9), [1, 7, 3, 5, 5, 2, 1, 4, 6])


@pytest.fixture
def matrices():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 34)).astype(np.float32), np.maximum(0, rng.normal(size=(34, 9)))


def test_every_value_equals_the_single_function(matrices):
    similarity, phi = matrices
    values = Evaluator(phi, PAIRING)(similarity)
    keys = [tuple(value for name, value in row.items() if name != "value") for row in values]
    assert len(keys) == len(set(keys))
    names = set()
    for row in values:
        name, _, k = row["metric"].partition("@")
        names.add(name)
        direction, keep = row["direction"], row["ground_truth"] == "kept"
        if name == "R":
            wanted = recall_at_k(similarity, (int(k),), direction, PAIRING)[int(k)]
        elif name == "true R":
            wanted = true_recall_at_k(similarity, (int(k),), direction, PAIRING)[int(k)]
        elif name in ("Med r", "Mean r"):
            wanted = rank_statistics(similarity, direction, PAIRING)[name == "Mean r"]
        elif name == "N":
            given = (keep, row["formula"])
            wanted = ncs(similarity, phi, (int(k),), direction, *given, image_of_caption=PAIRING)[int(k)]
        elif name == "SR":
            given = (row["m"], keep, row["formula"], row["style"])
            wanted = semantic_recall(similarity, phi, (int(k),), direction, *given, image_of_caption=PAIRING)[int(k)]
        elif name in ("Rsum", "mR"):
            wanted = rsum(similarity, image_of_caption=PAIRING) / (6 if name == "mR" else 1)
        else:
            wanted = nsum(similarity, phi, keep_ground_truth=keep, formula=row["formula"], image_of_caption=PAIRING)
        assert row["value"] == pytest.approx(wanted, abs=1e-9), row
    assert names == {"R", "true R", "Med r", "Mean r", "N", "SR", "Rsum", "mR", "Nsum"}


def test_one_evaluator_serves_several_similarities(matrices):
    similarity, phi = matrices
    evaluator = Evaluator(phi, PAIRING)
    first = evaluator(similarity)
    other = evaluator(-similarity)
    assert first == evaluator(similarity) == Evaluator(phi, PAIRING)(similarity)
    assert other == Evaluator(phi, PAIRING)(-similarity)


def test_without_phi_only_instance_recall_is_given(matrices):
    names = {value["metric"].partition("@")[0] for value in Evaluator(None, PAIRING)(matrices[0])}
    assert names == {"R", "true R", "Med r", "Mean r", "Rsum", "mR"}


def test_only_what_is_asked_for_is_given(matrices):
    similarity, phi = matrices
    values = Evaluator(
        phi, PAIRING, ks=(5,), ms=(2,), ground_truth=("removed",), formulas=("released",), styles=("recall",)
    )(similarity)
    semantic = [v for v in values if v["formula"]]
    assert {(v["ground_truth"], v["formula"]) for v in semantic} == {("removed", "released")}
    assert {(v["metric"], v["m"], v["style"]) for v in semantic} == {
        ("N@5", 0, ""),
        ("SR@5", 2, "recall"),
        ("Nsum", 0, ""),
    }
    assert not any(v["metric"].startswith("SR") for v in Evaluator(phi, PAIRING, ms=())(similarity))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ground_truth": ("own",)}, "'kept' or 'removed'"),
        ({"formulas": "released"}, "give a list"),
        ({"styles": ("any",)}, "'recall' or 'vse_recall'"),
        ({"ms": (0,)}, "ms holds 0"),
        ({"empty": "drop"}, "'zero' or 'skip' or 'error'"),
    ],
)
def test_an_unknown_choice_is_refused(matrices, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Evaluator(matrices[1], PAIRING, **arguments)


def test_a_perfect_model_reaches_a_hundred():
    similarity = np.kron(np.eye(6), np.ones(5))
    phi = similarity.T * 2.0
    values = {
        (v["metric"], v["direction"], v["formula"], v["ground_truth"]): v["value"] for v in Evaluator(phi)(similarity)
    }
    assert values["Rsum", "", "", ""] == pytest.approx(600)
    assert values["Nsum", "", "released", "kept"] == pytest.approx(600, abs=1e-6)
    assert values["Nsum", "", "paper", "kept"] == pytest.approx(600)
    assert values["true R@1", "i2t", "", ""] == pytest.approx(20)
