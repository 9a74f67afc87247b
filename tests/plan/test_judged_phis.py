"""A scale may name files of scores as a phi: losses and metrics read them, and what is missing is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of

CONFIG = Path(__file__).parents[2] / "config"


def planned(**changes: Any) -> Plan:
    path = CONFIG / "flickr8k.yaml"
    content = read_yaml(path) | {"judged_phis": {"llm": {"flickr8k": "data/llm.csv"}}} | changes
    return plan_of(scale_of(content, path), CONFIG)


def test_scores_are_a_phi_of_evaluation_made_of_the_file_of_its_dataset() -> None:
    plan = planned(evaluation_phis=["judged:llm"])
    assert "judged:llm" in plan.phi.matrices
    assert plan.phi.scores_of("flickr8k", ["cider", "judged:llm"]) == [Path("data/llm.csv")]
    assert plan.phi.scores_of("flickr8k", ["cider"]) == []
    assert any("data/llm.csv is not here" in one for one in plan.missing_downloads("flickr8k"))


@pytest.mark.parametrize(
    ("phis", "said"),
    [
        ({"lm": {"flickr8k": "data/llm.csv"}}, r"judged_phis: nobody gives the scores 'judged:llm'; did you mean 'lm'"),
        ({}, "nobody gives the scores 'judged:llm'; add it there"),
    ],
)
def test_scores_that_nobody_gives_are_named(phis: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"(?i){said}"):
        planned(evaluation_phis=["judged:llm"], judged_phis=phis)


def test_a_dataset_without_scores_is_named() -> None:
    plan = planned(evaluation_phis=["judged:llm"], judged_phis={"llm": {"coco": "data/llm.csv"}})
    with pytest.raises(InputError, match="'judged:llm' has no file of scores of 'flickr8k'"):
        plan.phi.scores_of("flickr8k", ["judged:llm"])
