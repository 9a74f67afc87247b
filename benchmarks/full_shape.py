"""Peak memory, time and bytes of the stages of config/paper.yaml at the shape of Flickr30K and MS-COCO.

python benchmarks/full_shape.py [--dataset coco] [--write benchmarks/README.md]

Captions are made up, features are sparse files in the layout of `f30k_precomp` and `coco_precomp`, a similarity is
random. Each stage has a process of its own. COCO's features, 41 GB, take no disk; all else takes 2 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from captions import machine, made

ROOT = Path(__file__).resolve().parents[1]
SPLITS = {  # images
    "flickr30k": {"train": 29_000, "val": 1_014, "test": 1_000},
    "coco": {"train": 82_783, "restval": 30_504, "val": 5_000, "test": 5_000},
}
PREFIX = {"flickr30k": "f30k", "coco": "coco"}
DEV = {"flickr30k": 1_014, "coco": 1_000}  # images that the released folder has for dev
REGIONS, DIMENSIONS, GLOBAL = 36, 2_048, 4_096
BATCH, BATCHES, CACHED = 128, 40, 10_000  # CACHED: training images whose features are in the page cache, 3 GB
NESTED_MB = 300  # of the Snakemake within a job
MODELS = ("vsepp", "cvse", "vsrn", "scan", "sgr", "saf")
RULES = ("load_corpus", "describe_precomp", "prepare_cider", "score_captions", "evaluate")
STAGES = (*RULES, *(f"train {model}" for model in MODELS))
SIMILARITY = "similarity_test.npy"
MARKS = "<!-- full shape -->", "<!-- / full shape -->"

# --- files of full shape ----------------------------------------------------------------------------------------------


def make(folder: Path, dataset: str) -> None:
    """Karpathy's JSON and the precomp folder of a dataset, and a similarity of its test split."""
    sizes = SPLITS[dataset]
    captions, _ = made(sum(sizes.values()))
    texts = [captions[start : start + 5] for start in range(0, len(captions), 5)]
    splits = [split for split, size in sizes.items() for _ in range(size)]
    images = [
        {
            "cocoid": number,
            "filename": f"{number:012d}.jpg",
            "imgid": number,
            "split": split,
            "sentids": [*range(5 * number, 5 * number + 5)],
            "sentences": [
                {"raw": text, "tokens": text.split(), "sentid": 5 * number + place} for place, text in enumerate(five)
            ],
        }
        for number, (split, five) in enumerate(zip(splits, texts, strict=True))
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"dataset_{dataset}.json").write_text(json.dumps({"images": images, "dataset": dataset}))
    where = {split: [number for number, one in enumerate(splits) if one == split] for split in sizes}
    released = {
        "train": where["train"] + where.get("restval", []),
        "dev": where["val"][: DEV[dataset]],
        "test": where["test"][:1_000],
        "testall": where["test"],
    }
    precomp = folder / f"{PREFIX[dataset]}_precomp"
    precomp.mkdir(exist_ok=True)
    for split, numbers in released.items():
        (precomp / f"{split}_caps.txt").write_text("".join(f"{text}\n" for number in numbers for text in texts[number]))
        (precomp / f"{split}_ids.txt").write_text("".join(f"{number}\n" for number in numbers for _ in range(5)))
        rows = len(numbers) * (1 if split == "train" else 5)
        open_memmap(precomp / f"{split}_ims.npy", "w+", np.float32, (rows, REGIONS, DIMENSIONS))  # sparse
    rng = np.random.default_rng(0)
    np.save(folder / SIMILARITY, rng.random((sizes["test"], 5 * sizes["test"]), dtype=np.float32))


def global_features(folder: Path, image_ids: list[str]) -> Path:
    """One vector per image, as extracted features are stored."""
    import pandas as pd

    from fivesentences.features.files import write_beside

    path = folder / "global.npy"
    if not path.exists():
        open_memmap(path, "w+", np.float32, (len(image_ids), GLOBAL))
        write_beside(path, path, pd.DataFrame({"image_id": image_ids, "filename": image_ids}))
    return path


# --- stages: what the scripts of the rules do -------------------------------------------------------------------------


