"""`fivesentences download` and `fivesentences jars`: files from the network, checked and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError, did_you_mean


def download(
    dataset: Annotated[str, typer.Argument(help="a dataset of the catalogue, such as flickr8k")],
    data: Annotated[Path, typer.Option(metavar="FOLDER", help="folder of downloads")] = Path("data"),
    mirror: given.Mirror = None,
    catalogue: given.Catalogue = None,
    quiet: given.Quiet = False,
) -> None:
    """Fetch the files of a dataset; they are checked, and a stopped download is resumed.

    Example: fivesentences download flickr8k
    """
    from fivesentences.config import Catalogue, read
    from fivesentences.corpus.download import fetch, find_mirror

    mirror = find_mirror(mirror)
    catalogue = given.catalogue_of(catalogue)
    entries = read(Catalogue, catalogue).datasets
    if dataset not in entries:
        hint = did_you_mean(dataset, entries) or f"there are: {', '.join(entries)}."
        raise InputError(f"there is no dataset '{dataset}'; {hint}", where=catalogue)
    for file in entries[dataset].files:
        with quietly(quiet):
            path = fetch(entries[dataset], dataset, file, data, mirror)
        if not quiet:
            print(path)


def jars(mirror: given.Mirror = None, quiet: given.Quiet = False) -> None:
    """Fetch Stanford CoreNLP 3.6.0, which SPICE's parser needs: 385 MB, once; a stopped download is resumed.

    It is kept in FIVESENTENCES_CACHE, or else in the user's cache folder; the
    jars of a mirror are used where they are.

    Example:

        fivesentences jars
    """
    from fivesentences.semantics.java.jars import corenlp

    with quietly(quiet):
        paths = corenlp(mirror)
    if not quiet:
        for path in paths:
            print(path)
