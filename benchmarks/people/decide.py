"""Which metric orders models as people do? Flickr8k's judged captions decide (docs/findings/people.md).

    uv run snakemake people --configfile benchmarks/people/people.yaml
    python benchmarks/people/decide.py score results data/flickr8k/Flickr8k_text.zip values
    python benchmarks/people/decide.py compare values -o results/people --draw docs/images/people.svg

The first command trains, the second scores all models of models.py, every query, and the last compares orders.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.evaluation.people import people_judged
from fivesentences.metrics import Evaluator
from fivesentences.metrics.model_orders import Score, agreements, mean_over, median_over, power
from fivesentences.reproduction.paper.claims.orders import write_claims_of_orders
from fivesentences.reproduction.paper.figures.style import STYLE
from fivesentences.reproduction.study.study import read_claims
from fivesentences.semantics import prepare
from fivesentences.semantics.java.scene_graph_parser import parse_captions
from fivesentences.semantics.registry import needs_tuples
from fivesentences.semantics.scoring import matrix_of
from fivesentences.semantics.tuples import Tuples, read_tuples

PHIS = {
    "CIDEr": "cider",
    "tf-idf": "tfidf",
    "BLEU-4": "bleu4",
    "word vectors": "embedding:wordllama",
    "MiniLM": "embedding",
    "SPICE": "spice",
}
OF_WHOLE = ("CIDEr", "word vectors")  # phi of ASP
KS, MS = (1, 5, 10), (1, 2, 3)
IMAGES, CAPTIONS_PER_IMAGE = 1000, 5
CLOSE = 10.0  # of Rsum
CLOSE_TO_PEOPLE = 0.02  # of people's AP; unlike the above it favours no metric
APART = 1.96  # t of a pair that is told apart
DRAWS = 400
KEPT, LEFT_OUT = "own image kept", "own image left out"
PEOPLE = {KEPT: "crowd.5 AP kept", LEFT_OUT: "crowd.5 AP removed"}
OTHER_PEOPLE = (
    "crowd1 AP",
    "experts3 AP",
    "crowd nDCG",
    "crowd.5 nDCG",
    "crowd.5 Q",
    "crowd.5 bpref",
    "crowd.5 infAP",
    "crowd.5 mAP@R",
)
BASE = "Rsum"
CLAIMS = {
    "scale": "people",
    "title": "Flickr8k, models that people order",
    "page": "../../people/agreement.md",
}
TRAINED = ("vsepp", "cvse", "vse_infinity", "sgr")


def score(results: Path, text_zip: Path, out: Path) -> None:
    """Write the values of every query of every model that is not there yet."""
    from models import every_model

    out.mkdir(parents=True, exist_ok=True)
    corpus = load_flickr8k(text_zip).split("test")
    phis = {}
    for name, phi in PHIS.items():
        path = out / f"phi-{phi.replace(':', '-')}.npy"
        if not path.exists():
            tuples = scene_graphs(corpus.captions, out) if needs_tuples(phi) else None
            matrix = matrix_of(prepare(phi, corpus.captions, corpus.image_of_caption, tuples))
            np.save(path, np.asarray(matrix, dtype=np.float32))
        phis[name] = np.load(path)
    main = Evaluator(phis, ks=KS, ms=MS, asp_ties=(), judged=people_judged(text_zip))
    whole = Evaluator({name: phis[name] for name in OF_WHOLE}, ks=(1,), ms=(), asp_ties=("index",))
    for model in every_model(results):
        file = out / f"{hashlib.sha256(model.name.encode()).hexdigest()[:16]}.npz"
        if file.exists():
            continue
        found = main.with_queries(model.i2t, ("i2t",)).queries + main.with_queries(model.t2i, ("t2i",)).queries
        asp = [one for one in whole.with_queries(model.t2i, ("t2i",)).queries if one["metric"] == "ASP"]
        arrays = {
            " ".join(
                filter(None, [one["direction"], one["metric"], one["ground_truth"], one["phi"], f"m={one['m']}"])
            ): one["values"].astype(np.float32)
            for one in [*found, *asp]
        }
        about = {key: getattr(model, key) for key in ("name", "kind", "family", "words", "reading")}
        with (out / f".{file.name}").open("wb") as opened:
            np.savez(opened, about=json.dumps(about), **arrays)
        (out / f".{file.name}").rename(file)
        print(model.name, flush=True)


def scene_graphs(captions: Sequence[str], folder: Path) -> Tuples:
    """Parse captions by SPICE's parser (Java), once."""
    path = folder / "test.tuples.jsonl.gz"
    if not path.exists():
        parse_captions(captions, path, threads=1)
    return read_tuples(path, captions)


