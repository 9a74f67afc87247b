"""Matrices of others in the plan: their runs, jobs, files and mistakes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from fivesentences.training.spec import GivenRun, read_scored
from plan.conftest import count, dry_run

CONFIG = Path(__file__).parents[2] / "config"
RUN = "flickr30k/theirs,matrix_of_others/as_given/fraction=1/seed=0"
ROWS = [{"exhibit": "five_sentences/table3", "published": "5"}, {"exhibit": "figure3"}]
MATRIX: dict[str, Any] = {"name": "theirs", "role": "flickr30k", "similarity": "theirs.npy", "rows": ROWS}


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Plan the first page on Flickr30K with matrices of others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)

    def plan(*matrices: dict[str, Any], **changes: Any) -> Plan:
        file = CONFIG / "flickr30k.yaml"
        return plan_of(scale_of(read_yaml(file) | {"matrices_of_others": list(matrices)} | changes, file), CONFIG)

    return plan


def test_a_matrix_is_a_run_that_nothing_trains_and_the_rules_of_runs_evaluate(planned):
    without, plan = planned(), planned(MATRIX | {"captions": "order.txt"})
    assert plan.runs == without.runs and plan.jobs == without.jobs
    assert list(plan.given) == [RUN] and plan.inferences[RUN] == ["naive"]
    assert set(plan.evaluated_at("flickr30k")) - set(without.evaluated_at("flickr30k")) == {RUN}
    job = plan.job_of(RUN)
    assert (job.name, job.runs) == ("flickr30k/matrices_of_others", (RUN,)) and job.name in plan.evaluations
    (about,) = plan.settings_to_evaluate(job.name)
    assert about["similarity"] == f"results/training/{RUN}/similarity_test.npy"
    assert isinstance(read_scored(about["spec"], "here"), GivenRun)
    added = set(plan.files_no_rule_makes("flickr30k")) - set(without.files_no_rule_makes("flickr30k"))
    assert added == {Path("theirs.npy"), Path("order.txt")}
    shown = {
        exhibit: [row.model for row in rows if row.is_given]
        for (scale, exhibit), rows in plan.rows.items()
        if scale == "flickr30k"
    }
    assert {name for name, models in shown.items() if models} == {"five_sentences/table3", "five_sentences/figure3"}
    assert shown["five_sentences/table3"] == ["theirs (matrix of others)"]


@pytest.mark.slow
@pytest.mark.workflow
def test_without_any_row_of_its_own_a_scale_evaluates_matrices_alone(tmp_path, monkeypatch):
    """Nothing is trained, and no features are read: the reproduction of a person without a GPU."""
    monkeypatch.chdir(tmp_path)
    Path("theirs.npy").touch()
    content = {"extends": str(CONFIG / "flickr30k.yaml"), "scale": "mine", "keep": [], "matrices_of_others": [MATRIX]}
    content |= {"only": ["table3", "figure3"], "judges": []}
    Path("mine.yaml").write_text(yaml.safe_dump(content))
    with ThreadPoolExecutor(1) as thread:
        jobs = thread.submit(dry_run, tmp_path / "mine.yaml", ()).result()
    counts = count(jobs)
    assert (counts["take_similarity"], counts["evaluate"], counts["train"]) == (1, 1, 0)
    assert (counts["make_table"], counts["plot_figure"]) == (1, 1)
    assert not {"extract_part", "extract_features", "describe_precomp"} & set(counts)
    (taken,) = [job for job in jobs if job.rule == "take_similarity"]
    assert taken.outputs == [f"results/training/{RUN}/similarity_test.npy"]
    # Of a file that no rule makes the content counts, not the time.
    assert "theirs.npy" not in taken.by_time and taken.params["content"]


def test_folds_and_inferences_of_its_rows_are_read(planned):
    rows = [{"exhibit": "table3", "folds": 5}, {"exhibit": "table3", "inference": "csls"}]
    assert planned(MATRIX | {"rows": rows}).inferences[RUN] == ["naive", "csls", "naive, 5 folds"]


@pytest.mark.parametrize(
    ("matrices", "changes", "said"),
    [
        ([MATRIX, MATRIX], {}, "matrices_of_others has two named 'theirs'"),
        ([MATRIX | {"role": "flicker30k"}], {}, r"matrices_of_others\[0\]\.role names 'flicker30k'.*did you mean"),
        ([MATRIX | {"rows": [{"exhibit": "table33"}]}], {}, "theirs: exhibit names 'table33', which is no table"),
        ([MATRIX | {"rows": [{"exhibit": "table1"}]}], {}, "'table1', which has no row for a single matrix.*table3"),
        ([MATRIX | {"rows": []}], {}, "matrices_of_others.*rows"),
        ([], {"keep": []}, r"keep is \[\]"),
    ],
)
def test_mistakes_are_named(planned, matrices, changes, said):
    with pytest.raises(InputError, match=said):
        planned(*matrices, **changes)


def test_a_file_that_is_not_there_ends_the_planning(planned):
    plan = planned(MATRIX)
    with pytest.raises(InputError, match=r"^matrices_of_others, theirs: 'theirs\.npy' does not exist, seen from"):
        plan.check()
    Path("theirs.npy").touch()
    plan.check()
