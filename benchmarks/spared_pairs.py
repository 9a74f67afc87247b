"""Are spared pairs right pairs? A sample for a person to judge, who is not told which pairs are spared.

    fivesentences similarity RUN -o sims.npy --split train --captions captions.txt
    fivesentences phi embedding captions.txt -o phi.npy
    python benchmarks/spared_pairs.py sample sims.npy phi.npy CORPUS.parquet ZIP -o FOLDER
    # judge FOLDER/sheet*.png: write 1 (the caption is right for the image), 0 or ? into the column verdict of pairs.csv
    python benchmarks/spared_pairs.py count FOLDER/pairs.csv -o counts.csv

Batches are drawn as in training, one caption for each of 128 images. For an image, the caption of another that the
model finds most similar is its hardest negative. It is spared if phi says more than the threshold; then the hardest of
the rest takes its place. The sample has as many of the first kind (``spared``) as of the hardest that are not
(``kept``). pairs.csv names images and captions by number and file; the captions are on the sheets alone.
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import binomtest

from fivesentences.corpus import Corpus, Photographs

BATCHES, BATCH, ACROSS, DOWN = 2000, 128, 4, 3


def hardest_of_batches(
    similarity: np.ndarray, phi: np.ndarray, threshold: float, rng: np.random.Generator
) -> pd.DataFrame:
    """The hardest negative caption of every image in random batches, and whether it is spared; each pair once.

    Args:
        similarity: ``[images, captions]`` of a trained model, five captions per image.
        phi: ``[captions, images]``.
        threshold: The largest phi of a negative.
        rng: Draws the batches.
    """
    found = set()
    for _ in range(BATCHES):
        images = rng.choice(len(similarity), BATCH, replace=False)
        captions = images * 5 + rng.integers(5, size=BATCH)
        scores = similarity[np.ix_(images, captions)]
        np.fill_diagonal(scores, -np.inf)
        found |= {*zip(images.tolist(), captions[scores.argmax(axis=1)].tolist(), strict=True)}
    pairs = pd.DataFrame(sorted(found), columns=["image", "caption"])
    pairs["phi"] = phi[pairs["caption"], pairs["image"]].round(3)
    return pairs.assign(kind=np.where(pairs["phi"] > threshold, "spared", "kept"))


def sample(given: argparse.Namespace) -> None:
    """Write pairs.csv, and sheets of photographs with captions in its order."""
    rng = np.random.default_rng(given.seed)
    similarity, phi = np.load(given.similarity), np.load(given.phi)
    pairs = hardest_of_batches(similarity, phi, given.threshold, rng)
    chosen = pairs.groupby("kind").sample(given.pairs, random_state=rng).sample(frac=1, random_state=rng)
    corpus = Corpus.read(given.corpus).split("train")
    chosen["filename"] = corpus.images["filename"].to_numpy()[chosen["image"]]
    given.out.mkdir(parents=True, exist_ok=True)
    chosen.assign(verdict="").to_csv(given.out / "pairs.csv", index=False)
    photographs = Photographs(given.photographs)
    for sheet, begin in enumerate(range(0, len(chosen), ACROSS * DOWN)):
        figure, axes = plt.subplots(DOWN, ACROSS, figsize=(16, 13.5))
        for axis in axes.flat:
            axis.axis("off")
        for number, (axis, pair) in enumerate(zip(axes.flat, chosen.iloc[begin:].itertuples(), strict=False), begin):
            axis.imshow(photographs.decoded(pair.filename))
            axis.set_title(f"{number}: " + "\n".join(textwrap.wrap(corpus.captions[pair.caption], 44)), fontsize=11)
        figure.tight_layout()
        figure.savefig(given.out / f"sheet{sheet:02}.png", dpi=70)
        plt.close(figure)


def count(given: argparse.Namespace) -> None:
    """Write how many pairs of each kind are right, with Wilson's 95% interval, in percent."""
    pairs = pd.read_csv(given.pairs, dtype={"verdict": str})
    rows = []
    for kind, of_kind in pairs.groupby("kind"):
        right, judged = int((of_kind["verdict"] == "1").sum()), int(of_kind["verdict"].isin(["0", "1"]).sum())
        interval = binomtest(right, judged).proportion_ci(method="wilson")
        low, high = (round(100 * end, 1) for end in (interval.low, interval.high))
        rows.append(
            {"kind": kind, "right": right, "judged": judged, "percent": 100 * right / judged, "low": low, "high": high}
        )
    pd.DataFrame(rows).to_csv(given.out, index=False)


def main() -> None:
    """Sample pairs, or count verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("sample")
    one.add_argument("similarity", type=Path, help="[images, captions] of the training captions")
    one.add_argument("phi", type=Path, help="[captions, images]")
    one.add_argument("corpus", type=Path, help="the corpus, .parquet")
    one.add_argument("photographs", type=Path, help="its archive or folder of photographs")
    one.add_argument("--threshold", type=float, default=0.363)
    one.add_argument("--pairs", type=int, default=50, help="of each kind")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("-o", "--out", type=Path, required=True, help="folder of pairs.csv and sheets")
    one.set_defaults(do=sample)
    two = commands.add_parser("count")
    two.add_argument("pairs", type=Path, help="pairs.csv with verdicts")
    two.add_argument("-o", "--out", type=Path, required=True, help="counts, .csv")
    two.set_defaults(do=count)
    given = parser.parse_args()
    given.do(given)


if __name__ == "__main__":
    main()
