"""Settings of a loss: readable names that tell runs apart, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from fivesentences.config import check
from fivesentences.errors import InputError
from fivesentences.plan.losses import HalSpec, LossSpec, SamSpec, SoftRankSpec

NAMES = {
    # Names of settings from before the controls: stored runs keep them.
    "triplet=hardest,margin=0.2": LossSpec(),
    "triplet=3,margin=0.2": LossSpec(triplet=3),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1": LossSpec(sam=SamSpec()),
    "tau=3,negatives=closest,variant=released,weight=5,max_margin=0.5": LossSpec(
        triplet=None,
        sam=SamSpec(temperature=3, negatives="closest", variant="released", weight=5, max_margin=0.5),
    ),
    # Newer ones.
    "triplet=hardest,margin=0.2,extra_margin=0.2,negatives=furthest,variant=paper,weight=1": LossSpec(
        sam=SamSpec(negatives="furthest", margins="fixed")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=shuffled": LossSpec(
        sam=SamSpec(margins="shuffled")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=shuffled_spice": LossSpec(
        sam=SamSpec(margins="shuffled", phi="spice")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=spice,t2i_search=rows": LossSpec(
        sam=SamSpec(phi="spice", t2i_search="rows")
    ),
    "triplet=hardest,margin=0.2,soft_rank=paper,T=0.001,rank_weight=25": LossSpec(soft_rank=SoftRankSpec()),
    "triplet=hardest,margin=0.2,soft_rank=released,T=0.01,rank_weight=10,rank_phi=tfidf+bleu_daa": LossSpec(
        soft_rank=SoftRankSpec(variant="released", temperature=0.01, weight=10, phi="tfidf+bleu_daa")
    ),
    "gamma=60,epsilon=0.7": LossSpec(triplet=None, hal=HalSpec()),
    "gamma=30,epsilon=0.3,hal_weight=2": LossSpec(triplet=None, hal=HalSpec(gamma=30, epsilon=0.3, weight=2)),
}


@pytest.mark.parametrize("name", NAMES)
def test_folder_names_are_these(name):
    assert NAMES[name].folder == name


@pytest.mark.parametrize("spec", NAMES.values(), ids=NAMES)
def test_settings_survive_being_written_and_read(spec):
    assert check(LossSpec, spec.model_dump(mode="json"), "x") == spec


def test_what_stands_behind_the_models_name():
    assert LossSpec().suffix == ""
    assert LossSpec(sam=SamSpec()).suffix == "+sam"
    assert LossSpec(sam=SamSpec(margins="shuffled")).suffix == "+sam"
    assert LossSpec(sam=SamSpec(margins="fixed")).suffix == "+extra_negative"
    assert LossSpec(soft_rank=SoftRankSpec(), sam=SamSpec()).suffix == "+sam+soft_rank"
    assert LossSpec(triplet=None, hal=HalSpec()).suffix == "+hal"


@pytest.mark.parametrize(
    ("sam", "sentence"),
    [
        ({"margins": "fixed", "temperature": 3.0}, "temperature has no part in margins: fixed"),
        ({"margins": "fixed", "phi": "spice"}, "phi has no part in margins: fixed"),
        ({"margin": 0.3}, "margin has no part in margins: adaptive"),
        ({"margins": "none"}, "margins"),
        ({"phi": "Cider"}, "phi"),
    ],
)
def test_settings_without_effect_are_refused(sam: dict[str, Any], sentence: str):
    with pytest.raises(InputError, match=sentence):
        check(LossSpec, {"sam": sam}, "x.yaml")
