"""The log of the workflow: bars on a terminal, elsewhere (files, batch jobs, CI) a line per finished job.

Snakemake finds this package by its name; ``profiles/default`` selects it. The bars are those of
``snakemake-logger-plugin-rich``, which prints nothing where there is no terminal.
"""

from __future__ import annotations

import time
from collections import deque
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_rich import LogHandler as Bars

LAST_LINES = 20  # of the log of a job that failed
NOISE = ("Singularity containers:",)


class LogHandler(Bars):  # type: ignore[misc]  # the plugin has no types
    """Show events of a workflow, see above."""

    def __post_init__(self) -> None:
        """Begin without jobs."""
        super().__post_init__()
        self.begun: dict[int, tuple[float, str, list[str]]] = {}  # second, rule and message, logs; by job

    def emit(self, record: LogRecord) -> None:
        """Add what bars do not show: finished jobs where there is no terminal, the last lines of a failed job's log."""
        event = getattr(record, "event", None)
        if event is None and record.getMessage().startswith(NOISE):
            return
        if event == LogEvent.JOB_INFO:
            what = f"{record.rule_name}: {record.rule_msg or ''}".rstrip(": ")  # type: ignore[attr-defined]
            self.begun[record.jobid] = time.monotonic(), what, list(record.log or [])  # type: ignore[attr-defined]
        if event == LogEvent.JOB_ERROR:
            self._show_failure(record.jobid)  # type: ignore[attr-defined]
            return
        super().emit(record)
        if event == LogEvent.JOB_FINISHED and not self.console.is_terminal:
            self._show_finished(record.job_id)  # type: ignore[attr-defined]

    def _show_finished(self, job: int) -> None:
        begun, what, _ = self.begun.pop(job, (time.monotonic(), f"job {job}", []))
        counts = f"{self.event_handler.completed:,} of {self.event_handler.total_jobs:,}"
        self._say(f"{counts}  {what}  ({time.monotonic() - begun:.0f} s)")

    def _show_failure(self, job: int) -> None:
        begun, what, logs = self.begun.pop(job, (time.monotonic(), f"job {job}", []))
        self._say(f"failed  {what}  ({time.monotonic() - begun:.0f} s)")
        for log in map(Path, logs):
            if log.is_file():
                self._say(f"the last lines of {log}:")
                with log.open(encoding="utf-8", errors="replace") as lines:
                    for line in deque(lines, LAST_LINES):
                        self._say(f"    {line.rstrip()}")

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
