"""The exceptions that a user is meant to read, phrases of their sentences, and the check for an extra."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Options that are not called like the argument with dashes in place of underscores.
_OPTIONS = {"k": "-k", "protocol": "--dataset"}
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Argument:
    """An argument of a function, which a command offers as an option.

    Attributes:
        name: The name in Python, such as ``image_of_caption``.
    """

    name: str

    @property
    def option(self) -> str:
        """The name on the command line, such as ``--image-of-caption``."""
        return _OPTIONS.get(self.name, f"--{self.name.replace('_', '-')}")


@dataclass(frozen=True)
class Cure:
    """What to do about a mistake, for the two kinds of readers.

    Attributes:
        python: For a caller of the library: "pass similarity.T".
        shell: For somebody who typed a command: "give --transposed".
    """

    python: str
    shell: str


def install(extra: str, otherwise: str = "") -> str:
    """How to install an extra of this package.

    The command is the same for a checkout, a wheel and a registry: pip and uv take the package that is installed
    and add what its extra needs.

    Args:
        extra: Such as ``train``.
        otherwise: What else helps, such as "or save .npy".
    """
    more = f", {otherwise}" if otherwise else ""
    return f"install it with {pip_install(extra)}{more}"


def pip_install(extra: str) -> str:
    """The command that adds an extra to the package, wherever the package came from."""
    return f'pip install "fivesentences[{extra}]"'


def did_you_mean(given: str, known: Iterable[str]) -> str | None:
    """The question that ends a sentence about an unknown name; None if no known one resembles it."""
    close = difflib.get_close_matches(given, known, n=1)
    return f"did you mean '{close[0]}'?" if close else None


def visible(text: str) -> str:
    """The text with control characters, and halves of surrogate pairs, as Python writes them: ``\\x1b``, ``\\n``."""
    return _INVISIBLE.sub(lambda found: repr(found[0])[1:-1], text)


class InputError(ValueError):
    """Something that a user provided is wrong.

    The command line and the workflow print it without a traceback and end with exit code 1. ``str(error)`` is worded
    for a caller of the library, ``in_shell_words()`` for the command line.

    Args:
        what: What is wrong, with the value: "there is no such file", "is 0; it must be at least 1". A whole sentence
            is accepted too.
        where: What it is about: a file, a key or a matrix is set before ``what`` with a colon; an ``Argument`` without
            one ("k is 0"), under the name that the reader knows.
        cure: What to do, set behind ``what`` with a semicolon. A ``Cure`` where the two readers do different things.

    Attributes:
        what: As given.
        where: As given; None if ``what`` says it.
        cure: As given; None if ``what`` says it.
    """

    def __init__(
        self, what: str, *, where: str | os.PathLike[str] | Argument | None = None, cure: str | Cure | None = None
    ):
        self.what, self.where, self.cure = what, where, cure
        super().__init__(self._worded(shell=False))

    def in_shell_words(self) -> str:
        """The sentence for a reader who typed a command."""
        return self._worded(shell=True)

    def _worded(self, *, shell: bool) -> str:
        # Names come from others: an escape sequence would command the terminal, a line break begin a new sentence.
        return visible(self._sentence(shell=shell))

    def _sentence(self, *, shell: bool) -> str:
        if self.where is None:
            sentence = self.what
        elif isinstance(self.where, Argument):
            sentence = f"{self.where.option if shell else self.where.name} {self.what}"
        else:
            sentence = f"{os.fspath(self.where)}: {self.what}"
        cure = (self.cure.shell if shell else self.cure.python) if isinstance(self.cure, Cure) else self.cure
        if cure is None:
            return sentence
        return f"{sentence}; {cure}" if cure.endswith("?") else f"{sentence}; {cure}."  # a question has its own sign


class InputErrors(InputError):
    """Several mistakes, one sentence per line.

    Args:
        errors: In their order.
    """

    def __init__(self, errors: Sequence[InputError]):
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in errors))

    def _worded(self, *, shell: bool) -> str:
        return "\n".join(error._worded(shell=shell) for error in self.errors)


class Stopped(SystemExit):
    """This process was asked to end, and what it did so far is saved.

    As ``SystemExit`` it passes handlers of errors and, where nothing catches it, ends Python with its sentence and exit
    code 1: whoever started the work (Snakemake, SLURM) learns that it is not finished.

    Args:
        sentence: Who asked, what is saved, and how to go on.
    """

    def __init__(self, sentence: str):
        super().__init__(sentence)


def need(package: str, extra: str, what: str) -> None:
    """Ask for a package of an extra before anything costly is done.

    Raises:
        InputError: If it is not installed; how to install it.
    """
    try:
        found = importlib.util.find_spec(package) is not None
    except ImportError:
        found = False
    if not found:
        raise InputError(f"{what} needs {package}, which is not installed", cure=install(extra))
