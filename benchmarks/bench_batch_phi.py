"""phi of a training batch, 128 x 128, on one core, after preparation; of DAA's beside their cells one by one.

python benchmarks/bench_batch_phi.py
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from captions import flickr8k_train, machine, made
from fivesentences.semantics import BatchCider, prepare

Batch = Callable[[NDArray[np.int64]], object]


def timed(batch: Batch, captions: int, size: int, batches: int) -> NDArray[np.float64]:
    """Milliseconds of some batches."""
    rng, found = np.random.default_rng(0), []
    for _ in range(batches):
        rows = rng.choice(captions, size=size, replace=False)
        started = time.perf_counter()
        batch(rows)
        found.append(1000 * (time.perf_counter() - started))
    return np.array(found)


def measure(corpus: str, captions: list[str], image_of_caption: list[int], size: int, batches: int) -> None:
    print(f"{corpus}, {len(captions):,} captions, {size} x {size}: median, 95% within, longest of {batches}, in ms")
    started = time.perf_counter()
    cider = BatchCider(captions, image_of_caption)
    note = f"prepared in {time.perf_counter() - started:.1f} s"
    show("cider", timed(cider.batch, len(captions), size, batches), note)
    for name in ("tfidf", "bleu_daa", "rouge_daa"):
        measure_scorer(name, captions, np.array(image_of_caption), size, batches)


def measure_scorer(
    name: str, captions: list[str], image_of_caption: NDArray[np.int64], size: int, batches: int
) -> None:
    started = time.perf_counter()
    scorer = prepare(name, captions, image_of_caption)
    prepared = time.perf_counter() - started

    def cells(rows: NDArray[np.int64]) -> object:
        return scorer.pairs(np.repeat(rows, size), np.tile(image_of_caption[rows], size))

    block = timed(lambda rows: scorer.block(rows, image_of_caption[rows]), len(captions), size, batches)
    ratio = np.median(timed(cells, len(captions), size, 10)) / np.median(block)
    show(name, block, f"prepared in {prepared:.1f} s; {ratio:.0f} times as fast as {size * size:,} single cells")


def show(name: str, milliseconds: NDArray[np.float64], note: str) -> None:
    median, late, longest = np.percentile(milliseconds, [50, 95, 100])
    print(f"  {name}: {median:.2f}, {late:.2f}, {longest:.2f}; {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128, help="captions per batch (default 128)")
    parser.add_argument("--batches", type=int, default=200, help="number of batches (default 200)")
    arguments = parser.parse_args()
    print(machine())
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    measure(*flickr8k_train(), arguments.size, arguments.batches)
    measure("synthetic captions", *made(29_000), arguments.size, arguments.batches)


if __name__ == "__main__":
    main()
