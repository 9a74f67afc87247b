"""What the workflow says where there is no terminal: a line per job, and the end of the log of one that failed."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_fivesentences import LAST_LINES, LogHandler

SETTINGS = SimpleNamespace(
    stdout=False, dryrun=False, printshellcmds=False, show_failed_logs=True, verbose=False, quiet=None, nocolor=True
)


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> LogHandler:
    monkeypatch.setattr(sys, "argv", ["snakemake"])
    return LogHandler(SETTINGS, None)


def tell(handler: LogHandler, event: LogEvent | None, message: str = "", **facts: Any) -> None:
    record = logging.LogRecord("snakemake", logging.INFO, __file__, 1, message, None, None)
    vars(record).update(facts, **({} if event is None else {"event": event}))
    handler.emit(record)


def begin(handler: LogHandler, job: int, **facts: Any) -> None:
    about = {"rule_name": "train", "rule_msg": "Train [runs] of scenes", "wildcards": {}, "log": [], "threads": 1}
    tell(handler, LogEvent.JOB_INFO, jobid=job, **(about | facts))


def test_every_finished_job_has_a_line_with_its_number_its_rule_and_what_it_did(handler, capfd):
    tell(handler, LogEvent.RUN_INFO, stats={"train": 2, "evaluate": 1, "total": 3})
    begin(handler, 7)
    begin(handler, 8, rule_name="evaluate", rule_msg=None)
    tell(handler, LogEvent.JOB_FINISHED, job_id=8)
    tell(handler, LogEvent.JOB_FINISHED, job_id=7)
    handler.close()
    lines = [line for line in capfd.readouterr().err.splitlines() if " of 3 " in line]
    assert lines == ["1 of 3  evaluate  (0 s)", "2 of 3  train: Train [runs] of scenes  (0 s)"]


def test_a_failed_job_shows_the_end_of_its_log_and_one_without_a_log_its_name(handler, capfd, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"line {number} [of] it\n" for number in range(100)))
    begin(handler, 1, log=[str(log)])
    begin(handler, 2, log=[str(tmp_path / "none.log")], rule_msg="Train others")
    for job in (1, 2):
        tell(handler, LogEvent.JOB_ERROR, jobid=job)
    handler.close()
    said = capfd.readouterr().err
    assert [line.strip() for line in said.splitlines() if "[of] it" in line] == [
        f"line {number} [of] it" for number in range(100 - LAST_LINES, 100)
    ]
    assert str(log) in said and "Train others" in said and "Traceback" not in said


def test_what_is_to_be_the_last_is_said_once_below_all_else(handler, capfd):
    tell(handler, None, "Open results/[x]/index.html", last=True)
    tell(handler, None, "Complete log")
    assert "Open" not in capfd.readouterr().err
    handler.close()
    handler.close()
    assert capfd.readouterr().err.split() == ["Open", "results/[x]/index.html"]


def test_on_a_cluster_snakemake_says_everything_itself(monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["snakemake", "--profile", "profiles/slurm"])
    handler = LogHandler(SETTINGS, None)
    assert not handler.writes_to_stream
    begin(handler, 1)
    for event, about in ((LogEvent.JOB_ERROR, {"jobid": 1}), (None, {"last": True})):
        tell(handler, event, "said", **about)
    handler.close()
    assert "said" not in "".join(capfd.readouterr())


def test_what_nobody_asked_for_is_left_out_and_all_else_is_said(handler, capfd):
    tell(handler, None, "Singularity containers: ignored")
    tell(handler, None, "absent: the photographs of coco")
    handler.close()
    said = capfd.readouterr().err
    assert "Singularity" not in said and "absent: the photographs of coco" in said
