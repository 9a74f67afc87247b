"""Does phi find the wrong pairs of noisy training captions? Precision and recall of finding them; nothing is trained.

    python benchmarks/wrong_pairs.py CORPUS.parquet VECTORS.npy -o counts.csv

Captions are permuted as `noise` of a run does it. A caption is then scored against the other captions of the image that
it stands with: the lowest phi are called wrong, as many as there are wrong pairs. And of the pairs of a wrong caption
and its true image, which training takes for negatives: which share does masking above the threshold, 5% of all pairs,
spare?
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, t

from fivesentences.corpus import Corpus
from fivesentences.corpus.fractions import training_part
from fivesentences.semantics.embedding import EmbeddingScorer
from fivesentences.semantics.registry import prepare
from fivesentences.semantics.scoring import Scorer
from fivesentences.semantics.sentence_encoders import read_vectors

SEEDS, NOISE, MASKED = range(101, 106), (0.2, 0.4), 5.0
PHIS = ("embedding", "cider", "tfidf")


def measure(clean: Corpus, noise: float, seed: int, phi: str, vectors: Path) -> dict[str, float]:
    """Return area under the ROC curve, precision, and the share of lost positives that are masked, in percent."""
    noisy = training_part(clean, 1.0, noise=noise, seed=seed)
    home = pd.Series(clean.image_of_caption, index=clean.table["caption_id"])
    true_image = home[noisy.table["caption_id"]].to_numpy()
    wrong = true_image != noisy.image_of_caption
    scorer: Scorer = (
        EmbeddingScorer(read_vectors(vectors, noisy.table), noisy.image_of_caption)
        if phi == "embedding"
        else prepare(phi, noisy.captions, noisy.image_of_caption)
    )
    place = np.arange(noisy.n_captions)
    own = scorer.pairs(place, noisy.image_of_caption, without_own=True)
    called = np.argsort(own, kind="stable")[: wrong.sum()]
    rng = np.random.default_rng(seed)
    others = rng.integers(noisy.n_images, size=200_000), rng.integers(noisy.n_captions, size=200_000)
    apart = others[0] != noisy.image_of_caption[others[1]]
    threshold = np.percentile(scorer.pairs(others[1][apart], others[0][apart]), 100 - MASKED)
    lost = scorer.pairs(place[wrong], true_image[wrong])
    return {
        "auc": 100 * float(mannwhitneyu(own[~wrong], own[wrong]).statistic) / ((~wrong).sum() * wrong.sum()),
        "precision": 100 * float(wrong[called].mean()),
        "chance": 100 * float(wrong.mean()),
        "masked": 100 * float((lost > threshold).mean()),
    }


def main() -> None:
    """Write one line per phi, noise and quantity: mean over seeds with its 95% t interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--fraction", type=float, default=0.25)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    clean = training_part(Corpus.read(given.corpus).split("train"), given.fraction)
    lines = []
    for phi in PHIS:
        for noise in NOISE:
            found = pd.DataFrame([measure(clean, noise, seed, phi, given.vectors) for seed in SEEDS])
            half = t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found))
            for quantity, mean in found.mean().items():
                low, high = mean - half[quantity], mean + half[quantity]
                lines.append((phi, noise, clean.n_captions, quantity, len(found), mean, low, high))
    columns = ["phi", "noise", "captions", "quantity", "seeds", "percent", "low", "high"]
    pd.DataFrame(lines, columns=columns).round(3).to_csv(given.out, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
