"""Contrasts of a study become pairs of rows, and pairs of runs by seed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check, read
from fivesentences.plan.places import Places
from fivesentences.plan.plan import Plan
from fivesentences.study.exhibits import ContrastSpec
from fivesentences.study.expand import contrasts_of, expand_rows
from fivesentences.study.study import Study

ROOT = Path(__file__).parents[2]


def study_of(*contrasts: dict) -> Study:
    content = {
        "paper": "P",
        "losses": {"hardest": {}, "all": {"triplet": "all"}, "knn3": {"triplet": 3}},
        "tables": [{"name": "t", "kind": "paired", "title": "T", "caption": "C", "contrasts": list(contrasts)}],
        "figures": [{"name": "f", "kind": "forest", "title": "F", "caption": "C", "contrasts": list(contrasts)[:1]}],
    }
    return check(Study, content, "study")


def plan_of(study: Study, scale, folder: Path) -> Plan:
    catalogue = read(Catalogue, ROOT / "config" / "datasets.yaml")
    return Plan(scale, {"s": study}, catalogue, places=Places(folder), config=ROOT / "config")


def test_the_second_side_may_differ_in_something_else_than_its_loss():
    spec = ContrastSpec(role="r", model="scan", a=["all", "max"], against={"model": "sgr", "epochs": 9})
    assert [(a.loss, b.loss, a.model, b.model, a.epochs, b.epochs) for a, b in spec.pairs()] == [
        ("all", "all", "scan", "sgr", None, 9),
        ("max", "max", "scan", "sgr", None, 9),
    ]


def test_nothing_is_contrasted_with_itself():
    for given in ({"a": "all"}, {"a": ["max", "all"], "b": "all"}, {"a": "all", "epochs": 3, "against": {"epochs": 3}}):
        with pytest.raises(ValidationError, match="'all'"):
            ContrastSpec(role="r", **given)


def test_both_sides_are_trained_once_each_and_paired_by_the_seeds_that_both_have(make_scale, tmp_path):
    scale = make_scale(
        keep=None, other_seeds=[{"model": "vsepp", "loss": "hardest", "seeds": [2, 1, 7]}], studies=["s"]
    )
    contrasts = [{"role": "flickr30k", "fraction": 0.1, "a": ["all", "knn3"], "b": "hardest"}]
    study = study_of(*contrasts)
    plan = plan_of(study, scale, tmp_path)
    first, second = contrasts_of(study.exhibit("t").contrast_specs(), study, scale)
    assert (first.seeds, second.seeds) == ([1, 2], [1, 2])
    seeds = {"all": [0, 1, 2], "knn3": [0, 1, 2], "hardest": [2, 1, 7]}
    rows = expand_rows(study.exhibit("t").row_specs(), study, scale)
    assert {row.loss: [run.seed for run in row.runs] for row in rows} == seeds
    assert sorted(plan.runs) == sorted(run.name for row in rows for run in row.runs)
    for pair, loss in zip(plan.comparisons.paired_runs("tiny", "s/t"), ("all", "knn3"), strict=True):
        assert [(plan.runs[run].seed, plan.runs[run].loss) for run in pair["a"]] == [
            (seed, study.losses[loss]) for seed in (1, 2)
        ]
        assert [(plan.runs[run].seed, plan.runs[run].loss) for run in pair["b"]] == [
            (seed, study.losses["hardest"]) for seed in (1, 2)
        ]


def test_a_contrast_without_one_of_its_sides_or_a_common_seed_is_left_out(make_scale, tmp_path):
    contrast = {"role": "flickr30k", "fraction": 0.1, "a": ["all", "knn3"], "b": "hardest"}
    other = [{"model": "vsepp", "loss": "all", "seeds": [8]}]
    scale = make_scale(keep=None, studies=["s"], leave_out={"losses": ["knn3"]}, other_seeds=other)
    study = study_of(contrast, contrast | {"role": "coco"})
    found = contrasts_of(study.exhibit("t").contrast_specs(), study, scale)
    assert [one.is_made for one in found] == [False] * 4
    plan = plan_of(study, scale, tmp_path)
    assert plan.report.numbers_of("tiny", "s/t") == []
