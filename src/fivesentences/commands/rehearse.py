"""`fivesentences rehearse`: small upstream files, with which the papers' scale runs whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError

SCALE = "rehearsal.yaml"
NEXT = "Next, the workflow; it fetches Stanford CoreNLP for SPICE's parser (385 MB) unless this user's cache has it:"


def rehearse(
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="gets mirror/ and data/; new or empty")],
    quiet: given.Quiet = False,
) -> None:
    """Write small upstream files of the papers' datasets: a rehearsal of config/paper.yaml.

    Drawn scenes take the names and layouts of Flickr30K, MS-COCO, Crisscrossed
    Captions, the precomp folders, Wikipedia, NUS-WIDE and Pascal Sentences, and
    random numbers those of VGG19's and ResNet-152's weights (1 GB in all, a
    minute). The command that runs the whole scale on them is printed. It fetches
    Stanford CoreNLP (385 MB, once), which SPICE's parser needs; so does
    `fivesentences jars`.

    Example:

        fivesentences rehearse rehearsal
    """
    from fivesentences.config.files import project_folder
    from fivesentences.rehearsal.upstream import MIRROR, write_upstream

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("it is not empty", where=out, cure="name a new folder: results of the rehearsal go there, too")
    with quietly(quiet):
        write_upstream(out)
    if not quiet:
        scale = (project_folder() / SCALE).resolve()
        print(NEXT, file=sys.stderr)
        print(f"FIVESENTENCES_MIRROR={(out / MIRROR).resolve()} snakemake --directory {out} --configfile {scale}")
