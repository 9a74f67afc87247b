"""How many pairs that people find right does a threshold of phi find, and how many others with them?

    fivesentences phi cider captions.txt -o cider.npy    # and so on; captions of the test split, in its order
    python benchmarks/masked_pairs.py Flickr8k_text.zip minilm=minilm.npy cider=cider.npy -o results/judged/masked_pairs
    python benchmarks/masked_pairs.py coco_test5k.zip --cxc sits_test.csv minilm=... -o results/judged/coco_pairs

``meteor`` names no file: it has no matrix, so only its ROC AUC is measured, of sets with few judged pairs, in minutes.

Only pairs of a caption with another image count. Masking a share of all such pairs of the test split is a threshold of
phi; precision and recall are those of the judged pairs above it. Who judged which pairs:

- Flickr8k (Hodosh et al., JAIR 2013): the crowd (right if at least half say so) and experts (if two of three give at
  least 3 of 4), among pairs that retrieval systems of 2013 returned.
- Crisscrossed Captions (Parekh et al., EACL 2021): pairs sampled by similarity within a modality, right if the mean
  rating is at least 3 of 5, as its authors and ECCV Caption have it; 2 and 4 are measured too.
- ECCV Caption (Chun et al., ECCV 2022): the first 25 items of five retrieval models, verified by people, and pairs of
  CxC. The package lists right pairs alone, so every other pair of a query counts as wrong: precision is a lower bound.
  ``eccv_captions_new`` leaves out the pairs that CxC rates, right or wrong.

Precision is that among plausible pairs for the first two: among all pairs it is lower. Intervals of 95% resample
images: for ECCV Caption those of the queries, for the others that of the pair. All phi are resampled alike, so that
differences are paired.

Written: OUT.csv, OUT_differences.csv, and OUT.svg: recall and precision over the share that is masked.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus import Corpus
from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.judgements import load_cxc, load_flickr8k_crowdflower, load_flickr8k_expert
from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.evaluation.positives import CXC_THRESHOLD, packaged_positives
from fivesentences.reproduction.paper.figures.style import STYLE
from fivesentences.semantics.java.meteor import MeteorScorer

SHARES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)
COMPARED = (0.01, 0.05)  # shares at which phi are compared with each other
DRAWS, SEED = 1000, 0
FEW = 100_000  # pairs of a set that METEOR scores: two minutes
COLUMNS = ["phi", "judges", "share", "quantity", "percent", "low", "high", "pairs", "positive"]
# Sets that are drawn, a row of panels each, by the name of the corpus; then the title of the figure.
SHOWN = {
    "flickr8k": {"crowd": "CrowdFlower: at least half say yes", "experts": "experts: two of three say at least 3 of 4"},
    "coco": {"cxc": "CxC: mean rating of at least 3 of 5", "eccv_captions": "ECCV Caption: listed images of captions"},
}
TITLES = {
    "flickr8k": "Masking by meaning finds the false negatives that people see, and masks more pairs than that",
    "coco": "Which pairs of MS-COCO that people find right does each metric find?",
}
NAMES = {
    "minilm": "MiniLM",
    "words": "word vectors (WordLlama)",
    "tfidf": "tf-idf",
    "cider": "CIDEr",
    "spice": "SPICE",
    "bleu4": "BLEU-4",
    "meteor": "METEOR",
}
COLOURS = {
    "minilm": "#0072b2",
    "words": "#56b4e9",
    "tfidf": "#009e73",
    "cider": "#d55e00",
    "spice": "#999999",
    "bleu4": "#cc79a7",
}


@dataclass(frozen=True)
class Judged:
    """Pairs of a caption with another image, ``[pairs]`` each.

    Attributes:
        caption: Index of the caption.
        image: Index of the image.
        positive: Whether the caption fits the image, by those who judged.
        drawn: Index of the image with which the pair is resampled.
    """

    caption: NDArray[np.integer]
    image: NDArray[np.integer]
    positive: NDArray[np.bool_]
    drawn: NDArray[np.integer]

    @classmethod
    def of(cls, pairs: pd.DataFrame, lowest: float) -> Judged:
        """Take judgements of pairs; those with a caption's own image are left out."""
        others = pairs[~pairs["own"]]
        caption, image, human = (others[column].to_numpy() for column in ("caption", "image", "human"))
        return cls(caption, image, human >= lowest, image)


