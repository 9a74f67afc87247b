"""`fivesentences ...`: what can be done without the workflow."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.captions import captions
from fivesentences.commands.checkpoint import checkpoint
from fivesentences.commands.compare import compare
from fivesentences.commands.doctor import doctor
from fivesentences.commands.download import download, jars
from fivesentences.commands.evaluate import evaluate
from fivesentences.commands.glossary import glossary
from fivesentences.commands.metrics import metrics
from fivesentences.commands.phi import phi
from fivesentences.commands.rescore import rescore
from fivesentences.commands.schema import schema
from fivesentences.commands.similarity import similarity
from fivesentences.commands.train import train
from fivesentences.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Train, score and compare image-text matching models without the workflow (Snakemake), step by step.",
    epilog=given.WORDS,
)
for command in (
    *(train, evaluate, similarity, rescore, compare, metrics, glossary),
    *(doctor, download, captions, phi, jars, schema),
):
    app.command(epilog=given.WORDS)(command)
app.add_typer(checkpoint, name="checkpoint")


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
    try:
        app()
    except InputError as error:
        print(f"Error: {error.in_shell_words()}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:  # a disk that fills up, a file that may not be read
        if error.filename is None or error.strerror is None:
            raise
        print(f"Error: {error.filename}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
