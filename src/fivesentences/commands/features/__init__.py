"""`fivesentences features ...`: image features as files."""

from __future__ import annotations

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.features.convert import convert
from fivesentences.commands.features.extract import extract
from fivesentences.commands.features.regions import regions
from fivesentences.commands.features.show import show

features = typer.Typer(no_args_is_help=True, epilog=given.WORDS)


@features.callback()
def _root() -> None:
    """Read and convert files of image features.

    Example:

        fivesentences features convert trainval_36.tsv features.npy
    """


features.command(epilog=given.WORDS)(convert)
features.command(epilog=given.WORDS)(regions)
features.command(epilog=given.WORDS)(extract)
features.command(epilog=given.WORDS)(show)
