"""A bottom-up TSV of 36 x 2048 numbers per image into an array: time and peak memory, each in a cold process.

    uv run python benchmarks/bench_feature_files.py [--images 500]

The released loop is a reimplementation of what the preparations of SCAN and of VQA models do: Python's csv module,
base64, and one array of everything in memory. It checks nothing; ours checks every number, every id and every length
before it writes, keeps boxes and sizes, and computes the file's SHA-256. Both arrays are compared.
"""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REGIONS, DIM = 36, 2048
PEAK = """
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")), time.perf_counter() - started)
"""
LOOP = """
import base64, csv, sys, time
import numpy as np
started = time.perf_counter()
csv.field_size_limit(sys.maxsize)
rows = []
with open(sys.argv[1], newline="") as file:
    names = ["image_id", "image_w", "image_h", "num_boxes", "boxes", "features"]
    for line in csv.DictReader(file, delimiter="\\t", fieldnames=names):
        data = np.frombuffer(base64.b64decode(line["features"]), np.float32)
        rows.append(data.reshape(int(line["num_boxes"]), -1))
np.save(sys.argv[2], np.stack(rows))
"""
OURS = """
import sys, time
from pathlib import Path
from fivesentences.features.formats import convert
started = time.perf_counter()
convert([Path(sys.argv[1])], Path(sys.argv[2]))
"""


def write_tsv(path: Path, images: int) -> None:
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        for image in range(images):
            boxes = random.random((REGIONS, 4), np.float32) * 300
            features = np.maximum(random.standard_normal((REGIONS, DIM), np.float32), 0)
            cells = [str(image), "640", "480", str(REGIONS)]
            cells += [base64.b64encode(array.tobytes()).decode() for array in (boxes, features)]
            file.write("\t".join(cells).encode() + b"\r\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=500)
    images = parser.parse_args().images
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "a.tsv")
        write_tsv(source, images)
        size = source.stat().st_size
        print(f"{images:,} images, {size / 1e6:,.0f} MB; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        arrays = []
        for name, code in (("the loop", LOOP), ("ours", OURS)):
            out = Path(folder, f"{len(arrays)}.npy")
            before = os.times()
            started = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", code + PEAK, source, out], capture_output=True, check=True)
            after = os.times()
            peak, seconds = (float(number) for number in done.stdout.split())
            used = after.children_user + after.children_system - before.children_user - before.children_system
            wall = time.perf_counter() - started
            print(
                f"{name:10} {seconds:6.1f} s ({wall:.1f} with imports, {used:.1f} s CPU), "
                f"{size / 1e6 / seconds:6.0f} MB/s, peak {peak / 1024:,.0f} MB"
            )
            arrays.append(np.load(out, mmap_mode="r"))
        print(f"the arrays are equal: {np.array_equal(*arrays)}")


if __name__ == "__main__":
    main()
