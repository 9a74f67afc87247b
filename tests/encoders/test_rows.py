"""An encoder as a row of tables and figures, beside models that are trained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from fivesentences.config.reading import check, read
from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.plan.plan import plan_of
from fivesentences.study.study import Study

PROJECT = Path(__file__).parents[2]
ROW = {"role": "flickr30k", "model": "clip"}
TRAINED = {"role": "flickr30k", "loss": "hardest"}
TABLE = {
    "name": "beside",
    "kind": "runs",
    "title": "Beside",
    "caption": "A trained model and an encoder.",
    "rows": [TRAINED, ROW | {"inference": ["naive", "csls"]}],
    "columns": [{"metric": "Rsum"}, {"metric": "Nsum"}, {"metric": "R@1", "direction": "i2t"}],
}
FIGURE = {"title": "Over m", "caption": "Recall over m.", "rows": [TRAINED, ROW]}
ENCODER = {"encoder": "transformers:openai/clip-vit-base-patch32", "prompt": "a photo of {}"}
STUDY: dict[str, Any] = {
    "paper": "Encoders",
    "models": {"clip": ENCODER},
    "losses": {"hardest": {"triplet": "hardest"}},
    "labels": {"clip": "CLIP", "flickr30k": "Flickr30K", "scenes": "Scenes"},
    "tables": [TABLE],
    "figures": [FIGURE | {"name": "over_m", "kind": "semantic_recall_over_m"}],
}
CURVES = {"name": "lines", "kind": "curves", "over": "fraction", "columns": [{"metric": "Rsum"}]}


def with_row(**changes: Any) -> dict[str, Any]:
    return {"tables": [TABLE | {"rows": [ROW | changes]}]}


@pytest.mark.parametrize(
    "changes, said",
    [
        (with_row(loss="hardest"), "row of the encoder 'clip', which is not trained here, has loss; remove it"),
        (with_row(fraction=0.1), "has fraction; remove it"),
        (with_row(model=["clip", "vsepp"], loss="hardest"), "give the encoders a row of their own"),
        (with_row(model="vsepp"), "a row of vsepp has no loss; add it"),
        ({"models": {"clip": {"encoder": "open_clip:ViT-B-32"}}}, "names no weights"),
        ({"models": {"clip": {"encoder": "opencip:ViT-B-32/openai"}}}, "did you mean 'open_clip'?"),
        ({"models": {"clip": ENCODER | {"prompt": "a photo"}}}, "it has 0 places for a caption"),
        ({"models": {"clip": ENCODER | {"promt": "{}"}}}, "Did you mean 'prompt'?"),
        ({"ensembles": {"both": ["clip", "vsepp"]}}, "names the encoder 'clip'; its members are trained here"),
        ({"figures": [FIGURE | CURVES | {"rows": [ROW]}]}, "'clip' is an encoder, which is not trained here"),
    ],
)
def test_a_mistake_in_a_row_of_an_encoder_is_one_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=r"beside\.yaml") as caught:
        check(Study, STUDY | changes, "beside.yaml")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def tiny(folder: Path, content: dict[str, Any], **changes: Any) -> Path:
    """A folder with the tiny scale of the workflow's tests, whose only study is the given one; the scale's file."""
    scale = yaml.safe_load((PROJECT / "tests" / "workflow" / "tiny.yaml").read_text())
    for key in ("keep", "leave_out", "categories", "judges", "other_seeds"):
        del scale[key]
    (folder / "studies").mkdir(exist_ok=True)
    (folder / "studies" / "beside.yaml").write_text(yaml.safe_dump(content))
    (folder / "tiny.yaml").write_text(yaml.safe_dump(scale | {"studies": ["beside"], "evaluation_phis": []} | changes))
    return folder / "tiny.yaml"


def test_an_encoder_is_embedded_once_and_never_trained(tmp_path: Path) -> None:
    plan = plan_of(read(Scale, tiny(tmp_path, STUDY)), tmp_path)
    assert list(plan.encoded) == ["scenes/clip,encoder"]
    assert not any("clip" in run for run in plan.runs)
    assert plan.evaluations["scenes/encoders"].runs == ("scenes/clip,encoder",)
    assert plan.inferences["scenes/clip,encoder"] == ["naive", "csls"]
    assert plan.encoder("clip").prompt == "a photo of {}"
    alone = plan_of(read(Scale, tiny(tmp_path, STUDY, keep=[{"model": "clip"}])), tmp_path)
    assert alone.runs == {} and list(alone.encoded) == ["scenes/clip,encoder"]


def snakemake(scale: Path, directory: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "snakemake", *arguments, "-s", str(PROJECT / "workflow/Snakefile")]
    command += ["--directory", str(directory), "--workflow-profile", "none", "--cores", "2", "--configfile", str(scale)]
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.workflow
def test_an_encoder_stands_in_a_table_beside_a_trained_model(clip: Path, tmp_path: Path) -> None:
    content = STUDY | {"models": {"clip": {"encoder": f"transformers:{clip}"}}, "figures": []}
    scale = tiny(tmp_path, content)
    snakemake(scale, tmp_path, "beside")
    folder = tmp_path / "results" / "features" / "scenes" / "encoders" / "clip"
    similarity = np.load(folder / "images.npy") @ np.load(folder / "captions.npy").T
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, 0]
    recall = 100 * float(np.mean(nearest // 5 == np.arange(len(similarity))))
    table = pd.read_csv(tmp_path / "results" / "paper" / "tiny" / "beside" / "beside.csv")
    ours = table[(table.model == "clip") & (table.inference == "naive") & (table.metric == "R@1")]
    np.testing.assert_allclose(ours["mean"].astype(float), recall, atol=1e-9)
    shown = (tmp_path / "results" / "paper" / "tiny" / "beside" / "beside.md").read_text()
    assert "| CLIP | pre-trained |" in shown
    assert "pre-trained elsewhere, on other data, and on no training caption here" in shown
    content["models"]["clip"]["prompt"] = "a photo of {}"
    again = snakemake(tiny(tmp_path, content), tmp_path, "beside", "-n")
    assert "embed" in again and "train" not in again.replace("training", "")
