"""A study may have seeds, epochs, phi and more of its own instead of its scale's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.config.files import MOVED
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of

ROWS = [{"role": "flickr30k", "fraction": [0.1, 1.0], "loss": ["hardest", "all"]}]
LOSSES = {"hardest": {"triplet": "hardest"}, "all": {"triplet": "all"}}
FEATURES = {"extractor": "grid_descriptors", "layout": "global"}


@pytest.fixture
def written(tmp_path: Path):
    """Write a scale with the studies plain and own, whose ``setup`` is given, and return the scale's file."""

    def write(setup: dict[str, Any] | None, losses: dict[str, Any] | None = None, **scale: Any) -> Path:
        (tmp_path / "studies").mkdir(exist_ok=True)
        (tmp_path / "claims").mkdir(exist_ok=True)
        table = {
            "name": "t", "kind": "runs", "title": "T", "caption": "C.", "rows": ROWS, "columns": [{"metric": "Rsum"}]
        }  # fmt: skip
        study = {"paper": "P", "losses": LOSSES, "tables": [table]}
        for name, content in (("plain", study), ("own", study | {"setup": setup, "losses": losses or LOSSES})):
            (tmp_path / "studies" / f"{name}.yaml").write_text(yaml.safe_dump(content))
        (tmp_path / "datasets.yaml").write_text("datasets: {}\n")
        path = tmp_path / "tiny.yaml"
        base = {
            "scale": "tiny", "title": "T", "roles": {"flickr30k": "scenes"}, "features": FEATURES, "seeds": [0, 1],
            "datasets": {"scenes": {"loader": "scenes", "seed": 1, "train": 8, "dev": 4, "test": 4}},
            "training": {"epochs": 3, "widths": {"embedding": 8}, "runs_per_job": 2}, "studies": ["plain", "own"],
        }  # fmt: skip
        path.write_text(yaml.safe_dump(base | scale))
        return path

    return write


def planned(path: Path, **stated: Any) -> Plan:
    return plan_of(scale_of(read_yaml(path) | stated, path, stated=stated), path.parent)


def runs_of(plan: Plan, study: str) -> list[Any]:
    return [run for row in plan.rows["tiny", f"{study}/t"] for run in row.runs]


def test_a_study_has_seeds_epochs_fractions_and_phi_of_its_own(written):
    setup = {
        "seeds": {0.1: [7, 8, 9], 1.0: [7]}, "leave_out": {"fractions": [1.0]}, "evaluation_phis": ["tfidf"],
        "training": {"epochs": 5, "runs_per_job": 3}, "group": "own",
    }  # fmt: skip
    plan = planned(written(setup))
    plain, own = runs_of(plan, "plain"), runs_of(plan, "own")
    assert {run.seed for run in plain} == {0, 1} and {run.training.epochs for run in plain} == {3}
    assert {run.seed for run in own} == {7, 8, 9} and {run.training.epochs for run in own} == {5}
    assert {run.fraction for run in plain} == {0.1, 1.0} and {run.fraction for run in own} == {0.1}
    assert all(run.name.endswith(f",own/seed={run.seed}") for run in own)
    assert all(run.model.embedding == 8 for run in own)  # what it does not say is the scale's
    for job in plan.jobs.values():
        of_own = set(job.runs) <= {run.name for run in own}
        assert plan.phis_of_job(job.name) == (["cider", "tfidf"] if of_own else ["cider"])
        assert len(job.runs) <= (3 if of_own else 2) and plan.training_of(job.name).runs_per_job == (3 if of_own else 2)
    assert plan.pools_of("tiny") == ["tiny", "tiny/own"]
    assert set(plan.trained_in("tiny")) == {run.name for run in plain}
    assert set(plan.trained_in("tiny/own")) == {run.name for run in own}
    assert plan.report.tidy("tiny") == [
        Path("results/evaluation/tiny.parquet"),
        Path("results/evaluation/tiny/own.parquet"),
    ]


def test_seeds_of_a_study_are_all_of_its_seeds(written):
    others = [{"loss": "all", "seeds": [4, 5, 6]}]
    plan = planned(written({"seeds": [7], "group": "own"}, other_seeds=others))
    assert {run.seed for run in runs_of(plan, "plain")} == {0, 1, 4, 5, 6}
    assert {run.seed for run in runs_of(plan, "own")} == {7}
    plan = planned(written({"seeds": [7], "other_seeds": others, "group": "own"}))
    assert {run.seed for run in runs_of(plan, "own")} == {4, 5, 6, 7}


def test_runs_of_equal_settings_are_trained_once_and_evaluated_by_the_phi_of_both(written):
    plan = planned(written({"evaluation_phis": ["tfidf"], "seeds": [1, 2]}))
    assert {run.seed for run in plan.runs.values()} == {0, 1, 2}
    for job in plan.jobs.values():
        shared = {plan.runs[name].seed for name in job.runs} & {1, 2}
        assert plan.phis_of_job(job.name) == (["cider", "tfidf"] if shared else ["cider"])


@pytest.mark.parametrize(
    ("stated", "seeds", "epochs"),
    [
        ({}, {7}, {5}),
        ({"seeds": [3]}, {3}, {5}),
        ({"training": {"epochs": 2}}, {7}, {2}),
        ({"studies": ["own"]}, {7}, {5}),
    ],
)
def test_what_the_command_line_states_goes_before_a_setup(written, stated, seeds, epochs):
    plan = planned(written({"seeds": [7], "training": {"epochs": 5}, "group": "own"}), **stated)
    own = runs_of(plan, "own")
    assert {run.seed for run in own} == seeds and {run.training.epochs for run in own} == epochs


