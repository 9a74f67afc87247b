"""Features of Flickr8k's photographs with the mirror's MobileNetV2: the start, and images per second after it.

    FIVESENTENCES_MIRROR=... uv run python benchmarks/bench_features.py [--images 512] [--workers 2] [--plain | --kinds]

Two things are compared with the bare network, which gets the same batches of 8 as tensors that are ready, on one
thread: images per second of wall time after the start (on a machine that does nothing else), and CPU seconds per
image, which other programs disturb less: those of two extractions of different length are subtracted, so that the
start cancels out. The start is what is left: the time from the call to the first finished images, and the CPU seconds
of each worker that are not spent on images. ``--plain`` also runs what people write: one process that decodes and
describes batches of 32 one after the other with torch's default threads, its imports not counted. ``--kinds`` times
each kind of features that these weights can make instead: two extractions of different length are subtracted.
"""

from __future__ import annotations

import argparse
import functools
import io
import os
import resource
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import timm
import torch
from PIL import Image
from safetensors.torch import load_file

from fivesentences.config.features import FeatureSpec
from fivesentences.console import Bar
from fivesentences.corpus import Photographs, decode
from fivesentences.features import extract_features
from fivesentences.features.extract import extract_as_configured
from fivesentences.features.networks import CPU_BATCH, Network

ALL = 8091  # photographs of Flickr8k
BATCH = 32
KINDS = {
    "one vector": FeatureSpec(extractor="mobilenetv2_100"),
    "7 x 7 grid": FeatureSpec(extractor="mobilenetv2_100", layout="grid"),
}


def plain_loop(archive: Path, names: list[str], weights: Path) -> np.ndarray:
    network = timm.create_model("mobilenetv2_100", pad_type="same").eval()
    network.load_state_dict(load_file(weights))
    rows = []
    with zipfile.ZipFile(archive) as photographs, torch.inference_mode():
        for start in range(0, len(names), BATCH):
            batch = []
            for name in names[start : start + BATCH]:
                image = Image.open(io.BytesIO(photographs.read(name))).convert("RGB").resize((224, 224))
                batch.append(torch.from_numpy(np.asarray(image) / np.float32(127.5) - 1).permute(2, 0, 1))
            rows.append(network.forward_features(torch.stack(batch)).mean(dim=(2, 3)).numpy())
    return np.concatenate(rows)


def bare_seconds(archive: Path, names: list[str], weights: Path) -> float:
    """CPU seconds per image of the network alone, on one thread."""
    network, photographs = Network("mobilenetv2_100", "global", weights), Photographs(archive)
    prepared = np.stack([network.prepare(decode(photographs.read(name), name)) for name in names])
    pixels = torch.from_numpy(prepared).float().contiguous(memory_format=torch.channels_last)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    taken = []
    with torch.inference_mode():
        for _ in range(3):
            start = time.process_time()
            for first in range(0, len(pixels), CPU_BATCH):
                maps = network.module.forward_features(pixels[first : first + CPU_BATCH])
                network.module.forward_head(maps, pre_logits=True)
            taken.append((time.process_time() - start) / len(pixels))
    torch.set_num_threads(threads)
    return min(taken)


class Run(NamedTuple):
    """What an extraction took: CPU seconds of its workers, wall seconds to the first images and in all, a rate."""

    cpu: float
    first: float
    whole: float
    rate: float
    features: np.ndarray


