"""What jobs take from a library's cache is fetched ahead of them, by a rule that stays on the submitting machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fivesentences.documents import read_json
from random_networks import fresh
from workflow.conftest import snakemake

NOBODY = "http://127.0.0.1:9"  # a port at which no server answers


@pytest.mark.slow
@pytest.mark.workflow
def test_weights_are_fetched_by_a_rule_of_their_own_and_extraction_asks_no_server(tmp_path: Path) -> None:
    _, weights = fresh("test_resnet", tmp_path)
    # The Hub's cache as a download leaves it: without a connection, fetching is finding it there.
    repository = tmp_path / "home" / "hub" / "models--timm--test_resnet.r160_in1k"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    weights.rename(snapshot / "model.safetensors")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    scale = {
        "scale": "s",
        "title": "S",
        "roles": {"flickr30k": "scenes"},
        "datasets": {"scenes": {"loader": "scenes", "train": 4, "dev": 2, "test": 2}},
        "features": {"extractor": "test_resnet"},
        "studies": ["five_sentences"],
        "keep": [{"model": "vsepp", "loss": "hardest"}],
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scale))
    offline = {"HF_HOME": str(tmp_path / "home"), "HF_ENDPOINT": NOBODY}
    snakemake(tmp_path, "s.yaml", "features", "--cores", 1, **offline)
    fetched = read_json(tmp_path / "data/fetched/networks/test_resnet.json")
    source = read_json(tmp_path / "results/features/scenes/test_resnet-global.source.json")
    assert fetched["name"] == "timm: test_resnet.r160_in1k" and fetched == source["weights"]


def test_a_process_that_stays_offline_takes_models_from_the_cache_alone() -> None:
    code = """
from fivesentences.features import extract
from fivesentences import encoders, machine
machine.stay_offline()
from huggingface_hub import constants
print(constants.HF_HUB_OFFLINE)
"""
    environment = {key: value for key, value in os.environ.items() if key != "HF_HUB_OFFLINE"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
