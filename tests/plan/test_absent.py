"""With ``absent: leave_out`` a plan leaves out rows whose data are not here, and says which and what brings them."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fivesentences.config import consents
from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of

CONFIG = Path(__file__).parents[2] / "config"
# What a person must fetch, in the catalogue of these tests: all but the captions of Flickr30K.
FILES = {
    "flickr30k": {"captions": "f30k/captions.zip", "photographs": "f30k/photographs.zip"},
    "coco": {"captions": "coco/captions.zip", "photographs": "coco/photographs.zip", "instances": "coco/instances.zip"},
    "cxc": {"image_text_test": "cxc/sits.csv"},
    "pascal_sentences": {"captions": "pascal/captions.json", "photographs": "pascal/photographs.zip"},
}
SCALE = {
    "scale": "papers",
    "title": "Papers",
    "roles": {"flickr30k": "flickr30k", "coco": "coco"},
    "datasets": {
        "flickr30k": {"loader": "karpathy", "regions": {"folder": "data/f30k_precomp"}},
        "coco": {"loader": "karpathy", "regions": {"folder": "data/coco_precomp"}},
        "pascal_sentences": {"loader": "pascal_sentences"},
    },
    "features": {"extractor": "grid_descriptors"},
    "grid_features": {"extractor": "bottom_up", "layout": "grid"},
    "judges": [{"judge": "cxc", "dataset": "coco"}],
    "training": {
        "epochs": 2,
        "exceptions": [
            {"model": "scan", "dataset": "coco", "epochs": 1},
            {"dataset": ["coco", "flickr30k"], "model": "sgr", "epochs": 3},
        ],
    },
    "categories": {
        "roles": {"pascal": "pascal", "nus_wide": "nus_wide"},
        "documents": {
            "pascal": {
                "loader": "corpus",
                "corpus": "pascal_sentences",
                "divisions": {"printed": {"validation": 100, "test": 100}},
            },
            "nus_wide": {
                "loader": "nus_wide",
                "folder": "data/nus_wide",
                "divisions": {"printed": {"validation": 5000, "test": 23661}},
            },
        },
    },
    "studies": ["five_sentences", "sched_sam"],
    "absent": "leave_out",
}
FOLDERS = ("data/f30k_precomp", "data/coco_precomp", "data/nus_wide")


def catalogue() -> Catalogue:
    def file(path: str) -> dict[str, Any]:
        url = "https://example.org/captions.zip" if path == "f30k/captions.zip" else None
        told = {"version": "1", "sha256": None, "size": None, "licence": "theirs", "fetch_by_hand": f"ask for {path}."}
        return {"path": path, "url": url} | told

    entries = {name: {key: file(path) for key, path in files.items()} for name, files in FILES.items()}
    content = {"datasets": {name: {"title": name, "files": files} for name, files in entries.items()}}
    return check(Catalogue, content, "the catalogue")


@pytest.fixture
def plan_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The plan where all data are here but these paths: ``plan_without("data/coco", scale_key=...)``."""
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)

    def planned(*absent: str, **changes: Any) -> Plan:
        monkeypatch.chdir(tempfile.mkdtemp(dir=tmp_path))
        for folder in FOLDERS:
            if not folder.startswith(absent):
                Path(folder).mkdir(parents=True, exist_ok=True)
        for path in (f"data/{path}" for files in FILES.values() for path in files.values()):
            if not path.startswith(absent):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).touch()
        return plan_of(Scale.model_validate(SCALE | changes), CONFIG, catalogue())

    return planned


def left_out(plan: Plan) -> dict[tuple[str, str], list[str]]:
    """What a plan leaves out, with its sentences."""
    return {(one.part, one.name): one.how for one in plan.scale.absent_data}


def datasets_of(plan: Plan) -> set[tuple[str, str]]:
    """Dataset and features of every run."""
    return {(run.dataset, run.features.source) for run in plan.all_runs.values()}


REGIONS, GLOBAL = "bottom_up-grid", "grid_descriptors-global"
EVERY = {("flickr30k", REGIONS), ("flickr30k", GLOBAL), ("coco", REGIONS), ("coco", GLOBAL)}


