"""The workflow: every scale has a DAG, mistakes end before a job, and a tiny scale runs from end to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

from fivesentences.config.reading import read
from fivesentences.config.scales import Scale
from fivesentences.evaluation.tidy import VALUE_COLUMNS
from fivesentences.plan.plan import plan_of

PROJECT = Path(__file__).parents[2]

RUN = "triplet=hardest,margin=0.2/fraction=1/seed=0"

pytestmark = pytest.mark.workflow


def snakemake(*arguments: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", *arguments]
    if directory is not None:
        command += ["-s", str(PROJECT / "Snakefile"), "--directory", str(directory), "--workflow-profile", "none"]
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)


def jobs(output: str) -> dict[str, int]:
    """Rule and number of jobs from the statistics that Snakemake prints."""
    found = [line.split() for line in output.splitlines()]
    return {words[0]: int(words[1]) for words in found if len(words) == 2 and words[1].isdigit()}


def test_a_bare_snakemake_makes_the_page_of_the_demo_and_its_listing_names_stages(tmp_path: Path) -> None:
    done = snakemake("-n", directory=tmp_path)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "results/paper/demo/index.html" in output
    assert jobs(output)["train"] == 8


def test_a_mistake_in_the_configuration_ends_before_any_job(tmp_path: Path) -> None:
    content = yaml.safe_load((PROJECT / "config" / "demo.yaml").read_text())
    content["training"]["epoch"] = 3
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    done = snakemake("--cores", "1", "--configfile", str(tmp_path / "mine.yaml"), directory=tmp_path)
    assert done.returncode == 1
    output = done.stdout + done.stderr
    assert "mine.yaml: training.epoch is not a known key. Did you mean 'epochs'?" in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


def test_a_tiny_scale_runs_from_scenes_to_pages_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    scale = Path(__file__).with_name("tiny.yaml")
    done = snakemake("--cores", "2", "--configfile", str(scale), directory=tmp_path)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    results = tmp_path / "results"
    paper = results / "paper" / "tiny"
    for suffix in ("csv", "md", "tex", "html"):
        assert (paper / "five_sentences" / f"table2.{suffix}").stat().st_size > 0
        assert (paper / "knn_margin" / f"table1.{suffix}").stat().st_size > 0
    for features in ("grid_descriptors-global", "grid_descriptors-grid"):
        assert (paper / "features" / "scenes" / f"{features}.png").read_bytes().startswith(b"\x89PNG")
    assert "What grid_descriptors-global holds near each other" in (paper / "index.html").read_text()
    figures = {"five_sentences": ("figure1", "figure3", "judged", "best_captions", "phi_histogram")}
    for study, names in (figures | {"knn_margin": ("hubness",), "metric_agreement": ("agreement",)}).items():
        for figure in names:
            assert (paper / study / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    by_inference = pd.read_csv(paper / "knn_margin" / "table4.csv")
    assert set(by_inference.inference) == {"naive", "inverted_softmax", "csls", "assignment"}
    assert pd.read_csv(paper / "knn_margin" / "table5.csv").metric.str.startswith("hubs").all()
    semantic = pd.read_csv(paper / "daa_supp" / "table1.csv")
    assert semantic.loc[semantic.metric.isin(["ASP", "PMRP"]) & semantic.row.eq("ours"), "mean"].between(0, 100).all()
    agreement = pd.read_csv(paper / "five_sentences" / "table1.csv")
    assert set(agreement.judge) == {"scenes_truth"}
    assert agreement.loc[agreement.phi == "spice", "value"].between(0, 1).all()
    assert "Table 2" in (paper / "five_sentences" / "index.html").read_text()
    tidy = pd.read_parquet(results / "evaluation" / "tiny.parquet")
    assert tidy.run.nunique() == len(plan_of(read(Scale, scale), scale.parent).runs) + 1  # SGRAF, an ensemble
    rsum = tidy.query("metric == 'Rsum' and inference == 'naive'").set_index("run").value
    files = sorted((results / "evaluation" / "jobs").rglob("*.per_image.parquet"))
    per_image = pd.concat(pd.read_parquet(file) for file in files).groupby("run")["Rsum"]
    assert (per_image.size() == 20).all()
    np.testing.assert_allclose(per_image.mean().loc[rsum.index], rsum, atol=1e-3)
    paired = pd.read_csv(paper / "contrasts" / "paired.csv").query("statistic == 'difference' and metric == 'Rsum'")
    assert (paired.low < paired.value).tolist() == [True, True, False, False]  # at 10% two seeds, at 100% one
    assert (paper / "contrasts" / "forest.png").stat().st_size > 10_000
    members = [np.load(results / f"training/scenes/{model}/{RUN}/similarity_test.npy") for model in ("sgr", "saf")]
    mean = np.load(results / f"training/scenes/sgraf,ensemble/{RUN}/similarity_test.npy")
    np.testing.assert_allclose(mean, np.mean(members, axis=0), rtol=1e-6)
    full = pd.read_csv(paper / "five_sentences" / "table3.csv")
    assert {"sgraf", "vsepp"} <= set(full[full.row.eq("ours")].model) and full.published_row.notna().any()
    fewer = pd.read_csv(paper / "daa_supp" / "table2.csv")
    assert set(fewer[fewer.row.eq("ours")].captions_per_image.dropna()) == {1}
    assert not tidy.duplicated(["run", *(name for name in VALUE_COLUMNS if name != "value")]).any()
    assert tidy[tidy.metric.isin(["Rsum", "Nsum"])].value.between(0, 600).all()
    assert "Traceback" not in "".join(path.read_text() for path in (tmp_path / "logs").rglob("*.log"))

    again = snakemake("--cores", "2", "--configfile", str(scale), directory=tmp_path)
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr

    # A job that is repeated trains nothing that is finished, and writes the same record.
    record = results / "training/jobs/scenes/vsepp/1.json"
    before, weights = record.read_bytes(), results / f"training/scenes/vsepp/{RUN}/weights.safetensors"
    written = weights.stat().st_mtime_ns
    repeated = snakemake("runs", "-R", "train", "--cores", "2", "--configfile", str(scale), directory=tmp_path)
    assert repeated.returncode == 0, (repeated.stdout + repeated.stderr)[-4000:]
    assert record.read_bytes() == before and weights.stat().st_mtime_ns == written


def test_a_precomp_folder_trains_models_of_regions(tmp_path: Path) -> None:
    copy_project(tmp_path)
    folder, rng = tmp_path / "f30k_precomp", np.random.default_rng(0)
    folder.mkdir()
    for split, images in (("train", 20), ("dev", 6), ("test", 6)):
        words = rng.choice(["dog", "cat", "boat", "tree", "girl", "boy"], size=(images, 5, 3))
        captions = [" ".join(["a", *caption]) for image in words for caption in image]
        (folder / f"{split}_caps.txt").write_text("".join(f"{caption}\n" for caption in captions))
        features = rng.normal(size=(images, 4, 7)).astype(np.float32)
        np.save(folder / f"{split}_ims.npy", features if split == "train" else features.repeat(5, axis=0))
    rows = [{"role": "r", "model": ["scan_i2t", "cvse"], "loss": "sam"}]
    scale = {
        "scale": "s",
        "title": "S",
        "roles": {"r": "f30k"},
        "datasets": {"f30k": {"loader": "precomp", "folder": str(folder)}},
        "features": {"extractor": "bottom_up", "layout": "grid", "dimensions": 5},
    }
    make(tmp_path, scale, rows, "t")
    assert set(pd.read_csv(tmp_path / "results/paper/s/p/t.csv").model) == {"scan_i2t", "cvse"}
    assert (tmp_path / "results/training/f30k/scan,direction=i2t+sam").is_dir()
    assert (tmp_path / "results/semantics/f30k/train/cider,fraction=1.npz").is_file()


def test_regions_of_a_detector_are_made_in_parts_trained_on_and_shown(tmp_path: Path) -> None:
    copy_project(tmp_path)
    torch.manual_seed(0)
    module = fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None)
    torch.save(module.state_dict(), tmp_path / "detector.pth")
    detector = {"extractor": "faster_rcnn", "weights": str(tmp_path / "detector.pth"), "layout": "regions"}
    scale = {
        "scale": "s",
        "title": "S",
        "roles": {"r": "scenes"},
        "datasets": {"scenes": {"loader": "scenes", "seed": 7, "train": 8, "dev": 3, "test": 4}},
        "features": {"extractor": "grid_descriptors"},
        "grid_features": detector | {"regions": 4, "short": 48, "long": 64, "prepare": "as_stored", "parts": 2},
    }
    make(tmp_path, scale, [{"role": "r", "model": "scan_i2t", "loss": "sam"}])
    name = "faster_rcnn@detector-regions4-48x64"
    stem = tmp_path / "results" / "features" / "scenes" / name
    assert np.load(f"{stem}.npy").shape == (15, 4, 1024)
    boxes = pd.read_parquet(f"{stem}.regions.parquet")
    assert boxes.image_id.nunique() == 15 and (boxes.x1 < boxes.x2).all()
    picture = tmp_path / "results" / "paper" / "s" / "features" / "scenes" / f"{name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert name in (tmp_path / "results/paper/s/index.html").read_text()


def copy_project(folder: Path) -> None:
    for name in ("Snakefile", "workflow", "config"):
        source = PROJECT / name
        shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)


def make(folder: Path, scale: dict[str, Any], rows: list[dict[str, Any]], *targets: str) -> None:
    """Run a scale whose only table has these rows, in a copy of the project."""
    study = {
        "paper": "P",
        "losses": {"sam": {"sam": {}}},
        "models": {"scan_i2t": {"name": "scan", "direction": "i2t"}},
        "tables": [
            {"name": "t", "kind": "runs", "title": "T", "caption": "C", "rows": rows, "columns": [{"metric": "Rsum"}]}
        ],
    }
    training = {"widths": {"embedding": 8, "word": 6}, "epochs": 1, "batch_size": 16, "min_word_count": 1}
    (folder / "config/studies/p.yaml").write_text(yaml.safe_dump(study))
    (folder / "s.yaml").write_text(yaml.safe_dump(scale | {"training": training, "studies": ["p"]}))
    command = [sys.executable, "-m", "snakemake", *targets, "--cores", "2", "--workflow-profile", "none"]
    done = subprocess.run([*command, "--configfile", "s.yaml"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_every_rule_says_what_it_does_and_leaves_a_log_and_a_benchmark() -> None:
    for path in (PROJECT / "workflow" / "rules").glob("*.smk"):
        text = path.read_text()
        rules = text.count("\nrule ")
        for directive in ("message:", "log:", "benchmark:", "mem_mb=", "runtime="):
            assert text.count(directive) >= rules, f"{path.name}: {directive}"
