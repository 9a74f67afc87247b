"""The evaluator for sentence-transformers against ``evaluate`` of what ``model.encode`` returns."""

from __future__ import annotations

import csv
import importlib
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import SequentialEvaluator

from fivesentences import evaluate
from fivesentences.errors import InputError
from fivesentences.evaluation.flat_numbers import flat_numbers
from fivesentences.evaluation.for_sentence_transformers import ImageTextEvaluator

PAGE = Path(__file__).parents[2] / "docs" / "your_model.md"


@pytest.fixture(scope="module")
def model(sentence_clip):
    return SentenceTransformer(str(sentence_clip), device="cpu")


@pytest.fixture(scope="module")
def captions():
    """Distinct ones: equal captions are ordered by rounding, which depends on the batch."""
    return [f"{first}{second}" for first in "abc" for second in "defghij"]


@pytest.fixture(scope="module")
def phi():
    return np.random.default_rng(2).random((21, 7))


def test_numbers_are_those_of_encoded_images_and_captions(model, pictures, photographs, captions, phi):
    expected = evaluate(model.encode(pictures), model.encode(captions), phis={"cider": phi}, asp_ties=())
    files = [photographs / f"{number}.png" for number in range(7)]
    for images in (pictures, files, [str(file) for file in files]):
        evaluator = ImageTextEvaluator(images, captions, {"cider": phi}, batch_size=3, asp_ties=())
        assert evaluator(model) == pytest.approx(flat_numbers(expected))
    assert evaluator.primary_metric == "Rsum" and evaluator(model)["Rsum"] == pytest.approx(expected["Rsum"])


def test_names_begin_with_the_prefix_and_another_number_may_choose_the_model(model, pictures, captions):
    owners = np.arange(21) % 7
    evaluator = ImageTextEvaluator(pictures, captions, image_of_caption=owners, name="dev")
    expected = evaluate(model.encode(pictures), model.encode(captions), image_of_caption=owners)
    found = SequentialEvaluator([evaluator])(model)
    assert found["dev_t2i_R@5"] == pytest.approx(expected["R@5", "t2i"])
    assert found["sequential_score"] == found["dev_Rsum"]
    evaluator.primary_metric = "dev_i2t_R@1"
    assert SequentialEvaluator([evaluator])(model)["sequential_score"] == found["dev_i2t_R@1"]
    evaluator.primary_metric = "dev_i2t_R@2"
    with pytest.raises(InputError, match="dev_i2t_R@2"):
        evaluator(model)


def test_a_file_that_is_missing_or_no_image_is_named(model, captions, photographs, tmp_path):
    with pytest.raises(InputError, match=r"none\.png"):
        ImageTextEvaluator([photographs / "0.png", "none.png"], captions)
    (tmp_path / "text.png").write_text("a dog")
    with pytest.raises(InputError, match=r"text\.png"):
        ImageTextEvaluator([str(tmp_path / "text.png")] * 7, captions)(model)


def test_the_example_of_the_page_runs(sentence_clip, photographs, captions, phi, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sentence_clip, "clip-ViT-B-32")
    (example,) = re.findall(r"```python\n([^`]+?ImageTextEvaluator.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {"images": [photographs / f"{number}.png" for number in range(7)], "captions": captions, "phi": phi}
    exec(example, names)
    names["evaluator"](names["model"], "results", epoch=1, steps=20)
    with Path("results/Image-Text_evaluation_dev_results.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["epoch"], second["steps"]) == ("-1", "20")
    assert float(second["Rsum"]) == names["scores"]["dev_Rsum"]


def test_without_sentence_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.delitem(sys.modules, "fivesentences.evaluation.for_sentence_transformers")
    with pytest.raises(InputError, match=r"\[encoders\]"):
        importlib.import_module("fivesentences.evaluation.for_sentence_transformers")
