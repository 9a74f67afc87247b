"""The CIDEr matrix of 25,000 captions x 5,000 images against pycocoevalcap.

    python benchmarks/bench_cider.py

Ours runs in a cold process, including imports and writing the float32 .npy. pycocoevalcap scores sampled rows in the
same run, called as an exact row requires (all images' captions as references, one caption as every candidate); its
time for the matrix is extrapolated from these rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from pycocoevalcap.cider.cider import Cider

from captions import coco_5k, machine
from text_metric import cold_matrix, references_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3, help="rows for pycocoevalcap to score (default 3)")
    parser.add_argument("--repeat", type=int, default=3, help="cold processes to time (default 3)")
    arguments = parser.parse_args()
    name, captions, image_of_caption = coco_5k()
    words, texts = references_of(captions, image_of_caption)
    references, n_images = dict(enumerate(texts)), len(texts)
    print(machine())
    print(f"{name}: {len(captions):,} captions x {n_images:,} images")

    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "phi.npy")
        median, told = cold_matrix("cider_matrix", {}, (captions, image_of_caption), written, arguments.repeat)
        print(told)
        matrix = np.load(written, mmap_mode="r")
        rows = np.random.default_rng(0).choice(len(captions), size=arguments.rows, replace=False)
        spent, difference, same_zeros = 0.0, 0.0, True
        for row in rows:
            candidates = {image: [words[row]] for image in references}
            started = time.perf_counter()
            theirs = np.asarray(Cider().compute_score(references, candidates)[1])
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
    print(f"ratio: {whole / median:,.0f} times as fast")


if __name__ == "__main__":
    main()
