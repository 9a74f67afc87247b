"""The ledger of claims over the scales whose results are kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pandas as pd
import pytest

from fivesentences.reproduction.paper.claims.ledger import NOBODY, write_ledger
from fivesentences.reproduction.paper.claims.verdicts import DECIDED, Effect, chance_of, outcome_of, verdict_of
from fivesentences.reproduction.paper.claims.writing import read_claims
from fivesentences.reproduction.study.study import read_claims as claims_of_papers

ROOT = Path(__file__).parents[3]
LISTED = ["git", "ls-files", "results/paper/*/claims/claims.json"]
KEPT = [ROOT / name for name in subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True).stdout.split()]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parts[-3])
def test_kept_verdicts_follow_from_the_kept_effects(path: Path) -> None:
    for claim in read_claims(path)["claims"]:
        test, smallest = claim["test"], claim["smallest"]
        level = test["level"] if test["kind"] == "level" else test.get("level", 0.0)
        effects = [Effect(**cell["effect"]) for cell in claim["cells"]]
        rule = test.get("expect", "more"), smallest, level
        outcomes = [outcome_of(effect, *rule) for effect in effects]
        chances = [chance_of(effect, *rule) for effect in effects]
        assert outcomes == [cell["outcome"] for cell in claim["cells"]]
        assert claim["verdict"] == verdict_of(outcomes, chances, any(effect.is_repeated for effect in effects))


def test_what_would_decide_a_claim_is_said_of_every_one_that_no_kept_results_decide_and_of_no_other() -> None:
    kept = [claim for path in KEPT for claim in read_claims(path)["claims"]]
    decided = {(claim["paper"], claim["name"]) for claim in kept if claim["verdict"] in DECIDED}
    claims = [(paper.name, one) for paper in claims_of_papers(ROOT / "config", {}, "") for one in paper.claims.claims]
    assert {(paper, one.name) for paper, one in claims if not one.needs} == decided


def test_the_ledger_that_git_keeps_is_what_the_kept_results_give(tmp_path: Path) -> None:
    papers = claims_of_papers(ROOT / "config", {}, "the ledger")
    write_ledger(KEPT, papers, tmp_path)
    for name in ("index.html", "claims.csv"):
        kept = (ROOT / "results" / "paper" / "claims" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == kept, f"{name} is of other results; run docs/tools/ledger"
    frame = pd.read_csv(tmp_path / "claims.csv", index_col=["paper", "name"])
    for path in KEPT:
        content = read_claims(path)
        kept = {verdict: count for verdict, count in content["counts"].items() if count}
        added = len(frame) - sum(kept.values())  # claims that were written since
        kept[NOBODY] = kept.get(NOBODY, 0) + added
        assert frame[content["scale"]].value_counts().to_dict() == kept and added >= 0
        for claim in content["claims"]:
            assert frame.loc[(claim["paper"], claim["name"]), content["scale"]] == claim["verdict"]
