"""Work that is killed: inside this process at a chosen call, or in a process of its own at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest


class Killed(BaseException):
    """Stands for a kill: no ``except Exception`` of the code under test may catch it."""


def killed(*arguments: Any, **named: Any) -> None:
    """Stands for a function at which the process is killed."""
    raise Killed


class End(NamedTuple):
    """How a program ended: its exit status, or minus the signal that ended it, and what it printed."""

    status: int
    out: str
    err: str


@contextmanager
def killed_after(calls: int, owner: object, name: str) -> Iterator[None]:
    """A block that is killed when ``owner.name`` is called once more than ``calls`` times."""
    original, left = getattr(owner, name), [calls]

    def counted(*arguments: Any, **named: Any) -> Any:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return original(*arguments, **named)

    with mock.patch.object(owner, name, counted), pytest.raises(Killed):
        yield


class Program:
    """Python code in a process group of its own: a signal reaches it and its children, and nothing outlives the block.

    Args:
        code: What ``python -c`` runs, or a script.
        arguments: Its command-line arguments.
    """

    def __init__(self, code: str | Path, *arguments: object):
        command = [sys.executable, *(["-c", code] if isinstance(code, str) else [code]), *map(str, arguments)]
        # A shell lets what it starts with `&` ignore ctrl-c, and so would the program, if the tests run that way.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._process = subprocess.Popen(
                command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        with self._process:  # which waits, and closes what it printed to
            pass

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        """The first true value of ``condition()``, while the program runs."""
        while not (found := condition()):
            assert self._process.poll() is None, self.end()
            time.sleep(0.005)
        return found

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program and its children, as a terminal does."""
        os.killpg(self._process.pid, number)

    def kill_alone(self) -> None:
        """Kill the program but not its children."""
        self._process.kill()
        self._process.wait()

    def end(self) -> End:
        """Wait until the program has ended, and every child to which its output belongs too."""
        out, err = self._process.communicate(timeout=120)
        return End(self._process.returncode, out, err)

    def child(self, name: bytes) -> int | None:
        """Process id of the only child, once ``name`` is in its command line."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return next((int(pid) for pid in children if name in Path(f"/proc/{pid}/cmdline").read_bytes()), None)

    @staticmethod
    def gone(pid: int) -> bool:
        """Whether a process has ended."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True


class Starter:
    """Runs one piece of code again and again, each time in a fresh process, without importing everything again.

    Args:
        setup: Imports, done once.
        code: What a process does; ``arguments`` is its list of texts.
    """

    PROGRAM = """
import json, os, sys
{setup}
for line in sys.stdin:
    arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        {code}
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

    def __init__(self, setup: str, code: str):
        program = self.PROGRAM.format(setup=setup, code=code)
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def start(self, *arguments: object) -> int:
        """Start a process; its id."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(one) for one in arguments]) + "\n")
        return self._read()

    def wait(self) -> int:
        """The exit status of the process, or minus the signal that ended it."""
        return self._read()

    def kill_often(
        self, times: int, arguments: tuple[object, ...], progress: Callable[[], object], seconds: float, seed: int
    ) -> int:
        """Kill the code ``times`` times at random moments, then let it end; how often the kill came before its end.

        Args:
            times: How often.
            arguments: Of the code.
            progress: What changes as the code goes on. However slow the machine is, it changes before each kill.
            seconds: The longest wait after that.
            seed: Of the moments.
        """
        moments, kills = random.Random(seed), 0
        for _ in range(times):
            before, child = progress(), self.start(*arguments)
            while progress() == before:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, seconds))
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            kills += self.wait() == -signal.SIGKILL
        self.start(*arguments)
        assert self.wait() == 0
        return kills

    def close(self) -> None:
        """End the process that starts the others."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())
