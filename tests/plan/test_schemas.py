"""JSON schemas of the configuration files: they accept every file here, and refuse what the code refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fivesentences.plan.options_page import options_page
from fivesentences.plan.schemas import schema_texts
from fivesentences.study.study import Study

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "config").glob("*.yaml"), *(ROOT / "config" / "studies").glob("*.yaml")])
FILES.append(ROOT / "profiles" / "slurm" / "cluster.yaml")
FEATURES = {"extractor": "e"}
RUN = {"dataset": "d", "features": FEATURES, "model": {"name": "vsepp"}}
SCHEMAS = {name.removesuffix(".json"): json.loads(text) for name, text in schema_texts(Study).items()}
SCALE = {"scale": "s", "title": "S", "roles": {}, "datasets": {}, "studies": ["p"]}


def with_model(**model: Any) -> dict[str, Any]:
    return RUN | {"model": model}


def named(content: Any) -> Any:
    """As an editor has it: keys are text."""
    return json.loads(json.dumps(content))


def is_valid(kind: str, content: Any) -> bool:
    return jsonschema.Draft7Validator(SCHEMAS[kind]).is_valid(named(content))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_first_line_of_a_file_names_a_schema_that_accepts_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    schema = path.parent / text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert schema.resolve().parent == ROOT / "config" / "schemas"
    jsonschema.validate(named(yaml.safe_load(text)), json.loads(schema.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("run", RUN, with_model(name="vsep")),
        ("run", RUN, {"format": 2, "corpus": "c", "features": "f", "run": {"dataset": "d"}}),
        (
            "run",
            {"format": 2, "corpus": "c", "features": "f", "run": RUN},
            RUN | {"model": {"name": "sgr", "steps": 0}},
        ),
        (
            "run",
            RUN | {"model": {"name": "scan", "raw_norm": "softmax"}},
            RUN | {"model": {"name": "scan", "raw_norm": "l1"}},
        ),
        ("run", RUN | {"training": {"epochs": 3}}, RUN | {"training": {"epochs": 0}}),
        ("run", RUN | {"loss": {"triplet": 3, "hal": {}}}, RUN | {"loss": {"hal": {"gama": 3}}}),
        ("study", {"paper": "p", "models": {"m": {"name": "cvse", "alpha": 0.1}}}, {"paper": "p", "models": {"m": {}}}),
        ("study", {"paper": "p", "losses": {"a": {}}}, {"paper": "p", "losses": {"a": {"sam": {"negatives": "hard"}}}}),
        ("scale", SCALE, {"scale": "s"}),
        ("scale", {"extends": "demo.yaml", "keep": None}, {"extends": 3}),
        (
            "scale",
            SCALE | {"training": {"widths": {"similarity_dim": 8}, "epochs": {0.1: 3}}},
            SCALE | {"training": {"widths": {"similarity": 8}}},
        ),
        (
            "scale",
            SCALE | {"training": {"exceptions": [{"model": ["my_scan", "sgr"], "widths": {"word": 8}}]}},
            SCALE | {"training": {"exceptions": [{"model": "sgr", "epochs": None}]}},
        ),
        ("datasets", {"datasets": {}}, {"datasets": {"d": {"title": 1}}}),
        ("cluster", {"partitions": {"a": {"max_runtime": "24h"}}}, {"partitions": {"a": {"max_runtime": 24}}}),
    ],
)
def test_a_schema_accepts_what_the_code_accepts_and_refuses_a_mistake(kind: str, good: Any, bad: Any) -> None:
    assert is_valid(kind, good) and not is_valid(kind, bad)


def test_an_editor_is_offered_the_registered_models_and_their_widths() -> None:
    exception = SCHEMAS["scale"]["$defs"]["TrainingException"]["properties"]
    assert {"enum": ["vsepp", "scan", "sgr", "saf", "vsrn", "cvse"]} in exception["model"]["anyOf"]
    assert exception["widths"]["properties"]["similarity_dim"]["description"] == "of sgr, saf"


def test_what_is_checked_in_is_up_to_date_and_what_is_not_is_named(run, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(ROOT)
    assert run("schema", "--check").code == 0
    said = run("schema", "--root", tmp_path)
    assert said.code == 1 and "no folders config and docs" in said.err and not list(tmp_path.iterdir())
    for name in ("config", "docs"):
        (tmp_path / name).mkdir()
    assert run("schema", "--root", tmp_path).code == 0
    assert sorted(path.stem for path in (tmp_path / "config" / "schemas").iterdir()) == sorted(SCHEMAS)
    assert (tmp_path / "docs" / "options.md").read_text(encoding="utf-8") == options_page()
    (tmp_path / "docs" / "metrics.md").write_text("edited")
    said = run("schema", "--root", tmp_path, "--check")
    assert said.code == 1 and f"{tmp_path}/docs/metrics.md: not up to date with the code; run:" in said.err
