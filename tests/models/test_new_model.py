"""The example of docs/new_model.md, as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
import yaml

from fivesentences import models
from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.losses import TripletLoss
from fivesentences.models import MODELS, build_model, from_released, specs
from fivesentences.models.matching import TrainingScores, concatenate
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.study.study import Study as Study

PAGE = Path(__file__).parents[2] / "docs" / "new_model.md"
SPEC, LINE, CLASS, USE, OWN_LOSS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
STUDY, SCALE = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))


@pytest.fixture
def means(monkeypatch):
    """The settings of the page in ``specs.py`` with their line, and its file as a module."""
    exec(compile("from __future__ import annotations\n" + SPEC, str(PAGE), "exec"), namespace := vars(specs) | {})
    monkeypatch.setattr(specs, "MeansSpec", namespace["MeansSpec"], raising=False)
    assert '"means": MeansSpec,' in LINE
    monkeypatch.setitem(MODELS, "means", namespace["MeansSpec"])
    module = ModuleType("fivesentences.models.means")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(CLASS, str(PAGE), "exec"), vars(module))
    return module.Means


@pytest.fixture
def batch():
    torch.manual_seed(0)
    lengths = torch.tensor([3, 5, 2, 4])
    tokens = torch.randint(1, 50, (4, 5)) * (torch.arange(5) < lengths[:, None])
    return {"images": torch.randn(4, 3, 16), "caption_tokens": tokens, "caption_lengths": lengths}


def test_the_lines_of_the_page_run_and_give_every_weight_a_gradient(means, batch):
    names = {"build_model": build_model, "TripletLoss": TripletLoss, **batch}
    exec(USE, names)
    assert names["similarity"].shape == (4, 4)
    assert all(parameter.grad.isfinite().all() for parameter in names["model"].parameters())


def test_the_package_offers_its_class_like_the_others(means):
    assert models.Means is means
    with pytest.raises(AttributeError, match=r"'fivesentences\.models'.*'Mean'"):
        _ = models.Mean


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
    exec(OWN_LOSS, names)
    means.training_scores = names["training_scores"]
    model = build_model("means", image_dim=16, vocabulary_size=50, embedding=8)
    scores = model.training_scores(**batch)
    assert scores.extra.ndim == 0 and scores.ranked == ((1.0, scores.similarity),)


def test_the_study_and_the_scale_of_the_page_train_it_on_the_grid(means):
    content = yaml.safe_load((PAGE.parents[1] / "tests" / "plan" / "broad.yaml").read_text(encoding="utf-8"))
    own = {"training": content["training"] | SCALE["training"], "other_seeds": []}
    scale = Scale.model_validate(content | SCALE | own)
    runs = Plan(scale, {"mine": Study.model_validate(STUDY)}, Catalogue(datasets={})).runs.values()
    assert {(run.model.folder, run.features) for run in runs} == {
        ("means", scale.grid_features),
        ("means,pooling=max", scale.grid_features),
    }
    # An exception for a model holds for its variants.
    assert {run.model.build(image_dim=16, vocabulary_size=50).words.embedding_dim for run in runs} == {512}


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ({"name": "mean"}, "did you mean 'means'"),
        ({"name": "means", "poling": "max"}, "'poling' is no setting of the model means; did you mean 'pooling'"),
        ({"name": "means", "pooling": "median"}, "pooling is 'median'"),
        ({"name": "means", "embedding": 2048}, "embedding is a width, and widths are set by a scale"),
        ({"pooling": "max"}, "it names no model; add name, one of: .*means"),
    ],
)
def test_a_mistake_in_a_variant_ends_before_any_job(means, variant, said):
    with pytest.raises(InputError, match=rf"mine.yaml: models\.wide.*{said}") as error:
        check(Study, STUDY | {"models": {"wide": variant}}, "mine.yaml")
    assert "\n" not in str(error.value)
