"""A pool of processes that end with their parent, use one thread each, and do not run the main script again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from fivesentences.errors import InputError
from fivesentences.machine import THREADS

Task = TypeVar("Task")
Result = TypeVar("Result")

# Work is distributed by tasks: threads within a worker would only compete with the other workers.
ENVIRONMENT = dict.fromkeys(THREADS, "1") | {"CUDA_VISIBLE_DEVICES": ""}


def map_in_processes(
    function: Callable[[Task], Result], tasks: Sequence[Task], count: int
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with ``function(task)``, in order; few results wait, so a slow consumer does not fill the memory.

    Args:
        function: Importable by name.
        tasks: Tasks to carry out.
        count: Number of processes; 0 does the work in this process.

    Raises:
        InputError: If a process was killed. Errors of ``function`` arrive as they are.
    """
    if count == 0:
        for task in tasks:
            yield task, function(task)
        return
    # Forking would deadlock once torch has started threads.
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin)
    waiting: deque[tuple[Task, Future[Result]]] = deque()
    try:
        for task in tasks:
            with _start_of_processes():
                waiting.append((task, pool.submit(function, task)))
            if len(waiting) >= count + 2:
                first, future = waiting.popleft()
                yield first, future.result()
        for task, future in waiting:
            yield task, future.result()
    except BrokenProcessPool:
        raise InputError(
            "a worker process ended before it answered (memory may have run out)",
            cure="run again, which goes on from what is finished, with fewer workers if it happens again",
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _start_of_processes() -> Iterator[None]:
    """Let processes that start in the block have one thread, no GPU and no main script to import.

    ``spawn`` would run a script without ``if __name__ == "__main__"``, such as Snakemake's, once more in each process.
    """
    main, before = sys.modules["__main__"], {name: os.environ.get(name) for name in ENVIRONMENT}
    script = vars(main).pop("__file__", None)
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        if script is not None:
            vars(main)["__file__"] = script


def _begin() -> None:
    """Prepare a new process: it ends with its parent, which alone reacts to ctrl-c."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
