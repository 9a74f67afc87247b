"""The plan of every scale, without Snakemake: each file has one rule that makes it, of files that can be made."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from fivesentences.config.datasets import Catalogue
from fivesentences.config.features import FeatureSpec
from fivesentences.config.metrics import METRICS, Metric
from fivesentences.config.reading import check, extended, read
from fivesentences.config.scales import Scale
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec, SemanticAdaptiveMargin
from fivesentences.plan.graph import graph_of
from fivesentences.plan.places import Places
from fivesentences.plan.plan import Plan, plan_of

CONFIG = Path(__file__).parents[2] / "config"
SCALES = sorted(path.stem for path in CONFIG.glob("*.yaml") if path.name != "datasets.yaml")
TINY = Path(__file__).parents[1] / "workflow" / "tiny.yaml"


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A folder with what a user would bring: photographs and a CSV."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "images").mkdir()
    (folder / "images" / "a.jpg").write_bytes(b"not looked at here")
    (folder / "captions.csv").write_text("filename,caption,split\n")
    return folder


@pytest.fixture(scope="module")
def plans(own) -> dict[str, Plan]:
    scales = {name: scale_named(name, own) for name in SCALES}
    places = {name: Places(own / "results") if name == "my_images" else None for name in SCALES}
    return {name: plan_of(scale, CONFIG, places=places[name]) for name, scale in scales.items()}


def scale_named(name: str, own: Path) -> Scale:
    """A scale of ``config``, in which the paths that a user must edit are those of ``own``."""
    scale = read(Scale, CONFIG / f"{name}.yaml")
    paths = {"photographs": own / "images", "captions": own / "captions.csv"}
    datasets = {
        dataset: data.model_copy(update=paths) if data.loader == "folder" else data
        for dataset, data in scale.datasets.items()
    }
    return scale.model_copy(update={"datasets": datasets})


def unpacked_by_hand(scale: Scale) -> set[Path]:
    """Folders of regions that a person unpacks, which no rule makes and nobody may download."""
    return {regions.folder for data in scale.datasets.values() if (regions := getattr(data, "regions", None))}


@pytest.fixture
def plan(plans, request) -> Plan:
    return plans[request.param]


def jobs_for(plan: Plan, targets: list[Path]) -> tuple[Counter[str], set[Path]]:
    """How many jobs of each rule the targets take, and the files that no rule makes; two rules make no file."""
    graph = graph_of(plan, targets)
    for job in graph.jobs:
        assert isinstance(plan.params_of(job.rule, **job.wildcards), dict)
    return Counter(job.rule for job in graph.jobs), set(graph.given)


@pytest.mark.parametrize("plan", SCALES, indirect=True)
def test_the_page_of_every_scale_is_made_of_files_that_are_there_or_can_be_downloaded(plans, plan, own):
    jobs, sources = jobs_for(plan, plan.targets["page"])
    assert plan is plans[plan.scale.scale]
    brought = {own / "images", own / "captions.csv"} if plan.own else set()
    brought |= unpacked_by_hand(plan.scale)
    assert all(path.is_relative_to(CONFIG) and path.is_file() for path in sources - brought)
    assert brought <= sources
    assert jobs["train"] == len([name for name in plan.jobs if not name.startswith("complete/")])
    assert jobs["evaluate"] == jobs["train"] + len({spec.dataset for spec in plan.ensembles.values()})
    assert jobs["average_similarities"] == len(plan.ensembles)
    assert jobs["make_table"] == len(plan.tables) and jobs["plot_figure"] == len(plan.figures)
    assert plan.tables or plan.figures
    assert jobs["ask_judge"] == len(plan.scale.judges)
    # Nothing of the demo needs Java.
    assert jobs["parse_some_captions"] == 0 or plan.scale.scale != "demo"


@pytest.mark.parametrize("plan", SCALES, indirect=True)
def test_every_run_is_trained_in_one_job_and_every_run_and_ensemble_evaluated_in_one(plan):
    assert bool(plan.runs) == bool(plan.scale.roles)
    assert all(spec.name == name for name, spec in plan.all_runs.items())
    assert sorted(run for job in plan.jobs.values() for run in job.runs) == sorted(plan.all_runs)
    evaluated = [run for job in plan.evaluations.values() for run in job.runs]
    assert sorted(evaluated) == sorted([*plan.all_runs, *plan.all_ensembles])
    for job in plan.jobs.values():
        assert len(job.runs) <= plan.scale.training.runs_per_job
        specs = [plan.all_runs[run] for run in job.runs]
        assert len({(spec.dataset, spec.features, spec.model.name) for spec in specs}) == 1
        told = plan.params_of("train", job=job.name)["runs"]
        assert [Path(run["folder"]) for run in told] == [plan.places.run(spec.name) for spec in specs]


def test_another_metric_of_runs_is_another_setting_of_evaluation_and_of_training_none(plans, monkeypatch):
    plan = plans["demo"]
    job = next(iter(plan.jobs))
    before = {rule: plan.params_of(rule, job=job) for rule in ("train", "evaluate")}
    for name, of_runs in (("lists", False), ("MRR", True)):
        added = Metric(name=name, measures="", source="", family="", of_runs=of_runs)
        monkeypatch.setitem(METRICS, name, added)
        assert plan.params_of("train", job=job) == before["train"]
        assert (plan.params_of("evaluate", job=job) != before["evaluate"]) == of_runs


def test_the_target_complete_trains_what_the_default_trains_and_more(plans):
    plan = plans["demo"]
    assert len(plan.all_runs) > 3 * len(plan.runs)
    assert all(plan.all_runs[name] == spec for name, spec in plan.runs.items())
    usual, _ = jobs_for(plan, plan.targets["page"])
    complete, _ = jobs_for(plan, plan.targets["complete"])
    assert complete["train"] == len(plan.jobs) > usual["train"]
    made = Path("results/paper/demo-complete")
    pages = ("index.html", "manifest.json", "runs/index.html")
    assert plan.targets["complete"] == [made / page for page in pages]


@pytest.mark.parametrize("plan", ["demo", "flickr8k", "paper"], indirect=True)
def test_the_target_training_inputs_makes_every_file_that_the_runs_read_and_trains_nothing(plan):
    jobs, _ = jobs_for(plan, plan.targets["training_inputs"])
    assert not {"train", "evaluate"} & set(jobs)
    files = set(plan.targets["training_inputs"])
    for name, spec in plan.runs.items():
        read = plan.inputs_of("train", job=plan.job_of(name).name)
        assert {read["corpus"], read["features"], *plan.places.phi_files(spec).values()} <= files


def test_one_table_takes_no_more_than_the_jobs_of_its_rows(plans):
    plan = plans["paper"]
    jobs, sources = jobs_for(plan, plan.targets["knn_margin_table1"])
    assert jobs["train"] == 5 * len(plan.scale.seeds) == jobs["evaluate"]  # five losses
    assert jobs["make_table"] == 1 and "plot_figure" not in jobs
    assert {path.name for path in sources} == {"knn_margin.yaml", "knn_margin_table1.csv"}


def test_targets_have_a_short_name_where_it_is_unique(plans):
    targets = plans["demo"].targets
    assert targets["figure3"] == targets["five_sentences_figure3"]
    assert "table1" not in targets and {"five_sentences_table1", "knn_margin_table1", "daa_supp_table1"} <= set(targets)


def test_a_mean_of_phis_is_evaluated_from_the_matrices_of_its_parts(plans):
    scale = plans["demo"].scale
    plan = plan_of(scale.model_copy(update={"evaluation_phis": ["cider+tfidf", "tfidf+rouge_l"]}), CONFIG)
    read = plan.inputs_of("evaluate", job=next(iter(plan.evaluations)))["phi"]
    assert [path.stem for path in read] == ["cider", "tfidf", "rouge_l"]
    assert {"cider", "tfidf", "rouge_l"} <= set(plan.matrices)


@pytest.mark.parametrize(("metric", "read"), [("PMRP", True), ("Rsum", False)])
def test_labels_of_images_are_read_only_where_a_table_shows_pmrp(plans, metric, read):
    changes = {"studies": ["knn_margin"], "other_seeds": [], "keep": None, "categories": None}
    scale = plans["demo"].scale.model_copy(update=changes)
    study = plans["demo"].studies["knn_margin"]
    table = next(table for table in study.tables if table.name == "table1")
    columns = [column.model_copy(update={"metric": metric}) for column in table.columns]
    changed = study.model_copy(update={"tables": [table.model_copy(update={"columns": columns})]})
    plan = Plan(scale, {"knn_margin": changed}, plans["demo"].catalogue, config=CONFIG)
    assert plan.needs_labels == read
    assert bool(plan.inputs_of("evaluate", job=next(iter(plan.evaluations)))["labels"]) == read


def test_the_configuration_alone_says_which_weights_a_network_has(tmp_path, monkeypatch):
    """Not a mirror: two machines would write different features under one name."""
    content = extended(read_yaml(CONFIG / "flickr8k.yaml"), CONFIG / "flickr8k.yaml")
    known = plan_of(check(Scale, content, "s"), CONFIG).catalogue.datasets["weights"].files

    def planned(weights: object) -> Plan:
        chosen = {"weights": {"mobilenetv2_100": weights}} if weights else {"weights": {}}
        return plan_of(check(Scale, content | chosen, "s"), CONFIG)

    def read_for(plan: Plan, extracted: str, what: str = "weights") -> object:
        return plan.inputs_of("extract_features", dataset="flickr8k", extracted=extracted)[what]

    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/mobilenetv2_100.safetensors").touch()
    for mirror in (None, str(tmp_path)):
        if mirror is None:
            monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
        else:
            monkeypatch.setenv("FIVESENTENCES_MIRROR", mirror)
        assert read_for(planned(None), "mobilenetv2_100-global") == []
        # timm downloads its own then, ahead of the extraction: a node of a cluster may have no network.
        fetched = [Path("data/fetched/networks/mobilenetv2_100.json")]
        assert read_for(planned(None), "mobilenetv2_100-global", "fetched") == fetched
        for name in ("mobilenetv2_100.ra_in1k-55ea4fb3", "mobilenetv2_100.coral-442e2f89"):
            assert read_for(planned(name), f"{name}-global") == [Path("data") / known[name].path]
            assert read_for(planned(name), f"{name}-global", "fetched") == []
            reduced = "results/features/flickr8k/" + f"{name}-grid-36regions-110d.npy"
            assert Path(reduced) in planned(name).targets["features"]
    own = planned(str(tmp_path / "my own.safetensors"))
    assert read_for(own, "mobilenetv2_100@my_own-global") == [tmp_path / "my own.safetensors"]
    with pytest.raises(InputError, match=r"no name under weights .*; did you mean 'mobilenetv2_100\.coral-442e2f89'"):
        read_for(planned("mobilenetv2_100.coral-442e2f88"), "mobilenetv2_100.coral-442e2f88-global")


@pytest.mark.parametrize("name", ["flickr8k", "flickr8k_gpu", "flickr8k_evidence", "paper"])
def test_networks_of_the_shipped_scales_have_weights_that_everybody_can_download(plans, name):
    plan = plans[name] if name in plans else plan_of(read(Scale, CONFIG / f"{name}.yaml"), CONFIG)
    known = plan.catalogue.datasets["weights"].files
    assert plan.extracted
    for _, source in plan.extracted:
        weights = str(plan.extracted_features[source].weights)
        assert known[weights].url is not None, source


def test_weights_change_the_settings_of_runs_that_name_them_and_of_no_others(plans):
    runs = plans["flickr8k"].runs.values()
    assert {str(run.features.weights) for run in runs} == {"mobilenetv2_100.ra_in1k-55ea4fb3"}
    assert all(run.features.weights is None for run in plans["demo"].runs.values())
    file = FeatureSpec(extractor="vgg19", weights=Path("/somewhere/mine.safetensors"), parts=4)
    elsewhere = FeatureSpec(extractor="vgg19", weights=Path("/elsewhere/mine.safetensors"))
    assert file.as_read == elsewhere.as_read == file.as_read.as_read
    assert file.stem == file.as_read.stem == "vgg19@mine-global"


def test_a_dataset_that_the_catalogue_lacks_is_named(plans):
    plan = plan_of(plans["flickr8k"].scale, CONFIG, Catalogue(datasets={}))
    with pytest.raises(InputError, match=r"datasets\.flickr8k is not in config/datasets\.yaml"):
        plan.inputs_of("load_corpus", dataset="flickr8k")


def test_the_tiny_scale_of_the_workflow_tests_asks_for_every_rule_but_those_of_real_data():
    plan = plan_of(read(Scale, TINY), TINY.parent)
    jobs, _ = jobs_for(plan, [*plan.targets["page"], *plan.targets["latex"]])
    real = {"download", "load_corpus", "label_images", "describe_precomp", "parse_some_captions"}
    real |= {"keep_documents"}  # whose texts are vectors
    slow = {"score_training_captions"}  # its losses read no slow phi on a fraction
    with_weights = {"embed", "compare_embeddings", "detect_regions"}  # see tests/encoders/test_rows.py, test_by_spec.py
    fetched = {"fetch_network", "fetch_encoder", "fetch_parser"}
    assert set(jobs) == set(plan.rules) - real - slow - with_weights - fetched


def spice_on_flickr8k(plans: dict[str, Plan], fractions: list[float], **training: object) -> Plan:
    """A plan whose only table trains VSE++ with SPICE's margins on some fractions of Flickr8k."""
    study = plans["flickr8k"].studies["knn_margin"]
    table = next(table for table in study.tables if table.name == "table1")
    row = type(table.row_specs()[0])(role="flickr30k", model="vsepp", loss="spice", fraction=fractions)
    loss = LossSpec(sam=SemanticAdaptiveMargin(temperature=1.58, phi="spice"))
    changed = study.model_copy(
        update={"losses": {"spice": loss}, "tables": [table.model_copy(update={"rows": [row]})], "figures": []}
    )
    given = {"studies": ["p"], "other_seeds": [], "keep": None, "judges": []}
    scale = plans["flickr8k"].scale
    given["training"] = scale.training.model_copy(update=training)
    return Plan(scale.model_copy(update=given), {"p": changed}, plans["flickr8k"].catalogue, config=CONFIG)


