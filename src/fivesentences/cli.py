"""`fivesentences ...`: what can be done without the workflow."""

from __future__ import annotations

import importlib.metadata
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.commands.checkpoint import checkpoint
from fivesentences.commands.compare import compare
from fivesentences.commands.doctor import doctor
from fivesentences.commands.evaluate import evaluate
from fivesentences.commands.rescore import rescore
from fivesentences.commands.schema import schema
from fivesentences.commands.sheets import quietly
from fivesentences.commands.shell_words import in_shell_words
from fivesentences.commands.similarity import similarity
from fivesentences.commands.train import train
from fivesentences.errors import InputError
from fivesentences.storage import check_writable

if TYPE_CHECKING:
    from fivesentences.semantics import Tuples

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="nothing but errors")]
app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, help=__doc__)


def _version(asked: bool) -> None:
    if asked:
        print(f"fivesentences {importlib.metadata.version('fivesentences')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="say which this is")
    ] = False,
) -> None:
    """Regenerate tables of image-text matching papers, step by step, without Snakemake."""


for command in (train, evaluate, similarity, rescore, compare, doctor, schema):
    app.command()(command)
app.add_typer(checkpoint, name="checkpoint")


@app.command()
def download(
    dataset: Annotated[str, typer.Argument(help="a dataset of the catalogue, such as flickr8k")],
    data: Annotated[Path, typer.Option(help="folder for downloads")] = Path("data"),
    mirror: Annotated[Path | None, typer.Option(help="take the files from here", envvar="FIVESENTENCES_MIRROR")] = None,
    catalogue: Annotated[Path, typer.Option(help="list of files")] = Path("config/datasets.yaml"),
    quiet: Quiet = False,
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
        with quietly(quiet):
            path = fetch(entries[dataset], dataset, file, data, mirror)
        if not quiet:
            print(path)


def _metrics(begun: str) -> list[str]:
    """Names of phi for the shell."""
    from fivesentences.semantics import SEMANTIC_METRICS

    return [name for name, metric in SEMANTIC_METRICS.items() if metric.whole and name.startswith(begun)]


@app.command()
def phi(
    name: Annotated[
        str,
        typer.Argument(
            metavar="METRIC", help="such as cider, spice, bleu4, rouge_l, cider-ptb", autocompletion=_metrics
        ),
    ],
    captions: Annotated[Path, typer.Argument(metavar="CAPTIONS", help="UTF-8 text, one caption a line; or .json")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the matrix, .npy; with --top-k a folder")],
    per_image: Annotated[
        int | None, typer.Option(min=1, help="captions of an image, which stand together (default 5)")
    ] = None,
    image_of_caption: Annotated[
        Path | None, typer.Option(metavar="FILE", help="index of each caption's image, from 0, one a line")
    ] = None,
    tuples: Annotated[
        Path | None, typer.Option(metavar="FILE", help="parsed captions, .jsonl.gz; else spice parses them")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, metavar="K", help="keep the K best images of a caption")] = None,
    mirror: Annotated[
        Path | None, typer.Option(help="take CoreNLP from here, not from the network", envvar="FIVESENTENCES_MIRROR")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Score every caption against every image by a semantic metric.

    An image is what its own captions say. The matrix has a row for every
    caption and a column for every image; a .json beside it says what it was
    made of. A line of CAPTIONS ends at \\n (where all lines do: at \\r\\n),
    whatever else a caption holds.

    SPICE parses every different caption once, some 25 ms each on two cores,
    and keeps the result beside the matrix for the next time.

    Examples:

        fivesentences phi cider captions.txt -o cider.npy

        fivesentences phi spice captions.txt -o spice.npy

        fivesentences phi cider many.txt -o cider.top100 --top-k 100
    """
    from fivesentences.semantics import read_phi_note, read_top_k, read_tuples, write_phi, write_top_k
    from fivesentences.semantics.caption_file import equal_pairing, read_captions, read_pairing
    from fivesentences.semantics.phi import check_matrix, needs_tuples
    from fivesentences.semantics.top_k import check_store

    started = time.monotonic()
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
            raise InputError(f"{name} does not look at scene-graph tuples; leave --tuples out.")
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
    """Tuples that an earlier call kept, or parsed now and kept."""
    from fivesentences.semantics import read_tuples
    from fivesentences.semantics.java import parse_captions

    if beside.exists():
        try:
            return read_tuples(beside, captions)
        except InputError as error:
            print(f"{error} Now the captions are parsed again.", file=sys.stderr)
    beside.parent.mkdir(parents=True, exist_ok=True)
    parse_captions(captions, beside, mirror=mirror)
    return read_tuples(beside, captions)


@app.command()
def jars(
    mirror: Annotated[
        Path | None, typer.Option(help="a folder with corenlp/*.jar", envvar="FIVESENTENCES_MIRROR")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Fetch what SPICE's parser needs: Stanford CoreNLP 3.6.0, 385 MB, once, resumed if stopped.

    Kept in FIVESENTENCES_CACHE, else in the user's cache folder; a mirror's jars are used where they are.

    Example:

        fivesentences jars
    """
    from fivesentences.semantics.java.jars import corenlp

    with quietly(quiet):
        paths = corenlp(mirror)
    if not quiet:
        for path in paths:
            print(path)


def main() -> None:
    """Run the command line; an ``InputError`` is one sentence on standard error and exit code 1."""
    try:
        app()
    except InputError as error:
        print(f"Error: {in_shell_words(str(error))}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:  # a disk that fills up, a file that may not be read
        if error.filename is None or error.strerror is None:
            raise
        print(f"Error: {error.filename}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
