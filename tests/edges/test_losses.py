"""Edges of losses as users write them in run.yaml and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from edge_cases import refused, right
from fivesentences.losses import InfoNCE, LossSpec
from fivesentences.models.matching import TrainingScores
from fivesentences.training.objective import Objective

pytestmark = pytest.mark.slow

RUN = {"dataset": "d", "features": {"extractor": "e"}, "model": {"name": "vsepp"}}
# What stands below `loss`, and what is said: of a loss, the name of its run.
RIGHT: list[tuple[str, str]] = [
    ("{triplet: null, info_nce: {}}", "vsepp+info_nce/info_nce=0.07/"),
    ("{triplet: null, info_nce: {learn_temperature: true}}", "info_nce=0.07,temperature=learned/"),
    ("{info_nce: {weight: 128}}", "triplet=hardest,margin=0.2,info_nce=0.07,info_nce_weight=128/"),
    ("{info_nce: {temperature: 0.01, learn_temperature: true}}", "temperature=learned"),
    ("{triplet: null, info_nce: {temperature: 0.001}}", "info_nce=0.001/"),
]
REFUSED: list[tuple[str, ...]] = [
    ("{info_nce: {temperature: 0}}", "loss.info_nce.temperature is 0"),
    ("{info_nce: {temperature: -0.07}}", "loss.info_nce.temperature is -0.07"),
    ("{info_nce: {temperature: .inf}}", "loss.info_nce.temperature is inf"),
    ("{info_nce: {temperature: .nan}}", "loss.info_nce.temperature is nan"),
    ("{info_nce: {temperature: warm}}", "loss.info_nce.temperature is 'warm'"),
    ("{info_nce: {temperature: [0.07]}}", "loss.info_nce.temperature"),
    ("{info_nce: {temprature: 0.07}}", "temprature", "Did you mean 'temperature'"),
    ("{infonce: {}}", "infonce", "Did you mean 'info_nce'"),
    ("{info_nce: {weight: 0}}", "loss.info_nce.weight is 0"),
    ("{sparing: {threshold: .nan}}", "loss.sparing.threshold is nan"),
    ("{margin: .inf}", "loss.margin is inf"),
    ("{sam: {temperature: .inf}}", "loss.sam.temperature is inf"),
    ("{sam: {max_margin: .nan}}", "loss.sam.max_margin is nan"),
    ("{soft_rank: {temperature: .inf}}", "loss.soft_rank.temperature is inf"),
    ("{info_nce: {temperature: 0.001, learn_temperature: true}}", "is 0.001", "0.01 or above"),
    ("{info_nce: {learn_temperature: sometimes}}", "learn_temperature is 'sometimes'"),
    ("{triplet: null, info_nce: null}", "nothing to minimise", "info_nce"),
]


def write_files(folder: Path) -> None:
    for number, (loss, *_) in enumerate([*RIGHT, *REFUSED]):
        (folder / f"{number}.yaml").write_text(yaml.safe_dump(RUN) + f"loss: {loss}\n")


def huge(_: Path) -> bool:
    """Scores far outside of cosines."""
    value = InfoNCE(temperature=0.01)(torch.tensor([[1e30, -1e30], [-1e30, 1e30]]))
    return bool(value.isfinite())


def of_one(_: Path) -> float:
    return Objective(LossSpec(triplet=None, info_nce=InfoNCE()))(TrainingScores(torch.ones(1, 1)), None).item()


CASES = [
    *(right(f"train {number}.yaml --list", says, name=loss) for number, (loss, says) in enumerate(RIGHT)),
    *(refused(f"train {number}.yaml --list", *says, name=loss)
      for number, (loss, *says) in enumerate(REFUSED, len(RIGHT))),
    right(huge, "True"),
    right(of_one, "0.0"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_losses(case, carry_out):
    carry_out(case)