def load_corpus(folder: Path, dataset: str) -> dict[str, Any]:
    from fivesentences.corpus import load_karpathy

    order = "released" if dataset == "coco" else "file"
    corpus = load_karpathy(folder / f"dataset_{dataset}.json", dataset, order=order, captions_per_image=5)
    corpus.write(folder / "corpus.parquet")
    return {"unit": "caption", "units": corpus.n_captions}


def describe_precomp(folder: Path, dataset: str) -> dict[str, Any]:
    from fivesentences.corpus import Corpus
    from fivesentences.features import describe_precomp as describe

    corpus = Corpus.read(folder / "corpus.parquet")
    describe(folder, corpus, folder / "regions.json", prefix=PREFIX[dataset], testall=dataset == "coco")
    return {"unit": "caption", "units": corpus.n_captions}


def prepare_cider(folder: Path, dataset: str) -> dict[str, Any]:
    from fivesentences.corpus import Corpus
    from fivesentences.semantics import BatchCider

    train = Corpus.read(folder / "corpus.parquet").split("train")
    BatchCider(train.captions, train.image_of_caption).write(folder / "cider.npz")
    return {"unit": "caption", "units": train.n_captions}


def score_captions(folder: Path, dataset: str) -> dict[str, Any]:
    from fivesentences.corpus import Corpus
    from fivesentences.semantics import write_phi

    test = Corpus.read(folder / "corpus.parquet").split("test")
    for phi in ("cider", "tfidf"):
        write_phi(phi, test.captions, test.image_of_caption, folder / f"{phi}.npy")
    return {"unit": "million cells", "units": 2 * test.n_captions * test.n_images / 1e6}


def evaluate(folder: Path, dataset: str) -> dict[str, Any]:
    from fivesentences.reproduction.evaluation.run import Evaluated, evaluate_runs

    evaluate_runs(
        [Evaluated(spec_of("vsepp", dataset), folder / SIMILARITY)],
        corpus=folder / "corpus.parquet",
        phis=["cider", "tfidf"],
        matrices={phi: folder / f"{phi}.npy" for phi in ("cider", "tfidf")},
        out=folder / "metrics.json",
        per_image=folder / "per_image.parquet",
    )
    return {"unit": "run", "units": 1}


def spec_of(model: str, dataset: str) -> Any:
    """A run of the plan of config/paper.yaml with SAM on all captions, with words counted instead of a fetched list."""
    from fivesentences.documents import read_yaml
    from fivesentences.reproduction.plan.plan import plan_of, scale_of

    path = ROOT / "config" / "paper.yaml"
    runs = plan_of(scale_of(read_yaml(path), path), path.parent).all_runs.values()
    of_model = [run for run in runs if run.dataset == dataset and run.model.name.startswith(model)]
    one = next(run for run in of_model if run.fraction == 1.0 and "cider" in run.loss.phis)
    return one.model_copy(update={"training": one.training.model_copy(update={"vocabulary": None, "threads": 1})})


def train(folder: Path, dataset: str, model: str) -> dict[str, Any]:
    """What a run reads, some batches of it and of phi, one step, and (VSE++) the similarity of the test split."""
    import torch

    from fivesentences.corpus import Corpus
    from fivesentences.training.data import RunData
    from fivesentences.training.loop import Training, reproducible
    from fivesentences.training.scoring import similarity_of

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    spec, features = spec_of(model, dataset), folder / "regions.json"
    if spec.model.layout == "global":
        images = Corpus.read(folder / "corpus.parquet").images
        features = global_features(folder, images["image_id"].astype(str).tolist())
    with reproducible(1, torch.device("cpu")):
        began = time.process_time()
        data = RunData.read(spec, folder / "corpus.parquet", features)
        training = Training(spec, data, torch.device("cpu"), {"cider": folder / "cider.npz"})
        ready = time.process_time() - began
        rng = np.random.default_rng(0)
        captions = rng.permutation(5 * CACHED)[: BATCH * BATCHES].reshape(BATCHES, BATCH)
        for _ in range(2):  # the first time from the disk
            gathered = timed(training.loader.batches(captions))
        phis = timed(map(next(iter(training.objective._phis.values())), captions))
        batch = next(training.loader.batches(captions[:1]))
        training._train_batch(batch)
        if model == "vsepp":
            similarity_of(training.model, data.test)
    return {"unit": "run", "units": 1, "ready_s": ready, "reading_ms": 1000 * gathered, "phi_ms": 1000 * phis}


