"""The loss of a run is the sum of what its settings name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import (
    HAL,
    HalSpec,
    LossSpec,
    SamSpec,
    SemanticAdaptiveMargin,
    SmoothAPLoss,
    SmoothAPSpec,
    SoftRankLoss,
    SoftRankSpec,
    TripletLoss,
)
from fivesentences.models.matching import TrainingScores
from fivesentences.training.objective import Objective

ROWS = np.array([5, 2, 9, 7])


class Phi:
    def __init__(self, seed: int):
        self.whole = np.random.default_rng(seed).random((10, 10), dtype=np.float32) + 2 * np.eye(10, dtype=np.float32)

    def batch(self, rows):
        return self.whole[np.ix_(rows, rows)]


PHIS = {"cider": Phi(0), "tfidf": Phi(1), "spice": Phi(2)}


def similarity(seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(4, 4, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def scores(extra: float | None = None) -> TrainingScores:
    fused, instance = similarity(0), similarity(1)
    return TrainingScores(fused, ((3.0, fused), (5.0, instance)), None if extra is None else torch.tensor(extra))


def phi_of(name: str) -> torch.Tensor:
    return torch.from_numpy(PHIS[name].batch(ROWS))


def test_retrieval_losses_are_summed_over_what_is_ranked_and_semantic_ones_see_the_similarity():
    given = scores(extra=7.0)
    ranked = given.ranked
    triplet = sum(weight * TripletLoss(0.2, "hardest")(matrix) for weight, matrix in ranked)
    hal = sum(weight * 2 * HAL(30, 0.3)(matrix) for weight, matrix in ranked)
    smooth = sum(weight * SmoothAPLoss(0.1, 3.0)(matrix) for weight, matrix in ranked)
    sam = SemanticAdaptiveMargin(3, "closest", weight=5.0)(given.similarity, phi_of("cider"))
    rank = SoftRankLoss(0.1, 10.0)(given.similarity, phi_of("tfidf"))
    sam_spec = SamSpec(temperature=3, negatives="closest", weight=5.0)
    rank_spec = SoftRankSpec(temperature=0.1, weight=10.0)
    hal_spec = HalSpec(gamma=30, epsilon=0.3, weight=2)
    for spec, expected in (
        (LossSpec(), triplet),
        (LossSpec(triplet=None, hal=hal_spec), hal),
        (LossSpec(triplet=None, smooth_ap=SmoothAPSpec(temperature=0.1, weight=3.0)), smooth),
        (LossSpec(triplet=None, sam=sam_spec), sam),
        (LossSpec(sam=sam_spec), triplet + sam),
        (LossSpec(soft_rank=rank_spec), triplet + rank),
        (LossSpec(sam=sam_spec, soft_rank=rank_spec, hal=hal_spec), triplet + sam + rank + hal),
    ):
        assert Objective(spec, PHIS)(given, ROWS).item() == pytest.approx(7.0 + float(expected), rel=1e-6)


def test_phi_is_read_by_name_and_plus_is_the_mean():
    spec = LossSpec(sam=SamSpec(phi="spice"), soft_rank=SoftRankSpec(phi="tfidf+spice"))
    assert spec.phis == ["spice", "tfidf"]
    objective = Objective(spec, PHIS)
    torch.testing.assert_close(objective.phi(["tfidf", "spice"], ROWS), (phi_of("tfidf") + phi_of("spice")) / 2)
    with pytest.raises(InputError, match="reads phi 'spice' of the training captions"):
        Objective(spec, {"tfidf": PHIS["tfidf"]})


def test_fixed_margins_read_no_phi():
    spec = LossSpec(sam=SamSpec(margins="fixed", negatives="closest", margin=0.1))
    assert spec.phis == []
    expected = TripletLoss(0.2, "hardest")(similarity()) + TripletLoss(0.1, "hardest")(similarity())
    given = TrainingScores(similarity(), ((1.0, similarity()),))
    assert Objective(spec)(given, ROWS).item() == pytest.approx(expected.item())


def test_half_precision_is_compared_in_single_precision():
    spec = LossSpec(soft_rank=SoftRankSpec())
    half = similarity(dtype=torch.bfloat16)
    given = TrainingScores(half, ((1.0, half),))
    single = TrainingScores(half.float(), ((1.0, half.float()),))
    value = Objective(spec, PHIS)(given, ROWS)
    assert value.dtype == torch.float32
    assert value.item() == Objective(spec, PHIS)(single, ROWS).item()


def test_shuffled_margins_follow_the_runs_seed():
    spec = LossSpec(triplet=None, sam=SamSpec(negatives="closest", margins="shuffled"))
    values = [[Objective(spec, PHIS, seed)(scores(), ROWS).item() for _ in range(2)] for seed in range(5)]
    assert all(first == second for first, second in values)
    assert len({first for first, _ in values}) > 1


@pytest.mark.parametrize(
    "loss",
    [
        LossSpec(sam=SamSpec(margins="shuffled")),
        LossSpec(sam=SamSpec(margins="fixed")),
        LossSpec(soft_rank=SoftRankSpec(temperature=0.05)),
        LossSpec(triplet=None, hal=HalSpec(), smooth_ap=SmoothAPSpec(temperature=0.05)),
        LossSpec(triplet=None, info_nce={"learn_temperature": True}),
    ],
    ids=lambda loss: loss.suffix,
)
def test_a_killed_run_goes_on_to_the_same_bits(loss, inputs, spec_of, assert_a_kill_changes_no_bit):
    assert_a_kill_changes_no_bit(spec_of(loss=loss, epochs=2), inputs, batches=7)  # of 10
