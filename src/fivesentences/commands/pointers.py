"""`fivesentences pointers`: which version of every download a result was made of, for DVC and git."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.errors import InputError


def pointers(
    data: given.Data = Path("data"),
    catalogue: given.Catalogue = None,
    record: Annotated[
        bool, typer.Option("--record", help="also write size and MD5 of files that are here into their pointers")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="write nothing; fail if a pointer is not up to date")] = False,
) -> None:
    """Write a pointer of DVC, data/PATH.dvc, for each file of config/datasets.yaml.

    Pointers are for git: they name the address, the version and the MD5, as the
    catalogue states it or once a file was here and was recorded. By it `dvc status`
    in data/ tells whether the file is still the same. Nothing is fetched or shared.
    Run this after a change of the catalogue. The names of the files that are
    written are printed.

    Examples:

        fivesentences pointers --check

        fivesentences pointers --record
    """
    from fivesentences.config import Catalogue, read
    from fivesentences.config.files import CATALOGUE, config_file
    from fivesentences.config.pointers import pointers_of, stale_pointers, write_pointers

    texts = pointers_of(read(Catalogue, catalogue or config_file(CATALOGUE, Path("config"))), data, record)
    stale = stale_pointers(texts)
    if check and stale:
        named = ", ".join(map(str, stale[:3])) + (f" and {len(stale) - 3} more" if len(stale) > 3 else "")
        raise InputError(f"{named}: not as the catalogue says", cure="run: fivesentences pointers")
    for path in write_pointers(texts):
        print(path)
