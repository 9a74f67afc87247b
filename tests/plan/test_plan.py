"""Every scale: what Snakemake would run for it, what those jobs read, and what the plan says of its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.config.consents import write_consent
from fivesentences.config.datasets import Catalogue
from fivesentences.config.features import FeatureSpec
from fivesentences.config.reading import read
from fivesentences.errors import InputError
from fivesentences.features.networks import PACKAGED
from fivesentences.losses import LossSpec, SemanticAdaptiveMargin
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.plan import Plan, plan_of
from golden.golden import REHEARSAL, SCALES, plan_named
from plan.conftest import FETCHED, count, dry_run

CONFIG = Path(__file__).parents[2] / "config"
BROAD = Path(__file__).parent / "broad.yaml"
MICRO = Path(__file__).parents[1] / "workflow" / "micro.yaml"


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """What a user would bring: photographs, a CSV, and a scale that names them."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "images").mkdir()
    (folder / "images" / "a.jpg").write_bytes(b"not looked at here")
    (folder / "captions.csv").write_text("filename,caption,split\n")
    content = yaml.safe_load((CONFIG / "my_images.yaml").read_text())
    content["datasets"]["my_images"] |= {"photographs": f"{folder}/images", "captions": f"{folder}/captions.csv"}
    (folder / "my_images.yaml").write_text(yaml.safe_dump(content))
    return folder


@pytest.fixture(scope="module")
def plans(own) -> Callable[[str], Plan]:
    """The plan of a scale, that of one's own images with ``own``, or of the tests' own with every kind of model."""
    mine = read(Scale, own / "my_images.yaml")
    others = {"my_images": lambda: plan_of(mine, CONFIG), "broad": lambda: plan_of(read(Scale, BROAD), CONFIG)}
    # Not the plans that tests share: these saw the mirror of this machine.
    return lambda name: others[name]() if name in others else plan_named.__wrapped__(name)


@pytest.mark.workflow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name != "demo" else name for name in SCALES],
)
def test_snakemake_would_make_every_scale_of_files_that_are_there_or_can_be_downloaded(
    plans, own, jobs_of, name, monkeypatch
):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)  # as ``jobs_of``
    plan = plans(name)
    scale = plan.scale
    jobs = jobs_of(REHEARSAL if name == REHEARSAL.stem else (own if name == "my_images" else CONFIG) / f"{name}.yaml")
    found = count(jobs)
    assert found["train"] == len([job for job in plan.jobs if "/complete/" not in job])
    assert found["evaluate"] == found["train"] + len({run.dataset for run in plan.ensembles.values()})
    assert found["average_similarities"] == len(plan.ensembles)
    assert found["make_table"] == len(plan.tables) and found["plot_figure"] == len(plan.figures)
    assert found["ask_judge"] == len(scale.judges)
    assert found["parse_captions"] == 0 or name != "demo"  # nothing of the demo needs Java
    # The plan's own list of what nobody here makes is that of Snakemake.
    made = {path for job in jobs for path in job.outputs}
    read_here = {
        path for job in jobs for files in job.inputs.values() for path in ([files] if isinstance(files, str) else files)
    }
    fetched = {path for job in jobs if job.rule == "download" for path in job.outputs}
    given = {Path(path).resolve() for path in (read_here - made) | fetched}
    assert given <= {path.resolve() for path in plan.files_no_rule_makes(scale.scale)}
    # Times count between jobs alone: of what comes from elsewhere the content does.
    assert {path for job in jobs for path in job.by_time} <= made - fetched
    brought = [own, *FETCHED]
    for path in given - {Path(path).resolve() for path in fetched}:
        assert path.is_file() or any(path.is_relative_to(Path(folder).resolve()) for folder in brought), path


