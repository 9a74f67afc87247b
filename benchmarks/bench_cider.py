"""The CIDEr matrix of 25,000 captions x 5,000 images against pycocoevalcap.

    python benchmarks/bench_cider.py

Ours runs in a cold process, including imports and writing the float32 .npy. pycocoevalcap scores sampled rows in the
same run, called as an exact row requires (all images' captions as references, one caption as every candidate); its
time for the matrix is extrapolated from these rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pycocoevalcap.cider.cider import Cider

from captions import coco_5k, machine

CHILD = """
import json, resource, sys
from fivesentences.semantics import cider_matrix
captions, image_of_caption = json.load(open(sys.argv[1]))
matrix = cider_matrix(captions, image_of_caption, out=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


def official_row(caption: str, references: dict[int, list[str]]) -> np.ndarray:
    candidate = [" ".join(caption.lower().split())]
    return np.asarray(Cider().compute_score(references, dict.fromkeys(references, candidate))[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3, help="rows for pycocoevalcap to score (default 3)")
    parser.add_argument("--repeat", type=int, default=3, help="cold processes to time (default 3)")
    arguments = parser.parse_args()
    name, captions, image_of_caption = coco_5k()
    n_images = max(image_of_caption) + 1
    print(machine())
    print(f"{name}: {len(captions):,} captions x {n_images:,} images")

    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder, "captions.json"), Path(folder, "cider.npy")
        given.write_text(json.dumps([captions, image_of_caption]))
        seconds, peaks = [], []
        for _ in range(arguments.repeat):
            written.unlink(missing_ok=True)
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", CHILD, str(given), str(written)], check=True, capture_output=True, text=True
            )
            seconds.append(time.perf_counter() - started)
            peaks.append(int(done.stdout))
        size = written.stat().st_size
        print(
            f"cider_matrix, cold process to float32 .npy: median {np.median(seconds):.1f} s of "
            f"{', '.join(f'{s:.1f}' for s in seconds)}; peak memory {max(peaks) / 1e9:.2f} GB, of which the mapped "
            f"output may be {size / 1e9:.2f} GB"
        )
        matrix = np.load(written, mmap_mode="r")
        references: dict[int, list[str]] = {image: [] for image in range(n_images)}
        for caption, image in zip(captions, image_of_caption, strict=True):
            references[image].append(" ".join(caption.lower().split()))
        rows = np.random.default_rng(0).choice(len(captions), size=arguments.rows, replace=False)
        spent, difference, same_zeros = 0.0, 0.0, True
        for row in rows:
            started = time.perf_counter()
            theirs = official_row(captions[row], references)
            spent += time.perf_counter() - started
            difference = max(difference, float(np.abs(matrix[row] - theirs).max()))
            same_zeros &= bool(np.array_equal(matrix[row] == 0, theirs == 0))
        del matrix
    per_pair = spent / (len(rows) * n_images)
    whole = per_pair * len(captions) * n_images
    print(
        f"pycocoevalcap, {len(rows)} rows: {per_pair * 1e6:.0f} us per pair, the matrix {whole / 3600:.1f} h "
        f"(extrapolated); largest difference {difference:.1e} (float32 file), same zeros: {same_zeros}"
    )
    print(f"ratio: {whole / np.median(seconds):,.0f} times as fast")


if __name__ == "__main__":
    main()
