"""Settings of a loss: readable names that tell runs apart, and refusals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from fivesentences.config import check
from fivesentences.errors import InputError
from fivesentences.losses import (
    HAL,
    InfoNCE,
    Loss,
    LossSpec,
    SemanticAdaptiveMargin,
    SmoothAPLoss,
    SoftRankLoss,
    TripletLoss,
)
from fivesentences.models.matching import TrainingScores
from fivesentences.plan.studies import Study
from fivesentences.training.objective import Objective

NAMES = {
    # Names of settings from before the controls: stored runs keep them.
    "triplet=hardest,margin=0.2": LossSpec(),
    "triplet=3,margin=0.2": LossSpec(triplet=3),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1": LossSpec(sam=SemanticAdaptiveMargin()),
    "tau=3,negatives=closest,variant=released,weight=5,max_margin=0.5": LossSpec(
        triplet=None,
        sam=SemanticAdaptiveMargin(temperature=3, negatives="closest", variant="released", weight=5, max_margin=0.5),
    ),
    # Newer ones.
    "triplet=hardest,margin=0.2,extra_margin=0.2,negatives=furthest,variant=paper,weight=1": LossSpec(
        sam=SemanticAdaptiveMargin(negatives="furthest", margins="fixed")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=shuffled": LossSpec(
        sam=SemanticAdaptiveMargin(margins="shuffled")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=shuffled_spice": LossSpec(
        sam=SemanticAdaptiveMargin(margins="shuffled", phi="spice")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=spice,t2i_search=rows": LossSpec(
        sam=SemanticAdaptiveMargin(phi="spice", t2i_search="rows")
    ),
    "triplet=hardest,margin=0.2,tau=10,negatives=furthest,variant=paper,weight=1,margins=averaged": LossSpec(
        sam=SemanticAdaptiveMargin(negatives="furthest", margins="averaged")
    ),
    "triplet=hardest,margin=0.2,tau=2,negatives=random,variant=paper,weight=1,scaling=ranked": LossSpec(
        sam=SemanticAdaptiveMargin(scaling="ranked", temperature=2)
    ),
    "tau=10,negatives=random,variant=paper,weight=1,scaling=standardised,mean_margin=0.3,phi=shuffled": LossSpec(
        triplet=None, sam=SemanticAdaptiveMargin(scaling="standardised", margin=0.3, margins="shuffled")
    ),
    "tau=3,negatives=closest_unlike,variant=paper,weight=1,references=own_left_out": LossSpec(
        triplet=None, sam=SemanticAdaptiveMargin(temperature=3, negatives="closest_unlike", references="own_left_out")
    ),
    "extra_margin=0.2,negatives=furthest_alike,variant=paper,weight=1,phi=spice": LossSpec(
        triplet=None, sam=SemanticAdaptiveMargin(margins="fixed", negatives="furthest_alike", phi="spice")
    ),
    "triplet=hardest,margin=0.2,soft_rank=paper,T=0.001,rank_weight=25": LossSpec(soft_rank=SoftRankLoss()),
    "triplet=hardest,margin=0.2,soft_rank=released,T=0.01,rank_weight=10,rank_phi=tfidf+bleu_daa": LossSpec(
        soft_rank=SoftRankLoss(variant="released", temperature=0.01, weight=10, phi="tfidf+bleu_daa")
    ),
    "gamma=60,epsilon=0.7": LossSpec(triplet=None, hal=HAL()),
    "gamma=30,epsilon=0.3,hal_weight=2": LossSpec(triplet=None, hal=HAL(gamma=30, epsilon=0.3, weight=2)),
    "info_nce=0.07": LossSpec(triplet=None, info_nce=InfoNCE()),
    "triplet=hardest,margin=0.2,info_nce=0.1,temperature=learned,info_nce_weight=128": LossSpec(
        info_nce=InfoNCE(temperature=0.1, learn_temperature=True, weight=128)
    ),
    "triplet=hardest,margin=0.2,smooth_ap=0.001,ap_weight=25": LossSpec(smooth_ap=SmoothAPLoss()),
}
# What tables call a loss, as studies used to say by hand. "mean" is a study's own label of that phi.
PHIS = {"tfidf": "tf-idf", "bleu_daa": "BLEU", "tfidf+bleu_daa": "mean"}
LABELS = {
    "hardest negative": LossSpec(),
    "all negatives": LossSpec(triplet="all"),
    "kNN margin, k = 3": LossSpec(triplet=3),
    "+ SAM τ = 10, random, paper": LossSpec(sam=SemanticAdaptiveMargin()),
    "+ SAM τ = 5, closest, released": LossSpec(
        sam=SemanticAdaptiveMargin(temperature=5, negatives="closest", variant="released", weight=5)
    ),
    "SAM alone, τ = 3, closest, released": LossSpec(
        triplet=None, sam=SemanticAdaptiveMargin(temperature=3, negatives="closest", variant="released", weight=5)
    ),
    "+ random, fixed margin": LossSpec(sam=SemanticAdaptiveMargin(margins="fixed")),
    "+ furthest, fixed margin, released": LossSpec(
        sam=SemanticAdaptiveMargin(margins="fixed", negatives="furthest", variant="released", weight=5)
    ),
    "+ SAM τ = 10, random, paper, φ shuffled": LossSpec(sam=SemanticAdaptiveMargin(margins="shuffled")),
    "+ SAM τ = 10, random, paper, margins averaged": LossSpec(sam=SemanticAdaptiveMargin(margins="averaged")),
    "+ SAM τ = 10, closest, unlike, paper, φ standardised, mean margin 0.3, own caption left out": LossSpec(
        sam=SemanticAdaptiveMargin(
            negatives="closest_unlike", scaling="standardised", margin=0.3, references="own_left_out"
        )
    ),
    "+ DAA by tf-idf, released": LossSpec(soft_rank=SoftRankLoss(variant="released", weight=10)),
    "+ DAA by BLEU, paper": LossSpec(soft_rank=SoftRankLoss(phi="bleu_daa")),
    "+ DAA by mean, paper": LossSpec(soft_rank=SoftRankLoss(phi="tfidf+bleu_daa")),
    # Whatever is not as usual shows.
    "hardest negative, margin 0.3": LossSpec(margin=0.3),
    "all negatives + SAM τ = 10, random, paper": LossSpec(triplet="all", sam=SemanticAdaptiveMargin()),
    "+ SAM τ = 0.5, random, released, by spice, weight 1, margins to 2, ranking gap": LossSpec(
        sam=SemanticAdaptiveMargin(temperature=0.5, variant="released", phi="spice", max_margin=2, ranking="gap")
    ),
    "random, fixed margin, margin 0.1, weight 2, alone": LossSpec(
        triplet=None, sam=SemanticAdaptiveMargin(margins="fixed", margin=0.1, weight=2)
    ),
    "DAA alone, by tf-idf, paper, T = 0.01, weight 5": LossSpec(
        triplet=None, soft_rank=SoftRankLoss(temperature=0.01, weight=5)
    ),
    "HAL alone, γ = 60, ε = 0.7": LossSpec(triplet=None, hal=HAL()),
    "InfoNCE alone, T = 0.07": LossSpec(triplet=None, info_nce=InfoNCE()),
    "+ InfoNCE T learned from 0.1, weight 128": LossSpec(
        info_nce=InfoNCE(temperature=0.1, learn_temperature=True, weight=128)
    ),
    "+ smooth AP T = 0.001, weight 25": LossSpec(smooth_ap=SmoothAPLoss()),
    "SAM τ = 10, random, paper + HAL γ = 60, ε = 0.7, weight 2": LossSpec(
        triplet=None, sam=SemanticAdaptiveMargin(), hal=HAL(weight=2)
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_folder_names_are_these_and_settings_survive_being_written_and_read(name):
    spec = NAMES[name]
    assert spec.folder == name
    assert check(LossSpec, spec.model_dump(mode="json"), "x") == spec


@pytest.mark.parametrize("label", LABELS)
def test_labels_follow_from_settings(label):
    assert LABELS[label].label(PHIS) == label


def test_a_study_may_call_a_loss_or_a_model_something_else():
    losses = {"max": {}, "daa": {"soft_rank": {}}}
    given = {"paper": "p", "losses": losses, "models": {"i2t": {"name": "scan", "direction": "i2t"}}}
    study = check(Study, given | {"labels": {"max": "max margin", "tfidf": "tf-idf", "vsepp": "GRU"}}, "x")
    names = ("max", "daa", "vsepp", "i2t", "sgr", "scenes")
    assert [study.label_of(name) for name in names] == [
        *("max margin", "+ DAA by tf-idf, paper", "GRU", "SCAN", "SGR", "scenes")
    ]
    assert study.label_of("csls", "CSLS") == "CSLS"


def test_what_stands_behind_the_models_name():
    assert LossSpec().suffix == ""
    assert LossSpec(sam=SemanticAdaptiveMargin()).suffix == "+sam"
    assert LossSpec(sam=SemanticAdaptiveMargin(margins="shuffled")).suffix == "+sam"
    assert LossSpec(sam=SemanticAdaptiveMargin(margins="fixed")).suffix == "+extra_negative"
    assert LossSpec(soft_rank=SoftRankLoss(), sam=SemanticAdaptiveMargin()).suffix == "+sam+soft_rank"
    assert LossSpec(triplet=None, hal=HAL(), smooth_ap=SmoothAPLoss()).suffix == "+hal+smooth_ap"


@pytest.mark.parametrize(
    ("sam", "sentence"),
    [
        ({"margins": "fixed", "temperature": 3.0}, "temperature has no effect with margins: fixed"),
        ({"margins": "fixed", "phi": "spice"}, "phi has no effect with margins: fixed"),
        ({"margin": 0.3}, "margin has no effect with margins: adaptive"),
        ({"margin": 0.3, "margins": "averaged"}, "margin has no effect with margins: averaged"),
        ({"margins": "none"}, "margins"),
        ({"margins": "fixed", "scaling": "ranked"}, "scaling has no effect with margins: fixed"),
        ({"margins": "fixed", "references": "own_left_out"}, "references has no effect with margins: fixed"),
        ({"scaling": "ranked", "margin": 0.3}, "margin has no effect with scaling: ranked"),
        ({"scaling": "ranked", "references": "own_left_out"}, "references has no effect with scaling: ranked"),
        ({"negatives": "closest_unlike", "ranking": "gap"}, "ranking has no effect with negatives: closest_unlike"),
        ({"negatives": "furthest_alike", "variant": "released"}, "is defined for variant: paper only"),
        ({"phi": "spice", "references": "own_left_out"}, "is known for phi: cider only, not for spice"),
        ({"phi": "Cider"}, "phi"),
    ],
)
def test_settings_without_effect_are_refused(sam: dict[str, Any], sentence: str):
    with pytest.raises(InputError, match=sentence):
        check(LossSpec, {"sam": sam}, "x.yaml")


class Cos(Loss):
    title: ClassVar[str] = "cos"
    suffix: ClassVar[str] = "+cos"
    power: float = 2.0

    @property
    def parts(self) -> list[str]:
        return [f"power={self.power:g}"]

    def words(self, phis) -> list[str]:
        return [f"p = {self.power:g}"]

    def __call__(self, similarity: torch.Tensor) -> torch.Tensor:
        return ((1 - similarity.diagonal()) ** self.power).sum()


class WithCos(LossSpec):
    cos: Cos | None = None


def test_a_new_loss_is_a_class_and_one_line():
    spec = check(WithCos, {"triplet": "all", "cos": {"power": 3}}, "x")
    assert (spec.folder, spec.suffix) == ("triplet=all,margin=0.2,power=3", "+cos")
    assert spec.label() == "all negatives + cos p = 3"
    similarity = torch.tensor([[0.5, 0.1], [0.2, 0.9]])
    expected = TripletLoss(0.2, "all")(similarity) + 0.5**3 + 0.1**3
    assert Objective(spec)(TrainingScores(similarity), np.arange(2)).item() == pytest.approx(expected.item())