@pytest.mark.slow
def test_where_all_is_here_the_plan_is_the_same(plan_without) -> None:
    plan, named = plan_without(), plan_without(absent="name")
    assert datasets_of(plan) == EVERY and not plan.scale.absent_data
    assert plan.all_runs == named.all_runs and plan.subspaces.all_runs == named.subspaces.all_runs


@pytest.mark.slow
def test_a_folder_of_regions_takes_the_rows_that_read_it(plan_without) -> None:
    plan = plan_without("data/coco_precomp")
    assert datasets_of(plan) == EVERY - {("coco", REGIONS)}
    assert (
        list(left_out(plan)) == [("features", "coco")] and "data/coco_precomp" in left_out(plan)["features", "coco"][0]
    )
    rows = plan.rows["papers", "five_sentences/table3"]
    by_reason = {(row.dataset, row.left_out) for row in rows if row.model in ("sgr", "cvse")}
    assert by_reason == {("coco", "absent"), ("flickr30k", None)}
    assert not plan.missing_downloads("papers") and not plan.missing_downloads("papers-complete")


@pytest.mark.slow
def test_photographs_take_the_rows_whose_features_are_made_of_them_and_pictures_from_pages(plan_without) -> None:
    assert plan_without().features.pictured_datasets
    plan = plan_without("data/f30k/photographs.zip")
    assert datasets_of(plan) == EVERY - {("flickr30k", GLOBAL)}
    assert list(left_out(plan)) == [("features", "flickr30k"), ("photographs", "flickr30k")]
    assert not plan.features.pictured_datasets and not any(one.shows_photographs for one in plan.figures.values())
    assert not plan.missing_downloads("papers-complete")


def test_captions_take_the_whole_dataset_its_roles_its_judge_and_its_settings(plan_without) -> None:
    plan = plan_without("data/coco/captions.zip")
    assert plan.scale.roles == {"flickr30k": "flickr30k"} and "coco" not in plan.scale.datasets
    assert plan.scale.judges == [] and {dataset for dataset, _ in datasets_of(plan)} == {"flickr30k"}
    (exception,) = plan.scale.training.exceptions  # the one of two datasets, for the other alone
    assert exception.dataset == ["flickr30k"] and exception.epochs == 3
    (record,) = plan.scale.absent_data
    assert record.roles == ["coco"] and record.sentence("MS-COCO") == (
        "All of MS-COCO is left out: data/coco/captions.zip must be put there by a person: ask for coco/captions.zip."
    )


