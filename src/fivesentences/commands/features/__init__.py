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
    """Make files of image features, convert them and look at them.

    Examples:

        fivesentences features extract photos.zip --network resnet50 -o features.npy

        fivesentences features convert trainval_36.tsv features.npy
    """


for command in (extract, regions, convert, show):
    features.command(epilog=given.WORDS)(command)
