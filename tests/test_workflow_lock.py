"""One workflow at a time in a folder; what a killed one locked is free again where that can be known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fivesentences import workflow_lock
from fivesentences.errors import InputError
from fivesentences.workflow_lock import Place, occupied
from kill import Program

WORKFLOW = """
import sys, time
from pathlib import Path
from fivesentences.workflow_lock import occupied
folder = Path(sys.argv[1])
with occupied(folder, cluster=sys.argv[2], written=[folder / "results"]) as freed:
    print(freed)
    (folder / "locks").mkdir(exist_ok=True)
    (folder / "locks" / "0.output.lock").write_text("results/a.csv")
    (folder / "started").touch()
    time.sleep(float(sys.argv[3]))
    (folder / "locks" / "0.output.lock").unlink()
"""


def workflow(folder: Path, cluster: str = "", seconds: float = 100) -> Program:
    (folder / "started").unlink(missing_ok=True)
    return Program(WORKFLOW, folder, cluster, seconds)


def killed(folder: Path, cluster: str = "") -> None:
    """A workflow that was killed while it held Snakemake's lock."""
    with workflow(folder, cluster) as program:
        program.wait_for((folder / "started").exists)
        program.kill_alone()
    assert list((folder / "locks").iterdir())


def unlock(folder: Path) -> None:
    """What ``snakemake --unlock`` does."""
    shutil.rmtree(folder / "locks")


def records(folder: Path) -> list[Path]:
    return sorted((folder / "workflows").glob("*.json"))


def test_after_a_kill_the_next_workflow_removes_the_locks_and_what_was_half_written(tmp_path: Path) -> None:
    killed(tmp_path)
    half = tmp_path / "results" / f".a.{2**22 + 1}.partial.csv"  # beyond the largest process id
    half.parent.mkdir()
    half.touch()
    with workflow(tmp_path, seconds=0) as program:
        end = program.end()
    assert (end.status, end.out) == (0, "True\n")
    assert "was killed; its locks are removed" in end.err
    assert not half.exists() and not list((tmp_path / "locks").iterdir()) and not records(tmp_path)


def test_a_second_workflow_is_refused_in_one_sentence_while_the_first_lives(tmp_path: Path) -> None:
    with workflow(tmp_path) as first:
        first.wait_for((tmp_path / "started").exists)
        with pytest.raises(InputError) as refusal, occupied(tmp_path):
            pass
        assert f"process {first.pid} has been making results in this folder since" in str(refusal.value)
        assert "\n" not in str(refusal.value)
        assert list((tmp_path / "locks").iterdir())  # not this one's to remove
    assert len(records(tmp_path)) == 1


def test_a_workflow_that_ended_leaves_nothing_and_locks_of_others_stay(tmp_path: Path) -> None:
    with workflow(tmp_path, seconds=0) as program:
        assert program.end().out == "False\n"
    assert not records(tmp_path)
    lock = tmp_path / "locks" / "0.input.lock"
    lock.touch()  # of a Snakemake that left no record: nobody knows whether it lives
    with workflow(tmp_path, seconds=0) as program:
        assert program.end().out == "False\n"
    assert lock.exists()


@pytest.mark.parametrize(
    ("boot", "sentence"),
    [("of another machine", "process 7 on elsewhere began a workflow in this folder at noon"), ("the same", "")],
)
def test_of_another_machines_workflow_nobody_here_can_say_whether_it_lives(
    tmp_path: Path, boot: str, sentence: str
) -> None:
    killed(tmp_path)
    (record,) = records(tmp_path)
    content = json.loads(record.read_text()) | {"host": "elsewhere", "process": 7, "since": "noon"}
    # Containers of one machine differ in the host's name, and see each other's locks.
    content["boot"] = content["boot"] if boot == "the same" else boot
    record.write_text(json.dumps(content))
    with workflow(tmp_path, seconds=0) as program:
        end = program.end()
    if not sentence:
        assert end.out == "True\n"
        return
    assert sentence in end.err and f"{record}: " in end.err
    assert list((tmp_path / "locks").iterdir())
    unlock(tmp_path)
    with workflow(tmp_path, seconds=0) as program:
        assert program.end().status == 0
    assert not records(tmp_path)


def test_jobs_of_a_cluster_outlive_their_workflow(tmp_path: Path) -> None:
    killed(tmp_path, "slurm")
    with pytest.raises(InputError, match=r"its jobs on slurm may still run; wait for them or"), occupied(tmp_path):
        pass
    unlock(tmp_path)
    with workflow(tmp_path, "slurm", seconds=0) as program:
        assert program.end().status == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": 1}'])
def test_a_record_that_a_full_disk_or_a_kill_has_cut_is_one_of_a_killed_workflow(tmp_path: Path, content: str) -> None:
    killed(tmp_path)
    records(tmp_path)[0].write_text(content)
    with workflow(tmp_path, seconds=0) as program:
        assert program.end().out == "True\n"


def test_where_locks_do_nothing_snakemakes_own_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(tmp_path)
    monkeypatch.setattr(workflow_lock, "locked", lambda file: True)
    with occupied(tmp_path) as freed:
        assert not freed
    assert list((tmp_path / "locks").iterdir())


@pytest.mark.parametrize("place", ["results", "results/paper", "new"])
def test_folders_that_may_not_be_written_are_named_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "results" / "paper").mkdir(parents=True)
    refused = tmp_path if place == "new" else tmp_path / place
    # Not by permissions, which do not bind a superuser.
    monkeypatch.setattr(workflow_lock.os, "access", lambda path, mode: path != refused)
    taking = occupied(tmp_path / ".snakemake", written=[tmp_path / "results", tmp_path / "new" / "er"])
    with pytest.raises(InputError, match="this folder cannot be written") as refusal, taking:
        pass
    assert refusal.value.where == refused
    assert not (tmp_path / ".snakemake").exists()


def test_a_place_sees_itself_its_containers_and_its_past() -> None:
    here = Place("a", "1")
    assert here.sees(Place("a", "2")) and here.sees(Place("b", "1"))
    assert not here.sees(Place("b", "2")) and not Place("a", "").sees(Place("b", ""))
