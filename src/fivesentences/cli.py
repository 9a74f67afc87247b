"""`fivesentences ...`: what can be done without the workflow."""

from __future__ import annotations

import errno
import importlib.metadata
import io
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.captions import captions
from fivesentences.commands.checkpoint import checkpoint
from fivesentences.commands.compare import compare
from fivesentences.commands.doctor import doctor
from fivesentences.commands.download import download, jars
from fivesentences.commands.embed import embed
from fivesentences.commands.evaluate import evaluate
from fivesentences.commands.features import features
from fivesentences.commands.leaderboard import leaderboard
from fivesentences.commands.metrics import metrics
from fivesentences.commands.phi import phi
from fivesentences.commands.report import report
from fivesentences.commands.similarity import similarity
from fivesentences.commands.train import train
from fivesentences.errors import InputError, visible

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Train, score and compare image-text matching models without the workflow (Snakemake), step by step.",
    epilog=given.WORDS,
)
for command in (
    *(train, embed, evaluate, leaderboard, similarity, compare, metrics),
    *(doctor, download, captions, phi, jars, report),
):
    app.command(epilog=given.WORDS)(command)
app.add_typer(checkpoint, name="checkpoint")
app.add_typer(features, name="features")


def _version(asked: bool) -> None:
    if asked:
        print(f"fivesentences {importlib.metadata.version('fivesentences')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Regenerate tables of image-text matching papers, step by step, without Snakemake."""


def main() -> None:
    """Run the command line; an ``InputError`` is one sentence on standard error and exit code 1."""
    _prepare_streams()
    try:
        try:
            _check_arguments()
            app()
        finally:
            sys.stdout.flush()  # here, where an error can still be reported
    except InputError as error:
        _end(str(error))
    except BrokenPipeError:  # whoever read the output has seen enough, such as head
        _end()
    except OSError as error:  # a disk that fills up, a file that may not be read
        if error.filename is not None and error.strerror is not None:
            _end(f"{visible(str(error.filename))}: {error.strerror}.")
        if not _has_folder():
            _end("the current folder has been deleted; change to another one.")
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG):
            raise
        _end(f"standard output cannot be written ({error.strerror}); make room, or write to another file.")


def _prepare_streams() -> None:
    """Give a process whose streams were closed (``>&-``) new ones, and let none fail at a sign that it cannot show."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (used to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _check_arguments() -> None:
    """Refuse names that are no text, which tables and notes could not hold.

    Raises:
        InputError: The first of them.
    """
    for argument in sys.argv[1:]:
        if any("\ud800" <= sign <= "\udfff" for sign in argument):
            shown = ascii(argument if len(argument) <= 80 else f"{argument[:80]}...")
            raise InputError(f"{shown} is not text in this locale; rename the file, or set LC_ALL=C.UTF-8.")


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _end(sentence: str | None = None) -> NoReturn:
    """End with exit code 1, after a sentence if there is one."""
    if sentence is not None:
        print(f"Error: {sentence}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # what is left has nowhere to go, and Python would complain about it at its own end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(1) from None


if __name__ == "__main__":
    main()