@pytest.mark.slow
@pytest.mark.workflow
def test_files_that_only_a_person_may_fetch_and_has_not_end_the_planning_with_all_their_names(tmp_path, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    own = {"flickr30k": "data/mine", "coco": "data/other"}
    regions = {name: {"regions": {"folder": folder, "prefix": "x"}} for name, folder in own.items()}
    scale = {"extends": f"{CONFIG}/paper.yaml", "scale": "s", "datasets": regions, "only": ["table3", "table1"]}
    Path("s.yaml").write_text(yaml.safe_dump(scale))
    with ThreadPoolExecutor(1) as thread, pytest.raises(Exception) as ended:
        thread.submit(dry_run, Path("s.yaml"), ()).result()
    assert {*own.values()} <= set(str(ended.value).split())


@pytest.mark.workflow
@pytest.mark.usefixtures("unrar")
def test_the_papers_scale_is_planned_from_an_empty_folder_and_asks_for_a_consent_alone(jobs_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)  # not that of other tests, which saw other folders
    (asked,) = plan.missing_downloads("paper")
    assert asked.startswith("flickr30k/flickr30k-images.zip: the owners ask")
    assert list(plan.absent_files("paper")) == [Path("data/flickr30k/flickr30k-images.zip")]
    jobs = jobs_of(CONFIG / "paper.yaml")
    archives = {job.wildcards["folder"]: sorted(job.inputs["archives"]) for job in jobs if job.rule == "unpack"}
    assert archives == {
        "f30k_precomp": ["data/scan_features/scan-features.zip"],  # which COCO's need anyway
        "coco_precomp": ["data/scan_features/scan-features.zip"],
        "nus_wide": [
            f"data/nus_wide_archives/{name}"
            for name in ("Groundtruth.zip", "ImageList.zip", "NUS_WID_Low_Level_Features.rar", "NUS_WID_Tags.zip")
        ],
    }
    made = {job.outputs[0]: job.inputs["page"] for job in jobs if job.rule == "download"}
    assert made["data/pascal_sentences/pascal_sentences.json"] == ["data/pascal_sentences/pascal_sentences.html"]
    assert made["data/wikipedia/wikipedia_dataset.zip"] == [] and "data/wikipedia/raw_features.mat" not in made


def test_a_consent_is_asked_for_until_it_is_given_or_the_file_is_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
    photographs = "flickr30k/flickr30k-images.zip"
    assert "your consent" in plan.datasets.fetched_by_hand(photographs)
    write_consent(plan.catalogue.datasets["flickr30k"].files["photographs"].consent, Path("data"))
    assert plan.datasets.fetched_by_hand(photographs) is None
    Path("data/consents.yaml").unlink()
    (path := Path("data", photographs)).parent.mkdir()
    path.touch()
    assert plan.datasets.fetched_by_hand(photographs) is None


def test_a_rar_that_nothing_here_unpacks_is_said_before_it_is_fetched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
    monkeypatch.setattr("shutil.which", lambda _: None)
    said = plan.datasets.fetched_by_hand("nus_wide_archives/NUS_WID_Low_Level_Features.rar")
    assert "bsdtar, unar, 7z" in said and "install one" in said


@pytest.mark.slow
def test_a_folder_or_file_that_a_person_put_in_place_is_made_by_no_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
    folder, captions = Path("data/f30k_precomp"), "pascal_sentences/pascal_sentences.json"
    assert plan.datasets.makes_folder(folder) and plan.datasets.page_of(captions)
    folder.mkdir(parents=True)
    assert not plan.datasets.makes_folder(folder)
    assert folder in plan.files_no_rule_makes("paper") and folder not in plan.absent_files("paper")
    (folder / ".unpacked.json").write_text('{"archives": {"f30k_precomp.tar.gz": 1}}')
    assert plan.datasets.makes_folder(folder)
    Path("data/scan_features").mkdir()
    Path(
        "data/scan_features/scan-features.zip"
    ).touch()  # where it was unpacked from another, that one stays its source
    assert plan.datasets.archives_of(folder) == [Path("data/scan_features/f30k_precomp.tar.gz")]
    (own := Path("data", captions)).parent.mkdir()
    own.write_text("{}")
    assert plan.datasets.page_of(captions) == []
    own.with_name(f"{own.name}.sha256").write_text(f"# from its page\n{'0' * 64}  {own.name}\n")
    assert plan.datasets.page_of(captions) == [Path("data/pascal_sentences/pascal_sentences.html")]


def test_the_page_of_flickr30k_needs_no_photographs_until_all_rows_are_asked_for(plans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    plan, regions = plans("flickr30k"), Path("data/scan_features/f30k_precomp.tar.gz")
    photographs = Path("data/flickr30k/flickr30k-images.zip")
    read_by = {name: set(plan.files_no_rule_makes(name)) for name in plan.scales}
    assert regions in read_by["flickr30k"] and photographs not in read_by["flickr30k"]
    assert {regions, photographs} <= read_by["flickr30k-complete"]
    assert plan.missing_downloads("flickr30k") == [] and list(plan.absent_files("flickr30k-complete")) == [photographs]
    (both := Path("data/scan_features/scan-features.zip")).parent.mkdir(parents=True)
    both.touch()
    assert both in plan.files_no_rule_makes("flickr30k")  # where it is here, the other is not fetched


@pytest.mark.slow
@pytest.mark.workflow
def test_jobs_of_a_scale_read_what_their_runs_need_and_no_more(plans, jobs_of):
    plan, jobs = plans("broad"), jobs_of(BROAD)
    for job in (job for job in jobs if job.rule == "train"):
        specs = plan.runs_of_job(f"{job.wildcards['dataset']}/{job.wildcards['job']}")
        assert [one["folder"] for one in job.params["runs"]] == [str(plan.places.run(spec.name)) for spec in specs]
        read_here = {job.inputs["corpus"], job.inputs["features"], *job.inputs["phi"]}
        assert read_here == set(map(str, plan.report.inputs_of_training(specs)))
    table3 = count(jobs_of(BROAD, "table3"))
    assert (table3["train"], table3["make_table"], table3["plot_figure"]) == (8, 1, 0)
    figure = count(jobs_of(BROAD, "metric_agreement_agreement"))
    assert figure["plot_figure"] == 1 and figure["train"] == 8
    complete = count(jobs_of(BROAD, "complete"))
    assert complete["train"] == len(plan.jobs) > 8
    assert not {"train", "evaluate"} & set(count(jobs_of(BROAD, "training_inputs")))
    assert plan.report.targets["complete"] == [
        Path("results/paper/broad-complete") / page for page in ("index.html", "manifest.json", "runs/index.html")
    ]


@pytest.mark.slow
@pytest.mark.workflow
def test_the_scales_of_the_tests_ask_for_every_rule_but_those_of_real_data(jobs_of):
    real = {"download", "load_corpus", "label_images", "describe_precomp", "parse_captions", "parse_training_captions"}
    real |= {"list_images", "keep_documents", "unpack"}  # whose texts are vectors
    slow = {"score_training_captions"}  # its losses read no slow phi on a fraction
    with_weights = {
        "detect_regions",
        "check_regions",
        "take_similarity",
    }  # see tests/features, test_matrices_of_others.py
    fetched = {"fetch_network", "fetch_parser"}
    asked = {*count(jobs_of(BROAD)), *count(jobs_of(BROAD, "latex"))}
    asked |= {*count(jobs_of(MICRO)), *count(jobs_of(MICRO, "semantics"))}
    files = "".join(path.read_text() for path in (CONFIG.parent / "workflow" / "rules").glob("*.smk"))
    rules = set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)", files, flags=re.MULTILINE))
    assert asked - {"all", "latex", "semantics"} == rules - real - slow - with_weights - fetched


def test_targets_have_a_short_name_where_it_is_unique(plans):
    targets = plans("broad").report.targets
    assert targets["figure3"] == targets["five_sentences_figure3"]
    assert "table1" not in targets and {"five_sentences_table1", "knn_margin_table1", "daa_supp_table1"} <= set(targets)


def test_the_truth_is_a_phi_of_drawn_scenes_and_of_nothing_else(plans):
    drawn, taken = plans("broad"), plans("flickr8k")
    assert drawn.phi.truth_of("scenes", ["cider", "truth"]) == [drawn.places.beside_corpus("scenes", "truth.npy")]
    assert drawn.phi.truth_of("scenes", ["cider"]) == taken.phi.truth_of("flickr8k", ["cider"]) == []
    with pytest.raises(InputError, match="flickr8k"):
        taken.phi.truth_of("flickr8k", ["truth"])


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "asked"), [("PMRP", True), ("Rsum", False)])
def test_labels_of_images_are_read_where_a_table_shows_pmrp(plans, metric, asked):
    changes = {"studies": ["knn_margin"], "other_seeds": [], "keep": None, "categories": None}
    scale = plans("broad").scale.model_copy(update=changes)
    study = plans("broad").studies["knn_margin"]
    table = next(table for table in study.tables if table.name == "table1")
    columns = [column.model_copy(update={"metric": metric}) for column in table.columns]
    changed = study.model_copy(update={"tables": [table.model_copy(update={"columns": columns})]})
    plan = Plan(scale, {"knn_margin": changed}, plans("broad").catalogue, config=CONFIG)
    assert bool(plan.datasets.labels_of("scenes")) == asked


