"""Features of Flickr8k's photographs with the mirror's MobileNetV2: images per second, compared with a plain loop.

    FIVESENTENCES_MIRROR=... uv run python benchmarks/bench_features.py [--images 512] [--workers 2]

The plain loop is one process that decodes and describes batches of 32 one after the other with torch's default threads.
For both, imports of this process do not count; ours includes the start of its workers, so the steady rate (between the
first and the last finished chunk) is what a long run approaches.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import timm
import torch
from PIL import Image
from safetensors.torch import load_file

from fivesentences.console import Bar
from fivesentences.corpus import Photographs
from fivesentences.features import extract_features

ALL = 8091  # photographs of Flickr8k
BATCH = 32


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    mirror = os.environ.get("FIVESENTENCES_MIRROR")
    if not mirror:
        raise SystemExit(
            "set FIVESENTENCES_MIRROR to a mirror that contains flickr8k/ and weights/ (its README says what)"
        )
    archive = Path(mirror, "flickr8k/Flickr8k_Dataset.zip")
    weights = Path(mirror, "weights/mobilenetv2_100.safetensors")
    photographs = Photographs(archive)
    names = photographs.names()[: options.images]
    images = pd.DataFrame({"image_id": names, "filename": names})
    print(f"{len(names)} photographs, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")

    start = time.perf_counter()
    plain = plain_loop(archive, names, weights)
    plain_seconds = time.perf_counter() - start

    finished: list[tuple[float, int]] = []
    advance = Bar.advance

    def timed(self: Bar, count: int = 1, note: str = "") -> None:
        finished.append((time.perf_counter(), count))
        advance(self, count, note)

    Bar.advance = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "mobilenetv2_100-global.npy")
        start = time.perf_counter()
        extract_features(
            photographs, images, "mobilenetv2_100", "global", out, workers=options.workers, weights=weights
        )
        seconds = time.perf_counter() - start
        difference = float(np.abs(np.load(out) - plain).max())
        start = time.perf_counter()
        extract_features(
            photographs, images, "grid_descriptors", "global", Path(folder, "g.npy"), workers=options.workers
        )
        descriptor_seconds = time.perf_counter() - start
    # The first `workers` chunks ran while the workers were starting.
    steady = [moment for moment in finished[: -(-len(names) // 64)] if moment[0] > finished[options.workers - 1][0]]
    began = finished[options.workers - 1][0]
    rate = sum(count for _, count in steady) / (steady[-1][0] - began) if steady else float("nan")
    startup = max(seconds - len(names) / rate, 0.0)

    plain_rate, whole_rate = len(names) / plain_seconds, len(names) / seconds
    print(f"plain loop, one process:      {plain_rate:6.1f} images/s")
    ours = f"extract_features, {options.workers} workers:"
    print(f"{ours} {whole_rate:6.1f} images/s including the start, {rate:.1f} after it")
    print(f"ratio to the plain loop:      {whole_rate / plain_rate:6.2f} and {rate / plain_rate:.2f}")
    minutes, plain_minutes = (startup + ALL / rate) / 60, ALL / plain_rate / 60
    print(f"all {ALL} photographs:        {minutes:6.1f} min (target: at most 10), plain loop {plain_minutes:.1f} min")
    print(f"largest difference between the two: {difference:.1e}")
    rate = len(names) / descriptor_seconds
    print(f"grid_descriptors, {options.workers} workers: {rate:6.1f} images/s including the start")


if __name__ == "__main__":
    main()
