"""Settings of a loss: readable names that tell runs apart, and refusals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.losses import Loss, LossSpec, TripletLoss
from fivesentences.models.matching import TrainingScores
from fivesentences.study.study import Study
from fivesentences.training.objective import Objective

# Names of settings from before the controls come first: stored runs keep them.
NAMES: dict[str, dict[str, Any]] = {
    "triplet=hardest,margin=0.2": {},
    "triplet=3,margin=0.2": {"triplet": 3},
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1": {"sam": {}},
    "tau=3,negatives=closest,variant=released,weight=5,max_margin=0.5": {
        "triplet": None,
        "sam": {"temperature": 3, "negatives": "closest", "variant": "released", "weight": 5, "max_margin": 0.5},
    },
    "triplet=hardest,margin=0.2,extra_margin=0.2,negatives=furthest,variant=paper,weight=1": {
        "sam": {"negatives": "furthest", "margins": "fixed"}
    },
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=shuffled": {
        "sam": {"margins": "shuffled"}
    },
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=shuffled_spice": {
        "sam": {"margins": "shuffled", "phi": "spice"}
    },
    "triplet=hardest,margin=0.2,tau=10,negatives=random,variant=paper,weight=1,phi=spice,t2i_search=rows": {
        "sam": {"phi": "spice", "t2i_search": "rows"}
    },
    "triplet=hardest,margin=0.2,tau=10,negatives=furthest,variant=paper,weight=1,margins=averaged": {
        "sam": {"negatives": "furthest", "margins": "averaged"}
    },
    "triplet=hardest,margin=0.2,tau=2,negatives=random,variant=paper,weight=1,scaling=ranked": {
        "sam": {"temperature": 2, "scaling": "ranked"}
    },
    "tau=10,negatives=random,variant=paper,weight=1,scaling=standardised,mean_margin=0.3,phi=shuffled": {
        "triplet": None,
        "sam": {"margins": "shuffled", "margin": 0.3, "scaling": "standardised"},
    },
    "tau=3,negatives=closest_unlike,variant=paper,weight=1,references=own_left_out": {
        "triplet": None,
        "sam": {"temperature": 3, "negatives": "closest_unlike", "references": "own_left_out"},
    },
    "extra_margin=0.2,negatives=furthest_alike,variant=paper,weight=1,phi=spice": {
        "triplet": None,
        "sam": {"negatives": "furthest_alike", "margins": "fixed", "phi": "spice"},
    },
    "triplet=hardest,margin=0.2,soft_rank=paper,T=0.001,rank_weight=25": {"soft_rank": {}},
    "triplet=hardest,margin=0.2,soft_rank=released,T=0.01,rank_weight=10,rank_phi=tfidf+bleu_daa": {
        "soft_rank": {"temperature": 0.01, "weight": 10, "variant": "released", "phi": "tfidf+bleu_daa"}
    },
    "gamma=60,epsilon=0.7": {"triplet": None, "hal": {}},
    "gamma=30,epsilon=0.3,hal_weight=2": {"triplet": None, "hal": {"gamma": 30, "epsilon": 0.3, "weight": 2}},
    "info_nce=0.07": {"triplet": None, "info_nce": {}},
    "triplet=hardest,margin=0.2,info_nce=0.1,temperature=learned,info_nce_weight=128": {
        "info_nce": {"temperature": 0.1, "learn_temperature": True, "weight": 128}
    },
    "triplet=hardest,margin=0.2,smooth_ap=0.001,ap_weight=25": {"smooth_ap": {}},
}
# Labels in tables. "mean" is a study's own label of that phi.
PHIS = {"tfidf": "tf-idf", "bleu_daa": "BLEU", "tfidf+bleu_daa": "mean"}
LABELS: dict[str, dict[str, Any]] = {
    "hardest negative": {},
    "all negatives": {"triplet": "all"},
    "kNN margin, k = 3": {"triplet": 3},
    "+ SAM τ = 10, random, paper": {"sam": {}},
    "+ SAM τ = 5, closest, released": {
        "sam": {"temperature": 5, "negatives": "closest", "variant": "released", "weight": 5}
    },
    "SAM alone, τ = 3, closest, released": {
        "triplet": None,
        "sam": {"temperature": 3, "negatives": "closest", "variant": "released", "weight": 5},
    },
    "+ random, fixed margin": {"sam": {"margins": "fixed"}},
    "+ furthest, fixed margin, released": {
        "sam": {"negatives": "furthest", "variant": "released", "weight": 5, "margins": "fixed"}
    },
    "+ SAM τ = 10, random, paper, φ shuffled": {"sam": {"margins": "shuffled"}},
    "+ SAM τ = 10, random, paper, margins averaged": {"sam": {"margins": "averaged"}},
    "+ SAM τ = 10, closest, unlike, paper, φ standardised, mean margin 0.3, own caption left out": {
        "sam": {"negatives": "closest_unlike", "margin": 0.3, "references": "own_left_out", "scaling": "standardised"}
    },
    "+ DAA by tf-idf, released": {"soft_rank": {"weight": 10, "variant": "released"}},
    "+ DAA by BLEU, paper": {"soft_rank": {"phi": "bleu_daa"}},
    "+ DAA by mean, paper": {"soft_rank": {"phi": "tfidf+bleu_daa"}},
    "hardest negative, margin 0.3": {"margin": 0.3},
    "all negatives + SAM τ = 10, random, paper": {"triplet": "all", "sam": {}},
    "+ SAM τ = 0.5, random, released, by spice, weight 1, margins to 2, ranking gap": {
        "sam": {"temperature": 0.5, "variant": "released", "max_margin": 2, "phi": "spice", "ranking": "gap"}
    },
    "random, fixed margin, margin 0.1, weight 2, alone": {
        "triplet": None,
        "sam": {"weight": 2, "margins": "fixed", "margin": 0.1},
    },
    "DAA alone, by tf-idf, paper, T = 0.01, weight 5": {
        "triplet": None,
        "soft_rank": {"temperature": 0.01, "weight": 5},
    },
    "HAL alone, γ = 60, ε = 0.7": {"triplet": None, "hal": {}},
    "InfoNCE alone, T = 0.07": {"triplet": None, "info_nce": {}},
    "+ InfoNCE T learned from 0.1, weight 128": {
        "info_nce": {"temperature": 0.1, "learn_temperature": True, "weight": 128}
    },
    "+ smooth AP T = 0.001, weight 25": {"smooth_ap": {}},
    "SAM τ = 10, random, paper + HAL γ = 60, ε = 0.7, weight 2": {"triplet": None, "sam": {}, "hal": {"weight": 2}},
}


@pytest.mark.parametrize("name", NAMES)
def test_folder_names_are_these_and_settings_survive_being_written_and_read(name):
    spec = LossSpec.model_validate(NAMES[name])
    assert spec.folder == name
    assert check(LossSpec, spec.model_dump(mode="json"), "x") == spec


@pytest.mark.parametrize("label", LABELS)
def test_labels_follow_from_settings(label):
    assert LossSpec.model_validate(LABELS[label]).label(PHIS) == label


def test_a_study_may_call_a_loss_or_a_model_something_else():
    losses = {"max": {}, "daa": {"soft_rank": {}}}
    given = {"paper": "p", "losses": losses, "models": {"i2t": {"name": "scan", "direction": "i2t"}}}
    study = check(Study, given | {"labels": {"max": "max margin", "tfidf": "tf-idf", "vsepp": "GRU"}}, "x")
    names = ("max", "daa", "vsepp", "i2t", "sgr", "scenes")
    assert [study.label_of(name) for name in names] == [
        *("max margin", "+ DAA by tf-idf, paper", "GRU", "SCAN", "SGR", "scenes")
    ]
    assert study.label_of("csls", "CSLS") == "CSLS"


@pytest.mark.parametrize(
    ("suffix", "given"),
    [
        ("", {}),
        ("+sam", {"sam": {"margins": "shuffled"}}),
        ("+extra_negative", {"sam": {"margins": "fixed"}}),
        ("+sam+soft_rank", {"soft_rank": {}, "sam": {}}),
        ("+hal+smooth_ap", {"triplet": None, "hal": {}, "smooth_ap": {}}),
    ],
)
def test_the_name_of_the_model_is_followed_by_those_of_its_losses(suffix, given):
    assert LossSpec.model_validate(given).suffix == suffix


@pytest.mark.parametrize(
    ("sam", "sentence"),
    [
        ({"margins": "fixed", "temperature": 3.0}, "temperature has no effect with margins: fixed"),
        ({"margins": "fixed", "phi": "spice"}, "phi has no effect with margins: fixed"),
        ({"margin": 0.3}, "margin has no effect with margins: adaptive"),
        ({"scaling": "ranked", "margin": 0.3}, "margin has no effect with scaling: ranked"),
        ({"negatives": "closest_unlike", "ranking": "gap"}, "ranking has no effect with negatives: closest_unlike"),
        ({"negatives": "furthest_alike", "variant": "released"}, "is defined for variant: paper only"),
        ({"phi": "spice", "references": "own_left_out"}, "is known for phi: cider only, not for spice"),
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
