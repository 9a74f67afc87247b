"""CPU seconds and peak memory of recall and NCS as galleries grow, beside what people use today on the same arrays.

    python benchmarks/gallery_cost.py --folder FOLDER --write benchmarks/README.md
    python benchmarks/gallery_cost.py --images 200 1000 --out cost.json        # a minute
    python benchmarks/gallery_cost.py --images --draw docs/images/gallery_cost.svg --write benchmarks/README.md

For n images and 5 n captions, float32 embeddings of 512 numbers, every program has a process of its own on one core,
then on two, whose whole cost is counted: start, reading, arithmetic. Rivals report recall only; none has NCS. The bare
product, 2 n m d operations in tiles, is the limit of any exact program. All recalls must agree, or the command fails.

Captions are Flickr30K's if FIVESENTENCES_MIRROR has them, beyond its 31,014 images spliced from two of its images;
otherwise generated. faiss and ranx are installed into FOLDER/rivals. Every finished cell is kept in the JSON, and a
later call goes on from there; --again NAME measures a program anew. A program that needs more memory than is left is
not run, and one that exceeds it or --limit-s is stopped; the cell says so. --share 0.05 runs a fortieth and a twentieth
of the queries where a program can, and extends the line through both: its start is what preparing costs, once, and its
slope what queries cost. Ours then writes a part (--queries), so that joining the parts is not counted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
IMAGES = (1_000, 5_000, 31_000, 113_200)
DIMENSIONS, PER_IMAGE, KS, SEED = 512, 5, (1, 5, 10), 0
LISTED = {"eccv": 50, "faiss": 15}  # items of each list: eccv-caption's example asks for 50
BATCH = 64  # CLIP_benchmark's default
REPEAT_UP_TO, REPEAT = 5_000, 3  # of the processes of a small size, the one of median CPU time counts
GB = 1e9
MARKS = "<!-- gallery cost -->", "<!-- / gallery cost -->"


class Contestant(NamedTuple):
    """A program that is measured.

    Attributes:
        label: Its name in tables.
        bytes_needed: Memory for n images, as far as arrays alone say; 0 where unknown.
        parts: True if it can answer a share of the queries.
    """

    label: str
    bytes_needed: Callable[[int], float]
    parts: bool = False


def arrays(n: int) -> float:
    return 4.0 * DIMENSIONS * (1 + PER_IMAGE) * n


def cells(n: int) -> float:
    return 1.0 * PER_IMAGE * n * n


CONTESTANTS = {
    "product": Contestant("bare product, 2nmd", arrays, parts=True),
    "ours": Contestant("ours: recall, NCS by two phi", arrays, parts=True),
    "ours_recall": Contestant("ours: recall alone", arrays, parts=True),
    "faiss": Contestant("faiss, flat index", lambda n: 2 * arrays(n), parts=True),
    "ranx": Contestant("ranx, on lists of faiss (not counted)", lambda n: 0),
    # The whole similarity, a boolean of each pair, and two integers of each item of a batch's lists.
    "clip": Contestant(
        "CLIP_benchmark's way", lambda n: arrays(n) + 5 * cells(n) + 16.0 * BATCH * max(KS) * PER_IMAGE * n
    ),
    "eccv": Contestant(
        "eccv-caption's way", lambda n: arrays(n) + 4 * cells(n) + 16.0 * LISTED["eccv"] * (1 + PER_IMAGE) * n
    ),
}
OURS = ("ours", "ours_recall")
IN_RIVALS = {"faiss": "faiss-cpu", "ranx": "ranx"}  # installed beside the project, not into it

# --- what is scored ---------------------------------------------------------------------------------------------------


def captions_of(n: int) -> tuple[str, list[str]]:
    """Where captions come from, and five for each of n images."""
    from captions import made
    from fivesentences.corpus import load_karpathy

    archive = Path(os.environ.get("FIVESENTENCES_MIRROR", "")) / "flickr30k" / "flickr30k.zip"
    if not archive.is_file():
        return "generated", made(n)[0]
    corpus = load_karpathy(archive, "flickr30k")
    of_image: list[list[str]] = [[] for _ in range(corpus.n_images)]
    for text, image in zip(corpus.captions, corpus.image_of_caption, strict=True):
        of_image[image].append(" ".join(text.split()))
    known = [five for five in of_image if len(five) == PER_IMAGE]
    captions = [text for five in known[:n] for text in five]
    if n <= len(known):
        return "Flickr30K", captions
    rng = np.random.default_rng(SEED)
    for first, second in rng.integers(len(known), size=(n - len(known), 2)):
        for start, end in zip(known[first], known[second], strict=True):
            words, others = start.split(), end.split()
            captions.append(" ".join(words[: (len(words) + 1) // 2] + others[len(others) // 2 :]))
    return f"Flickr30K, spliced beyond {len(known):,} images", captions


def meaning(captions: list[str], rng: np.random.Generator) -> np.ndarray:
    """One vector per image of the words of its captions, rare words more, each dimension of variance 1."""
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {}
    images, words = [], []
    for place, text in enumerate(captions):
        for word in {*text.lower().split()}:
            images.append(place // PER_IMAGE)
            words.append(numbers.setdefault(word, len(numbers)))
    counts = csr_array((np.ones(len(words), np.float32), (images, words)))
    idf = np.log(len(captions) / np.bincount(words)).astype(np.float32)
    vectors = counts @ (rng.standard_normal((len(numbers), DIMENSIONS), dtype=np.float32) * idf[:, None])
    return (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)


def make(folder: Path, n: int) -> None:
    """Captions and embeddings whose images and captions share a vector that half follows the words."""
    folder.mkdir(parents=True, exist_ok=True)
    source, captions = captions_of(n)
    (folder / "captions.txt").write_text("".join(f"{text}\n" for text in captions), encoding="utf-8")
    rng = np.random.default_rng([SEED, n])
    spectrum = np.arange(1, DIMENSIONS + 1, dtype=np.float32) ** np.float32(-0.25)

    def noise(rows: int, low: float, high: float) -> np.ndarray:
        """Gaussian vectors, of some rows much longer than of others: some queries are easy."""
        length = np.exp(rng.uniform(np.log(low), np.log(high), size=(rows, 1))).astype(np.float32)
        return length * rng.standard_normal((rows, DIMENSIONS), dtype=np.float32) * spectrum

    shared = 0.7 * (meaning(captions, rng) * spectrum + noise(n, 1, 1))
    for name, vectors in (
        ("images", shared + noise(n, 0.5, 12)),
        ("texts", np.repeat(shared, PER_IMAGE, axis=0) + noise(PER_IMAGE * n, 1, 4)),
    ):
        np.save(folder / f"{name}.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    (folder / "source.txt").write_text(source)


# --- what others do ---------------------------------------------------------------------------------------------------


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    return np.load(folder / "images.npy"), np.load(folder / "texts.npy")


def recall_of_lists(i2t: np.ndarray, t2i: np.ndarray) -> list[float]:
    """Percent of queries with an own item among the first k, by images and then by captions."""
    own = i2t // PER_IMAGE == np.arange(len(i2t))[:, None], t2i == np.arange(len(t2i))[:, None] // PER_IMAGE
    return [100 * float(hits[:, :k].any(axis=1).mean()) for hits in own for k in KS]


def product(folder: Path, share: float) -> dict[str, Any]:
    """The product of both arrays in tiles that stay in the cache, and its rate without the start."""
    images, texts = read(folder)
    queries, tile = round(share * len(images)), np.empty((1024, 2048), np.float32)
    began = time.process_time(), time.perf_counter()
    for row in range(0, queries, 1024):
        part = images[row : min(row + 1024, queries)]
        for column in range(0, len(texts), 2048):
            other = texts[column : column + 2048]
            np.matmul(part, other.T, out=tile[: len(part), : len(other)])
    cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
    operations = 2.0 * queries * len(texts) * DIMENSIONS
    return {"operations_per_cpu_s": operations / cpu, "operations_per_s": operations / wall}


def faiss(folder: Path, share: float) -> dict[str, Any]:
    """The nearest items of both directions from a flat index of inner products."""
    import faiss as library

    images, texts = read(folder)
    found = []
    for queries, items in ((images, texts), (texts, images)):
        index = library.IndexFlatIP(DIMENSIONS)
        index.add(items)
        found += index.search(queries[: round(share * len(queries))], LISTED["faiss"])
    np.savez(folder / "lists.npz", i2t_scores=found[0], i2t=found[1], t2i_scores=found[2], t2i=found[3])
    return {"recall": recall_of_lists(found[1], found[3])}


def ranx(folder: Path, share: float) -> dict[str, Any]:
    """Hit rates of lists; its "recall" is the share of a query's items.

    Names have one width: ranx compiles its functions, half a minute, for each width of the longest name.
    """
    from ranx import Qrels, Run, evaluate

    lists, recall = np.load(folder / "lists.npz"), []
    names = [f"{number:07}" for number in range(len(lists["t2i"]))]
    for side in ("i2t", "t2i"):
        items, scores = (lists[name][:, : max(KS)].tolist() for name in (side, f"{side}_scores"))
        run = {
            names[query]: {names[item]: score for item, score in zip(*row, strict=True)}
            for query, row in enumerate(zip(items, scores, strict=True))
        }
        if side == "i2t":
            own = {
                names[image]: dict.fromkeys(names[PER_IMAGE * image : PER_IMAGE * (image + 1)], 1)
                for image in range(len(items))
            }
        else:
            own = {names[text]: {names[text // PER_IMAGE]: 1} for text in range(len(items))}
        values = evaluate(Qrels(own), Run(run), [f"hit_rate@{k}" for k in KS])
        recall += [100 * float(values[f"hit_rate@{k}"]) for k in KS]
    return {"recall": recall}


def clip(folder: Path, share: float) -> dict[str, Any]:
    """CLIP_benchmark's way: all scores, a boolean matrix of pairs, and one-hot vectors of each list by batches."""
    import torch

    images, texts = (torch.nn.functional.normalize(torch.from_numpy(part), dim=-1) for part in read(folder))
    scores = texts @ images.T
    positive = torch.zeros_like(scores, dtype=torch.bool)
    positive[torch.arange(len(texts)), torch.arange(len(texts)) // PER_IMAGE] = True
    recall = []
    for of_query, own in ((scores.T, positive.T), (scores, positive)):
        for k in KS:
            hits = []
            for some, own_of_some in zip(of_query.split(BATCH), own.split(BATCH), strict=True):
                listed = torch.nn.functional.one_hot(some.topk(k, dim=1).indices, num_classes=some.shape[1])
                found = (listed * own_of_some[:, None, :]).sum(dim=(1, 2))
                hits.append(found / own_of_some.sum(dim=1))
            recall.append(100 * float((torch.cat(hits) > 0).double().mean()))
    return {"recall": recall}


def eccv(folder: Path, share: float) -> dict[str, Any]:
    """eccv-caption's way: all scores, a list of ids per query, one at a time, and its package's recall of COCO."""
    import torch
    from eccv_caption._metrics import compute_r_at_k

    images, texts = map(torch.from_numpy, read(folder))
    scores = images @ texts.T
    rows, columns = range(len(images)), range(len(texts))
    i2t = {image: scores[image].topk(LISTED["eccv"]).indices.tolist() for image in rows}
    t2i = {text: scores[:, text].topk(LISTED["eccv"]).indices.tolist() for text in columns}
    own_texts = {image: [*range(PER_IMAGE * image, PER_IMAGE * (image + 1))] for image in rows}
    own_image = {text: [text // PER_IMAGE] for text in columns}
    return {
        "recall": [
            100 * float(compute_r_at_k(lists, own, K=k))
            for lists, own in ((i2t, own_texts), (t2i, own_image))
            for k in KS
        ]
    }


PROGRAMS = {"product": product, "faiss": faiss, "ranx": ranx, "clip": clip, "eccv": eccv}

# --- measuring --------------------------------------------------------------------------------------------------------

# A process of few bytes starts what is measured: Linux counts the memory of the one before exec too.
LAUNCHER = """
import json, os, sys, time
limit_s, limit_bytes, cores = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
began, own, stopped = time.perf_counter(), 0, None
child = os.posix_spawn(sys.argv[4], sys.argv[4:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
while True:
    done, status, used = os.wait4(child, os.WNOHANG)
    wall = time.perf_counter() - began
    if done:
        break
    try:
        with open(f"/proc/{child}/status") as file:
            lines = [line.split() for line in file if line.startswith(("RssAnon", "RssShmem"))]
    except OSError:
        lines = []
    own = max(own, 1024 * sum(int(words[1]) for words in lines))
    if stopped is None and (own > limit_bytes or wall > limit_s):
        stopped = "memory" if own > limit_bytes else "time"
        os.kill(child, 9)
    time.sleep(0.005 if wall < 5 else 0.05)
print(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "wall_s": wall, "peak_bytes": 1024 * used.ru_maxrss,
                  "own_bytes": own, "stopped": stopped, "status": status}))
"""


def environment(cores: int) -> dict[str, str]:
    """The variables of a measured process; a mirror or a hub is none of its business."""
    from fivesentences.machine import THREADS

    return {
        **os.environ,
        **dict.fromkeys((*THREADS, "RAYON_NUM_THREADS"), str(cores)),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false" if cores == 1 else "true",
    }


def command_of(name: str, folder: Path, share: float) -> list[str]:
    if name in OURS:
        given = [
            sys.executable,
            "-m",
            "fivesentences",
            "evaluate",
            f"{folder}/images.npy,{folder}/texts.npy",
            "--quiet",
        ]
        given += ["--no-asp", "--json", str(folder / "result.json")]
        if name == "ours":
            given += ["--captions", str(folder / "captions.txt"), "--metric", "cider"]
            given += ["--metric", "embedding:wordllama"]
        if share < 1:
            given += ["--queries", f"0:{round(share * int(folder.name))}"]
        return given
    python = folder.parent / "rivals" / "bin" / "python" if name in IN_RIVALS else sys.executable
    return [str(python), __file__, "--child", name, "--folder", str(folder), "--share", str(share)]


def measured(name: str, folder: Path, cores: int, limit_s: float, memory: float, share: float = 1.0) -> dict[str, Any]:
    """Run one program on some cores: what it took, and what it found."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    launch = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(limit_s), str(memory), ",".join(map(str, allowed))]
    done = subprocess.run(
        [*launch, *command_of(name, folder, share)],
        env=environment(cores),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cell: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    stopped, status = cell.pop("stopped"), cell.pop("status")
    if stopped == "time":
        return cell | {"not_run": f"over {limit_s / 60:,.3g} minutes"}
    if stopped == "memory":
        return cell | {"not_run": f"over {memory / GB:.3g} GB"}
    if status:
        sys.exit(f"{name} failed on {folder.name} images: status {status}")
    found = {} if name in OURS and share < 1 else json.loads(result.read_text())  # a part has no numbers yet
    if name in OURS and share == 1:
        values = {(one["metric"], one["direction"]): one["value"] for one in found["values"]}
        recall = [values[f"R@{k}", side] for side in ("i2t", "t2i") for k in KS]
        found = {"recall": recall, "numbers": len(found["values"])}
    return cell | found


def cell_of(
    name: str, folder: Path, n: int, cores: int, given: argparse.Namespace, record: dict[str, Any]
) -> dict[str, Any]:
    """One cell: the process of median CPU time, or parts of the queries, or why it was not run."""
    from fivesentences.machine import available_memory

    contestant, left = CONTESTANTS[name], available_memory()
    memory = given.memory_gb * GB if given.memory_gb else math.inf if left is None else 0.95 * left
    if (needed := contestant.bytes_needed(n)) > memory:
        return {"not_run": f"needs {needed / GB:,.0f} GB", "needed_bytes": needed}
    if given.share < 1:
        return by_parts(name, folder, cores, given, record, memory)
    if name == "ranx" and not (folder / "lists.npz").exists():
        measured("faiss", folder, len(os.sched_getaffinity(0)), given.limit_s, memory)
    runs = []
    for _ in range(REPEAT if n <= REPEAT_UP_TO else 1):
        runs.append(measured(name, folder, cores, given.limit_s, memory))
        if "not_run" in runs[-1]:
            return runs[-1]
    cell = sorted(runs, key=lambda run: run["cpu_s"])[len(runs) // 2]
    return cell | {"runs": [round(run["cpu_s"], 3) for run in runs]}


def by_parts(
    name: str, folder: Path, cores: int, given: argparse.Namespace, record: dict[str, Any], memory: float
) -> dict[str, Any]:
    """One cell from two shares of the queries: what does not depend on the share, and the rest extended to all.

    Memory is that of the larger share. A share that was run is kept until both are.
    """
    if not CONTESTANTS[name].parts:
        return {"not_run": "cannot be run by parts"}
    shares = (given.share / 2, given.share)
    runs, kept = [], record.setdefault("shares", {})
    for share in shares:
        key = f"{folder.name}/{cores}/{name}/{share}"
        if key not in kept:
            kept[key] = measured(name, folder, cores, given.limit_s, memory, share)
            keep(given.out, record)
        runs.append(kept.pop(key) if "not_run" in kept[key] else kept[key])
        if "not_run" in runs[-1]:
            return runs[-1]
    (folder / "lists.npz").unlink(missing_ok=True)
    for share in shares:
        del kept[f"{folder.name}/{cores}/{name}/{share}"]
    if not kept:
        del record["shares"]
    half, part = runs
    cell = {key: value for key, value in part.items() if key != "recall"} | {"share": given.share}
    for key in ("cpu_s", "wall_s"):
        fixed = min(max(2 * half[key] - part[key], 0), part[key])
        cell |= {f"half_{key}": half[key], f"part_{key}": part[key], f"fixed_{key}": fixed}
        cell[key] = fixed + (part[key] - fixed) / given.share
    return cell


def install_rivals(folder: Path) -> Path:
    """An environment of the rivals that the project does not depend on, as of the day of its other versions."""
    import tomllib

    rivals = folder / "rivals"
    if not (rivals / "bin" / "python").exists():
        day = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["exclude-newer"]
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        subprocess.run(["uv", "venv", "-q", "--python", version, rivals], check=True)
        install = ["uv", "pip", "install", "-q", "--exclude-newer", day, "--python", rivals / "bin" / "python"]
        subprocess.run([*install, *IN_RIVALS.values()], check=True, cwd=folder)
    return rivals


def about(rivals: Path) -> dict[str, Any]:
    """The machine and the versions of all programs."""
    from importlib.metadata import version

    from fivesentences.machine import hardware

    found = hardware()
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    ask = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    asked = [rivals / "bin" / "python", "-c", ask, "numpy", *IN_RIVALS.values()]
    others = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    versions = {name: version(name) for name in ("numpy", "torch", "eccv-caption", "wordllama")}
    return {
        "processor": found["processor"],
        "cores": found["cores"],
        "memory_gb": found["memory_gb"],
        "python": ".".join(map(str, sys.version_info[:3])),
        "blas": f"{blas['name']} {blas['version']}",
        "versions": versions | dict(zip(("numpy of rivals", *IN_RIVALS.values()), others, strict=True)),
        "commit": commit.strip(),
        "dimensions": DIMENSIONS,
        "captions per image": PER_IMAGE,
        "seed": SEED,
    }


def keep(out: Path, record: dict[str, Any]) -> None:
    written = out.with_suffix(".part")
    written.write_text(json.dumps(record, indent=1) + "\n")
    written.replace(out)


def run_all(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure every cell that is not kept yet."""
    rivals = install_rivals(folder)
    here = about(rivals)
    record = json.loads(given.out.read_text()) if given.out.exists() else {"about": here, "sizes": {}, "cells": {}}
    fixed = ("processor", "cores", "memory_gb", "blas", "versions")
    if changed := [key for key in fixed if record["about"][key] != here[key]]:
        sys.exit(f"{given.out} was measured with another {', '.join(changed)}; write to another file with --out.")
    kept = record["cells"]
    for key in [key for key in kept if key.rpartition("/")[2] in given.again]:
        del kept[key]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    cores = [count for count in given.cores if count <= here["cores"]]
    missing = [
        (n, count, name)
        for n in sorted(given.images)
        for count in cores
        for name in given.only or CONTESTANTS
        if f"{n}/{count}/{name}" not in kept
    ]
    warm = folder / "100"
    for name in dict.fromkeys(name for *_, name in missing):  # compiled files are written, numba's too
        if not (warm / "source.txt").exists():
            subprocess.run([sys.executable, __file__, "--child", "make", "--folder", warm], check=True)
        measured(name, warm, 1, 600, math.inf, given.share if CONTESTANTS[name].parts else 1.0)
    for n, count, name in missing:
        where = folder / str(n)
        if not (where / "source.txt").exists():
            print(f"{n:,} x {PER_IMAGE * n:,}: making captions and embeddings", flush=True)
            subprocess.run([sys.executable, __file__, "--child", "make", "--folder", where], check=True)
        record["sizes"][str(n)] = {"captions": PER_IMAGE * n, "text": (where / "source.txt").read_text()}
        load = os.getloadavg()[0]
        cell = cell_of(name, where, n, count, given, record)
        kept[f"{n}/{count}/{name}"] = cell | {"load": round(load, 2), "commit": here["commit"]}
        keep(given.out, record)
        told = cell.get("not_run") or (
            f"{cell['cpu_s']:.1f} s of CPU, {cell['wall_s']:.1f} s, peak {cell['peak_bytes'] / GB:.2f} GB"
        )
        print(f"{n:,} x {PER_IMAGE * n:,}, {count} core(s), {name}: {told}", flush=True)
    return record


def disagreements(record: dict[str, Any]) -> list[str]:
    """Where recalls differ by more than one query in ten thousand, or one query: sums are in float32."""
    wrong = []
    for size in record["sizes"]:
        found = {
            key: cell["recall"]
            for key, cell in record["cells"].items()
            if key.split("/")[0] == size and "recall" in cell
        }
        queries = np.repeat([int(size), PER_IMAGE * int(size)], len(KS))
        for key, recall in found.items():
            first, reference = next(iter(found.items()))
            apart = np.abs(np.subtract(recall, reference)) * queries / 100
            if (apart > np.maximum(1, queries * 1e-4) + 1e-6).any():
                wrong.append(f"{key} has recall {np.round(recall, 3)}, {first} {np.round(reference, 3)}")
    return wrong


# --- what it says -----------------------------------------------------------------------------------------------------


def rate(record: dict[str, Any], cores: int = 1) -> float:
    """Operations per CPU second of the bare product, at the largest size that was run whole."""
    found = {
        ("share" not in cell, int(key.split("/")[0])): cell["operations_per_cpu_s"]
        for key, cell in record["cells"].items()
        if key.endswith(f"/{cores}/product") and "operations_per_cpu_s" in cell
    }
    return found[max(found)]


def limit_s(record: dict[str, Any], n: int, cores: int = 1) -> float:
    return 2.0 * n * PER_IMAGE * n * DIMENSIONS / rate(record, cores)


def exponent(
    record: dict[str, Any], name: str, key: str = "cpu_s", cores: int = 1, extended: bool = False
) -> float | None:
    """Slope of log cost over log n between the two largest sizes; 2: proportional to all pairs.

    Args:
        record: The kept cells.
        name: The program.
        key: The cost.
        cores: On how many cores.
        extended: Whether the larger size is one that was run by parts, else both were run whole.
    """
    found = {
        int(place.split("/")[0]): cell
        for place, cell in record["cells"].items()
        if place.endswith(f"/{cores}/{name}") and "not_run" not in cell and (extended or "share" not in cell)
    }
    if len(found) < 2 or (extended and "share" not in found[max(found)]):
        return None
    low, high = sorted(found)[-2:]
    found = {n: cell[key] for n, cell in found.items()}
    return math.log(found[high] / found[low]) / math.log(high / low)


def table(record: dict[str, Any]) -> str:
    """CPU seconds and memory on one core with the exponents, then CPU and wall seconds on two."""
    sizes = sorted(map(int, record["sizes"]))
    head = " | ".join(f"{n:,} x {PER_IMAGE * n:,}" for n in sizes)
    tried = {key.split("/")[2] for key in record["cells"]}
    programs = {name: one for name, one in CONTESTANTS.items() if name in tried}

    def row(name: str, cores: int, show: Callable[[dict[str, Any]], str]) -> list[str]:
        found = [record["cells"].get(f"{n}/{cores}/{name}") for n in sizes]
        return ["" if one is None else one.get("not_run") or show(one) + "†" * ("share" in one) for one in found]

    def power(name: str, key: str) -> str:
        found, further = exponent(record, name, key), None
        if key == "cpu_s":
            further = exponent(record, name, key, extended=True)
        return ", ".join(
            [*([] if found is None else [f"{found:.2f}"]), *([] if further is None else [f"{further:.2f}†"])]
        )

    limits = {
        cores: [f"{limit_s(record, n, cores):,.1f} s" for n in sizes] for cores in (1, 2) if cores in cores_of(record)
    }
    lines = [
        f"| one core: CPU seconds, peak memory | {head} | exponent of CPU | of memory |",
        f"| --- {'| ---: ' * (len(sizes) + 2)}|",
        f"| limit: 2nmd at {rate(record) / 1e9:.0f}e9 operations per second | {' | '.join(limits[1])} | 2 | |",
    ]
    for name, one in programs.items():
        shown = row(name, 1, lambda cell: f"{cell['cpu_s']:,.1f} s, {cell['peak_bytes'] / GB:.2f} GB")
        shown += [power(name, "cpu_s"), power(name, "peak_bytes")]
        lines.append(f"| {one.label} | {' | '.join(shown)} |")
    if 2 in limits:
        lines += ["", f"| two cores: CPU seconds (wall) | {head} |", f"| --- {'| ---: ' * len(sizes)}|"]
        for name, one in programs.items():
            shown = row(name, 2, lambda cell: f"{cell['cpu_s']:,.1f} s ({cell['wall_s']:,.1f})")
            lines.append(f"| {one.label} | {' | '.join(shown)} |")
    here, texts = record["about"], dict.fromkeys(one["text"] for one in record["sizes"].values())
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
    loads = [cell["load"] for cell in record["cells"].values()]
    parts = {place: cell for place, cell in record["cells"].items() if "share" in cell}
    of_parts = [cell["load"] for cell in parts.values()]
    shares = [
        f"{CONTESTANTS[place.split('/')[2]].label} on {cell['share'] / 2:.1%} and {cell['share']:.0%}"
        for place, cell in parts.items()
    ]
    fixed = [
        f"{CONTESTANTS[place.split('/')[2]].label} {cell['fixed_cpu_s']:,.0f} s"
        for place, cell in record["cells"].items()
        if "share" in cell and place.split("/")[1] == "1"
    ]
    lines += [
        "",
        f"{here['processor']}, {here['cores']} cores, {here['memory_gb']} GB, load before each process "
        f"{min(loads):.1f} to {max(loads):.1f}; Python {here['python']}, {here['blas']}, {versions}. "
        f"Captions: {'; '.join(texts)}. Exponents are those of n, between the two largest sizes that were run whole."
        + (
            f" † run on two shares of the queries ({', '.join(shares)}), load before each "
            f"{min(of_parts):.1f} to {max(of_parts):.1f}, "
            "and extended along the line through both; memory is that of the larger share. What does not depend on the "
            f"share, of one core: {', '.join(fixed)}."
            if parts
            else ""
        ),
    ]
    return "\n".join(lines)


def cores_of(record: dict[str, Any]) -> set[int]:
    return {int(key.split("/")[1]) for key in record["cells"]}


def write_csv(record: dict[str, Any], path: Path) -> None:
    """One row per cell, and exponents, for docs/tools/values."""
    import pandas as pd

    rows = []
    for place, cell in record["cells"].items():
        n, cores, name = place.split("/")
        ours = {"program": name, "images": int(n), "captions": PER_IMAGE * int(n), "cores": int(cores)}
        gb = {f"{key}_gb": cell[f"{key}_bytes"] / GB for key in ("peak", "own", "needed") if f"{key}_bytes" in cell}
        ran = {key: cell[key] for key in ("cpu_s", "wall_s") if "not_run" not in cell}
        slope = {
            "exponent": exponent(record, name, cores=int(cores)),
            "exponent_extended": exponent(record, name, cores=int(cores), extended=True),
        }
        limit = {"limit_s": limit_s(record, int(n), int(cores))}
        by_share = {key: cell[key] for key in ("fixed_cpu_s", "half_cpu_s", "part_cpu_s") if key in cell}
        run = {"not_run": cell.get("not_run"), "share": cell.get("share", 1.0)} | by_share
        rows.append(ours | ran | gb | limit | slope | run)
    pd.DataFrame(rows).round(4).to_csv(path, index=False, lineterminator="\n")


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw CPU seconds and peak memory on one core against the number of pairs; hollow marks were not run whole."""
    import matplotlib.pyplot as plt
    import matplotlib.style

    from fivesentences.reproduction.paper.figures.style import CHANCE, SMALL, STYLE, WIDTH, cycled

    tried = {key.split("/")[2] for key in record["cells"]}
    names = [name for name in CONTESTANTS if name in tried and name != "product"]
    looks = cycled(names)
    with matplotlib.style.context(["default", STYLE]):
        figure, (seconds, memory) = plt.subplots(1, 2, figsize=(WIDTH, 3.6))
        sizes = sorted(map(int, record["sizes"]))
        seconds.plot([cells(n) for n in sizes], [limit_s(record, n) for n in sizes], label="limit: 2nmd", **CHANCE)
        for name in names:
            found = {n: record["cells"].get(f"{n}/1/{name}", {}) for n in sizes}
            ran = {n: cell for n, cell in found.items() if cell and "not_run" not in cell}
            needed = {n: cell["needed_bytes"] for n, cell in found.items() if "needed_bytes" in cell}
            how = looks[name] | {"markersize": 4}
            hollow = how | {"linestyle": "none", "markerfacecolor": "white"}
            cpu = [cell["cpu_s"] for cell in ran.values()]
            seconds.plot([cells(n) for n in ran], cpu, label=CONTESTANTS[name].label, **how)
            memory.plot([cells(n) for n in ran], [cell["peak_bytes"] / GB for cell in ran.values()], **how)
            for n, cell in ran.items():
                if "share" in cell:
                    seconds.plot(cells(n), cell["cpu_s"], **hollow)
                    memory.plot(cells(n), cell["peak_bytes"] / GB, **hollow)
            hollow["markerfacecolor"] = "none"
            memory.plot([cells(n) for n in needed], [bytes_ / GB for bytes_ in needed.values()], **hollow)
        top = record["about"]["memory_gb"]
        memory.axhline(top, **CHANCE)
        memory.annotate(f"this machine: {top} GB", (0.02, top), (0, 2), xycoords=("axes fraction", "data"),
                        textcoords="offset points", fontsize=SMALL)  # fmt: skip
        by_parts_too = any("share" in cell for cell in record["cells"].values())
        of_seconds = "CPU seconds, one core" + ("; hollow: extended" if by_parts_too else "")
        of_memory = f"peak memory, GB; hollow: {'of a share, or ' if by_parts_too else ''}needed"
        for panel, label in ((seconds, of_seconds), (memory, of_memory)):
            panel.set(xscale="log", yscale="log", xlabel="images × captions")
            panel.set_title(label, fontsize=9)
        figure.subplots_adjust(left=0.07, right=0.99, top=0.92, bottom=0.38, wspace=0.16)
        # Apart, since a browser may lack the typeface and take a wider one.
        figure.legend(loc="lower center", ncol=2, columnspacing=6, fontsize=SMALL, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def write_table(record: dict[str, Any], page: Path) -> None:
    before, mark, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    if not mark:
        sys.exit(f"{page} has no {MARKS[0]}")
    after = rest.partition(MARKS[1])[2]
    page.write_text(f"{before}{MARKS[0]}\n{table(record)}\n{MARKS[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, nargs="*", default=IMAGES, help="sizes; none: only table and figure")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, help="only these programs")
    parser.add_argument("--again", nargs="+", choices=CONTESTANTS, default=[], help="forget what is kept of these")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2], help="on how many cores each program is run")
    parser.add_argument("--limit-s", type=float, default=7200, help="seconds after which a process is stopped")
    parser.add_argument("--memory-gb", type=float, help="memory that a process may take; default: 95%% of what is left")
    parser.add_argument("--share", type=float, default=1.0, help="share of the queries, of programs that can; else all")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "gallery" / "cost.json", help="the kept cells")
    parser.add_argument("--draw", type=Path, help="an .svg to draw")
    parser.add_argument("--write", type=Path, help="a document, whose table between its marks is replaced")
    parser.add_argument("--folder", type=Path, help="where arrays and rivals are kept; default: a temporary folder")
    parser.add_argument("--child", choices=["make", *PROGRAMS], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child == "make":
        make(given.folder, int(given.folder.name))
        return
    if given.child:
        found = PROGRAMS[given.child](given.folder, given.share)
        (given.folder / "result.json").write_text(json.dumps(found))
        return
    if given.images:
        if shutil.which("uv") is None or not hasattr(os, "sched_getaffinity"):
            sys.exit("This benchmark needs Linux and uv.")
        with tempfile.TemporaryDirectory() as temporary:
            folder = (given.folder or Path(temporary)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            record = run_all(given, folder)
    else:
        record = json.loads(given.out.read_text())
    write_csv(record, given.out.with_suffix(".csv"))
    print(table(record))
    if given.write:
        write_table(record, given.write)
    if given.draw:
        draw(record, given.draw)
    if wrong := disagreements(record):
        sys.exit("recalls differ:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