def judged_flickr8k(text_zip: Path) -> tuple[dict[str, Judged], Corpus]:
    """Read the crowd's and the experts' judgements, and the test split that they index."""
    corpus = load_flickr8k(text_zip)
    crowd = load_flickr8k_crowdflower(text_zip, corpus).within(corpus, "test").pairs
    each = load_flickr8k_expert(text_zip, corpus, experts="each").within(corpus, "test").pairs
    experts = each.groupby(["caption", "image", "own"], as_index=False)["human"].median()
    return {"crowd": Judged.of(crowd, 0.5), "experts": Judged.of(experts, 3)}, corpus.split("test")


def judged_coco(captions: Path, sits_csv: Path) -> tuple[dict[str, Judged], Corpus]:
    """Read CxC's ratings and ECCV Caption's lists, and the test split that they index."""
    corpus = load_karpathy(captions, "coco", captions_per_image=5)
    rated = load_cxc(sits_csv, corpus).within(corpus, "test").pairs
    split = corpus.split("test")
    sets = {"cxc": Judged.of(rated, CXC_THRESHOLD)} | {f"cxc_{low}": Judged.of(rated, low) for low in (2, 4)}
    listed = packaged_positives("eccv", split.images["image_id"].tolist(), split.caption_ids)
    by_cxc = np.zeros(listed.shape, dtype=bool)
    by_cxc[rated["image"], rated["caption"]] = True
    of_queries = {
        "eccv_captions": against_unlisted(listed.t2i.T.toarray(), split.image_of_caption, captions_ask=True),
        "eccv_images": against_unlisted(listed.i2t.T.toarray(), split.image_of_caption, captions_ask=False),
    }
    asked = of_queries["eccv_captions"]
    new = ~by_cxc[asked.image, asked.caption]
    only_new = Judged(asked.caption[new], asked.image[new], asked.positive[new], asked.drawn[new])
    return sets | of_queries | {"eccv_captions_new": only_new}, split


def against_unlisted(listed: NDArray[np.bool_], image_of_caption: NDArray[np.integer], captions_ask: bool) -> Judged:
    """Pair every query with all items of the gallery but its own; what its list lacks counts as wrong.

    Args:
        listed: ``[captions, images]`` right pairs; a query is a caption or an image that has one.
        image_of_caption: ``[captions]`` index of each caption's image.
        captions_ask: Whether captions are queries.
    """
    own = image_of_caption[:, None] == np.arange(listed.shape[1])
    asked = listed.any(axis=1, keepdims=True) if captions_ask else listed.any(axis=0, keepdims=True)
    caption, image = (places.astype(np.int32) for places in np.nonzero(asked & ~own))
    return Judged(caption, image, listed[caption, image], image_of_caption[caption] if captions_ask else image)


