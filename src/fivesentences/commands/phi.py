"""`fivesentences phi`: a semantic metric between every caption and every image."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.commands.arguments import Mirror, Out, Quiet
from fivesentences.errors import InputError
from fivesentences.semantics import (
    SEMANTIC_METRICS,
    Tuples,
    java,
    read_phi_note,
    read_top_k,
    read_tuples,
    write_phi,
    write_top_k,
)
from fivesentences.semantics.caption_file import equal_pairing, own_pairing, read_captioned, read_pairing
from fivesentences.semantics.caption_order import note_on_order
from fivesentences.semantics.java.scene_graph_parser import journal_of
from fivesentences.semantics.judged import read_judged
from fivesentences.semantics.phi_file import check_matrix, note_beside
from fivesentences.semantics.registry import is_given, needs_tuples, parse_name, plain_name
from fivesentences.semantics.tokenisation import one_word_each
from fivesentences.semantics.top_k import FILES, check_store
from fivesentences.storage import check_outputs, remove_unlocked


def _names(begun: str) -> list[str]:
    """Return names of phi, for the completion of the shell."""
    known = [
        name for name, metric in SEMANTIC_METRICS.items() if metric.whole and not metric.drawn and not metric.given
    ]
    return [name for name in known if name.startswith(begun)]


def phi(
    name: Annotated[str, typer.Argument(metavar="METRIC", autocompletion=_names)],
    captions: Annotated[Path, typer.Argument(metavar="CAPTIONS")],
    *,
    out: Out,
    per_image: Annotated[int | None, typer.Option(min=1)] = None,
    image_of_caption: Path | None = None,
    tuples: Path | None = None,
    top_k: Annotated[int | None, typer.Option(min=1, metavar="K")] = None,
    mirror: Mirror = None,
    quiet: Quiet = False,
) -> None:
    """Score every caption against every image by a semantic metric.

    An image is represented by its own captions. The matrix has one row per
    caption and one column per image; a .json beside it says what it was made
    of. judged:FILE reads scores instead: a CSV with the columns caption, image
    (numbers from 0, in the order of CAPTIONS) and score, where missing pairs
    score 0, or a .npy of the whole matrix. Lines of CAPTIONS end at \\n, or at
    \\r\\n if all of them do; other line breaks, such as U+2028, are part of a
    caption.

    SPICE parses every distinct caption once, some 25 ms each on two cores,
    and keeps the result beside the matrix for the next time.

    Args:
        name: Such as cider, spice, bleu4, rouge_l, cider-ptb, judged:scores.csv.
        captions: UTF-8 text, one caption per line; or a file that names images: a token file, CSV, JSON.
        out: The matrix, .npy; with --top-k a folder.
        per_image: Captions per image, in consecutive lines; default 5, or what the file says.
        image_of_caption: Index of each caption's image, from 0, one per line.
        tuples: SPICE's tuples of parsed captions, .jsonl.gz; default: parse them for spice.
        top_k: Keep each caption's K best images.
        mirror: Take CoreNLP from here, not from the network.
        quiet: No progress bar, and nothing about what was written.

    Examples:

        fivesentences phi cider captions.txt -o cider.npy

        fivesentences phi spice captions.txt -o spice.npy

        fivesentences phi cider many.txt -o cider.top100 --top-k 100
    """
    started = time.monotonic()
    if not captions.exists() and Path(name).is_file():
        what = f"'{name}' is a file, and '{captions}' is not"
        raise InputError(what, cure=f"the metric comes first: fivesentences phi {captions} {name} -o {out}")
    name = plain_name(name)
    reads = (captions, image_of_caption, tuples)
    if top_k is None:
        check_outputs({"--out": out, "the note beside --out": note_beside(out)}, reads)
        check_matrix(name, out)
    else:
        check_outputs({f"the {name} in --out": out / name for name in FILES}, reads, out)
        check_store(name, out, top_k)
    if per_image is not None and image_of_caption is not None:
        raise InputError("--per-image and --image-of-caption both say whose a caption is; give one of them.")
    table = read_captioned(captions)
    texts = table.captions
    given = None if image_of_caption is None else read_pairing(image_of_caption, len(texts))
    if given is None and per_image is not None:
        given = equal_pairing(captions, len(texts), per_image)
    if (pairing := own_pairing(table, captions, given)) is None:
        pairing = equal_pairing(captions, len(texts), 5)
    if parse_name(name).tokenisation not in (None, "characters") and (alike := one_word_each(texts)):
        print(alike, file=sys.stderr)
    for sentence in note_on_order(texts, pairing, captions):
        print(sentence, file=sys.stderr)
    if tuples is not None and not needs_tuples(name):
        raise InputError(f"{name} does not use scene-graph tuples; leave --tuples out.")
    made_of = None
    if tuples is not None:
        made_of = read_tuples(tuples, texts)
    elif needs_tuples(name):
        made_of = _tuples_of(texts, out.parent / f"{captions.stem}.tuples.jsonl.gz", mirror)
    if top_k is None:
        scores = _scores_of(name, pairing)
        write_phi(name, texts, pairing, out, made_of, captions_file=captions.name, truth=scores)
        note, kind = read_phi_note(out), "float32"
        matrix = read_npy(out)
        blank = {"captions": ~matrix.any(axis=1), "images": ~matrix.any(axis=0)}
        zeros = [f"{side} {of.sum():,}" for side, of in blank.items() if of.any()]
    else:
        write_top_k(name, texts, pairing, out, top_k, made_of)
        note, zeros = read_top_k(out).note, []
        kind = f"best {note['top_k']} images of each caption of"
    rows, columns = note["shape"]
    seconds = time.monotonic() - started
    print(f"{out}: {name}, {kind} [{rows:,} captions, {columns:,} images], in {seconds:.1f} s")
    if zeros:
        print(f"0 against all others, because they are blank or share no word with any: {', '.join(zeros)}.")


def _scores_of(name: str, image_of_caption: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return the scores of a phi that somebody gave; None for others."""
    if not is_given(name):
        return None
    captions, images = (list(map(str, range(n))) for n in (len(image_of_caption), int(image_of_caption.max()) + 1))
    return read_judged(name.partition(":")[2], captions, images)


def _tuples_of(captions: list[str], beside: Path, mirror: Path | None) -> Tuples:
    """Return the tuples that an earlier call kept, or else parse the captions and keep them."""
    if beside.exists():
        try:
            found = read_tuples(beside, captions)
            remove_unlocked(journal_of(beside))  # of a process killed at its very end
            return found
        except InputError as error:
            print(f"{error} The captions are parsed again.", file=sys.stderr)
    beside.parent.mkdir(parents=True, exist_ok=True)
    java.parse_captions(captions, beside, mirror=mirror)
    return read_tuples(beside, captions)
