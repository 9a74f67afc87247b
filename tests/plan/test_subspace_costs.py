"""What category retrieval takes: documents that are not here yet, settings that differ in time, hand-reckoned costs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fivesentences.config import Scale, check, read
from fivesentences.config.documents import DivisionSpec
from fivesentences.config.rates import CoreRates, ExtractorRate, Rates, SubspaceRate
from fivesentences.corpus.divisions import divide
from fivesentences.corpus.documents import Documents, LoadedDocuments
from fivesentences.plan.costs import Costs
from fivesentences.plan.document_sizes import DocumentSizes, document_sizes
from fivesentences.plan.graph import PlannedJob
from fivesentences.plan.places import Places
from fivesentences.plan.plan import Plan, plan_of
from fivesentences.plan.subspace_costs import epochs_of, subspace_setting
from fivesentences.plan.subspace_runs import SubspaceRun

CONFIG = Path(__file__).parents[2] / "config"
VGG19 = ExtractorRate(seconds=0.3, shape=[4096])
CORE = CoreRates(machine="a core", job=2.0, prepare=1.0, evaluate=3.0, extractors={"vgg19.tv_in1k-global": VGG19})
RATE = SubspaceRate(documents=1000, start=4.0, epoch=0.5)


@pytest.fixture
def plan(tmp_path) -> Plan:
    places = Places(tmp_path / "results", tmp_path / "data")
    return plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG, places=places)


def rates(plan: Plan, **changes: Any) -> Rates:
    """One rate for every method on every kind of documents whose number is known."""
    runs = plan.subspaces.all_runs.values()
    costs = Costs(plan, Rates(core=CORE))
    counted = [(run, sizes) for run in runs if (sizes := costs.documents_of(run)) is not None]
    known = {subspace_setting(run, sizes.image, sizes.text): RATE for run, sizes in counted}
    return Rates(core=CORE.model_copy(update={"subspaces": known, "evaluate_subspaces": 0.25, **changes}))


def jobs(plan: Plan, rule: str, documents: str, division: str = "printed") -> list[PlannedJob]:
    """Those of some documents, without their files."""
    named = [job.name for job in plan.subspaces.jobs.values() if (job.documents, job.division) == (documents, division)]
    return [PlannedJob(rule, {"subspace_job": name}, (), (Path(name),)) for name in named]


@pytest.mark.parametrize(
    ("documents", "division", "expected"),
    [
        ("wikipedia", "printed", DocumentSizes(2173, 231, 462, 128, 10)),
        ("wikipedia", "whole_test", DocumentSizes(1942, 231, 693, 128, 10)),
        ("nus_wide_10k", "printed", DocumentSizes(8000, 1000, 1000, 634, 1000)),
        ("pascal_vgg19", "printed", DocumentSizes(800, 100, 100, 4096, 1000)),
        ("wikipedia_vgg19", "printed", DocumentSizes(2173, 231, 462, 4096, 3000)),
        ("wikipedia_vgg19", "whole_test", DocumentSizes(1942, 231, 693, 4096, 3000)),
        ("nus_wide", "printed", None),  # nobody says how many pictures have one concept only
    ],
)
def test_documents_of_the_papers_scale_are_counted_before_they_are_here(plan, documents, division, expected):
    assert document_sizes(plan, documents, division, [4096]) == expected


def test_images_of_a_corpus_are_documents_as_long_as_their_features(plan):
    assert document_sizes(plan, "pascal_vgg19", "printed", None) is None
    assert (
        Costs(plan, Rates(core=CORE.model_copy(update={"extractors": {}}))).documents_of(
            next(run for run in plan.subspaces.runs.values() if run.documents == "pascal_vgg19")
        )
        is None
    )


@pytest.mark.parametrize(
    "spec",
    [
        DivisionSpec(validation=5, test=7),
        DivisionSpec(validation=5, validation_from="train"),
        DivisionSpec(validation=5, validation_from="test"),
        DivisionSpec(validation=5, validation_from="test", test=15),
    ],
)
def test_documents_that_are_made_are_counted_and_divided_as_they_will_be(plan, spec):
    ids = tuple(map(str, range(60)))
    parts: Any = ("train",) * 40 + ("test",) * 20
    nothing = ("",) * 60
    made = Documents(ids, ("a", "b") * 30, nothing, nothing, parts, ids)
    where = plan.places.documents("wikipedia")
    files = [plan.places.document_vectors("wikipedia", modality) for modality in ("image", "text")]
    LoadedDocuments(made, np.ones((60, 3)), np.ones((60, 2))).write(where, *files)
    plan.scale.categories.documents["wikipedia"].divisions["mine"] = spec
    division = divide(made, spec, seed=0)
    expected = DocumentSizes(len(division.train), len(division.validation), len(division.test), 3, 2)
    assert document_sizes(plan, "wikipedia", "mine", None) == expected


def run_of(method: dict[str, Any], **training: Any) -> SubspaceRun:
    given = {"documents": "d", "division": "printed", "seed": 0, "image": "as_stored", "text": "as_stored", "words": 9}
    return check(SubspaceRun, given | {"method": method, "training": training}, "run")


def test_a_setting_tells_apart_what_takes_longer_and_nothing_else():
    triplets = {"method": "triplets"}
    different: list[dict[str, Any]] = [
        *({"method": name} for name in ("random", "cca", "kcca", "pls", "cfa", "corr_ae", "dcca", "acmr")),
        {"method": "cca", "ridge": 0.5},
        {"method": "cca", "dimensions": 5},
        {"method": "kcca", "documents": 100},
        {"method": "dcca", "reconstruct": 0.1},
        {"method": "semantic_matching"},
        {"method": "semantic_matching", "strength": 0.1},
        {"method": "semantic_matching", "classifier": "mlp"},
        {"method": "semantic_matching", "after_cca": True},
        *(triplets | {"loss": {"toward": "nothing", "negatives": one}} for one in ("all", "hardest", "one")),
        triplets | {"hidden": 8},
        triplets | {"output": 8},
        triplets | {"loss": {"toward": "constant", "constant": 0.5}},
        *(triplets | {"loss": {"feature_share": share}} for share in (0, 0.5, 1)),
        triplets | {"loss": {"refresh": "step"}},
        triplets | {"loss": {"anchor": "own"}},
        triplets | {"loss": {"feature_scope": "batch"}},
        triplets | {"loss": {"shuffled": True}},
    ]
    settings = [subspace_setting(run_of(method), 128, 10) for method in different]
    assert len(set(settings)) == len(settings)
    usual = subspace_setting(run_of(triplets), 128, 10)
    assert usual == "triplets, toward=adaptive, 128 + 10, 1024 to 200, batch 200"
    for alike in ({"margin": 0.3}, {"start": 0.9}, {"feature_share": 0.25}, {"steepness": 0.3}, {"always": True}):
        assert subspace_setting(run_of(triplets | {"loss": alike}), 128, 10) == usual
    assert subspace_setting(run_of(triplets, epochs=3), 128, 10) == usual
    assert subspace_setting(run_of(triplets, batch_size=50), 128, 10) != usual
    centred = {"method": "semantic_matching", "centre": "gallery"}
    assert subspace_setting(run_of(centred), 128, 10) == "semantic matching, logistic, 128 + 10"
    assert subspace_setting(run_of({"method": "pls"}), 64, 10) == "PLS, dimensions=9, 64 + 10"


def test_epochs_are_those_of_every_margin_or_of_the_method():
    assert epochs_of(run_of({"method": "triplets"}, epochs=7)) == 7
    tuned = {"method": "triplets", "loss": {"toward": "nothing"}, "margins": [0.3, 0.5, 1.0]}
    assert epochs_of(run_of(tuned, epochs=7)) == 21
    assert epochs_of(run_of({"method": "acmr", "epochs": 3}, epochs=7)) == 3
    assert epochs_of(run_of({"method": "pls"}, epochs=7)) == 0


def test_costs_are_those_of_a_hand_reckoning(plan):
    costs = Costs(plan, rates(plan))
    for job in jobs(plan, "train_subspaces", "wikipedia"):
        runs = [plan.subspaces.all_runs[name] for name in plan.subspaces.jobs[job.wildcards["subspace_job"]].runs]
        epochs = sum(epochs_of(run) for run in runs)
        found = costs.of(job)
        assert found.seconds == pytest.approx(2 + 2.173 * (4 * len(runs) + 0.5 * epochs))
        assert not found.on_gpu
    alone = jobs(plan, "evaluate_subspaces", "wikipedia_vgg19", "whole_test")
    runs = [run for run in plan.subspaces.runs.values() if run.division == "whole_test"]
    kept = sum(3 if run.method.iterative else 1 for run in runs)
    total = sum(costs.of(job).seconds or 0.0 for job in alone)
    assert total == pytest.approx(2 * len(alone) + kept * 693**2 / 1e6 * 0.25)


def test_vectors_of_three_epochs_are_on_disk(plan):
    (run, *_) = (one for one in plan.subspaces.runs.values() if one.method.folder == "triplets,toward=adaptive")
    (job,) = plan.subspaces.jobs_of([run.name])
    networks = [plan.subspaces.all_runs[name] for name in plan.subspaces.jobs[job].runs]
    assert all(one.method.iterative for one in networks)
    found = Costs(plan, rates(plan)).of(PlannedJob("train_subspaces", {"subspace_job": job}, (), (Path("x"),)))
    assert found.disk == sum(4 * 2 * 3 * 462 * 200 for _ in networks)


def test_what_is_not_known_is_unknown_and_named(plan):
    costs = Costs(plan, rates(plan))
    taken = [
        costs.of(job) for rule in ("train_subspaces", "evaluate_subspaces") for job in jobs(plan, rule, "nus_wide")
    ]
    assert {(one.seconds, one.on_gpu) for one in taken} == {(None, False)}
    assert costs.missing(taken) == ["category retrieval on nus_wide, whose documents are not counted yet"]
    nothing = Costs(plan, rates(plan, subspaces={}, evaluate_subspaces=None))
    of_methods = nothing.missing(map(nothing.of, jobs(plan, "train_subspaces", "nus_wide_10k")))
    assert "PLS, dimensions=9, 634 + 1000" in of_methods and len(set(of_methods)) == len(of_methods)
    assert nothing.missing(map(nothing.of, jobs(plan, "evaluate_subspaces", "wikipedia"))) == ["evaluate_subspaces"]


def test_the_benchmark_finds_a_rate_for_every_method(monkeypatch):
    """On a few documents; the figures mean nothing."""
    monkeypatch.syspath_prepend(str(CONFIG.parent / "benchmarks"))
    for name in ("cca_zoo", "sklearn"):
        pytest.importorskip(name, reason="needs the extra subspaces")
    import category_rates

    monkeypatch.setattr(category_rates, "EPOCHS", 2)
    small = {"hidden": 8, "output": 4, "batch_size": 20}
    methods = ("random", "cca", "kcca", "pls", "cfa", "semantic_matching", "corr_ae", "dcca", "acmr", "triplets")
    runs = [run_of({"method": name}, **small) for name in methods]
    runs.append(run_of({"method": "triplets", "loss": {"toward": "nothing"}, "margins": [0.3, 0.5]}, **small))
    sizes = DocumentSizes(60, 10, 10, 12, 9)
    found = category_rates.subspace_rates([(run, sizes) for run in runs])
    sys.modules.pop("category_rates")
    assert list(found) == [subspace_setting(run, 12, 9) for run in runs]
    for run, rate in zip(runs, found.values(), strict=True):
        assert rate.documents == 60 and rate.start + rate.epoch > 0
        assert run.method.iterative or rate.epoch == 0
