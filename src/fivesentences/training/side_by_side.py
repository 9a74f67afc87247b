"""Work of a job in several processes at once: a small model leaves most of a large GPU idle.

The processes are fresh ones, since CUDA does not survive a fork. They are not multiprocessing's, which import the main
program once more: the script of a rule would train again.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO

from fivesentences.errors import InputError, InputErrors
from fivesentences.machine import THREADS
from fivesentences.training.jobs import SIGNALS, stop_on_signals

SECONDS_BETWEEN_LOOKS = 0.1
PROGRAM = "from fivesentences.training.side_by_side import _work; _work()"


def side_by_side(works: Sequence[Callable[[], None]], threads: int = 1) -> None:
    """Call functions at once, each in a process of its own, and wait for all.

    A SIGTERM or SIGUSR1 is passed on to them. What they print goes to standard error, each line with the number of its
    process. They end with this process, however that ends.

    Args:
        works: Functions that can be pickled.
        threads: Threads of each for NumPy's products; by itself every process would take as many as there are
            processors, and they would wait for each other.

    Raises:
        InputErrors: If some raised an ``InputError`` or were killed, such as for want of memory.
        Stopped: If a signal asked to end.
    """
    with stop_on_signals() as stop, ExitStack() as stack:
        begun = [stack.enter_context(_process(number, work, threads)) for number, work in enumerate(works, start=1)]
        while any(process.poll() is None for process, _ in begun):
            if stop.asked is not None:  # again and again: one that is still importing torch takes no note of it
                for process, _ in begun:
                    process.send_signal(stop.asked)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        errors = []
        for number, (process, failed) in enumerate(begun, start=1):
            failed.seek(0)
            errors += [InputError(line) for line in failed.read().decode().splitlines()]
            if process.returncode:
                stop.check("the states of its runs are saved")
                what = f"process {number} of {len(begun)} ended with status {process.returncode}"
                errors.append(InputError(f"{what}; its last lines say why, unless memory was short."))
    if errors:
        raise InputErrors(errors)


@contextmanager
def _process(number: int, work: Callable[[], None], threads: int) -> Iterator[tuple[subprocess.Popen[str], IO[bytes]]]:
    """Yield a process that calls a function, and the file of the sentences with which it failed."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as failed:
        given.write(pickle.dumps(work))
        given.seek(0)
        # Not from the folder one works in (-P), which may hold anything.
        command = [sys.executable, "-P", "-c", PROGRAM, str(os.getpid())]
        env = os.environ | dict.fromkeys(THREADS, str(threads))
        process = subprocess.Popen(
            command, stdin=given, stdout=failed, stderr=subprocess.PIPE, text=True, errors="backslashreplace", env=env
        )
        printing = threading.Thread(target=_print_lines, args=(number, process.stderr), daemon=True)
        printing.start()
        try:
            yield process, failed
        finally:
            process.kill()  # unless it has ended
            process.wait()
            printing.join()


def _print_lines(number: int, lines: IO[str]) -> None:
    with lines:
        for line in lines:
            sys.stderr.write(f"{number}: {line}")
            sys.stderr.flush()


def _work() -> None:
    """Be one of the processes: call the function on standard input."""
    # The function notes a first signal; a further one is the same, sent by SLURM to all and passed on by the parent.
    for one in (*SIGNALS, signal.SIGINT):
        signal.signal(one, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    failed = os.dup(1)
    os.dup2(2, 1)  # whatever libraries print is no failure
    try:
        pickle.load(sys.stdin.buffer)()
    except InputError as error:
        os.write(failed, str(error).encode())


def _end_with(parent: int) -> None:
    """End this process when its parent has ended: nobody would wait for it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