@pytest.mark.slow
def test_a_missing_consent_takes_the_rows_and_is_asked_for_in_the_same_words_every_day(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    path, said = CONFIG / "paper.yaml", []
    for day in (datetime.date(2026, 1, 2), datetime.date(2026, 3, 4)):
        monkeypatch.setattr(consents, "datetime", SimpleNamespace(date=SimpleNamespace(today=lambda day=day: day)))
        named = plan_of(scale_of(read_yaml(path), path), CONFIG).missing_downloads("paper")
        assert any(day.isoformat() in sentence for sentence in named)
        plan = plan_of(scale_of(read_yaml(path) | {"absent": "leave_out"}, path), CONFIG)
        said.append([one.sentence() for one in plan.scale.absent_data])
        read = {run.features.source for run in plan.runs.values() if run.dataset == "flickr30k"}
        assert read == {"bottom_up-grid"}  # and none of photographs
    assert said[0] == said[1] and any("--consent flickr30k" in sentence for sentence in said[0])


@pytest.mark.slow
def test_documents_take_their_role_alone(plan_without) -> None:
    plan = plan_without("data/nus_wide")
    assert {run.documents for run in plan.subspaces.all_runs.values()} == {"pascal"}
    assert left_out(plan).keys() == {("documents", "nus_wide")} and datasets_of(plan) == EVERY
    rows = [row for name in plan.exhibits for row in plan.subspace_rows["papers", name] if row.role == "nus_wide"]
    assert rows and {row.left_out for row in rows} == {"role"}
    # Documents that are photographs of a dataset go with its captions, and with the features of its photographs.
    for absent in ("data/pascal/captions.json", "data/pascal/photographs.zip"):
        plan = plan_without(absent)
        assert {run.documents for run in plan.subspaces.all_runs.values()} <= {"nus_wide"}
        assert plan.scale.absent_data[0].roles == ["pascal"]


@pytest.mark.slow
def test_a_judge_and_labels_are_left_out_by_themselves(plan_without) -> None:
    plan = plan_without("data/cxc")
    assert left_out(plan).keys() == {("judge", "cxc")} and plan.scale.judges == [] and datasets_of(plan) == EVERY
    plan = plan_without("data/coco/instances.zip", studies=["daa_supp"], categories=None)
    assert left_out(plan).keys() == {("labels", "coco")} and plan.datasets.labels_of("coco") == []
    assert not plan.missing_downloads("papers-complete")


CXC_ALONE = {
    "roles": {},
    "features": None,
    "grid_features": None,
    "categories": None,
    "datasets": {"coco": {"loader": "karpathy", "splits": ["test"]}},
    "training": {},
    "studies": ["daa_supp"],
    "only": ["found_positives"],
    "absent": "name",
}


@pytest.mark.parametrize(
    ("labels", "absent", "read"),
    [("here", "data/coco/instances.zip", False), ("here", "none", True), ("fetch", "data/coco/instances.zip", True)],
)
def test_labels_are_read_only_where_they_are_here_if_a_scale_says_so(plan_without, labels, absent, read) -> None:
    plan = plan_without(absent, labels=labels, **CXC_ALONE)
    assert bool(plan.datasets.labels_of("coco")) == read
    assert plan.phi.phis_read("found_positives")  # the curves by phi stay
    if not read:
        (record,) = plan.scale.absent_data
        assert record.sentence("MS-COCO").startswith("What needs the labels of MS-COCO (PMRP, pairs by shared labels)")
        assert "data/coco/instances.zip is not here; --config labels=fetch" in record.how[0]
        assert not plan.missing_downloads("papers")


def test_where_nothing_is_left_every_file_is_named(plan_without) -> None:
    with pytest.raises(InputError, match=r"scale papers: absent is leave_out, and nothing is left: .*data/nus_wide"):
        plan_without("data", studies=["sched_sam"], roles={}, judges=[])


def test_by_default_every_file_is_named_and_no_row_is_left_out(plan_without) -> None:
    plan = plan_without("data/nus_wide", "data/coco", absent="name")
    named = plan.missing_downloads("papers")
    assert {"data/nus_wide", "data/coco_precomp", "data/coco/captions.zip"} <= {one.split()[0] for one in named}
    assert datasets_of(plan) == EVERY


@pytest.mark.slow
def test_a_job_that_plans_the_scale_again_finds_the_same(plan_without) -> None:
    # As judge_claims and write_manifest do, perhaps after a file came.
    plan = plan_without("data/coco_precomp", "data/nus_wide")
    Path("data/nus_wide").mkdir()
    again = plan_of(check(Scale, plan.settings("papers"), "the scale"), CONFIG, catalogue())
    assert again.scale == plan.scale and again.all_runs == plan.all_runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("studies", "roles", "names"),
    [
        (["five_sentences"], {"flickr30k", "coco"}, set()),
        (["daa_supp", "knn_margin"], {"flickr30k", "coco"}, {"resnet152"}),
    ],
)
def test_the_command_line_may_name_other_studies_of_a_scale(studies, roles, names) -> None:
    path = CONFIG / "paper.yaml"
    content = read_yaml(path)
    with pytest.raises(InputError, match=r"names '\w+', which is no"):
        plan_of(scale_of(content | {"studies": ["five_sentences"]}, path), CONFIG)
    plan = plan_of(scale_of(content | {"studies": studies}, path, stated={"studies": studies}), CONFIG)
    assert set(plan.studies) == set(studies) and set(plan.scale.roles) == roles
    assert set(plan.scale.further_features) == names and set(plan.scale.weights) == {"vgg19", *names}
    assert not any("pascal" in str(file) for file in plan.files_no_rule_makes("paper"))
    whole = plan_of(scale_of(content, path), CONFIG)
    assert plan.runs.keys() <= whole.runs.keys()  # the same runs as of the whole scale


def test_a_typing_mistake_on_the_command_line_is_still_named() -> None:
    path, stated = CONFIG / "paper.yaml", {"studies": ["five_sentences"], "only": ["tabel3"]}
    with pytest.raises(InputError, match=r"only names 'tabel3', .*did you mean 'table3'"):
        plan_of(scale_of(read_yaml(path) | stated, path, stated=stated), CONFIG)
