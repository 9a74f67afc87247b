"""Rules that are compared on fresh seeds have the settings that dev chose: config/studies/evidence_tuned.yaml."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from fivesentences.losses import LossSpec

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "config" / "studies"
TUNING = ROOT / "results" / "paper" / "flickr8k_evidence" / "evidence_tuning" / "tuning.md"


def test_every_rule_has_the_setting_with_the_best_dev_recall() -> None:
    tuning, tuned = (
        yaml.safe_load((STUDIES / f"evidence_{name}.yaml").read_text(encoding="utf-8")) for name in ("tuning", "tuned")
    )
    notes = re.findall(r"Chosen on dev[^:]*: (.*?) \(mean dev Rsum: (.*)\)\.", TUNING.read_text(encoding="utf-8"))
    groups = tuning["tables"][0]["chosen_on_dev"]
    assert len(notes) == len(groups) == len(tuned["losses"]) == 9
    for losses, (chosen, listed) in zip(groups, notes, strict=True):
        labels = {
            LossSpec(**tuning["losses"][name]).label({"embedding": "MiniLM"}).removeprefix("+ "): name
            for name in losses
        }
        scores = {label: float(re.search(re.escape(label) + r" (\d+\.\d)(?:,|$)", listed)[1]) for label in labels}
        assert len(scores) == 6
        assert scores[chosen] == max(scores.values())
        rule = next(
            name
            for name in ("info_nce_soft", "soft_labels", "info_nce", *tuned["losses"])
            if losses[0].startswith(name)
        )
        assert tuned["losses"][rule] == tuning["losses"][labels[chosen]]
