"""Rules that are compared on fresh seeds have the settings that dev chose: config/studies/evidence_tuned*.yaml."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from fivesentences.losses import LossSpec

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "config" / "studies"
TUNING = ROOT / "results" / "paper" / "flickr8k_evidence" / "evidence_tuning" / "tuning.md"
OF_ALL = {"fne"}  # on fresh seeds with all of the captions alone


def test_every_rule_has_the_setting_with_the_best_dev_recall() -> None:
    tuning, tuned, quarter, whole = (
        yaml.safe_load((STUDIES / f"evidence_{name}.yaml").read_text(encoding="utf-8"))
        for name in ("tuning", "tuned", "tuned_quarter", "tuned_all")
    )
    assert quarter["losses"] == tuned["losses"] == {name: whole["losses"][name] for name in tuned["losses"]}
    assert whole["losses"].keys() - tuned["losses"].keys() == OF_ALL
    notes = re.findall(r"Chosen on dev[^:]*: (.*?) \(mean dev Rsum: (.*)\)\.", TUNING.read_text(encoding="utf-8"))
    groups = tuning["tables"][0]["chosen_on_dev"]
    assert len(notes) == len(groups) == 9
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
            for name in ("info_nce_soft", "soft_labels", "info_nce", *whole["losses"])
            if losses[0].startswith(name)
        )
        assert whole["losses"][rule] == tuning["losses"][labels[chosen]]