def per_image(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[..., captions]`` -> ``[..., images]``: the mean over an image's captions that count, NaN where none does."""
    values = values.reshape(*values.shape[:-1], IMAGES, CAPTIONS_PER_IMAGE)
    counted = ~np.isnan(values)
    total, number = np.where(counted, values, 0).sum(axis=-1), counted.sum(axis=-1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Scored:
    """All models.

    Attributes:
        about: One row per model: name, kind, family, words, reading.
        values: By number, ``[models, queries]``.
    """

    about: pd.DataFrame
    values: dict[str, NDArray[np.float32]]

    @classmethod
    def read(cls, folder: Path) -> Scored:
        """Read what ``score`` wrote."""
        about, values = [], dict[str, list[NDArray]]()
        for file in sorted(folder.glob("[0-9a-f]*.npz")):
            with np.load(file, allow_pickle=False) as one:
                about.append(json.loads(str(one["about"])))
                for name in one.files:
                    if name != "about":
                        values.setdefault(name, []).append(one[name])
        return cls(pd.DataFrame(about), {name: np.stack(of) for name, of in values.items()})

    def units(self, name: str) -> NDArray[np.float64]:
        """``[models, images]`` of a number: the mean over the captions of each image, NaN where none counts."""
        found = self.values[name].astype(np.float64)
        if name.startswith("i2t"):
            return found
        return per_image(found)

    def summed(self, metric: str, rest: str = "m=0") -> NDArray[np.float64]:
        """The sum over cut-offs and directions."""
        return np.sum([self.units(f"{side} {metric}@{k} {rest}") for side in ("i2t", "t2i") for k in KS], axis=0)

    def people(self, name: str) -> NDArray[np.float64]:
        """Values by people's judgements."""
        return self.units(f"t2i {name} m=0")

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """``[models, images]`` of every metric but the median rank, larger is better."""
        ranks = self.values["t2i Mean r m=0"].astype(np.float64)

        def of_ranks(values: NDArray) -> NDArray:
            return np.asarray(values.reshape(len(values), IMAGES, -1).mean(axis=2))

        found = {f"R@{k}": self.units(f"t2i R@{k} m=0") for k in KS}
        found |= {BASE: self.summed("R"), "mean rank": of_ranks(-ranks), "mean reciprocal rank": of_ranks(1 / ranks)}
        found["mean log rank"] = of_ranks(-np.log(ranks))
        for phi in PHIS:
            found |= {f"NCS@{k} by {phi}": self.units(f"t2i N@{k} kept {phi} m=0") for k in (1, 10)}
            found[f"Nsum by {phi}"] = self.summed("N", f"kept {phi} m=0")
            found[f"nDCG@10 by {phi}"] = self.units(f"t2i nDCG@10 {phi} m=0")
            found[f"Nsum by {phi}, own items removed"] = self.summed("N", f"removed {phi} m=0")
        for phi in OF_WHOLE:
            found[f"ASP by {phi}"] = self.units(f"t2i ASP {phi} m=0")
        for phi in ("CIDEr", "word vectors"):
            found |= {f"SR@5 by {phi}, m = {m}": self.units(f"t2i SR@5 removed {phi} m={m}") for m in MS}
        return found


def compare(folder: Path, out: Path, figure: Path, draws: int) -> None:
    """Write tables of agreement, of differences to Rsum, of discriminative power and of models, and the figure."""
    scored = Scored.read(folder)
    about, metrics = scored.about, scored.metrics()
    functions: dict[str, Score] = {name: mean_over(of) for name, of in metrics.items()}
    captions = np.repeat(np.arange(IMAGES), CAPTIONS_PER_IMAGE)
    functions["median rank"] = median_over(-scored.values["t2i Mean r m=0"].astype(float), captions)
    rsum = metrics[BASE].mean(axis=1)
    family, words = about["family"].to_numpy(), about["words"].to_numpy(dtype=bool)
    naive = (about["reading"] == "naive").to_numpy()
    apart = family[:, None] != family
    close = apart & (np.abs(rsum[:, None] - rsum) <= CLOSE)
    of_people = {
        f"ap_{key}": np.nanmean(scored.people(name), axis=1)
        for key, name in zip(("kept", "left_out"), PEOPLE.values(), strict=True)
    }
    by_people = of_people["ap_left_out"][:, None] - of_people["ap_left_out"]
    near = apart & (np.abs(by_people) <= CLOSE_TO_PEOPLE)
    sets = {
        "all": apart,
        "close": close,
        "close to people": near,
        "close, without word vectors": close & ~words[:, None] & ~words,
        "close, trained by gradient": close & _both(about["kind"].isin(TRAINED).to_numpy()),
        "close, as they are": close & _both(naive),
        "re-scored against as it is": (~apart) & (naive[:, None] != naive) & _same_seed(about),
    }
    rows, differences, draws_of = list[dict[str, Any]](), list[dict[str, Any]](), {}
    for people, name in PEOPLE.items():
        truth = mean_over(scored.people(name))
        for of, among in sets.items():
            if not np.triu(among, 1).any():
                continue
            found = agreements(functions, truth, IMAGES, family, among, draws)
            draws_of[people, of] = found
            for metric, one in found.items():
                tau, share = one.interval(), one.interval("share")
                rows.append(
                    {"people": people, "models": of, "metric": metric, "tau": one.tau, "tau_low": tau[0]}
                    | {"tau_high": tau[1], "share": 100 * one.share, "share_low": 100 * share[0]}
                    | {"share_high": 100 * share[1], "pairs": one.pairs}
                )
                for base in (BASE, "R@10", "R@1"):
                    value, low, high = one.difference(found[base])
                    differences.append(
                        {"people": people, "models": of, "metric": metric, "less": base}
                        | {"tau": value, "low": low, "high": high}
                    )
    table = pd.DataFrame(rows)
    out.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(out / "agreement.csv", index=False)
    pd.DataFrame(differences).round(4).to_csv(out / "differences.csv", index=False)
    others = []
    for name in OTHER_PEOPLE:
        for kept in ("kept", "removed"):
            truth = mean_over(scored.people(f"{name} {kept}"))
            for of in ("all", "close"):
                found = agreements(functions, truth, IMAGES, family, sets[of], 2)
                others += [
                    {"people": f"{name}, own image {'kept' if kept == 'kept' else 'left out'}", "models": of}
                    | {"metric": metric, "tau": one.tau}
                    for metric, one in found.items()
                ]
    wide = pd.DataFrame(others).pivot(index="metric", columns=["people", "models"], values="tau")
    wide.columns = [f"{people}; {of}" for people, of in wide.columns]
    wide.round(3).to_csv(out / "other_people.csv")
    rows = []
    first, second = np.nonzero(np.triu(near, 1))
    order = np.sign(by_people[first, second])
    every = metrics | {f"people's AP, {people}": scored.people(name) for people, name in PEOPLE.items()}
    found_power = {name: power(of, near) for name, of in every.items()}
    for name, one in found_power.items():
        told = np.abs(one.statistic) > APART
        wrong = np.mean(np.sign(one.statistic[told]) == -order[told]) if told.any() else np.nan
        rows.append(
            {"metric": name, "apart": 100 * one.apart, "wrong": 100 * wrong, "pairs": len(order)}
            | {"queries": found_power[BASE].noncentrality / max(one.noncentrality, 1e-9)}
        )
    pd.DataFrame(rows).round(3).to_csv(out / "power.csv", index=False)
    models = about.assign(rsum=rsum, **of_people).round(4)
    models.to_csv(out / "models.csv", index=False)
    summary = {"models": len(about), "families": int(about["family"].nunique()), "draws": draws}
    summary |= {
        "as_they_are": int(naive.sum()),
        "rescored": int((~naive).sum()),
        "kinds": about["kind"].value_counts().to_dict(),
    }
    summary["with_seeds"] = int((about[naive].groupby("family").size() >= 3).sum())
    pd.DataFrame([summary | {"kinds": ""} | {f"kind_{k}": v for k, v in summary["kinds"].items()}]).drop(
        columns="kinds"
    ).to_csv(out / "summary.csv", index=False)
    by_family = {"Rsum kept": metrics[BASE]} | {
        f"Nsum {own}": scored.summed("N", f"{own} CIDEr m=0") for own in ("kept", "removed")
    }
    write_claims_of_orders(
        out / "claims.json",
        CLAIMS,
        read_claims(Path("config"), {}, "the order of models"),
        {of: found for (people, of), found in draws_of.items() if people == LEFT_OUT},
        IMAGES,
        {
            name: pd.Series(of.mean(axis=1)[naive]).groupby(family[naive]).mean().to_numpy()
            for name, of in by_family.items()
        },
    )
    (out / "agreement.md").write_text(in_markdown(table), encoding="utf-8")
    (out / "power.md").write_text(power_in_markdown(pd.DataFrame(rows)), encoding="utf-8")
    draw(table, figure)


def in_markdown(table: pd.DataFrame) -> str:
    """Return tau of every metric as a table, the best by close pairs first."""
    columns = {
        "all": (LEFT_OUT, "all"),
        f"close: Rsum within {CLOSE:g}": (LEFT_OUT, "close"),
        f"close: people's AP within {CLOSE_TO_PEOPLE:g}": (LEFT_OUT, "close to people"),
        "close by Rsum, own image kept": (KEPT, "close"),
        "close by Rsum, no word vectors": (LEFT_OUT, "close, without word vectors"),
    }
    cells = table.set_index(["people", "models", "metric"])
    names = sorted(table["metric"].unique(), key=lambda name: -cells.loc[(LEFT_OUT, "close", name), "tau"])
    lines = [["metric", *columns], ["---", *["---:"] * len(columns)]]
    for name in names:
        of = [cells.loc[(*key, name)] for key in columns.values()]
        lines.append([name, *(signed(f"{one['tau']:.2f} [{one['tau_low']:.2f}, {one['tau_high']:.2f}]") for one in of)])
    pairs = [f"{cells.loc[(*key, names[0])]['pairs']:,.0f}" for key in columns.values()]
    lines.append(["pairs of models", *pairs])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def power_in_markdown(table: pd.DataFrame) -> str:
    """Return discriminative power as a table, what needs fewest queries first."""
    head = ["metric", "pairs told apart", "of these against people's order", f"queries needed, as a share of {BASE}'s"]
    lines = [head, ["---", "---:", "---:", "---:"]]
    for _, one in table.sort_values("queries").iterrows():
        lines.append([one["metric"], f"{one['apart']:.0f}%", f"{one['wrong']:.0f}%", f"{one['queries']:.2f}"])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def signed(text: str) -> str:
    """Return numbers with a true minus sign."""
    return re.sub(r"-(?=0\.00)", "", text).replace("-", "−")


def _both(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return chosen[:, None] & chosen


def _same_seed(about: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether two models are the same training, perhaps re-scored."""
    names = [name.removesuffix(f",{reading}") for name, reading in zip(about["name"], about["reading"], strict=True)]
    start = np.array(names)
    return start[:, None] == start


SHOWN = (
    "mean rank", "mean log rank", "median rank", "mean reciprocal rank", "R@1", "R@5", "R@10", "Rsum",
    "NCS@1 by CIDEr", "NCS@1 by SPICE", "NCS@1 by MiniLM", "NCS@10 by CIDEr", "NCS@10 by SPICE", "NCS@10 by MiniLM",
    "NCS@10 by word vectors", "Nsum by CIDEr", "Nsum by SPICE", "Nsum by MiniLM", "Nsum by word vectors",
    "Nsum by CIDEr, own items removed", "Nsum by SPICE, own items removed", "Nsum by MiniLM, own items removed",
    "nDCG@10 by CIDEr", "nDCG@10 by SPICE", "nDCG@10 by MiniLM", "ASP by CIDEr", "ASP by word vectors",
    "SR@5 by CIDEr, m = 1", "SR@5 by CIDEr, m = 3",
)  # fmt: skip
LOOKS = {
    "all": ("o", "#0072b2", "all pairs of models"),
    "close": ("s", "#d55e00", f"close pairs (Rsum within {CLOSE:g})"),
}


def draw(table: pd.DataFrame, figure: Path) -> None:
    """Draw tau of each metric with people's order, own image left out, of all and of close pairs."""
    part = table[table["people"] == LEFT_OUT].set_index(["models", "metric"])
    order = sorted(SHOWN, key=lambda name: part.loc[("close", name), "tau"])
    with matplotlib.style.context(STYLE):
        canvas, axes = plt.subplots(figsize=(7.6, 7.2))
        canvas.subplots_adjust(left=0.36, right=0.97, top=0.93, bottom=0.09)
        for shift, (of, (marker, colour, label)) in zip((-0.14, 0.14), LOOKS.items(), strict=True):
            for at, name in enumerate(order):
                one = part.loc[(of, name)]
                axes.plot([one["tau_low"], one["tau_high"]], [at + shift] * 2, color=colour, linewidth=1.2)
                axes.plot(one["tau"], at + shift, marker, color=colour, markersize=4, label=label if not at else None)
        axes.set_yticks(range(len(order)), [name.replace("own items", "own") for name in order])
        axes.set_xlabel("Kendall's tau with people's order of models, 95%")
        axes.axvline(0, color="#999999", linewidth=0.6)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        figure.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(figure, metadata={"Date": None})
    plt.close(canvas)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("score")
    first.add_argument("results", type=Path)
    first.add_argument("text_zip", type=Path)
    first.add_argument("out", type=Path)
    second = commands.add_parser("compare")
    second.add_argument("folder", type=Path)
    second.add_argument("-o", "--out", type=Path, required=True)
    second.add_argument("--draw", type=Path, required=True)
    second.add_argument("--draws", type=int, default=DRAWS)
    again = commands.add_parser("draw", help="draw the figure again")
    again.add_argument("out", type=Path)
    again.add_argument("draw", type=Path)
    given = parser.parse_args()
    if given.command == "score":
        score(given.results, given.text_zip, given.out)
    elif given.command == "draw":
        draw(pd.read_csv(given.out / "agreement.csv"), given.draw)
    else:
        compare(given.folder, given.out, given.draw, given.draws)
