"""How many false negatives that people see does masking by phi find, and how many true negatives does it mask?

    fivesentences phi cider captions.txt -o cider.npy    # and so on; captions of Flickr8k's test split, in its order
    python benchmarks/masked_pairs.py Flickr8k_text.zip minilm=minilm.npy cider=cider.npy -o results/judged/masked_pairs

Judgements by people (Hodosh et al., JAIR 2013), all within the test split: the crowd's (a caption describes the image
if at least half say so) and the experts' (if two of three give at least 3 of 4). Only pairs with another image's
caption count. Masking a share of all pairs of different images is a threshold of phi; precision and recall are those of
the judged pairs above it. Judged pairs are what retrieval systems of 2013 returned, so the precision is that among
plausible pairs: among all pairs it is lower. Intervals of 95% resample images.

Written: OUT.csv, and OUT.svg: recall and precision over the share that is masked.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pandas as pd
from scipy.stats import rankdata

from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.judgements import load_flickr8k_crowdflower, load_flickr8k_expert
from fivesentences.reproduction.paper.figures.style import STYLE

SHARES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)
DRAWS, SEED = 1000, 0
SETS = {"crowd": "CrowdFlower: at least half say yes", "experts": "experts: two of three say at least 3 of 4"}
NAMES = {"minilm": "MiniLM", "words": "word vectors (WordLlama)", "cider": "CIDEr", "spice": "SPICE"}
COLOURS = {"minilm": "#0072b2", "words": "#56b4e9", "cider": "#d55e00", "spice": "#999999"}


def judged(text_zip: Path) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Of both sets the pairs with another image's caption, ``positive`` if people say that it fits; test captions."""
    corpus = load_flickr8k(text_zip)
    crowd = load_flickr8k_crowdflower(text_zip, corpus).within(corpus, "test").pairs
    each = load_flickr8k_expert(text_zip, corpus, experts="each").within(corpus, "test").pairs
    experts = each.groupby(["caption", "image", "own"], as_index=False)["human"].median()
    sets = {
        "crowd": crowd.assign(positive=crowd["human"] >= 0.5),
        "experts": experts.assign(positive=experts["human"] >= 3),
    }
    return {name: pairs[~pairs["own"]] for name, pairs in sets.items()}, corpus.split("test").captions


def auc(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    """Probability that a positive has the larger score, ties half, each pair counted ``weight`` times."""
    order = np.argsort(scores, kind="stable")
    ranked, place = positive[order], rankdata(scores[order], method="dense").astype(int) - 1
    above, below = (np.bincount(place, weight[order] * side) for side in (ranked, ~ranked))
    return float((above * (np.cumsum(below) - below / 2)).sum() / (above.sum() * below.sum()))


def measured(scores: np.ndarray, positive: np.ndarray, bounds: np.ndarray, weight: np.ndarray) -> dict[tuple, float]:
    """AUC, and precision and recall of the pairs above each bound, in percent."""
    found = {("auc", 1.0): 100 * auc(scores, positive, weight)}
    for share, bound in zip(SHARES, bounds, strict=True):
        masked = weight * (scores > bound)
        right = float((masked * positive).sum())
        found["precision", share] = 100 * right / masked.sum() if masked.sum() else np.nan
        found["recall", share] = 100 * right / float((weight * positive).sum())
    return found


def rows_of(name: str, phi: np.ndarray, sets: dict[str, pd.DataFrame]) -> list[dict[str, object]]:
    """All rows of one phi, ``[captions, images]``."""
    own = np.arange(len(phi)) // (len(phi) // phi.shape[1])
    others = phi[own[:, None] != np.arange(phi.shape[1])]
    bounds, rows = np.quantile(others, [1 - share for share in SHARES]), []
    for judges, pairs in sets.items():
        scores = phi[pairs["caption"], pairs["image"]].astype(np.float64)
        positive, image = pairs["positive"].to_numpy(), pairs["image"].to_numpy()
        point = measured(scores, positive, bounds, np.ones(len(pairs)))
        rng = np.random.default_rng(SEED)
        drawn = [
            measured(scores, positive, bounds, np.bincount(rng.integers(phi.shape[1], size=phi.shape[1]),
                                                           minlength=phi.shape[1])[image].astype(float))
            for _ in range(DRAWS)
        ]  # fmt: skip
        for (quantity, share), value in point.items():
            low, high = np.nanpercentile([one[quantity, share] for one in drawn], [2.5, 97.5])
            about = {"phi": name, "judges": judges, "share": share, "quantity": quantity}
            rows.append(
                about
                | {"percent": value, "low": low, "high": high, "pairs": len(pairs), "positive": int(positive.sum())}
            )
    return rows


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw recall and precision over the share that is masked, a row for each set of judges."""
    with matplotlib.style.context(["default", STYLE]):
        figure, panels = plt.subplots(2, 2, figsize=(8, 5.6), sharex=True, sharey="col", layout="constrained")
        for row, (judges, title) in zip(panels, SETS.items(), strict=True):
            for axes, quantity in zip(row, ("recall", "precision"), strict=True):
                for name, part in table[(table["judges"] == judges) & (table["quantity"] == quantity)].groupby("phi"):
                    axes.plot(part["share"], part["percent"], color=COLOURS[name], marker="o", ms=3, label=NAMES[name])
                    axes.fill_between(part["share"], part["low"], part["high"], color=COLOURS[name], alpha=0.2, lw=0)
                axes.axvline(0.05, color="#888888", lw=0.8, ls=":")
                axes.set(xscale="log", ylim=(0, 100), ylabel=f"{quantity} (%)", title=title)
                axes.title.set_fontsize(10)
                axes.set_xticks(SHARES, [f"{100 * share:g}%" for share in SHARES])
                axes.minorticks_off()
        for axes in panels[1]:
            axes.set_xlabel("share of all pairs that is masked")
        panels[0, 0].legend(loc="lower right", fontsize=8)
        figure.suptitle("Masking by meaning finds the false negatives that people see, and masks more pairs than that")
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Write the table and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text_zip", type=Path)
    parser.add_argument("phis", nargs="+", metavar="NAME=FILE", help=f"of {', '.join(NAMES)}")
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    sets, captions = judged(given.text_zip)
    rows: list[dict[str, object]] = []
    for name, _, file in (entry.partition("=") for entry in given.phis):
        phi = np.load(file)
        if phi.shape != (len(captions), len(captions) // 5):
            raise SystemExit(f"{file} is {phi.shape}; phi of the test split is {(len(captions), len(captions) // 5)}")
        rows += rows_of(name, phi, sets)
    table = pd.DataFrame(rows)
    table.round(3).to_csv(given.out.with_suffix(".csv"), index=False)
    draw(table, given.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
