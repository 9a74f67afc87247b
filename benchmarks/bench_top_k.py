"""The 100 best images of every caption by CIDEr, at the size of COCO train: 566,000 captions x 113,000 images.

    python benchmarks/bench_top_k.py

The whole matrix would be 256 GB of float32. Preparation is measured in full. Of the blocks, a random sample is scored,
with at least one block of every caption length, since the references are folded once per length. A quarter of the
sample is scored first; the difference between the two runs is the cost of further blocks, from which the rest is
extrapolated. CPU time is given beside wall time: on a busy machine, CPU time divided by the number of cores is more
informative. The captions are synthetic (phrases of words, both drawn from Zipf's law), since such a corpus may not be
available.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from captions import machine, made, peak_bytes
from fivesentences.arrays import new_npy
from fivesentences.machine import threads
from fivesentences.semantics import prepare
from fivesentences.semantics.scoring import ahead
from fivesentences.semantics.top_k import ROWS_OF_BLOCK, best_of_rows


def peak() -> str:
    return f"peak memory so far {peak_bytes() / 1e9:.1f} GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=113_287, help="images, with 5 captions each (default 113,287)")
    parser.add_argument("--k", type=int, default=100, help="images to keep per caption (default 100)")
    parser.add_argument(
        "--blocks",
        type=int,
        default=1200,
        help=f"blocks in the sample, of {ROWS_OF_BLOCK} captions each (default 1200)",
    )
    parser.add_argument("--phi", default="cider", help="name of the phi (default cider)")
    arguments = parser.parse_args()
    print(machine())
    captions, image_of_caption = made(arguments.images)
    n_captions, n_images, k = len(captions), arguments.images, arguments.k
    print(
        f"synthetic captions: {n_captions:,} x {n_images:,} images, {n_captions * n_images * 4 / 1e9:.0f} GB as float32"
    )
    print(f"captions generated; {peak()}")

    started = time.perf_counter()
    scorer = prepare(arguments.phi, captions, image_of_caption)
    preparing = time.perf_counter() - started
    print(f"measured: {arguments.phi} prepared in {preparing:.0f} s; {peak()}", flush=True)

    groups = scorer.groups(ROWS_OF_BLOCK)
    words = np.array([len(captions[group[0]].split()) for group in groups])
    _, first_of_length = np.unique(words, return_index=True)
    rng = np.random.default_rng(0)
    rest = np.setdiff1d(np.arange(len(groups)), first_of_length)
    sample = np.sort(rng.choice(rest, size=min(arguments.blocks, len(rest)), replace=False))
    first_of_length.sort()

    with tempfile.TemporaryDirectory() as folder:
        images = new_npy(Path(folder, "images.npy"), np.int32, (n_captions, k))
        scores = new_npy(Path(folder, "scores.npy"), np.float32, (n_captions, k))

        def seconds(chosen: np.ndarray) -> np.ndarray:
            """Wall time and CPU time."""
            started = np.array([time.perf_counter(), time.process_time()])
            blocks = ahead(lambda group: best_of_rows(scorer.sparse(group), k), (groups[index] for index in chosen))
            for group, (best_images, best_scores) in blocks:
                images[group], scores[group] = best_images, best_scores
            images.flush()
            scores.flush()
            return np.array([time.perf_counter(), time.process_time()]) - started

        # Both runs fold every length equally often, so they differ only in their number of blocks.
        few, many = (np.sort(np.r_[first_of_length, part]) for part in (sample[::4], sample))
        in_few, in_many = (sum(len(groups[index]) for index in part) for part in (few, many))
        of_few = seconds(few)
        print(
            f"measured: {len(few)} blocks of all {len(first_of_length)} lengths ({in_few:,} captions) in "
            f"{of_few[0]:.0f} s wall, {of_few[1]:.0f} s CPU; {peak()}",
            flush=True,
        )
        of_many = seconds(many)
        a_caption = (of_many - of_few) / (in_many - in_few)
        print(
            f"measured: {len(many)} blocks ({in_many:,} captions) in {of_many[0]:.0f} s wall, {of_many[1]:.0f} s CPU: "
            f"{a_caption[0] * 1e3:.2f} ms wall and {a_caption[1] * 1e3:.2f} ms CPU per further caption; {peak()}",
            flush=True,
        )
        checked = np.sort(rng.choice(np.concatenate([groups[index] for index in sample]), size=20, replace=False))
        for caption in checked.tolist():
            row = scorer.score(np.array([caption]))[0].astype(np.float32)
            best = np.argsort(-row, kind="stable")[:k]
            if not np.array_equal(images[caption], np.where(row[best] > 0, best, -1)):
                raise SystemExit(f"caption {caption}: the stored images are not the best of the dense row")
        print(f"checked: the stored images of {len(checked)} captions are the best of their dense rows")
    wall, processor = (of_many + a_caption * (n_captions - in_many)) / 60
    print(
        f"extrapolated: all blocks {wall:.1f} min wall on this machine under the same load, {processor:.1f} min CPU, "
        f"{processor / threads():.1f} min on {threads()} idle cores; plus {preparing / 60:.1f} min of preparation "
        f"(measured); {n_captions * k * 8 / 1e9:.2f} GB on disk"
    )
    print(f"load at the end: {machine()}")


if __name__ == "__main__":
    main()
