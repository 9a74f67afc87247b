"""The ROUGE-L matrix of 25,000 captions x 5,000 images against pycocoevalcap.

    python benchmarks/bench_rouge.py

Ours runs in a cold process, including imports and writing the float32 .npy. pycocoevalcap scores sampled pairs in the
same run; its time for the matrix is extrapolated from these pairs.
"""

from __future__ import annotations

import numpy as np
from pycocoevalcap.rouge.rouge import Rouge

from text_metric import against_pycocoevalcap


def official(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    given = {pair: [text] for pair, text in enumerate(candidates)}
    return np.asarray(Rouge().compute_score(dict(enumerate(references)), given)[1])[:, None]


if __name__ == "__main__":
    against_pycocoevalcap("rouge_l_matrix", [{}], official, __doc__, pairs=10_000)