def measured(
    scores: NDArray[np.float64], pairs: Judged, bounds: NDArray[np.floating], times: NDArray[np.floating]
) -> dict[tuple[str, float], NDArray[np.float64]]:
    """Compute ROC AUC, and precision and recall of the pairs above each bound, in percent.

    Args:
        scores: ``[pairs]`` phi.
        pairs: The pairs.
        bounds: Thresholds, one per share; empty: AUC alone.
        times: ``[draws, images]`` how often each image is drawn.

    Returns:
        ``[draws]`` of each quantity and share; precision is NaN where nothing is above the bound.
    """
    units = np.flatnonzero(np.bincount(pairs.drawn))  # images that have pairs
    place, weight, positive = np.searchsorted(units, pairs.drawn), times[:, units].astype(float), pairs.positive

    def weighed(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(weight @ np.bincount(place[chosen], minlength=len(units)))

    found = {("auc", 1.0): 100 * auc(scores, positive, place, weight)}
    positives = weighed(positive)
    for share, bound in zip(SHARES[: len(bounds)], bounds, strict=True):
        above = scores > bound
        masked, right = weighed(above), weighed(above & positive)
        found["precision", share] = 100 * np.divide(right, masked, out=np.full(len(right), np.nan), where=masked > 0)
        found["recall", share] = 100 * right / positives
    return found


def auc(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], place: NDArray[np.integer], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``[draws]`` the probability that a positive has the larger score, ties half.

    Args:
        scores: ``[pairs]`` phi.
        positive: ``[pairs]`` which are positive.
        place: ``[pairs]`` column of ``weight`` that says how often a pair counts.
        weight: ``[draws, units]``.
    """
    if weight.shape[1] ** 2 > len(scores):  # a few pairs per image: rank them once, and weigh them in every draw
        rank = np.unique(scores, return_inverse=True)[1]
        n_ranks = int(rank.max()) + 1
        areas = np.empty(len(weight))
        for draw, of_unit in enumerate(weight):
            of_pair = of_unit[place]
            above, below = (np.bincount(rank[side], of_pair[side], n_ranks) for side in (positive, ~positive))
            areas[draw] = (above * (np.cumsum(below) - below / 2)).sum() / (above.sum() * below.sum())
        return areas
    # Thousands of pairs per image: count how often a positive of one image beats a negative of another, and weigh these
    # counts in every draw.
    order = np.argsort(scores[positive])
    ranked, unit_of_ranked = scores[positive][order], place[positive][order]
    n_units = weight.shape[1]
    n_positive, n_negative = (np.bincount(place[side], minlength=n_units) for side in (positive, ~positive))
    grouped = scores[~positive][np.argsort(place[~positive].astype(np.uint16), kind="stable")]
    wins = np.empty((n_units, n_units))
    for unit, of_unit in enumerate(np.split(grouped, np.cumsum(n_negative)[:-1])):
        low = np.sort(of_unit)
        beaten = np.searchsorted(low, ranked, "left") + np.searchsorted(low, ranked, "right")
        wins[:, unit] = np.bincount(unit_of_ranked, beaten / 2, n_units)
    return np.asarray(((weight @ wins) * weight).sum(axis=1) / ((weight @ n_positive) * (weight @ n_negative)))


def bounds_of(phi: NDArray[np.floating], image_of_caption: NDArray[np.integer]) -> tuple[NDArray, list[float]]:
    """Return the threshold of each share of the pairs of different images, and the percentage above it.

    The latter is smaller where many pairs have the same score, as they do where phi counts words.
    """
    others = phi[image_of_caption[:, None] != np.arange(phi.shape[1])]
    bounds = np.quantile(others, [1 - share for share in SHARES])
    return bounds, [100 * float(np.count_nonzero(others > bound) / len(others)) for bound in bounds]


def rows_of(
    name: str, phi: NDArray[np.floating], sets: dict[str, Judged], image_of_caption: NDArray[np.integer]
) -> tuple[list[dict[str, object]], dict[tuple[str, str, float], NDArray[np.float64]]]:
    """Return the rows of one phi, and of each number its value and those of all draws.

    Args:
        name: Name of phi.
        phi: ``[captions, images]``; NaN for pairs that have no score. If there are any, no threshold masks a share of
            the pairs, so AUC alone is returned, of the sets whose pairs all have one.
        sets: Judged pairs.
        image_of_caption: ``[captions]`` index of each caption's image.
    """
    rng, images = np.random.default_rng(SEED), phi.shape[1]
    times = np.stack([np.bincount(rng.integers(images, size=images), minlength=images) for _ in range(DRAWS)])
    counted = np.concatenate([np.ones((1, images)), times])  # as they are, and then resampled
    rows: list[dict[str, object]] = []
    bounds: NDArray[np.floating] = np.empty(0)
    if not np.isnan(phi).any():
        bounds, above = bounds_of(phi, image_of_caption)
        about = {"phi": name, "judges": "all", "quantity": "masked", "pairs": int(phi.size - len(phi))}
        rows += [about | {"share": share, "percent": percent} for share, percent in zip(SHARES, above, strict=True)]
    drawn = {}
    for judges, pairs in sets.items():
        scores = phi[pairs.caption, pairs.image].astype(np.float64)
        if np.isnan(scores).any():
            continue
        for (quantity, share), values in measured(scores, pairs, bounds, counted).items():
            low, high = np.nanpercentile(values[1:], [2.5, 97.5])
            about = {"phi": name, "judges": judges, "share": share, "quantity": quantity}
            value = {"percent": values[0], "low": low, "high": high}
            rows.append(about | value | {"pairs": len(pairs.image), "positive": int(pairs.positive.sum())})
            drawn[judges, quantity, share] = values
    return rows, drawn


def meteor_of(sets: dict[str, Judged], corpus: Corpus) -> NDArray[np.float32]:
    """Return ``[captions, images]`` METEOR of the pairs of sets with few; NaN elsewhere."""
    scorer = MeteorScorer(corpus.captions, corpus.image_of_caption)
    phi = np.full(scorer.shape, np.nan, dtype=np.float32)
    for pairs in sets.values():
        if len(pairs.image) <= FEW:
            phi[pairs.caption, pairs.image] = scorer.pairs(pairs.caption, pairs.image)
    return phi


def differences(drawn: dict[str, dict[tuple[str, str, float], NDArray[np.float64]]]) -> pd.DataFrame:
    """Compare all phi with each other, paired by what was drawn."""
    rows = []
    for a, b in combinations(drawn, 2):
        for (judges, quantity, share), values in drawn[a].items():
            if (quantity == "auc" or share in COMPARED) and (judges, quantity, share) in drawn[b]:
                less = values - drawn[b][judges, quantity, share]
                low, high = np.nanpercentile(less[1:], [2.5, 97.5])
                about = {"phi": a, "less": b, "judges": judges, "share": share, "quantity": quantity}
                rows.append(about | {"points": less[0], "low": low, "high": high})
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, corpus: str, path: Path) -> None:
    """Draw recall and precision over the share that is masked, a row for each set of judges."""
    with matplotlib.style.context(["default", STYLE]):
        figure, panels = plt.subplots(2, 2, figsize=(8, 5.6), sharex=True, sharey="col", layout="constrained")
        for row, (judges, title) in zip(panels, SHOWN[corpus].items(), strict=True):
            for axes, quantity in zip(row, ("recall", "precision"), strict=True):
                shown = table[(table["judges"] == judges) & (table["quantity"] == quantity)]
                for name in (name for name in NAMES if name in set(shown["phi"])):  # from the closest to people on
                    part = shown[shown["phi"] == name]
                    axes.plot(part["share"], part["percent"], color=COLOURS[name], marker="o", ms=3, label=NAMES[name])
                    axes.fill_between(part["share"], part["low"], part["high"], color=COLOURS[name], alpha=0.2, lw=0)
                axes.axvline(0.05, color="#888888", lw=0.8, ls=":")
                axes.set(xscale="log", ylim=(0, 100), ylabel=f"{quantity} (%)", title=title)
                axes.title.set_fontsize(10)
                axes.set_xticks(SHARES, [f"{100 * share:g}%" for share in SHARES])
                axes.minorticks_off()
        for axes in panels[1]:
            axes.set_xlabel("share of all pairs that is masked")
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, columnspacing=4, fontsize=8
        )
        figure.suptitle(TITLES[corpus])
        figure.savefig(path, metadata={"Date": None})


def write(
    rows: list[dict[str, object]],
    drawn: dict[str, dict[tuple[str, str, float], NDArray[np.float64]]],
    corpus: str,
    out: Path,
) -> None:
    """Write the table of all phi, that of their differences, and the figure."""
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"positive": "Int64"})
    table.round(3).to_csv(out.with_suffix(".csv"), index=False)
    differences(drawn).round(3).to_csv(out.with_name(f"{out.name}_differences.csv"), index=False)
    draw(table, corpus, out.with_suffix(".svg"))


def main() -> None:
    """Write the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=Path, help="Flickr8k_text.zip; with --cxc captions of MS-COCO's test split")
    parser.add_argument("phis", nargs="+", metavar="NAME=FILE", help=f"of {', '.join(NAMES)}; meteor has no file")
    parser.add_argument("--cxc", type=Path, metavar="SITS_TEST", help="judge by CxC and ECCV Caption on MS-COCO")
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    sets, corpus = judged_coco(given.captions, given.cxc) if given.cxc else judged_flickr8k(given.captions)
    rows: list[dict[str, object]] = []
    drawn = {}
    for name, _, file in (entry.partition("=") for entry in given.phis):
        phi = meteor_of(sets, corpus) if name == "meteor" else np.load(file)
        if phi.shape != (shape := (corpus.n_captions, corpus.n_images)):
            raise SystemExit(f"{file} is {phi.shape}; phi of the test split is {shape}")
        if name != "meteor" and np.isnan(phi).any():
            raise SystemExit(f"{file} has NaN; every pair needs a score")
        of_phi, drawn[name] = rows_of(name, phi, sets, corpus.image_of_caption)
        rows += of_phi
    write(rows, drawn, corpus.name, given.out)


if __name__ == "__main__":
    main()