def test_a_slow_phi_of_a_fraction_is_made_of_its_own_captions_and_only_these_are_parsed(plans):
    train = Path("results/semantics/flickr8k/train")
    plan = spice_on_flickr8k(plans, [0.1, 1.0])
    assert plan.phi_read_by(plan.runs.values()) == [train / "spice,fraction=0.1.npy", train / "spice.npy"]
    jobs, _ = jobs_for(plan, plan.targets["training_inputs"])
    assert jobs["parse_some_captions"] == 2
    assert jobs["score_captions"] == jobs["score_training_captions"] == 1
    wildcards = {"dataset": "flickr8k", "phi": "spice", "captions": "fraction=0.1"}
    assert plan.inputs_of("score_training_captions", **wildcards)["tuples"] == [train / "tuples,fraction=0.1.jsonl.gz"]
    assert plan.params_of("score_training_captions", **wildcards) == {"part": (0.1, None, "first", 0)}
    told = plan.params_of("parse_some_captions", dataset="flickr8k", part="train/tuples,fraction=0.1")
    assert (told["split"], told["part"]) == ("train", (0.1, None, "first", 0))
    assert plan.params_of("parse_some_captions", dataset="flickr8k", part="test/tuples")["part"] is None
    test = plan.inputs_of("score_captions", dataset="flickr8k", split="test", phi="spice")["tuples"]
    assert test == [Path("results/semantics/flickr8k/test/tuples.jsonl.gz")]


