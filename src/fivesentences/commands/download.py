"""`fivesentences download`: files from the network, checked and kept."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands.arguments import Downloads, Quiet
from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import CATALOGUE, config_file
from fivesentences.config.pointers import pointers_of, record_pointer, remove_other_pointers, write_pointers
from fivesentences.config.reading import read
from fivesentences.corpus.download import fetch, find_mirror
from fivesentences.errors import InputError, did_you_mean


def catalogue_of(downloads: Downloads) -> Path:
    """Return the list of downloads: the given one, or that of the current folder, or else the project's own."""
    return downloads.catalogue or config_file(CATALOGUE, Path("config"))


def download(
    dataset: str | None = None,
    *,
    files: Annotated[list[str] | None, typer.Option("--file", metavar="NAME")] = None,
    downloads: Downloads,
    pointers: bool = False,
    quiet: Quiet = False,
) -> None:
    """Fetch the files of a dataset; they are checked, and a stopped download is resumed.

    Photographs are large (COCO's 20 GB); --file captions leaves them out. What
    a person must fetch comes last, with a sentence that says how.

    --pointers writes DVC's pointers, for git: address, version, size and MD5 of files
    whose MD5 is known or that are here. A fetched file gets its own by itself. Run it
    after a change of the catalogue; pointers of files that it has no more are removed.

    Args:
        dataset: A dataset of the catalogue, such as flickr8k.
        files: One file alone, such as captions; repeat for more; default: all.
        pointers: Fetch nothing; write data/PATH.dvc for files whose MD5 is known.
        quiet: No progress bar, and no names of files.

    Examples:

        fivesentences download flickr8k

        fivesentences download coco --file captions

        fivesentences download --pointers
    """
    mirror, path = find_mirror(downloads.mirror), catalogue_of(downloads)
    catalogue = read(Catalogue, path)
    if pointers:
        texts = pointers_of(catalogue, downloads.data, record=True)
        for pointer in [*write_pointers(texts), *remove_other_pointers(downloads.data, texts)]:
            print(pointer)
        return
    if dataset is None:
        raise InputError(f"name a dataset; there are: {', '.join(catalogue.datasets)}.", where=path)
    _check_name(path, f"there is no dataset '{dataset}'", dataset, catalogue.datasets)
    entry = catalogue.datasets[dataset]
    for file in files or ():
        _check_name(path, f"{dataset} has no file '{file}'", file, entry.files)
    # An excerpt stands in for a whole file, which is fetched.
    wanted = files or [file for file, about in entry.files.items() if about.excerpt_of is None]
    for file in sorted(wanted, key=lambda file: entry.files[file].url is None):
        fetched = fetch(entry, dataset, file, downloads.data, mirror)
        record_pointer(entry, entry.files[file], downloads.data)
        print(fetched)


def _check_name(catalogue: Path, what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known) or f"there are: {', '.join(known)}."
        raise InputError(f"{what}; {hint}", where=catalogue)