def timed(work: Iterator[Any]) -> float:
    """CPU seconds of all threads for each item."""
    began, count = time.process_time(), 0
    for _ in work:
        count += 1
    return (time.process_time() - began) / count


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "load_corpus": load_corpus,
    "describe_precomp": describe_precomp,
    "prepare_cider": prepare_cider,
    "score_captions": score_captions,
    "evaluate": evaluate,
    "train": train,
}

# --- measuring --------------------------------------------------------------------------------------------------------


def as_stage(folder: Path, dataset: str, stage: str) -> None:
    """Run one stage in this process, and print what it took as JSON."""
    peak = [0]

    def watch() -> None:
        while True:  # memory that is no file's: what a job cannot give back
            text = Path("/proc/self/status").read_text()
            peak[0] = max(peak[0], sum(int(kb) for kb in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", text, re.M)))
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()
    name, *model = stage.split()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    found = FUNCTIONS[name](folder, dataset, *model)
    written = [path for path in folder.rglob("*") if path.is_file() and before.get(path) != path.stat().st_mtime_ns]
    highest = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])
    found |= {"peak_mb": highest / 1024, "anonymous_mb": peak[0] / 1024, "cpu_s": time.process_time()}
    print(json.dumps(found | {"written_mb": sum(path.stat().st_blocks * 512 for path in written) / 1e6}))


def measured(folder: Path, dataset: str, stage: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--stage", stage, "--dataset", dataset, "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1]) | {"dataset": dataset, "stage": stage}


def requested_mb(rule: str) -> int:
    """The memory that a rule asks for at first (of ``train``: without a GPU, as it is measured)."""
    rules = "".join(path.read_text() for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")))
    found = re.search(rf"^rule {rule}:.*?mem_mb=([^\n]*)", rules, re.M | re.S)
    assert found is not None
    return int(re.findall(r"\d{3,}", found[1])[-1])


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| stage | data | peak memory, MB | of it no file's | request, MB | CPU | written, MB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        memory = row["peak_mb"], row["anonymous_mb"], requested_mb(row["stage"].split()[0])
        took = f"{row['cpu_s']:.0f} s"
        if row["units"] > 1:
            took += f", {1e6 * row['cpu_s'] / row['units']:,.0f} µs per {row['unit']}"
        if "reading_ms" in row:
            took = f"ready in {row['ready_s']:.0f} s; per batch {row['reading_ms']:.1f} ms, phi {row['phi_ms']:.1f} ms"
        cells = [
            f"`{row['stage']}`",
            row["dataset"],
            *(f"{mb:,.0f}" for mb in memory),
            took,
            f"{row['written_mb']:,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"{machine()}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="a document, whose table between its marks is replaced")
    parser.add_argument("--keep", type=Path, help="folder for the files, which are kept; made where they are missing")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--dataset", choices=[*SPLITS], help="only this one")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        as_stage(arguments.folder, arguments.dataset, arguments.stage)
        return
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for dataset in [arguments.dataset] if arguments.dataset else SPLITS:
            folder = (arguments.keep or Path(temporary)) / dataset
            if not folder.exists():
                make(folder, dataset)
            for stage in STAGES:
                rows.append(measured(folder, dataset, stage))
                print(rows[-1], flush=True)
    print(table(rows))
    if arguments.write:
        before, _, rest = arguments.write.read_text().partition(MARKS[0])
        arguments.write.write_text(before + f"{MARKS[0]}\n{table(rows)}\n{MARKS[1]}" + rest.partition(MARKS[1])[2])
    short = [row for row in rows if row["anonymous_mb"] + NESTED_MB > requested_mb(row["stage"].split()[0])]
    if short:
        raise SystemExit(f"more memory is needed than the rule asks for: {[row['stage'] for row in short]}")


if __name__ == "__main__":
    main()
