"""Signals by which a scheduler asks a job to end before it is killed, noticed where the work can be saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from fivesentences.errors import Stopped

# SLURM sends SIGTERM before a time limit, when a job is cancelled or preempted; some sites choose SIGUSR1 instead.
SIGNALS = tuple(one for one in signal.Signals if one.name in ("SIGTERM", "SIGUSR1"))  # Windows has no SIGUSR1


class Stop:
    """Whether this process was asked to end.

    Attributes:
        asked: The signal; None as long as there was none.
    """

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None

    def check(self, done: str) -> None:
        """End this process if it was asked to.

        Args:
            done: What is saved, as the second half of a sentence.

        Raises:
            Stopped: If a signal came.
        """
        if self.asked is not None:
            raise Stopped(f"stopped by {self.asked.name}: {done}; run the same again to go on from there.")


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """A block in which a first SIGTERM or SIGUSR1 only leaves a note; a second one acts as it did before the block.

    Python lets only its main thread handle signals: in another thread the block changes nothing.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        stop.asked = signal.Signals(number)
        signal.signal(number, before[stop.asked])

    before = {one: signal.getsignal(one) or signal.SIG_DFL for one in SIGNALS}
    for one in SIGNALS:
        signal.signal(one, note)
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