def extraction(photographs: Photographs, names: list[str], weights: Path, workers: int) -> Run:
    finished: list[tuple[float, int]] = []
    advance = Bar.advance

    def timed(self: Bar, count: int = 1, note: str = "") -> None:
        finished.append((time.perf_counter(), count))
        advance(self, count, note)

    images = pd.DataFrame({"image_id": names, "filename": names})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Bar, "advance", timed):
        out = Path(folder, "f.npy")
        start = time.perf_counter()
        extract_features(photographs, images, "mobilenetv2_100", "global", out, workers=workers, weights=weights)
        whole = time.perf_counter() - start
        features = np.load(out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    since = finished[workers - 1][0]  # every worker has started
    later = [count for moment, count in finished if moment > since]
    rate = sum(later) / (finished[-1][0] - since) if later else float("nan")
    return Run(cpu, finished[0][0] - start, whole, rate, features)


def cpu_seconds(work: Callable[[], None]) -> float:
    """CPU seconds of some work, worker processes included."""
    before = sum(os.times()[:4])
    work()
    return sum(os.times()[:4]) - before


def time_kinds(photographs: Photographs, names: list[str], weights: Path, workers: int) -> None:
    """Print a row of a table for each kind of features; CPU seconds, which other programs disturb less."""
    print("| features | numbers per image | ms of CPU per image | Flickr8k on one core, minutes |")
    print("| --- | --- | --- | --- |")
    few = names[: len(names) // 4]
    for kind, spec in KINDS.items():
        taken = []
        for some in (few[:8], few, names):  # the first warms up
            images = pd.DataFrame({"image_id": some, "filename": some})
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder, "f.npy")
                asked = (spec, photographs, images, out)
                taken.append(
                    cpu_seconds(functools.partial(extract_as_configured, *asked, workers=workers, weights=weights))
                )
                shape = np.load(out, mmap_mode="r").shape[1:]
        each = (taken[2] - taken[1]) / (len(names) - len(few))
        size = " x ".join(f"{length:,}" for length in shape)
        print(f"| {kind} | {size} | {1000 * each:.0f} | {ALL * each / 60:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--kinds", action="store_true")
    options = parser.parse_args()
    mirror = os.environ.get("FIVESENTENCES_MIRROR")
    if not mirror:
        raise SystemExit(
            "set FIVESENTENCES_MIRROR to a mirror that contains flickr8k/ and weights/ (its README says what)"
        )
    archive = Path(mirror, "flickr8k/Flickr8k_Dataset.zip")
    weights = Path(mirror, "weights/mobilenetv2_100.safetensors")
    photographs, workers = Photographs(archive), options.workers
    names = photographs.names()[: options.images]
    few = names[: len(names) // 8]
    print(f"{len(names)} photographs, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")

    if options.kinds:
        time_kinds(photographs, names, weights, workers)
        return
    short, long = (extraction(photographs, some, weights, workers) for some in (few, names))
    bare = bare_seconds(archive, few, weights)
    each = (long.cpu - short.cpu) / (len(names) - len(few))
    print(f"bare network on one core:     {1000 * bare:6.1f} ms of CPU per image ({1 / bare:.1f} images/s)")
    print(f"extract_features after its start: {1000 * each:.1f} ms of CPU per image, {long.rate:.1f} images/s")
    print(f"ratio to the bare network:    {bare / each:6.2f} in CPU seconds (target: at least 0.85), "
          f"{long.rate * bare / workers:.2f} in images/s per core")  # fmt: skip
    print(f"start:                        {long.first:6.1f} s to the first images (target: below 5), "
          f"{(short.cpu - each * len(few)) / workers:.1f} s of CPU per worker")  # fmt: skip
    print(f"with the start:               {len(names) / long.whole:6.1f} images/s; all {ALL} photographs in "
          f"{(long.first + ALL / long.rate) / 60:.1f} min")  # fmt: skip
    if options.plain:
        start = time.perf_counter()
        plain = plain_loop(archive, names, weights)
        seconds = time.perf_counter() - start
        print(f"plain loop, one process:      {len(names) / seconds:6.1f} images/s; ours has "
              f"{long.rate * seconds / len(names):.2f} of that, {seconds / long.whole:.2f} with its start")  # fmt: skip
        print(f"largest difference between the two: {float(np.abs(long.features - plain).max()):.1e}")


if __name__ == "__main__":
    main()
