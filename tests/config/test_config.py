"""Configuration: what is wrong ends in one sentence that names file, key, value and cure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.config import Catalogue, Scale, check, read
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec, SamSpec
from fivesentences.plan.runs import RunSpec
from fivesentences.plan.studies import Study

CONFIG = Path(__file__).parents[2] / "config"
SCALES = sorted(path for path in CONFIG.glob("*.yaml") if path.name != "datasets.yaml")


@pytest.mark.parametrize("path", SCALES, ids=lambda path: path.stem)
def test_every_scale_of_the_project_is_valid(path: Path) -> None:
    assert read(Scale, path).scale == path.stem


@pytest.mark.parametrize("path", sorted((CONFIG / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_of_the_project_is_valid(path: Path) -> None:
    assert read(Study, path).things


def test_the_catalogue_names_each_path_once() -> None:
    catalogue = read(Catalogue, CONFIG / "datasets.yaml")
    paths = [file.path for entry in catalogue.datasets.values() for file in entry.files.values()]
    assert len(set(paths)) == len(paths)


def demo() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CONFIG / "demo.yaml").read_text())
    return content


def changed(**keys: Any) -> dict[str, Any]:
    content = demo()
    for path, value in keys.items():
        *parents, last = path.split("__")
        block = content
        for parent in parents:
            block = block[parent]
        block[last] = value
    return content


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (changed(sseds=[1]), ["x.yaml", "sseds", "Did you mean 'seeds'"]),
        (
            changed(training__learning_rat=0.1),
            ["x.yaml", "training.learning_rat", "Did you mean 'learning_rate'"],
        ),
        (changed(training__batch_size="many"), ["x.yaml", "training.batch_size", "'many'", "integer"]),
        (
            changed(training__drop_after=25),
            ["x.yaml", "training.drop_after", "25", "less than or equal to 1"],
        ),
        (changed(roles={"flickr30k": "nothing"}), ["x.yaml", "roles.flickr30k", "'nothing'", "scenes"]),
        (changed(seeds=[1, 1]), ["x.yaml", "seeds", "[1, 1]"]),
        (changed(seeds=[]), ["x.yaml", "seeds", "at least 1"]),
        (changed(datasets={"scenes": {"loader": "flickr9k"}}), ["x.yaml", "datasets.scenes", "flickr8k"]),
        (
            changed(datasets={"scenes": {"loader": "scenes", "trian": 3}}),
            ["x.yaml", "datasets.scenes.trian", "train"],
        ),
        (changed(leave_out={"fractions": [25]}), ["x.yaml", "fractions", "25"]),
    ],
)
def test_a_mistake_in_a_scale_names_file_key_value_and_cure(content: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(InputError) as error:
        check(Scale, content, "x.yaml")
    assert all(part in str(error.value) for part in parts), str(error.value)
    assert "\n" not in str(error.value)


def test_a_percentage_given_as_a_fraction_is_recognised() -> None:
    with pytest.raises(InputError, match=r"fraction is 25; a fraction lies in \(0, 1\]. Did you mean 0.25\?"):
        check(RunSpec, run(fraction=25), "x.yaml")


def test_a_loss_without_any_term_is_impossible() -> None:
    with pytest.raises(InputError, match=r"x.yaml: loss: triplet, sam, soft_rank, hal and smooth_ap are all null"):
        check(RunSpec, run(loss={"triplet": None}), "x.yaml")


def test_a_study_that_names_an_undeclared_loss_ends_before_any_job() -> None:
    study = {
        "paper": "p",
        "losses": {"hardest": {}},
        "tables": {
            "t": {
                "title": "t",
                "caption": "c",
                "rows": [{"role": "r", "loss": "hardset"}],
                "columns": [{"metric": "Rsum"}],
            }
        },
    }
    with pytest.raises(InputError, match=r"s.yaml: tables.t names the loss 'hardset', but losses has only: hardest"):
        check(Study, study, "s.yaml")


def study(**keys: Any) -> dict[str, Any]:
    return {"paper": "p", "losses": {"hardest": {}}} | keys


ROW = {"role": "r", "loss": "hardest"}
ABOUT = {"title": "t", "caption": "c"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            study(figures={"f": ABOUT | {"drawing": "hubnes", "rows": [ROW]}}),
            r"s.yaml: figures.f.drawing is 'hubnes'; expected one of 'semantic_recall_over_m', 'hubness'",
        ),
        (
            study(figures={"f": ABOUT | {"drawing": "hubness", "rows": [ROW | {"inference": "cslss"}]}}),
            r"s.yaml: figures.f.rows.0.inference is 'cslss'",
        ),
        (
            study(figures={"f": ABOUT | {"drawing": "retrievals", "rows": [ROW | {"inference": ["csls"]}]}}),
            r"rows of retrievals are read from the similarity as it is; leave inference out",
        ),
        (
            study(figures={"f": ABOUT | {"drawing": "metric_agreement", "metrics": [{"metric": "Rsum"}]}}),
            r"s.yaml: figures.f.metrics .*at least 2",
        ),
        (
            study(tables={"t": ABOUT | {"rows": [ROW], "columns": [{"metric": "hubs >=3"}]}}),
            r"s.yaml: tables.t.columns.0.metric is 'hubs >=3'",
        ),
        (
            study(
                tables={
                    "t": ABOUT
                    | {
                        "rows": [ROW | {"inference": ["csls", "naive"], "published": "1"}],
                        "columns": [{"metric": "R@1"}],
                    }
                }
            ),
            r"published names one printed row, but inference is a list",
        ),
    ],
)
def test_a_mistake_in_a_study_names_file_key_and_value(content: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check(Study, content, "s.yaml")


def test_a_phi_of_the_evaluation_may_be_a_mean_and_the_main_one_comes_first() -> None:
    scale = check(Scale, changed(evaluation_phi="spice", evaluation_phis=["tfidf", "spice", "cider-ptb+spice"]), "x")
    assert scale.phis == ["spice", "tfidf", "cider-ptb+spice"]
    with pytest.raises(InputError, match=r"x.yaml: evaluation_phis.0 is 'cider\+'"):
        check(Scale, changed(evaluation_phis=["cider+"]), "x.yaml")
    with pytest.raises(InputError, match=r"x.yaml: evaluation_phi is 'a\+b'"):
        check(Scale, changed(evaluation_phi="a+b"), "x.yaml")


def run(**keys: Any) -> dict[str, Any]:
    return {"dataset": "d", "features": {"extractor": "e"}, "model": {"name": "vsepp"}} | keys


def test_two_runs_that_differ_in_the_loss_have_different_names() -> None:
    losses = [
        LossSpec(),
        LossSpec(triplet="all"),
        LossSpec(triplet=3),
        LossSpec(margin=0.3),
        *(LossSpec(sam=SamSpec(negatives=negatives)) for negatives in ("random", "closest", "furthest")),
        LossSpec(sam=SamSpec(variant="released")),
        LossSpec(sam=SamSpec(temperature=3)),
        LossSpec(sam=SamSpec(weight=5)),
        LossSpec(sam=SamSpec(max_margin=1)),
        LossSpec(triplet=None, sam=SamSpec()),
    ]
    names = {check(RunSpec, run(loss=loss), "x").name for loss in losses}
    assert len(names) == len(losses)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a: [1", "line 1"),
        (b"a: \xff", "byte 3 is not UTF-8"),
        (None, "there is no such file"),
    ],
)
def test_a_file_that_is_not_yaml_is_named(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    path = tmp_path / "scale.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as error:
        read(Scale, path)
    assert str(path) in str(error.value)
