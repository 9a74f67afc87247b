"""Recall, ranks, NCS and semantic recall, every variant in one pass, at 1,000 x 5,000 and 5,000 x 25,000.

    python benchmarks/bench_metrics.py

phi is the CIDEr matrix of the captions; similarity is phi with noise, so that ranks are like a model's.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from captions import coco_5k, machine
from fivesentences.metrics import Evaluator
from fivesentences.semantics import cider_matrix


def main() -> None:
    name, captions, image_of_caption = coco_5k()
    phi_of_all = np.empty((len(captions), max(image_of_caption) + 1), dtype=np.float32)
    cider_matrix(captions, image_of_caption, out=phi_of_all)
    print(machine())
    for n_images in (1000, 5000):
        phi = np.ascontiguousarray(phi_of_all[: 5 * n_images, :n_images])
        noise = np.random.default_rng(0).normal(scale=0.3, size=phi.T.shape)
        similarity = (phi.T + noise).astype(np.float32)
        del noise
        evaluator = Evaluator(phi)
        seconds = []
        for _ in range(2):
            started = time.perf_counter()
            values = evaluator(similarity)
            seconds.append(time.perf_counter() - started)
        print(
            f"{name}, {n_images:,} images x {5 * n_images:,} captions: {len(values)} numbers in {seconds[0]:.1f} s, "
            f"{seconds[1]:.1f} s for a further similarity of the same phi"
        )
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(f"peak memory {peak / 1e9:.1f} GB, the matrices included")


if __name__ == "__main__":
    main()
