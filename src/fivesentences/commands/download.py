"""`fivesentences download` and `fivesentences jars`: files from the network, checked and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError, did_you_mean


def catalogue_of(given: Path | None) -> Path:
    """The list of downloads: the given one, or that of the current folder, or else the project's own."""
    from fivesentences.config.files import CATALOGUE, config_file

    return given or config_file(CATALOGUE, Path("config"))


def download(
    dataset: Annotated[str | None, typer.Argument(help="a dataset of the catalogue, such as flickr8k")] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="NAME", help="one file alone, such as captions; repeat for more; default: all"),
    ] = None,
    data: given.Data = Path("data"),
    mirror: given.Mirror = None,
    catalogue: given.Catalogue = None,
    pointers: Annotated[
        bool, typer.Option("--pointers", help="fetch nothing; write data/PATH.dvc for each file of the catalogue")
    ] = False,
    quiet: given.Quiet = False,
) -> None:
    """Fetch the files of a dataset; they are checked, and a stopped download is resumed.

    Photographs are large (COCO's 20 GB); --file captions leaves them out. What
    a person must fetch comes last, with a sentence that says how.

    --pointers writes DVC's pointers, for git: address, version and, where it is
    known or the file is here, size and MD5. Run it after a change of the catalogue.

    Examples:

        fivesentences download flickr8k

        fivesentences download coco --file captions

        fivesentences download --pointers
    """
    from fivesentences.config.datasets import Catalogue
    from fivesentences.config.pointers import pointers_of, write_pointers
    from fivesentences.config.reading import read
    from fivesentences.corpus.download import fetch, find_mirror

    mirror = find_mirror(mirror)
    catalogue = catalogue_of(catalogue)
    entries = read(Catalogue, catalogue).datasets
    if pointers:
        for path in write_pointers(pointers_of(read(Catalogue, catalogue), data, record=True)):
            print(path)
        return
    if dataset is None:
        raise InputError(f"name a dataset; there are: {', '.join(entries)}.", where=catalogue)
    if dataset not in entries:
        hint = did_you_mean(dataset, entries) or f"there are: {', '.join(entries)}."
        raise InputError(f"there is no dataset '{dataset}'; {hint}", where=catalogue)
    known = entries[dataset].files
    for file in files or ():
        if file not in known:
            hint = did_you_mean(file, known) or f"there are: {', '.join(known)}."
            raise InputError(f"{dataset} has no file '{file}'; {hint}", where=catalogue)
    # An excerpt stands in for a whole file, which is fetched.
    wanted = files or [file for file, about in known.items() if about.excerpt_of is None]
    for file in sorted(wanted, key=lambda file: known[file].url is None):
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