@pytest.mark.parametrize(("named", "seeds"), [(False, {4}), (True, {7})])
def test_a_file_that_extends_the_scale_goes_before_a_setup_unless_it_names_the_studies(written, named, seeds):
    base = written({"seeds": [7], "group": "own"})
    path = base.with_name("mine.yaml")
    own = {"studies": ["own"]} if named else {}
    path.write_text(yaml.safe_dump({"extends": "tiny.yaml", "seeds": [4], **own}))
    assert {run.seed for run in runs_of(planned(path), "own")} == seeds
    further = base.with_name("further.yaml")  # two files above
    further.write_text(yaml.safe_dump({"extends": "mine.yaml", "title": "U"}))
    assert {run.seed for run in runs_of(planned(further), "own")} == seeds


def test_what_two_files_add_to_a_setup_is_added_by_both(written):
    base = written({"seeds": [7], "other_seeds": [{"loss": "all", "seeds": [8]}], "group": "own"})
    for name, above, added in (("mine", "tiny", (0.1, 4)), ("further", "mine", (1.0, 5))):
        seeds = [{"fraction": added[0], "seeds": [added[1]]}]
        path = base.with_name(f"{name}.yaml")
        path.write_text(yaml.safe_dump({"extends": f"{above}.yaml", "other_seeds+": seeds}))
    assert {(run.fraction, run.seed) for run in runs_of(planned(path), "own")} == {(0.1, 4), (1.0, 5)}


def test_two_studies_whose_runs_differ_by_no_name_are_refused(written):
    with pytest.raises(InputError, match=r"seed=0.*epochs"):
        planned(written({"training": {"epochs": 9}}))


@pytest.mark.parametrize(
    ("setup", "named"),
    [
        ({"other_seeds": [{"loss": "nobody", "seeds": [1]}]}, "nobody"),
        ({"keep": [{"loss": "hardest", "fraction": 0.5}]}, "0.5"),
        ({"evaluation_phis": ["xyzzy"]}, "xyzzy"),
        ({"training": {"widths": {"breadth": 4}}}, "breadth"),
        ({"leave_out": {"losses": ["nobody"]}}, "nobody"),
        ({"seeds": [1, 1]}, "1"),
        ({"roles": {}}, "roles"),
        ({"training": {"epoch": 4}}, "epoch"),
    ],
)
def test_a_setup_that_has_no_effect_is_named(written, setup, named):
    with pytest.raises(InputError, match=named):
        planned(written(setup))


def test_a_study_named_twice_is_named(written):
    with pytest.raises(InputError, match="own"):
        planned(written(None, studies=["own", "own"]))


def test_the_target_of_a_study_makes_its_page_alone(written):
    plan = planned(written({"seeds": [7], "group": "own"}))
    assert plan.report.targets["own"] == [Path("results/paper/tiny/own/index.html")]


@pytest.mark.parametrize("name", MOVED)
def test_a_scale_of_an_earlier_version_is_named_by_the_study_that_it_is(written, name):
    path = written(None).with_name("mine.yaml")
    path.write_text(f"extends: {name}.yaml\nscale: mine\n")
    with pytest.raises(InputError, match=f"flickr8k_evidence.yaml with studies: .{MOVED[name]}"):
        scale_of(read_yaml(path), path)
    config = Path(__file__).parents[2] / "config"
    assert all((config / "studies" / f"{study}.yaml").is_file() for study in MOVED[name].split(", "))


def test_doctor_counts_the_runs_of_each_study(run, written):
    said = run("doctor", written({"seeds": [7], "group": "own"}))
    lines = {line.split()[0]: line.split()[1] for line in said.out.splitlines() if line.startswith(("plain ", "own "))}
    assert lines == {"plain": "8", "own": "4"}
    assert "What each study trains" not in run("doctor", written(None)).out


@pytest.mark.parametrize(
    ("scale", "stated", "shown"),
    [
        ("flickr8k_evidence", {}, True),
        ("flickr8k_evidence", {"studies": ["evidence_noise"]}, True),
        ("flickr8k_evidence", {"seeds": [101, 102]}, False),
        ("flickr8k_evidence", {"keep": [{"loss": "hardest"}]}, False),
        ("flickr8k_evidence", {"only": ["evidence_noise/noise"]}, False),
        ("mine", {}, False),
    ],
)
def test_a_finding_is_stated_of_the_numbers_that_it_is_about_alone(scale, stated, shown):
    path = Path(__file__).parents[2] / "config" / "flickr8k_evidence.yaml"
    content = read_yaml(path) | {"scale": scale, "finding": None} | stated
    plan = plan_of(scale_of(content, path, stated=stated), path.parent)
    assert (plan.studies["evidence_noise"].finding_at(plan.scale) is not None) == shown


def test_a_finding_of_a_study_names_its_scale(written):
    path = written(None)
    study = path.parent / "studies" / "own.yaml"
    tile = {"value": "one", "text": "t", "bad": True}
    values = {"own/t": {"one": {"loss": "all", "show": "{mean}"}}}
    finding = {"kicker": "k", "headline": "h", "lead": "l", "tiles": [tile], "not_shown": ["n"], "values": values}
    study.write_text(yaml.safe_dump(yaml.safe_load(study.read_text()) | {"finding": finding}))
    with pytest.raises(InputError, match=r"own\.yaml.*finding\.scale"):
        planned(path)
