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
from typing import Any
from unittest import mock

import pytest


class Killed(BaseException):
    """Stands for a kill: no ``except Exception`` of the code under test may catch it."""


def killed(*arguments: Any, **named: Any) -> None:
    """Stands for a function at which the process is killed."""
    raise Killed


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
