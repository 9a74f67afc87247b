"""Cases of the campaign in tests/edges: what a user may type or load, and what must happen.

A case is one command line, or one call of the library, in a folder of prepared files. It must end with the right
result, or with one sentence that names what is wrong. It never ends with a traceback, does not hang, does not
fill the memory, leaves its inputs as they were, and a refusal leaves no new file.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shlex
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fivesentences.errors import InputError

SECONDS = 60  # of a processor that a case may take, however busy the machine is; most take milliseconds
BYTES = 6 << 30  # of address space that a case may add
LONGEST = 700  # characters of a refusal
NEVER = ("Traceback", "allow_pickle", "weights_only", "instance of", "object at 0x", "site-packages", "\x1b")
_FRAMES = re.compile(r"[│╭╮╰╯─\s]+")  # typer frames what it says about options and folds it


class Program:
    """What a pickle would run if it were unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch ran",)


class Case(NamedTuple):
    """One command line or call, and what must happen.

    Attributes:
        what: A command line without ``fivesentences``, or a function of the folder.
        says: Texts that the refusal, or the output of a command, or the returned value in words must hold.
        refused: Whether it must be refused.
        makes: Files that may be new or changed afterwards.
        name: For the report; default the command line, or of a function what is said.
    """

    what: str | Callable[[Path], Any]
    says: tuple[str, ...]
    refused: bool
    makes: tuple[str, ...] = ()
    name: str = ""

    def __str__(self) -> str:
        # A function's own text holds its address, which differs between the processes that collect tests.
        text = self.what if isinstance(self.what, str) else ", ".join(self.says) or self.what.__qualname__
        return (self.name or text)[:100]


def refused(what: str | Callable[[Path], Any], *says: str, name: str = "") -> Case:
    """A case that must end with one sentence, which holds each of ``says``."""
    return Case(what, says, True, (), name)


def right(what: str | Callable[[Path], Any], *says: str, makes: Sequence[str] = (), name: str = "") -> Case:
    """A case that must succeed; its output holds each of ``says``, and only ``makes`` are new."""
    return Case(what, says, False, tuple(makes), name)


def _without_dashes(text: str) -> str:
    """Spell options as the arguments of Python: ``--image-ids`` as ``image_ids``."""
    return re.sub(r"(?<![\w-])--?(?=[a-z])", "", text).replace("-", "_")


def perform(case: Case, folder: Path, run: Callable[..., Any]) -> None:
    """Carry out a case in ``folder`` and check everything that must hold.

    Args:
        case: The case.
        folder: The prepared files; the current folder.
        run: The fixture of this name, which runs the command line.
    """
    before = _contents(folder)
    try:
        with limits():
            sentence, output = _outcome(case, folder, run)
    finally:
        after = _contents(folder)
        for path in after.keys() - before.keys():
            with contextlib.suppress(OSError):
                path.unlink()
    made = [folder / name for name in case.makes]
    touched = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    touched = [path for path in touched if not any(path.is_relative_to(one) for one in made)]
    assert not touched, f"{case}: changed or left {touched}"
    if case.refused:
        assert sentence is not None, f"{case}: accepted, with {output}"
        assert "\n" not in sentence.strip(), f"{case}: more than one sentence: {sentence}"
        assert 20 < len(sentence) < LONGEST, f"{case}: {len(sentence)} characters: {sentence}"
    else:
        assert sentence is None, f"{case}: refused: {sentence}"
    text = output if sentence is None else sentence
    for part in case.says:
        assert _without_dashes(part) in _without_dashes(text), f"{case}: '{part}' is not in: {text}"
    for part in NEVER:
        assert part not in text, f"{case}: '{part}' is in: {text}"


def _outcome(case: Case, folder: Path, run: Callable[..., Any]) -> tuple[str | None, str]:
    """The sentence of a refusal, or None; and the output, or the returned value in words."""
    if callable(case.what):
        try:
            return None, repr(case.what(folder))
        except InputError as error:
            return str(error), ""
    said = run(*shlex.split(case.what))
    if said.code == 0:
        return None, said.out + said.err
    assert said.code in (1, 2), f"exit code {said.code}: {said.err}"
    assert not said.out.strip(), f"{case}: refused, but printed {said.out[:200]}"
    if said.code == 1:
        assert said.err.startswith("Error: "), said.err
        return said.err.removeprefix("Error: "), ""
    return _FRAMES.sub(" ", said.err).strip(), ""


def _contents(folder: Path) -> dict[Path, object]:
    """What is in a folder, without opening pipes."""
    return {
        path: path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else path.is_dir()
        for path in folder.rglob("*")
    }


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """Turn a hang into a failure after ``SECONDS``, and a process that fills the memory into a MemoryError."""

    def ring(*_: object) -> None:
        pytest.fail(f"still running after {SECONDS} s of processor time")

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    previous = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
