"""The log of the workflow: bars on a terminal, elsewhere (files, batch jobs, CI) a line per finished job.

Snakemake finds this package by its name; ``profiles/default``, which Snakemake adds to any other profile, selects it.
The bars are those of ``snakemake-logger-plugin-rich``, which prints nothing where there is no terminal.

On a SLURM cluster it leaves the log to Snakemake itself: bars would leave out why SLURM ended a job (CANCELLED,
TIMEOUT) and where its log is.
"""

from __future__ import annotations

import sys
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
        self.last: list[str] = []  # sentences that records call their ``last``
        self.silent = any("slurm" in word for word in sys.argv[1:])

    @property
    def writes_to_stream(self) -> bool:
        """Whether Snakemake's own log is not shown."""
        return not self.silent

    def emit(self, record: LogRecord) -> None:
        """Add what bars do not show: finished jobs where there is no terminal, the last lines of a failed job's log."""
        event = getattr(record, "event", None)
        if self.silent or (event is None and record.getMessage().startswith(NOISE)):
            return
        if getattr(record, "last", False):
            self.last.append(record.getMessage())
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

    def close(self) -> None:
        """Say what is to be the last."""
        super().close()
        for sentence in self.last:
            self._say(sentence)
        self.last.clear()

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
