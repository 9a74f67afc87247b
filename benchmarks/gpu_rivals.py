"""Rules against false negatives on all of Flickr8k, trained on a GPU: Rsum of every run, and paired contrasts.

    # The runs; 20 side by side with MPS took 333 s for 143 of them on an H200.
    fivesentences train SCALE.yaml --device cuda --quiet
    python benchmarks/gpu_rivals.py --results results -o results/gpu/rivals

SCALE.yaml extends config/flickr8k_evidence.yaml with studies: [evidence_rivals_limits], whose study beside it has ten
seeds and leaves out the fractions 0.1 and 0.25, and sets
`training: {gpu: true, runs_at_once: 20, runs_per_job: 200}`.

Written: OUT_runs.csv (rule, seed, Rsum of the test split in percent) and OUT.csv: the difference from the hardest
negative over pairs of seeds, its interval of 95% (Student's t), p, p by Holm over the table, and the difference that
this many seeds find in 80% of the cases. Rules without a run of each seed are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t, ttest_rel

from fivesentences.metrics.recall import rsum

HARDEST = "triplet=hardest,margin=0.2"


def scored(results: Path) -> pd.DataFrame:
    """Rsum of every finished run."""
    rows = []
    for record in sorted((results / "training").rglob("finished.json")):
        similarity = np.load(record.parent / "similarity_test.npy", mmap_mode="r")
        own = np.repeat(np.arange(len(similarity)), similarity.shape[1] // len(similarity))
        rule, seed = record.parent.parent.parent.name, int(record.parent.name.removeprefix("seed="))
        rows.append({"rule": rule, "seed": seed, "Rsum": rsum(similarity, image_of_caption=own)})
    return pd.DataFrame(rows)


def contrasts(runs: pd.DataFrame) -> pd.DataFrame:
    """Every rule against the hardest negative, in pairs of seeds."""
    table = runs.pivot(index="seed", columns="rule", values="Rsum").dropna(axis=1)
    rows = []
    for rule in table.columns.drop(HARDEST):
        gain, n = table[rule] - table[HARDEST], len(table)
        error, bound = gain.std(ddof=1) / np.sqrt(n), t.ppf(0.975, n - 1)
        found = {"value": gain.mean(), "low": gain.mean() - bound * error, "high": gain.mean() + bound * error}
        found |= {"p": ttest_rel(table[rule], table[HARDEST]).pvalue, "detectable": (bound + t.ppf(0.8, n - 1)) * error}
        rows.append({"rule": rule, "seeds": n, "hardest": table[HARDEST].mean(), **found})
    found = pd.DataFrame(rows).sort_values("p")
    steps = found["p"] * np.arange(len(found), 0, -1)
    return found.assign(holm=np.minimum(np.maximum.accumulate(steps), 1.0))


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="where the runs are; without it OUT_runs.csv is read")
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    kept = given.out.with_name(f"{given.out.name}_runs.csv")
    if given.results:
        kept.parent.mkdir(parents=True, exist_ok=True)
        scored(given.results).to_csv(kept, index=False, float_format="%.4f")
    contrasts(pd.read_csv(kept)).to_csv(given.out.with_suffix(".csv"), index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