@pytest.mark.slow
def test_the_configuration_alone_says_which_weights_a_network_has(tmp_path, monkeypatch, studies, make_scale):
    """Not a mirror: two machines would write different features under one name."""
    catalogue, some = read(Catalogue, CONFIG / "datasets.yaml"), {"knn_margin": studies["knn_margin"]}
    known = catalogue.datasets["weights"].files

    def planned(weights: object) -> Plan:
        chosen = {"weights": {"mobilenetv2_100": weights}} if weights else {}
        features = {"extractor": "mobilenetv2_100"}
        scale = make_scale(studies=[*some], only=["table1"], keep=None, seeds=[0], features=features, **chosen)
        return Plan(scale, some, catalogue, config=CONFIG)

    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/mobilenetv2_100.safetensors").touch()
    name = "mobilenetv2_100.coral-442e2f89"
    for mirror in ("", str(tmp_path)):
        monkeypatch.setenv("FIVESENTENCES_MIRROR", mirror)
        plan = planned(None)
        assert plan.features.weights_of("mobilenetv2_100-global") == []
        # timm downloads its own then, ahead of the extraction: a node of a cluster may have no network.
        assert plan.features.network_of("mobilenetv2_100-global") == ["data/fetched/networks/mobilenetv2_100.json"]
        plan = planned(name)
        assert plan.features.weights_of(f"{name}-global") == [Path("data") / known[name].path]
        assert plan.features.network_of(f"{name}-global") == []
        assert set(plan.report.targets["features"]) == {Path(f"results/features/scenes/{name}-global.npy")}
    mine = planned(str(tmp_path / "my own.safetensors"))
    assert mine.features.weights_of("mobilenetv2_100@my_own-global") == [tmp_path / "my own.safetensors"]
    with pytest.raises(InputError, match=r"weights .*'mobilenetv2_100\.coral-442e2f89'"):
        planned("mobilenetv2_100.coral-442e2f88").features.weights_of("mobilenetv2_100.coral-442e2f88-global")


