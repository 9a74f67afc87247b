"""The example of docs/new_model.md, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import yaml

import fivesentences.models as models
from fivesentences.config import Scale
from fivesentences.losses import TripletLoss
from fivesentences.models import build_model, from_released
from fivesentences.models.matching import TrainingScores, concatenate
from fivesentences.plan.rows import runs_of_scale
from fivesentences.plan.studies import Study
from fivesentences.training.building import build

PAGE = Path(__file__).parents[2] / "docs" / "new_model.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


YAML = [
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.fixture
def means(monkeypatch):
    """The class of the page, in the table of models."""
    names = {"__name__": "means"}
    exec(compile(BLOCKS[0], str(PAGE), "exec"), names)
    assert '"means": Means,' in BLOCKS[1]
    monkeypatch.setitem(models.MODELS, "means", names["Means"])
    return names["Means"]


@pytest.fixture
def batch():
    torch.manual_seed(0)
    lengths = torch.tensor([3, 5, 2, 4])
    tokens = torch.randint(1, 50, (4, 5)) * (torch.arange(5) < lengths[:, None])
    return {"images": torch.randn(4, 3, 16), "caption_tokens": tokens, "caption_lengths": lengths}


def test_the_lines_of_the_page_run_and_give_every_weight_a_gradient(means, batch):
    names = {"build_model": build_model, "TripletLoss": TripletLoss, **batch}
    exec(BLOCKS[2], names)
    assert names["similarity"].shape == (4, 4)
    assert all(parameter.grad.isfinite().all() for parameter in names["model"].parameters())


def test_the_example_keeps_the_promises_of_the_interface(means, batch):
    model = build_model("means", image_dim=16, vocabulary_size=50, embedding=8).eval()
    whole = model(**batch)
    encoded = concatenate([model.encode_images(batch["images"][:1]), model.encode_images(batch["images"][1:])])
    turned = model.encode_captions(batch["caption_tokens"].flip(0), batch["caption_lengths"].flip(0))
    torch.testing.assert_close(model.similarity(encoded, turned), whole.flip(1))
    short = model.encode_captions(batch["caption_tokens"][2:3, :2], batch["caption_lengths"][2:3])
    torch.testing.assert_close(model.similarity(encoded, short), whole[:, 2:3])
    state = {"image.weight": model.image_projection.weight, "image.bias": model.image_projection.bias}
    again = from_released("means", state | {"text.weight": model.words.weight})
    torch.testing.assert_close(again(**batch), whole)


def test_a_loss_of_its_own_is_added_as_the_page_says(means, batch):
    names = {"TrainingScores": TrainingScores}
    exec(BLOCKS[3], names)
    means.training_scores = names["training_scores"]
    model = build_model("means", image_dim=16, vocabulary_size=50, embedding=8)
    scores = model.training_scores(**batch)
    assert scores.extra.ndim == 0 and scores.ranked == ((1.0, scores.similarity),)


def test_the_study_and_the_scale_of_the_page_train_it_on_the_grid(means):
    content = yaml.safe_load((PAGE.parents[1] / "config" / "demo.yaml").read_text(encoding="utf-8"))
    training = {"training": content["training"] | YAML[1]["training"]}
    scale, study = Scale.model_validate(content | YAML[1] | training), Study.model_validate(YAML[0])
    runs = runs_of_scale({"mine": study}, scale).values()
    assert {(run.model.folder, run.features) for run in runs} == {
        ("means", scale.grid_features),
        ("means,embedding=2048", scale.grid_features),
    }
    # An exception for a model holds for its variants; an option is the class's last word.
    sizes = {run.model.folder: build(run.model, [9, 16], 50).words.embedding_dim for run in runs}
    assert sizes == {"means": 512, "means,embedding=2048": 2048}
    assert {run.learning_rate for run in runs} == {0.0005}
