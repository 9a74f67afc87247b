"""The workflow: every scale has a DAG, mistakes end before a job, and a tiny scale runs from end to end."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from fivesentences.corpus import Corpus
from fivesentences.documents import read_json
from fivesentences.reproduction.evaluation.tidy import VALUE_COLUMNS
from fivesentences.semantics import prepare, read_phi
from workflow.conftest import MICRO, PROJECT, jobs, said, snakemake

DEMO = PROJECT / "config" / "demo.yaml"
RUN = "triplet=hardest,margin=0.2/fraction=1/seed=0"

pytestmark = pytest.mark.workflow


def test_a_bare_snakemake_makes_the_page_of_the_demo_and_its_listing_names_stages(tmp_path: Path) -> None:
    listed = [
        said(PROJECT, "snakemake", "-n", *file, "--directory", tmp_path, "--workflow-profile", "none")
        for file in ((), ("-s", PROJECT / "workflow/Snakefile"))
    ]
    assert (PROJECT / "Snakefile").is_file() and "results/paper/demo/index.html" in listed[0]
    assert jobs(listed[0]) == jobs(listed[1]) and jobs(listed[0])["train"] > 0


def test_a_mistake_in_the_configuration_ends_before_any_job(tmp_path: Path) -> None:
    content = yaml.safe_load(DEMO.read_text())
    content["training"]["epoch"] = 3
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    output = snakemake(tmp_path, "mine.yaml", "--cores", 1, code=1)
    assert "mine.yaml: training.epoch is not a known key. Did you mean 'epochs'?" in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_jobs_run_by_a_python_whose_path_has_a_space(tmp_path: Path) -> None:
    python = tmp_path / "my programs" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    command = (python, "-m", "snakemake", "--cores", 1, "corpora", "-s", PROJECT / "workflow/Snakefile")
    command += ("--workflow-profile", "none", "--configfile", PROJECT / "tests/workflow/micro.yaml")
    said(tmp_path, *command, PYTHONPATH=f"{PROJECT / 'src'}{os.pathsep}{sysconfig.get_path('purelib')}")
    assert (tmp_path / "results/corpus/scenes.parquet").is_file()


@pytest.mark.slow
def test_files_of_wikipedia_that_a_person_or_a_mirror_has_go_before_its_archive(tmp_path: Path) -> None:
    wikipedia = PROJECT / "config" / "wikipedia.yaml"
    planned = jobs(snakemake(tmp_path, wikipedia, "-n", FIVESENTENCES_MIRROR=""))
    assert planned["keep_documents"] == planned["download"] == 1
    for name in ("categories.list", "raw_features.mat", "testset_txt_img_cat.list", "trainset_txt_img_cat.list"):
        (path := tmp_path / "data" / "wikipedia" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    planned = jobs(snakemake(tmp_path, wikipedia, "-n", FIVESENTENCES_MIRROR=""))
    assert planned["keep_documents"] == 1 and "download" not in planned


@pytest.mark.slow
def test_a_run_ends_before_any_job_where_a_person_must_agree_first_and_a_dry_run_lists_the_jobs(tmp_path: Path) -> None:
    paper = PROJECT / "config" / "paper.yaml"
    line = "flickr30k: {terms: 'https://forms.illinois.edu/sec/229675', date: "
    dry = snakemake(tmp_path, paper, "-n", FIVESENTENCES_MIRROR="")
    assert dry.count(line) == 1 and jobs(dry)["download"] > 10 and jobs(dry)["make_page"] == 1
    ended = snakemake(tmp_path, paper, "--cores", 1, code=1, FIVESENTENCES_MIRROR="")
    assert line in ended and not list(tmp_path.glob("data/*/*"))


@pytest.mark.slow
def test_rows_whose_data_are_not_here_end_the_planning_or_leave_their_tables(tmp_path: Path) -> None:
    nus_wide = {"loader": "nus_wide", "folder": "mine/nus_wide", "divisions": {"printed": {"validation": 9, "test": 9}}}
    content = {
        "extends": str(PROJECT / "tests/workflow/micro.yaml"),
        "studies": ["five_sentences", "sched_sam"],
        "only": ["five_sentences/table3", "sched_sam/table2"],
        "categories": {"roles": {"nus_wide": "nus_wide"}, "documents": {"nus_wide": nus_wide}, "seeds": [0]},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    named = snakemake(tmp_path, "mine.yaml", "-n", code=1)
    assert "mine/nus_wide is not here, and no rule makes it" in named and "--config absent=leave_out" in named
    content["datasets"] = {"mine": {"loader": "folder", "photographs": "images", "captions": "captions.csv"}}
    content |= {"roles": {"coco": "mine"}, "absent": "leave_out"}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    said = snakemake(tmp_path, "mine.yaml", "--cores", 1)
    lines = [line for line in said.splitlines() if line.startswith("absent: ")]
    assert [line.split(" left out")[0] for line in lines] == [
        "absent: All of mine is",
        "absent: The documents nus_wide are",
    ]
    paper = tmp_path / "results/paper/micro"
    notes = read_json(paper / "five_sentences/table3.json")["notes"]
    assert any("no data for MS-COCO" in note and "captions.csv is not here" in note for note in notes), notes
    notes = read_json(paper / "sched_sam/table2.json")["notes"]
    assert any("mine/nus_wide is not here" in note for note in notes), notes
    page = (paper / "index.html").read_text()
    assert all(line.removeprefix("absent: ") in page for line in lines)
    assert jobs(snakemake(tmp_path, "mine.yaml", "-n")) == {}


@pytest.mark.slow
def test_a_scale_is_made_from_scenes_to_pages_and_then_has_nothing_to_do(micro: Path) -> None:
    results, paper = micro / "results", micro / "results/paper/micro"
    full = pd.read_csv(paper / "five_sentences" / "table3.csv")
    assert set(full[full.row.eq("ours")].model) == {"vsepp", "chance"} and full.published_row.notna().any()
    paired = pd.read_csv(paper / "contrasts" / "paired.csv").query("statistic == 'difference'")
    assert paired.value.notna().all() and (paper / "five_sentences/figure3.svg").read_bytes().startswith(b"<svg")
    tidy = pd.read_parquet(results / "evaluation" / "micro.parquet")
    assert not tidy.duplicated(["run", *(name for name in VALUE_COLUMNS if name != "value")]).any()
    rsum = tidy.query("metric == 'Rsum' and inference == 'naive'").set_index("run").value
    per_image = pd.concat(map(pd.read_parquet, (results / "evaluation/jobs").rglob("*.per_image.parquet")))
    np.testing.assert_allclose(per_image.groupby("run")["Rsum"].mean().loc[rsum.index], rsum, atol=1e-3)
    assert "Traceback" not in "".join(path.read_text() for path in (micro / "logs").rglob("*.log"))
    assert "Nothing to be done" in said(micro, "snakemake", "--cores", 2, "--configfile", MICRO)


@pytest.mark.slow
def test_a_phi_of_vectors_is_made_of_captions_that_a_rule_encodes_once(micro: Path, tmp_path: Path) -> None:
    shutil.copytree(micro / "results" / "corpus", tmp_path / "results" / "corpus")
    name = "embedding:wordllama-max"
    output = snakemake(tmp_path, micro / MICRO, f"results/semantics/scenes/test/{name}.npy", "--cores", 1)
    assert (jobs(output)["encode_captions"], jobs(output)["score_captions"]) == (1, 1)
    test = Corpus.read(tmp_path / "results/corpus/scenes.parquet").split("test")
    matrix = read_phi(tmp_path / f"results/semantics/scenes/test/{name}.npy", test.captions, test.image_of_caption)
    cells = prepare(name, test.captions, test.image_of_caption).score(np.arange(test.n_captions))
    np.testing.assert_allclose(matrix, cells, atol=1e-6)


@pytest.mark.slow
def test_a_job_that_is_repeated_trains_nothing_that_is_finished_and_writes_the_same_record(
    micro: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(micro, tmp_path / "copy", symlinks=True)
    record = folder / "results/training/jobs/scenes/vsepp/1.json"
    weights = folder / f"results/training/scenes/vsepp/{RUN}/weights.safetensors"
    before, written = record.read_bytes(), weights.stat().st_mtime_ns
    said(folder, "snakemake", "runs", "-R", "train", "--cores", 1, "--configfile", MICRO)
    assert record.read_bytes() == before and weights.stat().st_mtime_ns == written


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_scale_for_gpus_ends_before_any_job_where_there_is_none_unless_its_runs_are_trained(
    micro: Path, tmp_path: Path
) -> None:
    scale, gpu = PROJECT / "tests/workflow/micro.yaml", ("--config", "training={gpu: true}")
    assert jobs(snakemake(tmp_path, scale, "-n", *gpu))["train"] == 1  # on another machine there may be one
    output = snakemake(tmp_path, scale, "--cores", 1, *gpu, code=1)
    sentence = "the scale says gpu: true, and torch .* finds none; install torch for the driver that nvidia-smi shows"
    assert re.search(sentence, output) and "Traceback" not in output
    assert not list((tmp_path / "results").rglob("*.parquet"))  # no scenes were drawn
    snakemake(tmp_path, scale, "features", "--cores", 1, *gpu)  # of an extractor without a network
    folder = shutil.copytree(micro, tmp_path / "copy", symlinks=True)
    said(folder, "snakemake", "runs", "-R", "train", "--cores", 1, "--configfile", MICRO, *gpu)


@pytest.mark.slow
def test_a_copy_with_times_has_nothing_to_do_and_a_figure_is_drawn_again_by_name(micro: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    said(tmp_path, "cp", "-a", micro, folder)
    assert jobs(said(folder, "snakemake", "-n", "--configfile", MICRO)) == {}
    figure, named = folder / "results/paper/micro/five_sentences/figure3.svg", ("figure3", "-R", "plot_figure")
    before, written = figure.read_bytes(), figure.stat().st_mtime_ns
    assert jobs(said(folder, "snakemake", *named, "-n", "--configfile", MICRO)) == {"plot_figure": 1, "figure3": 1}
    said(folder, "snakemake", *named, "--cores", 1, "--configfile", MICRO)
    assert figure.stat().st_mtime_ns > written and figure.read_bytes() == before


@pytest.mark.slow
def test_the_last_line_of_a_run_names_the_page_that_it_made(micro: Path) -> None:
    page = "results/paper/micro/index.html"
    ends = [
        said(micro, "snakemake", *target, "--cores", 1, "--configfile", MICRO).strip().splitlines()[-1]
        for target in (("-f", page), ("-f", "corpora"))
    ]
    assert page in ends[0] and page not in ends[1]


@pytest.mark.slow
def test_a_precomp_folder_trains_models_of_regions(tmp_path: Path) -> None:
    folder, rng = tmp_path / "f30k_precomp", np.random.default_rng(0)
    folder.mkdir()
    for split, images in (("train", 20), ("dev", 6), ("test", 6)):
        words = rng.choice(["dog", "cat", "boat", "tree", "girl", "boy"], size=(images, 5, 3))
        captions = [" ".join(["a", *caption]) for image in words for caption in image]
        (folder / f"{split}_caps.txt").write_text("".join(f"{caption}\n" for caption in captions))
        features = rng.normal(size=(images, 4, 7)).astype(np.float32)
        np.save(folder / f"{split}_ims.npy", features if split == "train" else features.repeat(5, axis=0))
    rows = [{"role": "r", "model": "scan_i2t", "loss": "sam"}]
    scale = {
        "roles": {"r": "f30k"},
        "datasets": {"f30k": {"loader": "precomp", "folder": str(folder)}},
        "features": {"extractor": "bottom_up", "layout": "grid", "dimensions": 5},
    }
    make(tmp_path, scale, rows, "runs")
    assert (tmp_path / "results/training/f30k/scan,direction=i2t+sam").is_dir()
    assert (tmp_path / "results/semantics/f30k/train/cider,fraction=1.npz").is_file()


def make(folder: Path, scale: dict[str, Any], rows: list[dict[str, Any]], target: str) -> None:
    """Make a target of a scale whose only table has these rows."""
    table = {"name": "t", "kind": "runs", "title": "T", "caption": "C", "rows": rows, "columns": [{"metric": "Rsum"}]}
    models = {"scan_i2t": {"name": "scan", "direction": "i2t"}}
    study = {"paper": "P", "losses": {"sam": {"sam": {}}}, "models": models, "tables": [table]}
    training = {"widths": {"embedding": 8, "word": 6}, "epochs": 1, "batch_size": 16, "min_word_count": 1}
    (folder / "studies").mkdir()
    (folder / "studies/p.yaml").write_text(yaml.safe_dump(study))
    whole = {"scale": "s", "title": "S", "training": training, "studies": ["p"]} | scale
    (folder / "s.yaml").write_text(yaml.safe_dump(whole))
    snakemake(folder, "s.yaml", target, "--cores", 2)
