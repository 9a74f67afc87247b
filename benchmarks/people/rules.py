"""Rules against false negatives, tuned alike: their Rsum, and their order by people's positives (docs/evidence.md).

    uv run snakemake tuned --configfile config/flickr8k_evidence.yaml
    python benchmarks/people/rules.py results data/flickr8k/Flickr8k_text.zip -o results/people/rules

The first command trains the chosen setting of each rule of config/studies/evidence_tuned.yaml with ten seeds. Of more
captions: the target tuned_quarter, then --study evidence_tuned_quarter with --fraction 0.25; tuned_all, then --study
evidence_tuned_all with --fraction 1. Written: OUT_runs.csv (rule, seed, Rsum in percent, people's average precision
with the own image kept and left out), and OUT.csv: each rule less another, paired by seed, with intervals of 95% over
seeds and images (``metrics.crossed``), p by Holm over the rules of a table, and the difference that would be found in
80% of the cases. People: the crowd, where at least half say that the caption describes the image; a caption without
such an image does not count.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from decide import KS, per_image
from numpy.typing import NDArray

from fivesentences.evaluation.people import people_judged
from fivesentences.losses import LossSpec
from fivesentences.metrics import Evaluator
from fivesentences.metrics.comparison import holm
from fivesentences.metrics.crossed import crossed_differences
from fivesentences.reproduction.study.study import Study, read_study

STUDIES = Path(__file__).parents[2] / "config" / "studies"
AGAINST = ("hardest", "mask")  # rules that the others are compared with
AP = {"AP kept": "kept", "AP left out": "removed"}


def read_runs(
    results: Path, text_zip: Path, study: Study, fraction: float
) -> tuple[pd.DataFrame, dict[str, dict[tuple[str, int], NDArray]]]:
    """Score the runs of a study at a share of the captions: a row each, and by metric the values per image of each."""
    rule_of = {loss.folder: name for name, loss in study.losses.items()}
    evaluator = Evaluator(ks=KS, ms=(), asp_ties=(), judged=people_judged(text_zip))
    values: dict[str, dict[tuple[str, int], NDArray]] = {name: {} for name in ("Rsum", *AP)}
    rows = []
    for done in sorted((results / "training" / "flickr8k").rglob("finished.json")):
        run = yaml.safe_load((done.parent / "run.yaml").read_text(encoding="utf-8"))["run"]
        rule, seed = rule_of.get(LossSpec(**run["loss"]).folder), int(run["seed"])
        if rule is None or seed not in study.setup.seeds or run["fraction"] != fraction:
            continue
        queries = evaluator.with_queries(np.load(done.parent / "similarity_test.npy")).queries
        of_run = {"Rsum": sum(_of_images(one) for one in queries if one["metric"] in {f"R@{k}" for k in KS})}
        for name, ground_truth in AP.items():
            of_run[name] = _of_images(
                next(q for q in queries if q["metric"] == "crowd.5 AP" and q["ground_truth"] == ground_truth)
            )
        for name, found in of_run.items():
            values[name][rule, seed] = np.asarray(found)
        rows.append({"rule": rule, "seed": seed} | {name: np.nanmean(found) for name, found in of_run.items()})
        print(rule, seed, flush=True)
    return pd.DataFrame(rows).sort_values(["rule", "seed"]), values


def _of_images(query: dict[str, Any]) -> NDArray[np.float64]:
    """``[images]`` values of a metric, of captions as queries the mean over those of each image."""
    found = np.asarray(query["values"], dtype=np.float64)
    return found if query["direction"] == "i2t" else per_image(found)


def contrasts(values: dict[str, dict[tuple[str, int], NDArray]]) -> pd.DataFrame:
    """Compare every rule with those of ``AGAINST``."""
    rules = sorted({rule for rule, _ in values["Rsum"]})
    seeds = sorted({seed for _, seed in values["Rsum"]})
    tables = []
    for metric, of in values.items():
        for base in AGAINST:
            rows = []
            for rule in (one for one in rules if one != base):
                found = np.stack([of[rule, seed] - of[base, seed] for seed in seeds])
                one = crossed_differences(found[None, :, ~np.isnan(found[0])])[0]
                rows.append(
                    {"metric": metric, "rule": rule, "against": base, "seeds": one.seeds, "images": one.images}
                    | {"value": one.mean, "low": one.low, "high": one.high, "p": one.p, "detectable": one.detectable}
                )
            tables.append(pd.DataFrame(rows).assign(holm=holm([row["p"] for row in rows])))
    return pd.concat(tables)


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("text_zip", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--study", default="evidence_tuned")
    parser.add_argument("--fraction", type=float, default=0.1)
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    study = read_study(STUDIES / f"{given.study}.yaml")
    runs, values = read_runs(given.results, given.text_zip, study, given.fraction)
    runs.to_csv(given.out.with_name(f"{given.out.name}_runs.csv"), index=False, float_format="%.4f")
    contrasts(values).to_csv(given.out.with_suffix(".csv"), index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
