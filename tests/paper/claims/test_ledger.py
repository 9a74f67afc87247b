"""The ledger of claims over the scales whose results are kept."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from fivesentences.documents import read_yaml
from fivesentences.reproduction.paper.claims.ledger import MIXED, NOBODY, experiments_of, over_scales, write_ledger
from fivesentences.reproduction.paper.claims.verdicts import DECIDED, Effect, chance_of, outcome_of, verdict_of
from fivesentences.reproduction.paper.claims.writing import read_claims
from fivesentences.reproduction.paper.site.front import write_front
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from fivesentences.reproduction.study.study import read_claims as claims_of_papers

ROOT = Path(__file__).parents[3]
LISTED = ["git", "ls-files", "results/paper/*/claims/claims.json"]
SCALES = [ROOT / name for name in subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True).stdout.split()]
KEPT = [*SCALES, ROOT / "results" / "people" / "claims.json"]


def experiments_in(path: Path) -> list[dict[str, Any]]:
    content = read_claims(path)
    return [one for claim in content["claims"] for _, one in experiments_of(content["scale"], claim)]


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
    kept = [claim for path in KEPT for claim in experiments_in(path)]
    decided = {(claim["paper"], claim["name"]) for claim in kept if claim["verdict"] in DECIDED}
    claims = [(paper.name, one) for paper in claims_of_papers(ROOT / "config", {}, "") for one in paper.claims.claims]
    assert {(paper, one.name) for paper, one in claims if not one.needs} == decided


def test_the_ledger_that_git_keeps_is_what_the_kept_results_give(tmp_path: Path) -> None:
    papers = claims_of_papers(ROOT / "config", {}, "the ledger")
    write_ledger(KEPT, papers, tmp_path)
    for name in ("index.html", "claims.md", "claims.csv"):
        kept = (ROOT / "results" / "paper" / "claims" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == kept, f"{name} is of other results; run docs/tools/ledger"
    frame = pd.read_csv(tmp_path / "claims.csv", index_col=["paper", "name"])
    kept = Counter((one["paper"], one["name"], one["verdict"]) for path in KEPT for one in experiments_in(path))
    for claim, line in frame.iterrows():
        assert line["experiments"] == sum(count for key, count in kept.items() if key[:2] == claim)
        assert all(line[verdict] == kept[*claim, verdict] for verdict in DECIDED)
        assert (line["verdict"] == NOBODY) == (line["experiments"] == 0)


def test_studies_with_settings_of_their_own_are_experiments_with_verdicts_of_their_own() -> None:
    claim = found("open: settings disagree", 1, 30) | {"claim": "SAM helps."}
    for cell, study, outcome in zip(claim["cells"], ("", "noise"), ("holds", "open"), strict=True):
        cell |= {"outcome": outcome} | ({"study": study} if study else {})
    alone = dict(experiments_of("a", claim))
    assert list(alone) == ["a", "a: noise"] and [len(one["cells"]) for one in alone.values()] == [1, 1]
    assert [one["verdict"] for one in alone.values()] == ["holds", "open: interval too wide"]


def test_the_front_page_that_git_keeps_is_what_the_kept_results_give(tmp_path: Path) -> None:
    paper = ROOT / "results" / "paper"
    scales = sorted(path.parts[-3] for path in SCALES)
    for name in (*scales, "queries.json"):
        (tmp_path / name).symlink_to(paper / name)
    verdicts = write_ledger(KEPT, claims_of_papers(ROOT / "config", {}, "the ledger"), tmp_path / "claims")
    files = [ROOT / "config" / f"{name}.yaml" for name in scales]
    write_front([plan_of(scale_of(read_yaml(file), file), file.parent) for file in files], verdicts, tmp_path)
    for name in ("index.html", "kept.json"):
        assert (tmp_path / name).read_bytes() == (paper / name).read_bytes(), f"{name}: run docs/tools/ledger"
    page = BeautifulSoup((tmp_path / "index.html").read_text(encoding="utf-8"), "html.parser")
    headed = {link["href"] for link in page.select(".cards h3 a")}
    own = [name for name in scales if "finding" in read_yaml(ROOT / "config" / f"{name}.yaml")]
    assert {f"{name}/index.html" for name in own} <= headed and len(headed) > len(own)
    assert all((paper / address).is_file() for address in headed)


def found(verdict: str, *widths: float | None, seeds: int = 5, **more: Any) -> dict[str, Any]:
    """A stored claim whose settings have intervals of these widths; None has none."""
    effects = [
        Effect(1.0, "seeds and queries", seeds, 100, *(() if width is None else (1 - width / 2, 1 + width / 2)))
        for width in widths
    ]
    cells = [{"label": "", "link": "", "kinds": [], "outcome": "open", "effect": asdict(effect)} for effect in effects]
    about = {"paper": "p", "name": "n", "claim": "SAM helps.", "where": "Table 1", "test": {"kind": "runs"}}
    return about | {"verdict": verdict, "adjusted": verdict, "unit": "points", "smallest": 3.0, "cells": cells, **more}


@pytest.mark.parametrize(
    ("claims", "verdict", "best"),
    [
        pytest.param({}, NOBODY, "", id="nobody has run it"),
        pytest.param({"a": found("holds", 4), "b": found("holds partly", 2)}, "holds partly", "b", id="the narrowest"),
        pytest.param({"a": found("holds", 4), "b": found("open: interval too wide", 2)}, "open: interval too wide", "b",
                     id="the narrowest, even if it decides nothing and another holds"),
        pytest.param({"a": found("holds", 4), "b": found("fails", 2)}, MIXED, "b", id="holds and fails"),
        pytest.param({"a": found("holds partly", 1), "b": found("fails", 2)}, MIXED, "a", id="holds partly and fails"),
        pytest.param({"a": found("open: settings disagree", 9), "b": found("fails", 1)}, "fails", "b",
                     id="open contradicts nothing"),
        pytest.param({"a": found("holds", 1, 9, 9), "b": found("holds partly", 4, 4)}, "holds partly", "b",
                     id="the median over settings"),
        pytest.param({"a": found("fails", 1, seeds=2), "b": found("holds partly", 8)}, MIXED, "b",
                     id="two seeds have no width"),
        pytest.param({"a": found("holds", 1, None), "b": found("holds", 8, 8)}, "holds", "b", id="no width"),
        pytest.param({"a": found("holds", 2), "b": found("holds partly", 2, seeds=9)}, "holds partly", "b",
                     id="more seeds of equal widths"),
    ],
)  # fmt: skip
def test_one_verdict_is_that_of_the_most_precise_experiment_unless_others_contradict(claims, verdict, best) -> None:
    one = over_scales(claims, {"a": "A", "b": "B"})
    assert (one["verdict"], one["best"]) == (verdict, best)
    assert {line["title"] for line in one["experiments"]} == {name.upper() for name in claims}


def test_an_adjusted_verdict_stands_beside_the_raw_one() -> None:
    one = over_scales({"a": found("holds", 2, adjusted="holds partly")}, {"a": "A"})
    assert (one["verdict"], one["adjusted"]) == ("holds", "holds partly")


@pytest.mark.browser
def test_the_page_of_claims_is_short_on_a_phone(browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((ROOT / "results" / "paper" / "claims" / "index.html").as_uri())
    height, width = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert height <= 6000 and width == 390
    assert (
        page.locator("details.claim").count() == sum(1 for _ in (ROOT / "results/paper/claims/claims.csv").open()) - 1
    )
    page.close()
