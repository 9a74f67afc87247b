"""Runs of a job, of either kind: finished ones are skipped, a failed one does not stop the others, all are recorded."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fivesentences.errors import InputError, InputErrors, Stopped
from fivesentences.storage import RECORD, alone, remove, remove_unlocked, together, write_json
from fivesentences.training.fingerprint import finish, finished_outputs
from fivesentences.training.spec import Named

# SLURM sends SIGTERM before a time limit, when a job is cancelled or preempted; some sites choose SIGUSR1 instead.
SIGNALS = tuple(one for one in signal.Signals if one.name in ("SIGTERM", "SIGUSR1"))  # Windows has no SIGUSR1
RESUME = "resume"  # folder of the state of an unfinished run, within the run's
Hashes = dict[str, str]  # SHA-256 of outputs, by file name


class Stop:
    """Whether this process was asked to end.

    Attributes:
        asked: The signal; None as long as there was none.
    """

    asked: signal.Signals | None = None

    def check(self, done: str) -> None:
        """End this process if it was asked to.

        Args:
            done: Saved work, as the second half of a sentence.

        Raises:
            Stopped: If a signal came.
        """
        if self.asked is not None:
            raise Stopped(f"stopped by {self.asked.name}: {done}; run the same again to go on from there.")


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Only take a note of a first SIGTERM or SIGUSR1 within a block; a second one acts as it did before the block.

    Python lets only its main thread handle signals: in another thread the block changes nothing.
    """
    stop = Stop()
    signals = SIGNALS if threading.current_thread() is threading.main_thread() else ()

    def note(number: int, frame: FrameType | None) -> None:
        stop.asked = signal.Signals(number)
        signal.signal(number, before[stop.asked])

    before = {one: signal.getsignal(one) or signal.SIG_DFL for one in signals}
    for one in signals:
        signal.signal(one, note)
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@dataclass(frozen=True)
class Task:
    """One run of a job.

    Attributes:
        spec: Settings of the run.
        folder: Folder of its outputs.
        outputs: Names of its outputs.
        made_from: Returns everything that its outputs depend on.
        fit: Trains it, given the label of its progress bar, the signals and ``made_from``; returns a function that
            writes the outputs.
    """

    spec: Named
    folder: Path
    outputs: Sequence[str]
    made_from: Callable[[], dict[str, str]]
    fit: Callable[[str, Stop, dict[str, str]], Callable[[], None]]

    def finished(self) -> Hashes | None:
        """Return the SHA-256 of each output if the run is finished, otherwise None."""
        found = finished_outputs(self.folder, self.made_from(), self.outputs, type(self.spec))
        if found is not None:
            shutil.rmtree(self.folder / RESUME, ignore_errors=True)  # of a run killed at its very end
        return found

    def train(self, label: str, stop: Stop | None = None) -> Hashes:
        """Train the run and return the SHA-256 of each output; without ``stop``, look out for signals."""
        made_from = self.made_from()
        with stop_on_signals() if stop is None else nullcontext(stop) as looking:
            write = self.fit(label, looking, made_from)
        with together():  # the record goes first, and comes last: a kill leaves no finished run of other outputs
            remove(self.folder / RECORD)
            write()
        outputs = finish(self.folder, made_from, self.outputs)
        shutil.rmtree(self.folder / RESUME, ignore_errors=True)  # until here a killed run can write its outputs again
        return outputs


def train_tasks(tasks: Iterable[Task], record: Path | None = None) -> None:
    """Train the runs of a job that are not finished.

    Args:
        tasks: The runs in their order.
        record: A JSON file that is written when all runs are finished: ``{"runs": {run: {output: sha256}}}``. It
            depends on the runs and their outputs alone.

    Raises:
        InputErrors: If runs failed, one sentence each; all the others have been trained by then.
        Stopped: If a signal asked to end.
    """
    todo = list(tasks)
    failed: list[InputError] = []
    outputs: dict[str, Hashes] = {}
    with stop_on_signals() as stop:
        for number, task in enumerate(todo, start=1):
            stop.check(f"{number - 1} of {len(todo)} runs are finished")
            label = f"run {number} of {len(todo)}"
            try:
                outputs[task.spec.name] = _outputs_of(task, label, stop)
            except InputError as error:
                _say(f"{label} failed: {error}")
                failed.append(error)
    if failed:
        raise InputErrors(failed)
    if record is not None:
        write_json(record, {"runs": dict(sorted(outputs.items()))}, sealed=False)  # no program reads it


def _outputs_of(task: Task, label: str, stop: Stop) -> Hashes:
    name, found = task.spec.name, task.finished()
    if found is not None:
        remove_unlocked(task.folder / ".lock")  # of a process killed at its very end
    else:
        # A job may outlive the workflow that started it and was killed; the next workflow starts it once more.
        waiting = f"{label}: another process is training {name}; waiting until it ends."
        with alone(task.folder / ".lock", waiting) as waited:
            found = task.finished() if waited else None
            if found is None:
                _say(f"{label}: {name}")
                return task.train(label, stop)
    _say(f"{label} was finished before: {name}")
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
