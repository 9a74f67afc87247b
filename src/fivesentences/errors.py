"""The exceptions and notes that a user is meant to read, phrases of their sentences, and the check for an extra."""

from __future__ import annotations

import contextlib
import difflib
import errno
import functools
import importlib.util
import multiprocessing
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar

# What libraries say in exceptions of any type when there is no memory, or no further thread or process.
_MEMORY = re.compile(
    "out of memory|allocate memory|not enough memory|Unable to allocate|bad_alloc|malloc of size|failed to map seg",
    re.I,
)
_THREADS = re.compile("can't start new thread|Resource temporarily unavailable")
SHORT = 3  # characters with which many names begin
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


# What to do where the operating system refuses a path.
_CURES = {
    errno.EACCES: "choose another place, or change its permissions",
    errno.EPERM: "choose another place, or change its permissions",
    errno.EROFS: "choose another place",
    errno.EEXIST: "a file is in the way; name a folder, or move the file",
    errno.ENOTDIR: "a part of the path is a file; name a folder",
    errno.ENOENT: "it cannot be created there; choose another place",
    errno.ENOSPC: "make room, or choose another place",
    errno.EDQUOT: "make room, or choose another place",
}


def cure_of(error: OSError, kept: str = "") -> str:
    """Return what to do where the operating system refuses a path; empty if nothing is known.

    Args:
        error: The exception.
        kept: What was done already and is kept, where work goes on at the next start.
    """
    cure = _CURES.get(error.errno or 0, "correct that" if kept else "")
    return f"{cure}, and run again: {kept}" if kept else cure


class Argument(str):
    """Name of an argument as the ``where`` of an ``InputError``: the sentence goes on behind it ("k is 0")."""


# True while a command runs, whose user cannot follow advice for callers of the library.
_in_shell: ContextVar[bool] = ContextVar("in_shell", default=False)


@contextlib.contextmanager
def in_shell() -> Iterator[None]:
    """Give the advice for the command line alone."""
    token = _in_shell.set(True)
    try:
        yield
    finally:
        _in_shell.reset(token)


def Cure(python: str, shell: str) -> str:
    """Return the cure of a mistake that callers of the library and users of the command line mend differently."""
    return shell if _in_shell.get() else f"{python} (on the command line: {shell})"


def install(extra: str, otherwise: str = "") -> str:
    """Say how to install an extra of this package.

    Args:
        extra: The extra, such as ``train``.
        otherwise: Another way to go on, such as "or save .npy".
    """
    return f"install it with {pip_install(extra)}{f', {otherwise}' if otherwise else ''}"


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to the package, which no index has: it comes from a clone."""
    return f'pip install ".[{extra}]" in a clone'


def did_you_mean(given: str, known: Iterable[str]) -> str | None:
    """Return the question that ends a sentence about an unknown name; None if no known one resembles it.

    Upper and lower case are the same, and known names that begin with the given one come first.
    """
    by_case, given = {name.lower(): name for name in known}, given.lower()
    longer = [name for name in by_case if len(given) >= SHORT and name.startswith(given)]
    close = longer or difflib.get_close_matches(given, by_case, n=1)
    return f"did you mean '{by_case[close[0]]}'?" if close else None


def first_of(items: Sequence[object], most: int) -> str:
    """Return ``a, b, c``, or the first ``most`` and ``...``."""
    return ", ".join(map(str, items[:most])) + (", ..." if len(items) > most else "")


def counted(number: float, thing: str) -> str:
    """Return ``1 image`` or ``2,000 images``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def visible(text: str) -> str:
    """Write control characters and halves of surrogate pairs as Python does: ``\\x1b``, ``\\n``."""
    return _INVISIBLE.sub(lambda found: repr(found[0])[1:-1], text)


@functools.cache
def say_once(sentence: str) -> None:
    """Print a sentence on standard error unless this process, or the one whose worker it is, printed it before."""
    if multiprocessing.parent_process() is None:
        print(visible(sentence), file=sys.stderr, flush=True)


def say_left_out(where: object, read: str, left: Mapping[str, int]) -> None:
    """Say how much was read of a file and what was left out, if anything was; see ``say_once``.

    Args:
        where: The file.
        read: What was read, such as "5 captions".
        left: How many were left out, by what they are: "captions of train", "captions without a split".
    """
    if known := [f"{count:,} {what}" for what, count in left.items() if count]:
        say_once(f"{where}: {read} read; left out: {', '.join(known)}.")


class InputError(ValueError):
    """Something that a user provided is wrong.

    The command line and the workflow print it without a traceback and end with exit code 1.

    Args:
        what: The mistake, with the value: "there is no such file", "is 0; it must be at least 1".
        where: The file, key or matrix that is wrong, set before ``what`` with a colon; or an ``Argument``.
        cure: Advice, set behind ``what`` with a semicolon.
    """

    def __init__(self, what: str, *, where: str | os.PathLike[str] | None = None, cure: str | None = None):
        self.what, self.where, self.cure = what, where, cure
        place = "" if where is None else f"{os.fspath(where)}{' ' if isinstance(where, Argument) else ': '}"
        end = "" if cure is None else f"; {cure}" if cure.endswith("?") else f"; {cure}."
        # Names come from others: an escape sequence would command the terminal, a line break begin a new sentence.
        super().__init__(visible(f"{place}{what}{end}"))


def reason_of(error: BaseException) -> str:
    """Return the first line of another library's message, or the type of its exception if it says nothing."""
    said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).strip()
    return (said.splitlines() or [type(error).__name__])[0].rstrip(".")[:200]


def shortage(error: BaseException, where: str | os.PathLike[str] | None = None) -> InputError | None:
    """Return the sentence about an exception for want of memory, threads or processes; None for any other exception.

    Args:
        error: The exception, of Python or of a library.
        where: What was being read or made.
    """
    number, said = getattr(error, "errno", None), str(error)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or _MEMORY.search(said):
        cure = "end other programs, ask for more (such as mem_mb of a job), or give less at once (smaller batches)"
        return InputError(f"there is not enough memory ({reason_of(error)})", where=where, cure=cure)
    if _THREADS.search(said) and (number == errno.EAGAIN or isinstance(error, RuntimeError)):
        cure = "end other programs, or raise the number of processes that are allowed (ulimit -u)"
        return InputError(f"no further thread or process can be started ({reason_of(error)})", where=where, cure=cure)
    return None


class InputErrors(InputError):
    """Several mistakes, one sentence per line."""

    def __init__(self, errors: Sequence[InputError]):
        super().__init__("")
        self.errors: list[InputError] = [
            one for error in errors for one in (error.errors if isinstance(error, InputErrors) else [error])
        ]
        self.args = ("\n".join(map(str, self.errors)),)


class Stopped(SystemExit):
    """This process was asked to end, and what it did so far is saved.

    As ``SystemExit`` it passes handlers of errors and, where nothing catches it, ends Python with its sentence and exit
    code 1: whoever started the work (Snakemake, SLURM) learns that it is not finished.
    """


def need(package: str, extra: str, what: str) -> None:
    """Check that a package of an extra is installed, before anything costly is done.

    Raises:
        InputError: If it is not installed; how to install it.
    """
    try:
        found = importlib.util.find_spec(package) is not None
    except ImportError:
        found = False
    if not found:
        raise InputError(f"{what} needs {package}, which is not installed", cure=install(extra))
