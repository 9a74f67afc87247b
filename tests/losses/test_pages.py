"""The examples of docs/losses.md and docs/new_loss.md, as they stand there."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
import torch
import yaml
from pydantic import create_model

from fivesentences.config.reading import check
from fivesentences.config.types import PhiName
from fivesentences.losses import LossSpec, TripletLoss
from fivesentences.models.matching import TrainingScores
from fivesentences.reproduction.study.study import Study
from fivesentences.training.objective import Objective

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [content for name, content in found if name == language]


CLASS, LINE, BY_PHI = blocks("new_loss.md", "python")
(STUDY,) = blocks("new_loss.md", "yaml")


def test_the_example_of_losses_prints_what_stands_below_it(capsys):
    (example,) = blocks("losses.md", "python")
    exec(compile(example, "losses.md", "exec"), {})
    assert capsys.readouterr().out in blocks("losses.md", "")


def test_the_settings_of_losses_are_those_of_a_study():
    (settings,) = blocks("losses.md", "yaml")
    losses = check(Study, {"paper": "p"} | yaml.safe_load(settings), "docs/losses.md").losses
    assert len({loss.folder for loss in losses.values()}) == len(losses)


@pytest.fixture
def page(monkeypatch) -> ModuleType:
    """The file of the page as a module, with its classes."""
    module = ModuleType("fivesentences.losses.logistic")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(module).update(PhiName=PhiName, Literal=Literal)
    exec(compile(CLASS, "new_loss.md", "exec"), vars(module))
    exec(compile("from __future__ import annotations\n" + BY_PHI, "new_loss.md, by phi", "exec"), vars(module))
    assert LINE.strip().startswith("logistic: Logistic | None = None")
    return module


def spec_with(kind: Any) -> Any:
    return create_model("WithLogistic", __base__=LossSpec, logistic=(kind | None, None))


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


def test_the_loss_of_the_page_equals_its_formula_and_has_the_right_gradient(page):
    loss = page.Logistic(temperature=0.2, weight=3)
    assert loss(square(5)).item() == pytest.approx(3 * slow(square(5), 0.2, lambda i, j: 1))
    assert torch.autograd.gradcheck(loss, square(4).requires_grad_())
    assert loss(torch.ones(1, 1)).item() == 0
    with pytest.raises(ValueError, match="temperature"):
        page.Logistic(temperature=0)


def test_the_study_of_the_page_weights_it_with_others_and_labels_it_as_the_page_says(page):
    content = yaml.safe_load(STUDY)
    given = {name: check(spec_with(page.Logistic), loss, "x") for name, loss in content.pop("losses").items()}
    said = re.findall(r'(\w+): \{triplet.*# "(.*)"', STUDY)
    assert {name: given[name].label() for name, _ in said} == dict(said) and len(said) == 2
    assert len({loss.folder for loss in given.values()}) == len(given)
    expected = TripletLoss(margin=0.2, negatives="hardest")(square(4)) + 0.1 * page.Logistic()(square(4))
    value = Objective(given["both"])(TrainingScores(square(4)), np.arange(4))
    assert value.item() == pytest.approx(expected.item())
    # The rest of the study is right, too, with losses that the house has.
    check(Study, content | {"losses": {name: {} for name in given}}, "mine.yaml")


def test_with_the_additions_of_the_page_it_reads_phi(page):
    kind = spec_with(page.LogisticByPhi)
    given = check(kind, {"triplet": None, "logistic": {"temperature": 0.2, "phi": "spice"}}, "x")
    assert given.folder == "logistic=0.2,logistic_weight=1,logistic_phi=spice"
    assert given.label({"spice": "SPICE"}) == "logistic alone, T = 0.2, weight 1, by SPICE"
    assert given.phis == ["spice"]
    phi = square(4, seed=1)  # [captions, images]

    value = Objective(given, {"spice": lambda rows: phi.numpy()})(TrainingScores(square(4)), np.arange(4))
    assert value.item() == pytest.approx(slow(square(4), 0.2, lambda image, caption: 1 - phi[caption, image].item()))
