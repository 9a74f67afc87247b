"""The header of a model card, read by huggingface_hub again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fivesentences.evaluation.protocols import PROTOCOLS, Protocol

hub = pytest.importorskip("huggingface_hub")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PROTOCOLS, "flickr8k", Protocol("flickr8k", 20, 100, 20, 1, "twenty images", "flickr8k"))
    rng = np.random.default_rng(0)
    np.save("sims.npy", rng.random((20, 100)))
    np.save("cider.npy", rng.random((100, 20)))


def test_every_number_is_read_back_under_a_name_of_its_own(run):
    given = ("--dataset", "flickr8k", "--phi", "cider.npy", "--json", "o.json", "--model-card", "README.md")
    assert run("evaluate", "ours=sims.npy", *given).code == 0
    data = hub.ModelCard.load("README.md").data
    values = json.loads(Path("o.json").read_text())["values"]
    expected = [(value["metric"], round(value["value"], 4)) for value in values if value["value"] is not None]
    assert [(one.metric_type, one.metric_value) for one in data.eval_results] == expected
    assert len({one.metric_name for one in data.eval_results}) == len(expected) > 30
    assert "R@1 i2t" in {one.metric_name for one in data.eval_results}
    assert data.model_name == "ours"
    assert {(one.dataset_type, one.dataset_revision, one.dataset_split) for one in data.eval_results} == {
        ("flickr8k", None, None)
    }


def test_a_rescored_similarity_is_named(run):
    given = ("--dataset", "flickr8k", "--inference", "csls,k=3", "--model-card", "README.md")
    assert run("evaluate", "sims.npy", *given).code == 0
    assert {one.metric_args["inference"] for one in hub.ModelCard.load("README.md").data.eval_results} == {
        "csls, k = 3"
    }


def test_it_is_about_one_model_on_a_data_set(run):
    np.save("other.npy", np.load("sims.npy")[::-1])
    for given in (("sims.npy",), ("sims.npy", "other.npy", "--dataset", "flickr8k")):
        assert run("evaluate", *given, "--model-card", "README.md").code == 1 and not Path("README.md").exists()