@pytest.mark.parametrize("name", ["flickr8k", "flickr8k_evidence", "paper"])
def test_networks_of_the_shipped_scales_have_weights_that_everybody_can_download(plans, name):
    plan = plans(name)
    known = plan.catalogue.datasets["weights"].files
    assert plan.features.extracted
    for _, source in plan.features.extracted:
        features = plan.features.extracted_features[source]
        if features.weights is None:
            assert features.extractor in PACKAGED, source
        else:
            assert known[str(features.weights)].url is not None, source


def test_weights_change_the_settings_of_runs_that_name_them_and_of_no_others(plans):
    of_papers = {run.features.extractor: str(run.features.weights) for run in plans("paper").runs.values()}
    assert of_papers == {"vgg19": "vgg19.tv_in1k", "resnet152": "resnet152.tv_in1k", "bottom_up": "None"}
    assert all(run.features.weights is None for run in plans("broad").runs.values())
    file = FeatureSpec(extractor="vgg19", weights=Path("/somewhere/mine.safetensors"), parts=4)
    elsewhere = FeatureSpec(extractor="vgg19", weights=Path("/elsewhere/mine.safetensors"))
    assert file.as_read == elsewhere.as_read == file.as_read.as_read
    assert file.stem == file.as_read.stem == "vgg19@mine-global"


def test_mistakes_end_the_plan(plans, own):
    with pytest.raises(InputError, match=r"datasets\.flickr8k .*datasets\.yaml"):
        plan_of(plans("flickr8k").scale, CONFIG, Catalogue(datasets={})).check()
    forgotten = plan_of(read(Scale, CONFIG / "my_images.yaml"), CONFIG)
    with pytest.raises(InputError, match=r"^datasets.my_images.photographs: is 'path/to/images'"):
        forgotten.check()
    plans("my_images").check()


