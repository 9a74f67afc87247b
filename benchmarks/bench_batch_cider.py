"""phi of a training batch, 128 x 128, on one core, after preparation.

python benchmarks/bench_batch_cider.py
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from captions import flickr8k_train, machine, made
from fivesentences.semantics import BatchCider


def measure(name: str, captions: list[str], image_of_caption: list[int], size: int, batches: int) -> None:
    started = time.perf_counter()
    prepared = BatchCider(captions, image_of_caption)
    preparation = time.perf_counter() - started
    rng = np.random.default_rng(0)
    milliseconds = []
    for _ in range(batches):
        batch = rng.choice(len(captions), size=size, replace=False)
        started = time.perf_counter()
        prepared.batch(batch)
        milliseconds.append(1000 * (time.perf_counter() - started))
    median, late, longest = np.percentile(milliseconds, [50, 95, 100])
    print(
        f"{name}, {len(captions):,} captions: prepared in {preparation:.1f} s; {size} x {size} in median "
        f"{median:.2f} ms, 95% within {late:.2f} ms, longest of {batches} {longest:.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128, help="captions per batch (default 128)")
    parser.add_argument("--batches", type=int, default=500, help="number of batches (default 500)")
    arguments = parser.parse_args()
    print(machine())
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    measure(*flickr8k_train(), arguments.size, arguments.batches)
    measure("synthetic captions", *made(29_000), arguments.size, arguments.batches)


if __name__ == "__main__":
    main()
