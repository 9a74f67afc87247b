"""What a plan takes: hand-reckoned costs of jobs, and the wall time of graphs whose best schedule is known."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fivesentences.config import Catalogue, Scale
from fivesentences.config.rates import CoreRates, ExtractorRate, MachineRates, ModelRate, Rates
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.plan.costs import Cost, Costs, setting_of, wall_seconds
from fivesentences.plan.graph import Graph, PlannedJob, graph_of
from fivesentences.plan.places import Places
from fivesentences.plan.plan import Plan
from fivesentences.plan.sizes import Size, sizes_of

SETTING = "vsepp, 10, batch 128"


@pytest.fixture
def plan(make_scale, studies, tmp_path) -> Plan:
    content = {
        "scale": "small",
        "title": "Small",
        "roles": {"flickr30k": "photos"},
        "datasets": {"photos": {"loader": "karpathy"}},
        "features": {"extractor": "resnet18"},
        "evaluation_phi": "cider",
        "evaluation_phis": ["tfidf"],
        "seeds": [0, 1],
        "training": {"epochs": 3, "score_every": 2, "selection_images": 30},
        "studies": ["five_sentences"],
        "only": ["table3"],
        "keep": [{"model": "vsepp", "loss": "hardest"}],
    }
    entry = {"title": "Photos", "images": {"train": 1000, "dev": 50, "test": 100}, "captions_per_image": 5, "files": {}}
    catalogue = Catalogue.model_validate({"datasets": {"photos": entry}})
    places = Places(tmp_path / "results", tmp_path / "data")
    return Plan(Scale.model_validate(content), {"five_sentences": studies["five_sentences"]}, catalogue, places=places)


RATES = Rates(
    core=CoreRates(
        machine="a core",
        job=2.0,
        phis={"cider": 4.0},
        prepare=1.0,
        evaluate=3.0,
        extractors={"resnet18-global": ExtractorRate(seconds=0.5, shape=[10])},
        models={SETTING: ModelRate(step=0.1, per_image=0.01, per_pair=0.001, parameters=7)},
    )
)


def costs_by_rule(plan: Plan, rates: Rates) -> dict[str, list[Cost]]:
    costs, found = Costs(plan, rates), {}
    for job in graph_of(plan, plan.targets["page"]).jobs:
        found.setdefault(job.rule, []).append(costs.of(job))
    return found


def test_costs_are_those_of_a_hand_reckoning(plan):
    found = costs_by_rule(plan, RATES)
    (features,) = found["extract_features"]
    assert (features.seconds, features.disk) == (pytest.approx(2 + 1150 * 0.5), 1150 * 10 * 4)
    first, second = found["train"]
    # 5,000 captions are 40 batches of 128; dev is scored after epochs 2 and 3, and with test at the end.
    scoring = sum(0.01 * images + 0.001 * images**2 for images in (30, 30, 50, 100))
    assert first.seconds == second.seconds == pytest.approx(2 + 3 * 40 * 0.1 + scoring)
    assert first.disk == 4 * (50 * 250 + 100 * 500 + 7)
    by_phi = {cost.job.wildcards["phi"]: cost for cost in found["score_captions"]}
    assert by_phi["cider"].seconds == pytest.approx(2 + 100 * 500 / 1e6 * 4)
    assert by_phi["cider"].disk == 100 * 500 * 4
    assert by_phi["tfidf"].seconds is None  # nobody measured it
    inferences = len(plan.inferences[next(iter(plan.runs))])
    assert found["evaluate"][0].seconds == pytest.approx(2 + (inferences + 1) * 100 * 500 / 1e6 * 3)


def test_what_has_no_rate_is_named(plan):
    costs = Costs(plan, Rates(core=RATES.core.model_copy(update={"models": {}})))
    taken = [costs.of(job) for job in graph_of(plan, plan.targets["page"]).jobs]
    assert sorted(costs.missing(taken)) == ["score_captions photos test tfidf", SETTING]


def test_a_gpu_trains_where_the_scale_has_one_and_one_was_measured(plan):
    training = plan.scale.training.model_copy(update={"gpu": True})
    plan.scale = plan.scale.model_copy(update={"training": training})
    assert Costs(plan, RATES).on_core
    fast = ModelRate(step=0.001, per_image=0.0, per_pair=0.0, parameters=7)
    gpu = MachineRates(machine="a GPU", extractors=RATES.core.extractors, models={SETTING: fast})
    found = costs_by_rule(plan, RATES.model_copy(update={"gpu": gpu}))
    assert found["train"][0].on_gpu
    assert found["train"][0].seconds == pytest.approx(2 + 3 * 40 * 0.001)
    assert not found["evaluate"][0].on_gpu


def test_a_setting_tells_apart_what_makes_steps_longer(plan):
    (run, *_) = plan.runs.values()
    wide = run.model_copy(update={"model": run.model.model_copy(update={"embedding": 64})})
    settings = {setting_of(run, [10]), setting_of(run, [36, 10]), setting_of(wide, [10])}
    assert settings == {SETTING, "vsepp, 36 x 10, batch 128", "vsepp, embedding=64, 10, batch 128"}


def test_a_corpus_that_is_made_counts_for_itself(plan):
    assert sizes_of(plan, "photos") == {"train": Size(1000, 5000), "dev": Size(50, 250), "test": Size(100, 500)}
    made = plan.places.corpus("photos")
    made.parent.mkdir(parents=True)
    rows = [
        {"image_id": str(image), "filename": f"{image}.jpg", "caption_id": f"{image}.{one}", "caption": "a dog"}
        for image in range(4)
        for one in range(3)
    ]
    table = pd.DataFrame(rows).assign(split=["train"] * 6 + ["test"] * 6, category=None)
    Corpus("photos", table).write(made)
    assert sizes_of(plan, "photos") == {"train": Size(2, 6), "test": Size(2, 6)}


def job(name: str, *inputs: str) -> PlannedJob:
    return PlannedJob(name, {}, tuple(map(Path, inputs)), (Path(name),))


@pytest.mark.parametrize(
    ("cores", "gpus", "expected"),
    [
        (1, 1, 3 + 10 + 10 + 1),  # features, one training after the other, the table
        (1, 2, 3 + 10 + 1),
        (2, 2, 3 + 10 + 1),
    ],
)
def test_wall_time_of_a_small_graph(cores, gpus, expected):
    jobs = [job("features"), job("phi"), job("a", "features"), job("b", "features"), job("table", "a", "b", "phi")]
    seconds = {"features": 3.0, "phi": 4.0, "a": 10.0, "b": 10.0, "table": 1.0}
    costs = [Cost(one, seconds[one.rule], one.rule in ("a", "b", "features"), 0) for one in jobs]
    assert wall_seconds(Graph(jobs, []), costs, cores, gpus) == expected


def test_two_rules_that_make_the_same_file_are_named(plan, monkeypatch):
    written = Plan.outputs_of
    twins = {"make_page": "make_table"}
    monkeypatch.setattr(Plan, "outputs_of", lambda self, rule: written(self, twins.get(rule, rule)))
    monkeypatch.setattr(Plan, "constraints_of", lambda self, rule: {})
    table = plan.exhibit_files["five_sentences/table3"]
    with pytest.raises(InputError, match=r"table3\.html is made by make_table and by make_page; only one rule may"):
        graph_of(plan, [table])


def test_jobs_behind_a_table_are_its_ancestors_alone():
    graph = Graph([job("a"), job("b"), job("c", "a"), job("d", "b", "c")], [])
    assert [one.rule for one in graph.behind([Path("c")])] == ["a", "c"]
    assert [one.rule for one in graph.behind([Path("d")])] == ["a", "b", "c", "d"]
