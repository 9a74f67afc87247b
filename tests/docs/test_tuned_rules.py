"""Rules that are compared on fresh seeds have the settings that dev chose: config/studies/evidence_tuned.yaml."""

from __future__ import annotations

from pathlib import Path

import yaml

from fivesentences.corpus.parquet import read_frame
from fivesentences.losses import LossSpec

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "config" / "studies"
EVALUATED = ROOT / "results" / "evaluation" / "flickr8k_evidence" / "evidence_tuning.parquet"


def test_every_rule_has_the_setting_with_the_best_dev_recall_of_one_run() -> None:
    tuning, tuned = (
        yaml.safe_load((STUDIES / f"evidence_{name}.yaml").read_text(encoding="utf-8")) for name in ("tuning", "tuned")
    )
    runs = read_frame(EVALUATED, "restore it from git").drop_duplicates("run").set_index(["loss", "seed"])["dev_Rsum"]
    groups = tuning["tables"][0]["chosen_on_dev"]
    assert len(groups) == len(tuned["losses"]) == 9 and len(runs) == 2 * sum(map(len, groups))
    alike = 0
    for losses in groups:
        assert len(losses) == 6
        folders = {name: LossSpec(**tuning["losses"][name]).folder for name in losses}
        first, second = ({name: runs[folder, seed] for name, folder in folders.items()} for seed in (401, 402))
        chosen = max(first, key=first.__getitem__)
        rule = next(
            name
            for name in ("info_nce_soft", "soft_labels", "info_nce", *tuned["losses"])
            if losses[0].startswith(name)
        )
        assert tuned["losses"][rule] == tuning["losses"][chosen]
        alike += chosen == max(first, key=lambda name: first[name] + second[name])
    text = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert alike == 7 and "the mean of both prefers the same for seven of the nine" in text