def spice_on_flickr8k(plans: Callable[[str], Plan], fractions: list[float]) -> Plan:
    """A plan whose only table trains VSE++ with SPICE's margins on some fractions of Flickr8k."""
    study = plans("flickr8k").studies["knn_margin"]
    table = next(table for table in study.tables if table.name == "table1")
    row = type(table.row_specs()[0])(role="flickr30k", model="vsepp", loss="spice", fraction=fractions)
    loss = LossSpec(sam=SemanticAdaptiveMargin(temperature=1.58, phi="spice"))
    changed = study.model_copy(
        update={"losses": {"spice": loss}, "tables": [table.model_copy(update={"rows": [row]})], "figures": []}
    )
    given: dict[str, Any] = {"studies": ["p"], "other_seeds": [], "keep": None, "judges": [], "finding": None}
    scale = plans("flickr8k").scale
    return Plan(scale.model_copy(update=given), {"p": changed}, plans("flickr8k").catalogue, config=CONFIG)


def test_a_slow_phi_of_a_fraction_is_made_of_its_own_captions_and_only_these_are_parsed(plans):
    train = Path("results/semantics/flickr8k/train")
    plan = spice_on_flickr8k(plans, [0.1, 1.0])
    assert plan.phi.files_read_by(plan.runs.values()) == [train / "spice,fraction=0.1.npy", train / "spice.npy"]
    assert plan.phi.tuples_of("flickr8k", ["spice"], "train", "fraction=0.1") == [
        train / "tuples,fraction=0.1.jsonl.gz"
    ]
    assert plan.phi.training_part("flickr8k", "fraction=0.1") == (0.1, None)
    with pytest.raises(InputError, match=r"fraction=0\.3 of 'flickr8k'"):
        plan.phi.training_part("flickr8k", "fraction=0.3")


def test_a_dataset_may_be_called_like_a_target():
    demo = read(Scale, BROAD).model_dump(mode="json", exclude_unset=True)
    demo |= {"datasets": {"complete": demo["datasets"]["scenes"]}, "roles": {"flickr30k": "complete"}, "judges": []}
    del demo["categories"]
    plan = plan_of(Scale.model_validate(demo), CONFIG)
    assert set(plan.report.targets["runs"]) == {plan.places.record(plan.job_of(run).name) for run in plan.runs}
    assert "complete/ensembles" in plan.evaluations and "complete/ensembles" not in plan.jobs


def test_a_users_own_photographs_are_known_by_content(own):
    def told() -> tuple[str, str]:
        plan = plan_of(read(Scale, own / "my_images.yaml"), CONFIG, places=Places(own / "results"))
        identity = plan.datasets.digest_of_photographs("my_images")
        return identity.names, identity.content

    names, content = told()
    (own / "images" / "a.jpg").write_bytes(b"edited")
    assert told()[0] == names and told()[1] != content
    (own / "images" / "b.jpg").write_bytes(b"new")
    assert told()[0] != names
    (own / "images" / "b.jpg").unlink()


@pytest.mark.parametrize("name", ["demo", "flickr8k_evidence", "paper"])
def test_navigation_leads_to_each_page_once_papers_with_claims_first(plans, name):
    plan = plans(name)
    pages = plan.report.site(name)["pages"]
    paths = [page["path"] for page in pages]
    made = [study for study, one in plan.studies.items() if one.made_at(plan.scale)]
    assert paths[0] == "index.html" and "claims/claims.html" in paths and len(paths) == len(set(paths))
    gallery = {"gallery"} if plan.comparisons.gallery(name) else set()  # not where photographs may not be passed on
    assert {path.partition("/")[0] for path in paths} == {*made, "index.html", "claims", "runs"} | gallery
    assert gallery or not plan.scale.photographs
    assert list(dict.fromkeys(page["part"] for page in pages)) == [
        part for part in ("", "Papers", "Our own questions", "Evidence") if part in {page["part"] for page in pages}
    ]
    claimed = {paper.name for paper in plan.claims}
    assert {page["path"].partition("/")[0] for page in pages if page["part"] == "Papers"} <= claimed
    assert json.loads(json.dumps(plan.report.site(name))) == plan.report.site(name)  # a parameter of rules
