"""`fivesentences ...`: what can be done without the workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.errors import InputError

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, help=__doc__)


@app.callback()
def _root() -> None:
    """Regenerate tables of image-text matching papers, step by step, without Snakemake."""


@app.command()
def train(
    run: Annotated[Path, typer.Argument(metavar="RUN.yaml", help="the run: its inputs and its settings")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="where weights, history and similarities go")],
) -> None:
    """Train one model, or go on with a run that was stopped.

    Every finished run holds its own RUN.yaml, so it can be trained again:

        fivesentences train results/training/SOME/RUN/run.yaml --out again
    """
    # torch takes seconds to import; the other commands do not wait for it.
    from fivesentences.training import read_run, train_run

    spec, corpus, features = read_run(run)
    train_run(spec, corpus, features, out)


@app.command()
def download(
    dataset: Annotated[str, typer.Argument(help="a dataset of the catalogue, such as flickr8k")],
    data: Annotated[Path, typer.Option(help="folder for downloads")] = Path("data"),
    mirror: Annotated[Path | None, typer.Option(help="take the files from here", envvar="FIVESENTENCES_MIRROR")] = None,
    catalogue: Annotated[Path, typer.Option(help="list of files")] = Path("config/datasets.yaml"),
) -> None:
    """Fetch the files of a dataset, checked, and resumed if stopped.

    Example: fivesentences download flickr8k
    """
    from fivesentences.config import Catalogue, read
    from fivesentences.corpus.download import fetch

    entries = read(Catalogue, catalogue).datasets
    if dataset not in entries:
        raise InputError(f"{catalogue}: there is no dataset '{dataset}'; known: {', '.join(entries)}.")
    for file in entries[dataset].files:
        print(fetch(entries[dataset], dataset, file, data, mirror))


def main() -> None:
    """Run the command line; an ``InputError`` is one sentence on standard error and exit code 1."""
    try:
        app()
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
