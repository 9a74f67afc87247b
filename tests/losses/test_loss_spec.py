"""Settings of a loss: readable names that tell runs apart, labels in tables, and refusals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.losses import Loss, LossSpec, TripletLoss
from fivesentences.models.matching import TrainingScores
from fivesentences.reproduction.study.study import Study
from fivesentences.training.objective import Objective

BASE = "triplet=hardest,margin=0.2"
SAM = f"{BASE},tau=10,negatives=random,variant=paper,weight=1"
PHIS = {"tfidf": "tf-idf", "bleu_daa": "BLEU", "tfidf+bleu_daa": "mean"}  # names of a study
RELEASED = {"temperature": 3, "negatives": "closest", "variant": "released", "weight": 5}
UNLIKE = {"negatives": "closest_unlike", "margin": 0.3, "references": "own_left_out", "scaling": "standardised"}
# Folder, which stored runs keep; label in tables; settings.
NAMES: list[tuple[str, str, dict[str, Any]]] = [
    (BASE, "hardest negative", {}),
    ("triplet=3,margin=0.2", "kNN margin, k = 3", {"triplet": 3}),
    ("triplet=hardest,margin=0.3", "hardest negative, margin 0.3", {"margin": 0.3}),
    (SAM, "+ SAM τ = 10, random negatives", {"sam": {}}),
    (SAM.replace("hardest", "all"), "all negatives + SAM τ = 10, random negatives", {"triplet": "all", "sam": {}}),
    (
        "tau=3,negatives=closest,variant=released,weight=5,max_margin=0.5",
        "SAM alone, τ = 3, closest negatives, released, margins to 0.5",
        {"triplet": None, "sam": RELEASED | {"max_margin": 0.5}},
    ),
    (
        f"{BASE},extra_margin=0.2,negatives=furthest,variant=released,weight=5",
        "+ furthest negatives, fixed margin, released",
        {"sam": {"negatives": "furthest", "margins": "fixed", "variant": "released", "weight": 5}},
    ),
    (
        "extra_margin=0.1,negatives=random,variant=paper,weight=2",
        "random negatives, fixed margin, margin 0.1, weight 2, alone",
        {"triplet": None, "sam": {"weight": 2, "margins": "fixed", "margin": 0.1}},
    ),
    (f"{SAM},phi=shuffled", "+ SAM τ = 10, random negatives, φ shuffled", {"sam": {"margins": "shuffled"}}),
    (
        f"{SAM},phi=shuffled_spice",
        "+ SAM τ = 10, random negatives, by spice, φ shuffled",
        {"sam": {"margins": "shuffled", "phi": "spice"}},
    ),
    (
        f"{SAM},phi=spice,t2i_search=rows",
        "+ SAM τ = 10, random negatives, by spice, t2i_search rows",
        {"sam": {"phi": "spice", "t2i_search": "rows"}},
    ),
    (f"{SAM},margins=averaged", "+ SAM τ = 10, random negatives, one margin for all", {"sam": {"margins": "averaged"}}),
    (f"{SAM},scaling=ranked", "+ SAM τ = 10, random negatives, φ ranked", {"sam": {"scaling": "ranked"}}),
    (
        f"{BASE},tau=10,negatives=closest_unlike,variant=paper,weight=1,scaling=standardised,mean_margin=0.3,"
        "references=own_left_out",
        "+ SAM τ = 10, closest negatives unlike in φ, φ standardised, mean margin 0.3, own caption left out",
        {"sam": UNLIKE},
    ),
    (
        "extra_margin=0.2,negatives=furthest_alike,variant=paper,weight=1,phi=spice",
        "furthest negatives alike in φ, fixed margin, alone",
        {"triplet": None, "sam": {"negatives": "furthest_alike", "margins": "fixed", "phi": "spice"}},
    ),
    (f"{BASE},soft_rank=paper,T=0.001,rank_weight=25", "+ DAA by tf-idf, paper", {"soft_rank": {}}),
    (
        "soft_rank=released,T=0.01,rank_weight=5,rank_phi=tfidf+bleu_daa",
        "DAA alone, by mean, released, T = 0.01, weight 5",
        {
            "triplet": None,
            "soft_rank": {"temperature": 0.01, "weight": 5, "variant": "released", "phi": "tfidf+bleu_daa"},
        },
    ),
    ("info_nce=0.07", "InfoNCE alone, T = 0.07", {"triplet": None, "info_nce": {}}),
    (
        "positive_share=0.95,phi=embedding,margin=0.2",
        "positive-aware alone, 95% of the positive's embedding",
        {"triplet": None, "positive_aware": {"share": 0.95}},
    ),
    (
        "positive_below=0.1,phi=embedding,references=own_left_out,margin=0.3",
        "positive-aware alone, the positive's embedding less 0.1, own caption left out, margin 0.3",
        {"triplet": None, "positive_aware": {"below": 0.1, "references": "own_left_out", "margin": 0.3}},
    ),
    ("fne=0.5,memory=8224,momentum=0.995,margin=0.2", "FNE, with memory", {"triplet": None, "fne_memory": {}}),
    (
        "fne=0.5,memory=512,momentum=0.9,pairs=50,candidates=100,margin=0.2",
        "FNE, with memory, of 512, momentum 0.9, after 50 pairs, 100 candidates",
        {"triplet": None, "fne_memory": {"size": 512, "momentum": 0.9, "pairs": 50, "candidates": 100}},
    ),
    ("fne=0.5,margin=0.2", "FNE", {"triplet": None, "fne": {}}),
    (
        "fne=1,candidates=100,certainty=0.9,margin=0.2",
        "FNE, decay 1, 100 candidates, certainty 0.9",
        {"triplet": None, "fne": {"decay": 1, "candidates": 100, "certainty": 0.9}},
    ),
    (
        "relevance_margin=0.25,phi=tfidf",
        "relevance margin alone, by tf-idf, scale 0.25",
        {"triplet": None, "relevance_margin": {"scale": 0.25, "phi": "tfidf"}},
    ),
    (
        f"{BASE},soft_labels=0.1,T=0.05,phi=embedding,soft_weight=128",
        "+ soft labels by embedding, T = 0.1, T of the similarity 0.05, weight 128",
        {"soft_labels": {"temperature": 0.05, "weight": 128}},
    ),
    (
        f"{BASE},info_nce=0.1,temperature=learned,info_nce_weight=128",
        "+ InfoNCE T learned from 0.1, weight 128",
        {"info_nce": {"temperature": 0.1, "learn_temperature": True, "weight": 128}},
    ),
]


@pytest.mark.parametrize(("folder", "label", "given"), NAMES, ids=[folder for folder, _, _ in NAMES])
def test_folders_and_labels_are_these_and_settings_survive_being_written_and_read(folder, label, given):
    spec = LossSpec.model_validate(given)
    assert (spec.folder, spec.label(PHIS)) == (folder, label)
    assert check(LossSpec, spec.model_dump(mode="json"), "x") == spec


def test_a_study_may_call_a_loss_or_a_model_something_else():
    losses = {"max": {}, "daa": {"soft_rank": {}}}
    given = {"paper": "p", "losses": losses, "models": {"i2t": {"name": "scan", "direction": "i2t"}}}
    study = check(Study, given | {"labels": {"max": "max margin", "tfidf": "tf-idf", "vsepp": "GRU"}}, "x")
    labels = [study.label_of(name) for name in ("max", "daa", "vsepp", "i2t", "sgr", "scenes")]
    assert labels == ["max margin", "+ DAA by tf-idf, paper", "GRU", "SCAN", "SGR", "scenes"]


@pytest.mark.parametrize(
    ("suffix", "given"),
    [("", {}), ("+extra_negative", {"sam": {"margins": "fixed"}}), ("+sam+soft_rank", {"soft_rank": {}, "sam": {}})],
)
def test_the_name_of_the_model_is_followed_by_those_of_its_losses(suffix, given):
    assert LossSpec.model_validate(given).suffix == suffix


@pytest.mark.parametrize(
    ("sam", "sentence"),
    [
        ({"margins": "fixed", "temperature": 3.0}, "temperature"),
        ({"margins": "fixed", "phi": "spice"}, "margins"),
        ({"margin": 0.3}, "adaptive"),
        ({"scaling": "ranked", "margin": 0.3}, "scaling"),
        ({"negatives": "closest_unlike", "ranking": "gap"}, "closest_unlike"),
        ({"negatives": "furthest_alike", "variant": "released"}, "defined"),
        ({"phi": "spice", "references": "own_left_out"}, "embedding"),
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
    expected = TripletLoss(margin=0.2, negatives="all")(similarity) + 0.5**3 + 0.1**3
    assert Objective(spec)(TrainingScores(similarity), np.arange(2)).item() == pytest.approx(expected.item())
