"""Contrasts of a study become pairs of rows, and pairs of runs by seed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check, read
from fivesentences.errors import InputError
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.study.exhibits import ContrastSpec
from fivesentences.reproduction.study.expand import contrasts_of, expand_rows
from fivesentences.reproduction.study.study import Study

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


def test_the_same_runs_are_contrasted_as_they_are_read(make_scale, tmp_path):
    scale = make_scale(keep=None, studies=["s"], evaluation_phis=["tfidf"])
    contrast = {"role": "flickr30k", "a": ["all", "hardest"], "inference": ["csls", "qb_norm"]}
    study = study_of(contrast | {"against": {"inference": "naive"}}, contrast | {"against": {"inference": "dual_bank"}})
    plan = plan_of(study, scale, tmp_path)
    pairs = plan.comparisons.paired_runs("tiny", "s/t")
    methods = [["csls", "naive"], ["qb_norm", "naive"]] * 2 + [["csls", "dual_bank"], ["qb_norm", "dual_bank"]] * 2
    assert [pair["inference"] for pair in pairs] == methods
    assert all(pair["a"] == pair["b"] and "phi" not in pair for pair in pairs)
    assert set(map(tuple, plan.inferences.values())) == {("naive", "csls", "qb_norm", "dual_bank")}
    for job in plan.jobs:
        assert plan.banks_of(job) == [plan.places.banks(job)]
        assert [run["name"] for run in plan.settings_of_banks(job)] == list(plan.jobs[job].runs)
        assert all(run["dual"] for run in plan.settings_of_banks(job))


def test_a_contrast_by_another_phi_is_scored_by_it_or_refused(make_scale, tmp_path):
    study = study_of({"role": "flickr30k", "a": "all", "b": "hardest"})
    of_phi = [study.tables[0].model_copy(update={"phi": "tfidf"})]
    study = study.model_copy(update={"tables": of_phi})
    plan = plan_of(study, make_scale(keep=None, studies=["s"], evaluation_phis=["tfidf"]), tmp_path)
    assert [pair["phi"] for pair in plan.comparisons.paired_runs("tiny", "s/t")] == ["tfidf"]
    assert "phi" not in plan.comparisons.paired_runs("tiny", "s/f")[0]
    assert all(plan.comparisons.further_phis(job) == ["tfidf"] for job in plan.jobs)
    assert plan.comparisons.phi_of("s/f") == "cider"
    with pytest.raises(InputError, match="evaluates no run by 'tfidf', the phi of s/t; add it to evaluation_phis"):
        plan_of(study, make_scale(keep=None, studies=["s"], evaluation_phis=["cider"]), tmp_path)


@pytest.mark.parametrize("contrasts", [1, 2])
def test_a_forest_of_all_or_some_contrasts_of_a_table_is_drawn_from_its_file(contrasts, make_scale, tmp_path):
    # `study_of` gives the figure the first contrast alone.
    both = [{"role": "flickr30k", "a": "all", "b": "hardest"}, {"role": "flickr30k", "a": "all", "b": "knn3"}]
    scale, study = make_scale(keep=None, studies=["s"]), study_of(*both[:contrasts])
    plan = plan_of(study, scale, tmp_path)
    files = [*plan.report.numbers_of("tiny", "s/t"), *plan.report.numbers_of("tiny", "s/f")]
    assert files == [plan.places.contrasts("tiny", "s/t")] * 2
    other = study_of(both[1]).figures  # which the table does not have
    plan = plan_of(study_of(both[0]).model_copy(update={"figures": other}), scale, tmp_path)
    assert plan.report.numbers_of("tiny", "s/f") == [plan.places.contrasts("tiny", "s/f")]


def test_an_ensemble_has_no_bank(make_scale, tmp_path):
    study = study_of({"role": "flickr30k", "a": "all", "model": "two", "inference": "qb_norm", "b": "hardest"})
    study = study.model_copy(update={"ensembles": {"two": ["vsepp", "vsepp"]}})
    with pytest.raises(InputError, match="has no weights to score training queries, which qb_norm reads"):
        plan_of(study, make_scale(keep=None, studies=["s"]), tmp_path)


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
