"""Edges of losses as users write them in run.yaml and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from edge_cases import Case, refused, right
from fivesentences.losses import HAL, InfoNCE, LossSpec, SoftRankLoss
from fivesentences.models.matching import TrainingScores
from fivesentences.training.objective import Objective

RUN = {"dataset": "d", "features": {"extractor": "e"}, "model": {"name": "vsepp"}}
# Name of the file, what stands below `loss`, whether it is refused, and what is said.
FILES: list[tuple[str, str, bool, tuple[str, ...]]] = [
    ("plain", "{triplet: null, info_nce: {}}", False, ("vsepp+info_nce/info_nce=0.07/",)),
    ("learned", "{triplet: null, info_nce: {learn_temperature: true}}", False, ("info_nce=0.07,temperature=learned/",)),
    ("both", "{info_nce: {weight: 128}}", False, ("triplet=hardest,margin=0.2,info_nce=0.07,info_nce_weight=128/",)),
    ("lowest", "{info_nce: {temperature: 0.01, learn_temperature: true}}", False, ("temperature=learned",)),
    ("fixed_low", "{triplet: null, info_nce: {temperature: 0.001}}", False, ("info_nce=0.001/",)),
    ("zero", "{info_nce: {temperature: 0}}", True, ("zero.yaml: loss.info_nce.temperature is 0",)),
    ("negative", "{info_nce: {temperature: -0.07}}", True, ("loss.info_nce.temperature is -0.07",)),
    ("infinite", "{info_nce: {temperature: .inf}}", True, ("loss.info_nce.temperature is inf",)),
    ("nan", "{info_nce: {temperature: .nan}}", True, ("loss.info_nce.temperature is nan",)),
    ("word", "{info_nce: {temperature: warm}}", True, ("loss.info_nce.temperature is 'warm'",)),
    ("list", "{info_nce: {temperature: [0.07]}}", True, ("loss.info_nce.temperature",)),
    ("key", "{info_nce: {temprature: 0.07}}", True, ("temprature", "Did you mean 'temperature'")),
    ("name", "{infonce: {}}", True, ("infonce", "Did you mean 'info_nce'")),
    ("weight", "{info_nce: {weight: 0}}", True, ("loss.info_nce.weight is 0",)),
    ("weightless", "{hal: {weight: .inf}}", True, ("loss.hal.weight is inf",)),
    ("gamma", "{hal: {gamma: .inf}}", True, ("loss.hal.gamma is inf",)),
    ("epsilon", "{hal: {epsilon: .nan}}", True, ("loss.hal.epsilon is nan",)),
    ("margin", "{margin: .inf}", True, ("loss.margin is inf",)),
    ("tau", "{sam: {temperature: .inf}}", True, ("loss.sam.temperature is inf",)),
    ("cap", "{sam: {max_margin: .nan}}", True, ("loss.sam.max_margin is nan",)),
    ("rank", "{soft_rank: {temperature: .inf}}", True, ("loss.soft_rank.temperature is inf",)),
    ("precision", "{smooth_ap: {weight: .nan}}", True, ("loss.smooth_ap.weight is nan",)),
    ("too_low", "{info_nce: {temperature: 0.001, learn_temperature: true}}", True, ("is 0.001", "0.01 or above")),
    ("sometimes", "{info_nce: {learn_temperature: sometimes}}", True, ("learn_temperature is 'sometimes'",)),
    ("nothing", "{triplet: null, info_nce: null}", True, ("nothing to minimise", "info_nce")),
]


def write_files(folder: Path) -> None:
    for name, loss, _, _ in FILES:
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(RUN) + f"loss: {loss}\n")


def of_yaml(name: str, bad: bool, says: tuple[str, ...]) -> Case:
    return (refused if bad else right)(f"train {name}.yaml --list", *says)


def huge(_: Path) -> bool:
    """Scores far outside of cosines."""
    value = InfoNCE(0.01)(torch.tensor([[1e30, -1e30], [-1e30, 1e30]]))
    return bool(value.isfinite())


def of_one(_: Path) -> float:
    return Objective(LossSpec(triplet=None, info_nce=InfoNCE()))(TrainingScores(torch.ones(1, 1)), None).item()


CASES = [
    *(of_yaml(name, bad, says) for name, _, bad, says in FILES),
    right(huge, "True"),
    right(of_one, "0.0"),
    refused(lambda _: InfoNCE(float("nan")), "InfoNCE: temperature is nan", name="InfoNCE(nan)"),
    refused(lambda _: InfoNCE(weight=float("inf")), "InfoNCE: weight is inf", name="InfoNCE(weight=inf)"),
    refused(lambda _: InfoNCE("0,07"), "InfoNCE: temperature is '0,07'", name="InfoNCE('0,07')"),
    refused(lambda _: HAL(float("inf")), "HAL: gamma is inf", name="HAL(inf)"),
    refused(lambda _: SoftRankLoss(float("nan")), "SoftRankLoss: temperature is nan", name="SoftRankLoss(nan)"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_losses(case, carry_out):
    carry_out(case)
