"""Are spared pairs right pairs? A sample for a person to judge, who is not told which pairs are spared.

    python benchmarks/spared_pairs.py sample results/training/RUN VECTORS.npy PHOTOGRAPHS.zip -o FOLDER
    # judge FOLDER/sheet*.png: write 1 (the caption is right for the image) or 0 into the column verdict of pairs.csv
    python benchmarks/spared_pairs.py count FOLDER/pairs.csv -o counts.csv

Batches are drawn as in training, of the captions that the run was trained on, one for each of 128 images. For an image,
the caption of another that the model finds most similar is its hardest negative. It is spared if phi, by vectors of the
captions, says more than the threshold; then the hardest of the rest takes its place. The sample has as many of the
first kind (``spared``) as of the hardest that are not (``kept``). pairs.csv names images and captions; the captions are
on the sheets alone.
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
from fivesentences.corpus.fractions import training_part
from fivesentences.semantics.embedding import EmbeddingScorer
from fivesentences.semantics.sentence_encoders import read_vectors
from fivesentences.training import load_trained, read_run
from fivesentences.training.data import RunData
from fivesentences.training.scoring import similarity_of

BATCHES, BATCH, ACROSS, DOWN = 2000, 128, 4, 3


def hardest_of_batches(similarity: np.ndarray, image_of_caption: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Image and caption of the hardest negative of every image in random batches, each pair once.

    Args:
        similarity: ``[images, captions]`` of a trained model.
        image_of_caption: ``[captions]``; all images have as many, which stand together.
        rng: Draws the batches.
    """
    each, found = similarity.shape[1] // len(similarity), set()
    for _ in range(BATCHES):
        images = rng.choice(len(similarity), BATCH, replace=False)
        captions = images * each + rng.integers(each, size=BATCH)
        assert (image_of_caption[captions] == images).all()
        scores = similarity[np.ix_(images, captions)]
        np.fill_diagonal(scores, -np.inf)
        found |= {*zip(images.tolist(), captions[scores.argmax(axis=1)].tolist(), strict=True)}
    return pd.DataFrame(sorted(found), columns=["image", "caption"])


def sample(given: argparse.Namespace) -> None:
    """Write pairs.csv, and sheets of photographs with captions in its order."""
    rng = np.random.default_rng(given.seed)
    spec, corpus, features = read_run(given.run / "run.yaml")
    train = training_part(Corpus.read(corpus).split("train"), spec.fraction)
    similarity = similarity_of(load_trained(given.run).model, RunData.read(spec, corpus, features).train)
    pairs = hardest_of_batches(similarity, train.image_of_caption, rng)
    scorer = EmbeddingScorer(read_vectors(given.vectors, train.table), train.image_of_caption)
    pairs["phi"] = scorer.pairs(pairs["caption"], pairs["image"]).round(3)
    pairs["kind"] = np.where(pairs["phi"] > given.threshold, "spared", "kept")
    print(pairs["kind"].value_counts().to_string())
    chosen = pairs.groupby("kind").sample(given.pairs, random_state=rng).sample(frac=1, random_state=rng)
    texts = [train.captions[caption] for caption in chosen["caption"]]
    chosen["caption"] = train.table["caption_id"].to_numpy()[chosen["caption"]]
    chosen["image"] = train.images["filename"].to_numpy()[chosen["image"]]
    given.out.mkdir(parents=True, exist_ok=True)
    chosen.assign(verdict="").to_csv(given.out / "pairs.csv", index=False)
    photographs = Photographs(given.photographs)
    for sheet, begin in enumerate(range(0, len(chosen), ACROSS * DOWN)):
        figure, axes = plt.subplots(DOWN, ACROSS, figsize=(16, 13.5))
        for axis in axes.flat:
            axis.axis("off")
        shown = zip(axes.flat, chosen["image"].iloc[begin:], texts[begin:], strict=False)
        for number, (axis, image, text) in enumerate(shown, begin):
            axis.imshow(photographs.decoded(image))
            axis.set_title(f"{number}: " + "\n".join(textwrap.wrap(text, 44)), fontsize=11)
        figure.tight_layout()
        figure.savefig(given.out / f"sheet{sheet:02}.png", dpi=70)
        plt.close(figure)


def count(given: argparse.Namespace) -> None:
    """Write how many pairs of each kind are right, in percent with Wilson's 95% interval."""
    rows, pairs = [], pd.read_csv(given.pairs, dtype={"verdict": str})
    for kind, of_kind in pairs.groupby("kind"):
        right, judged = int((of_kind["verdict"] == "1").sum()), int(of_kind["verdict"].isin(["0", "1"]).sum())
        interval = binomtest(right, judged).proportion_ci(method="wilson")
        percent = {"percent": right / judged, "low": interval.low, "high": interval.high}
        rows.append(
            {"kind": kind, "right": right, "judged": judged, **{key: 100 * one for key, one in percent.items()}}
        )
    pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.1f")


def main() -> None:
    """Sample pairs, or count verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("sample")
    one.add_argument("run", type=Path, help="folder of a finished run")
    one.add_argument(
        "vectors", type=Path, help="vectors of the corpus's captions, which the rule encode_captions writes"
    )
    one.add_argument("photographs", type=Path, help="the corpus's archive or folder of photographs")
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
