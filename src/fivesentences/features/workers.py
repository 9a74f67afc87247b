"""Worker processes that end with their parent and do not run the main script again.

``multiprocessing`` starts a process either by importing the main script, which runs a script without
``if __name__ == "__main__"`` (such as a Snakemake script) again, or by forking, which deadlocks once torch has started
threads; and the workers of ``ProcessPoolExecutor`` stay alive when their parent is killed with -9. Here a worker is a
fresh interpreter that reads tasks from a pipe and ends when the pipe is closed.

What is unpickled here comes from this program alone: no other process can write to the pipes of a parent and its child.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

from fivesentences.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

# Work is distributed by tasks: threads within a worker would only compete with the other workers.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
COMMAND = "from fivesentences.features.workers import serve; serve()"


class Workers:
    """A number of worker processes; with ``count`` 0 all work is done in this process.

    Use as a context manager: the processes start with the first task and are ended when the block is left.
    """

    def __init__(self, count: int):
        if count < 0:
            raise InputError(f"workers is {count}; give 0 (no worker processes) or more.")
        self.count = count
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        # One thread per process: it only waits for the pipes.
        self._threads = ThreadPoolExecutor(max(count, 1))

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for _ in range(self.count):  # a thread may wait for a process that has died
            self._idle.put(None)
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close(pipe)

    def begin(self, function: Callable[[Task], Result], task: Task) -> Future[Result]:
        """Let every worker process do the same, such as load what the tasks will need, and return at once.

        Returns:
            What one of them answers; without worker processes, what this process has computed.
        """
        if self.count == 0:
            done: Future[Result] = Future()
            done.set_result(function(task))
            return done
        self._start(self.count)
        asked = [self._threads.submit(self._ask, function, task) for _ in range(self.count)]
        return asked[0]

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield each task with ``function(task)`` as soon as it is done, in any order.

        ``function`` must be importable by name; an exception in a task ends the map. Only a few results wait to be
        taken at any time, so a slow consumer does not fill the memory.

        Raises:
            InputError: As raised by ``function``; or if a worker process was killed.
            RuntimeError: If ``function`` raised anything else, with the worker's traceback.
        """
        if self.count == 0:
            for task in tasks:
                yield task, function(task)
            return
        self._start(min(self.count, len(tasks)))
        running: dict[Future[Result], Task] = {}
        left = iter(tasks)
        try:
            while True:
                for task in left:
                    running[self._threads.submit(self._ask, function, task)] = task
                    if len(running) >= self.count + 2:
                        break
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        finally:
            for future in running:
                future.cancel()

    def _start(self, count: int) -> None:
        for _ in range(count - len(self._processes)):
            process = _start()
            self._processes.append(process)
            self._idle.put(process)

    def _ask(self, function: Callable[[Task], Result], task: Task) -> Result:
        process = self._idle.get()
        if process is None:
            raise RuntimeError("the worker processes have been ended")
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((function, task), process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            good, answer = pickle.load(process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            code = process.wait()
            raise InputError(
                f"a worker process ended with code {code} before it answered (after -9, memory may have run out)",
                cure="run again, which goes on from what is finished, with fewer workers if it happens again",
            ) from None
        self._idle.put(process)
        if good:
            return answer  # type: ignore[no-any-return]
        if isinstance(answer, InputError):
            raise answer
        raise RuntimeError(f"in a worker process:\n{answer}")


def _start() -> subprocess.Popen[bytes]:
    # -P: otherwise files in the working folder could shadow modules, as they do for `python -c`.
    return subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ENVIRONMENT},
    )


def _close(pipe: Any) -> None:
    with contextlib.suppress(OSError):  # unwritten bytes for a process that no longer exists
        pipe.close()


def serve() -> None:
    """What a worker runs: read a function and its task and send back the result, until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-c also reaches the parent, which ends its workers
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not be mixed with the answers
    while True:
        try:
            function, task = pickle.load(tasks)
        except EOFError:
            return
        answer: tuple[bool, Any]
        try:
            answer = True, function(task)
        except InputError as error:
            answer = False, error
        except Exception:
            answer = False, traceback.format_exc()
        try:
            pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except BrokenPipeError:
            os._exit(1)  # the parent was killed; nobody reads the answer
