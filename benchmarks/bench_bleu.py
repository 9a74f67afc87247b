"""The BLEU-1 to BLEU-4 matrices of 25,000 captions x 5,000 images against pycocoevalcap.

    python benchmarks/bench_bleu.py

Ours runs in cold processes, one per n, including imports and writing the float32 .npy. pycocoevalcap scores sampled
pairs in the same run, all four n at once as it always does; its time for the matrices is extrapolated from these pairs.
"""

from __future__ import annotations

import numpy as np
from pycocoevalcap.bleu.bleu import Bleu

from text_metric import against_pycocoevalcap


def official(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    given = {pair: [text] for pair, text in enumerate(candidates)}
    return np.array(Bleu(4).compute_score(dict(enumerate(references)), given, verbose=0)[1]).T


if __name__ == "__main__":
    against_pycocoevalcap("bleu_matrix", [{"n": n} for n in range(1, 5)], official, __doc__, pairs=20_000)
