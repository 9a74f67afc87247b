"""The loss of a run is the sum of what its settings name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import InfoNCE, LossSpec, SemanticAdaptiveMargin, SoftRankLoss, SparingTriplet, TripletLoss
from fivesentences.losses.semantic_adaptive_margin import random_cycle
from fivesentences.models.matching import TrainingScores
from fivesentences.training.objective import Objective

ROWS = np.array([5, 2, 9, 7])


def phi(seed: int):
    whole = np.random.default_rng(seed).random((10, 10), dtype=np.float32) + 2 * np.eye(10, dtype=np.float32)
    return lambda rows: whole[np.ix_(rows, rows)]


PHIS = {"cider": phi(0), "tfidf": phi(1), "spice": phi(2)}


def similarity(seed: int = 0) -> torch.Tensor:
    return torch.rand(4, 4, generator=torch.Generator().manual_seed(seed))


def scores(extra: float | None = None) -> TrainingScores:
    fused, instance = similarity(0), similarity(1)
    return TrainingScores(fused, ((3.0, fused), (5.0, instance)), None if extra is None else torch.tensor(extra))


def phi_of(name: str) -> torch.Tensor:
    return torch.from_numpy(PHIS[name](ROWS))


def test_retrieval_losses_are_summed_over_what_is_ranked_and_semantic_ones_see_the_similarity():
    given = scores(extra=7.0)
    ranked = {"triplet": TripletLoss(margin=0.2, negatives="hardest"), "info_nce": InfoNCE(temperature=0.1, weight=3.0)}
    sparing = SparingTriplet(threshold=0.5, phi="spice")
    semantic = {
        "sam": SemanticAdaptiveMargin(temperature=3, negatives="closest", weight=5.0),
        "soft_rank": SoftRankLoss(temperature=0.1, weight=10.0),
    }
    values = {key: sum(weight * loss(matrix) for weight, matrix in given.ranked) for key, loss in ranked.items()}
    values["sparing"] = sum(weight * sparing(matrix, phi_of("spice")) for weight, matrix in given.ranked)
    ranked["sparing"] = sparing
    values |= {key: loss(given.similarity, phi_of(loss.phi)) for key, loss in semantic.items()}
    for names in (["triplet"], ["info_nce"], ["sam"], ["sparing"], ["triplet", "sam"], list(values)):
        chosen = {key: loss for key, loss in (ranked | semantic).items() if key in names and key != "triplet"}
        spec = LossSpec(triplet="hardest" if "triplet" in names else None, **chosen)
        expected = 7.0 + sum(float(values[name]) for name in names)
        assert Objective(spec, PHIS)(given, ROWS).item() == pytest.approx(expected, rel=1e-6)


def test_the_same_pairs_are_spared_in_all_that_is_ranked_whether_by_phi_or_shuffled():
    given, of_others = scores(), torch.eye(4) < 1
    shuffled = LossSpec(triplet=None, sparing=SparingTriplet(threshold=0.5, phi="spice", spared="shuffled"))
    torch.manual_seed(0)
    found = Objective(shuffled, PHIS)(given, ROWS)
    torch.manual_seed(0)
    place = random_cycle(4, None)
    moved = phi_of("spice")[place][:, place]
    assert not torch.equal(of_others & (moved > 0.5), of_others & (phi_of("spice") > 0.5))
    expected = sum(weight * SparingTriplet(threshold=0.5)(matrix, moved) for weight, matrix in given.ranked)
    assert found.item() == pytest.approx(expected.item())


def test_phi_is_read_by_name_and_plus_is_the_mean():
    spec = LossSpec(sam=SemanticAdaptiveMargin(phi="spice"), soft_rank=SoftRankLoss(phi="tfidf+spice"))
    assert spec.phis == ["spice", "tfidf"]
    mean = (phi_of("tfidf") + phi_of("spice")) / 2
    expected = TripletLoss(margin=0.2, negatives="hardest")(similarity()) + spec.soft_rank(similarity(), mean)
    given = TrainingScores(similarity(), ((1.0, similarity()),))
    without = spec.model_copy(update={"sam": None})
    assert Objective(without, PHIS)(given, ROWS).item() == pytest.approx(expected.item())
    with pytest.raises(InputError, match="'spice'"):
        Objective(spec, {"tfidf": PHIS["tfidf"]})


@pytest.mark.parametrize(
    "loss",
    [
        LossSpec(sam=SemanticAdaptiveMargin(margins="shuffled")),
        LossSpec(triplet=None, info_nce={"learn_temperature": True}),
    ],
    ids=lambda loss: loss.suffix,
)
def test_a_killed_run_goes_on_to_the_same_bits(loss, inputs, spec_of, assert_a_kill_changes_no_bit):
    assert_a_kill_changes_no_bit(spec_of(loss=loss, epochs=2), inputs, batches=7)  # of 10