@pytest.mark.parametrize("plan", ["flickr8k", "coco_captions", "paper"], indirect=True)
def test_captions_of_the_test_split_alone_are_parsed_for_judges(plan):
    assert plan.scale.judges
    for spec in plan.scale.judges:
        read_for = plan.inputs_of("ask_judge", scale=plan.scale.scale, dataset=spec.dataset, judge=spec.judge)["tuples"]
        assert read_for == [Path(f"results/semantics/{spec.dataset}/test/tuples.jsonl.gz")]
    parsed = [job for job in graph_of(plan, plan.targets["page"]).jobs if job.rule == "parse_some_captions"]
    assert {job.wildcards["part"] for job in parsed} == {"test/tuples"}


def test_a_drawn_fraction_has_a_matrix_for_each_seed_and_others_share_one_whatever_the_seeds(plans):
    drawn = spice_on_flickr8k(plans, [0.1], draw="seeded")
    parts = [path.name for path in drawn.phi_read_by(drawn.runs.values())]
    assert parts == [f"spice,fraction=0.1,draw=seeded,seed={seed}.npy" for seed in (0, 1, 2)]
    wildcards = {"dataset": "flickr8k", "phi": "spice"}
    captions = "fraction=0.1,draw=seeded,seed=2"
    assert drawn.params_of("score_training_captions", **wildcards, captions=captions)["part"] == (
        0.1,
        None,
        "seeded",
        2,
    )
    with pytest.raises(InputError, match=r"no run of this scale is trained on fraction=0.3 of 'flickr8k'"):
        drawn.params_of("score_training_captions", **wildcards, captions="fraction=0.3")


