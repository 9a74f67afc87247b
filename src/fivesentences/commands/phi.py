"""`fivesentences phi`: a semantic metric between every caption and every image."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError
from fivesentences.storage import check_outputs, check_writable

if TYPE_CHECKING:
    from fivesentences.semantics import Tuples


def _names(begun: str) -> list[str]:
    """Names of phi, for the completion of the shell."""
    from fivesentences.semantics import SEMANTIC_METRICS

    return [name for name, metric in SEMANTIC_METRICS.items() if metric.whole and name.startswith(begun)]


def phi(
    name: Annotated[
        str,
        typer.Argument(metavar="METRIC", help="such as cider, spice, bleu4, rouge_l, cider-ptb", autocompletion=_names),
    ],
    captions: Annotated[Path, typer.Argument(metavar="CAPTIONS", help="UTF-8 text, one caption per line; or .json")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the matrix, .npy; with --top-k a folder")],
    per_image: Annotated[
        int | None, typer.Option(min=1, help="captions per image, which stand together (default 5)")
    ] = None,
    image_of_caption: given.ImageOfCaption = None,
    tuples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="SPICE's tuples of parsed captions, .jsonl.gz; default: parse them for spice"
        ),
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, metavar="K", help="keep each caption's K best images")] = None,
    mirror: Annotated[
        Path | None, typer.Option(help="take CoreNLP from here, not from the network", envvar="FIVESENTENCES_MIRROR")
    ] = None,
    quiet: given.Quiet = False,
) -> None:
    """Score every caption against every image by a semantic metric.

    An image is represented by its own captions. The matrix has one row per
    caption and one column per image; a .json beside it says what it was made
    of. A line of CAPTIONS ends at \\n (where all lines do: at \\r\\n),
    whatever else a caption holds.

    SPICE parses every distinct caption once, some 25 ms each on two cores,
    and keeps the result beside the matrix for the next time.

    Examples:

        fivesentences phi cider captions.txt -o cider.npy

        fivesentences phi spice captions.txt -o spice.npy

        fivesentences phi cider many.txt -o cider.top100 --top-k 100
    """
    from fivesentences.semantics import read_phi_note, read_top_k, read_tuples, write_phi, write_top_k
    from fivesentences.semantics.caption_file import equal_pairing, read_captions, read_pairing
    from fivesentences.semantics.phi_file import check_matrix, note_beside
    from fivesentences.semantics.registry import needs_tuples
    from fivesentences.semantics.top_k import check_store

    started = time.monotonic()
    check_outputs(
        {"--out": out} | ({"the note beside --out": note_beside(out)} if top_k is None else {}),
        reads := (captions, image_of_caption, tuples),
    )
    for path in reads:
        if top_k is not None and path is not None and path.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{path} is in --out, which is replaced; name another folder.", where=out)
    if top_k is None:
        check_matrix(name, out)
        check_writable(out)
    else:
        check_store(name, out, top_k)
        check_writable(out / "note.json")
    texts = read_captions(captions)
    if image_of_caption is None:
        pairing = equal_pairing(captions, len(texts), per_image or 5)
    elif per_image is None:
        pairing = read_pairing(image_of_caption, len(texts))
    else:
        raise InputError("--per-image and --image-of-caption both say whose a caption is; give one of them.")
    made_of = None
    if not needs_tuples(name):
        if tuples is not None:
            raise InputError(f"{name} does not use scene-graph tuples; leave --tuples out.")
    elif tuples is not None:
        made_of = read_tuples(tuples, texts)
    else:
        with quietly(quiet):
            made_of = _tuples_of(texts, out.parent / f"{captions.stem}.tuples.jsonl.gz", mirror)
    with quietly(quiet):
        if top_k is None:
            write_phi(name, texts, pairing, out, made_of, captions_file=captions.name)
            note, kind = read_phi_note(out), "float32"
        else:
            write_top_k(name, texts, pairing, out, top_k, made_of)
            note = read_top_k(out).note
            kind = f"best {note['top_k']} images of each caption of"
    if not quiet:
        rows, columns = note["shape"]
        seconds = time.monotonic() - started
        print(f"{out}: {name}, {kind} [{rows:,} captions, {columns:,} images], in {seconds:.1f} s")


def _tuples_of(captions: list[str], beside: Path, mirror: Path | None) -> Tuples:
    """The tuples that an earlier call kept, or else parsed now and kept."""
    from fivesentences.semantics import read_tuples
    from fivesentences.semantics.java import parse_captions

    if beside.exists():
        try:
            return read_tuples(beside, captions)
        except InputError as error:
            print(f"{error} The captions are parsed again.", file=sys.stderr)
    beside.parent.mkdir(parents=True, exist_ok=True)
    parse_captions(captions, beside, mirror=mirror)
    return read_tuples(beside, captions)
