"""The example of docs/new_loss.md, as it stands there."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from pydantic import create_model

from fivesentences import losses
from fivesentences.config import check
from fivesentences.config.types import PhiName
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec, TripletLoss
from fivesentences.models.matching import TrainingScores
from fivesentences.study.study import Study
from fivesentences.training.objective import Objective

PAGE = Path(__file__).parents[2] / "docs" / "new_loss.md"
SPEC, CLASS, LINE, SPEC_BY_PHI = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
(STUDY,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def logistic(monkeypatch) -> Any:
    """The two files of the page as modules, and its line in the registry: ``LossSpec`` with one more loss."""
    for name, text in (("logistic_spec", SPEC), ("logistic", CLASS)):
        module = ModuleType(f"fivesentences.losses.{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, f"{PAGE}, {name}", "exec"), vars(module))
    assert LINE.strip().startswith("logistic: LogisticSpec | None = Field(default=None")
    spec = sys.modules["fivesentences.losses.logistic_spec"].LogisticSpec
    with_it = create_model("WithLogistic", __base__=LossSpec, logistic=(spec | None, None))
    monkeypatch.setattr(losses, "LossSpec", with_it)
    return with_it


def square(size: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slow(similarity: torch.Tensor, temperature: float, weight_of) -> float:
    """One triplet at a time; ``weight_of(image, caption)`` of the pair that does not match."""
    total = 0.0
    for i in range(len(similarity)):
        for j in range(len(similarity)):
            if i != j:
                total += weight_of(i, j) * math.log(1 + math.exp((similarity[i, j] - similarity[i, i]) / temperature))
                total += weight_of(j, i) * math.log(1 + math.exp((similarity[j, i] - similarity[i, i]) / temperature))
    return total


def test_the_loss_of_the_page_equals_its_formula_and_has_the_right_gradient(logistic):
    module = losses.Logistic(temperature=0.2, weight=3)
    assert module(square(5)).item() == pytest.approx(3 * slow(square(5), 0.2, lambda i, j: 1))
    assert torch.autograd.gradcheck(module, square(4).requires_grad_())
    assert module(torch.ones(1, 1)).item() == 0
    with pytest.raises(InputError, match=r"Logistic: temperature is 0; "):
        losses.Logistic(temperature=0)


def test_the_study_of_the_page_weights_it_with_others_and_labels_it_as_the_page_says(logistic):
    content = yaml.safe_load(STUDY)
    given = {name: check(logistic, loss, "x") for name, loss in content.pop("losses").items()}
    said = re.findall(r'(\w+): \{triplet.*# "(.*)"', STUDY)
    assert {name: given[name].label() for name, _ in said} == dict(said) and len(said) == 2
    assert len({loss.folder for loss in given.values()}) == len(given)
    scores = TrainingScores(square(4))
    expected = TripletLoss(0.2, "hardest")(square(4)) + 0.1 * losses.Logistic()(square(4))
    assert Objective(given["both"])(scores, np.arange(4)).item() == pytest.approx(expected.item())
    # The rest of the study is right, too, with losses that the house has.
    check(Study, content | {"losses": {name: {} for name in given}}, "mine.yaml")


def test_with_the_additions_of_the_page_it_reads_phi(logistic):
    spec_module = sys.modules["fivesentences.losses.logistic_spec"]
    vars(spec_module).update(PhiName=PhiName, Any=Any)
    exec(compile(SPEC_BY_PHI, f"{PAGE}, by phi", "exec"), vars(spec_module))
    kind = create_model("ByPhi", __base__=LossSpec, logistic=(spec_module.LogisticByPhiSpec | None, None))
    given = check(kind, {"triplet": None, "logistic": {"temperature": 0.2, "phi": "spice"}}, "x")
    assert given.folder == "logistic=0.2,logistic_weight=1,logistic_phi=spice"
    assert given.label({"spice": "SPICE"}) == "logistic alone, T = 0.2, weight 1, by SPICE"
    assert given.phis == ["spice"]
    phi = square(4, seed=1)  # [captions, images]

    class Phi:
        def batch(self, rows: np.ndarray) -> np.ndarray:
            return phi.numpy()

    value = Objective(given, {"spice": Phi()})(TrainingScores(square(4)), np.arange(4))
    assert value.item() == pytest.approx(slow(square(4), 0.2, lambda image, caption: 1 - phi[caption, image].item()))