def test_a_dataset_may_be_called_like_a_target_and_ensembles_are_not_trained():
    demo = read(Scale, CONFIG / "demo.yaml").model_dump(mode="json", exclude_unset=True)
    demo |= {"datasets": {"complete": demo["datasets"]["scenes"]}, "roles": {"flickr30k": "complete"}, "judges": []}
    del demo["categories"]
    plan = plan_of(Scale.model_validate(demo), CONFIG)
    assert set(plan.targets["runs"]) == {plan.places.record(plan.job_of(run).name) for run in plan.runs}
    trained = re.compile(plan.constraints_of("train")["job"])
    assert all(trained.fullmatch(job) for job in plan.jobs) and not trained.fullmatch("complete/ensembles")
    assert "complete/ensembles" in plan.evaluations


def test_an_unknown_phi_ends_the_plan(plans):
    scale = plans["demo"].scale.model_copy(update={"matrices": ["spise"]})
    with pytest.raises(InputError, match=r"matrices names 'spise'.*did you mean 'spice'"):
        jobs_for(plan_of(scale, CONFIG), [Path("results/semantics/scenes/test/spise.npy")])


def test_a_users_own_photographs_are_known_by_content_and_others_by_their_files(plans, own):
    scale = scale_named("my_images", own)
    wildcards = {"dataset": "my_images", "extracted": "grid_descriptors-global"}

    def told() -> tuple[object, object]:
        plan = plan_of(scale, CONFIG, places=Places(own / "results"))
        assert plan.by_content("extract_features", **wildcards) == {"photographs"}
        corpus, features = (
            plan.params_of("load_corpus", dataset="my_images"),
            plan.params_of("extract_features", **wildcards),
        )
        assert corpus["needs"] == ["train", "dev", "test"]
        for rule, params in (("load_corpus", corpus), ("extract_features", features)):
            assert set(plan.settings_of_content(rule)) <= set(params)
        return corpus["photographs"], features["photographs"]

    names, content = told()
    (own / "images" / "a.jpg").write_bytes(b"edited")
    assert told()[0] == names and told()[1] != content
    (own / "images" / "b.jpg").write_bytes(b"new")
    assert told()[0] != names
    (own / "images" / "b.jpg").unlink()
    demo = plans["demo"]
    wildcards["dataset"] = "scenes"
    assert set(demo.params_of("extract_features", **wildcards)) == {"spec"}
    assert not demo.settings_of_content("extract_features")
    assert not demo.by_content("extract_features", **wildcards)


def test_a_path_that_a_user_forgot_to_edit_is_named(own):
    plan = plan_of(read(Scale, CONFIG / "my_images.yaml"), CONFIG)
    with pytest.raises(InputError, match=r"^datasets.my_images.photographs: is 'path/to/images', which does not exist"):
        plan.check_own()
    plan_of(scale_named("my_images", own), CONFIG).check_own()
