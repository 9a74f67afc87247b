"""A gallery from files: a similarity or embeddings, whose captions there are, and phi matrices, checked together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import CELLS_HELD, new_array
from fivesentences.choices import each_once
from fivesentences.errors import InputError, first_of
from fivesentences.evaluation.item_lists import lists_of, read_lists
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.evaluation.protocols import Protocol
from fivesentences.metrics.notes import note_on_products
from fivesentences.retrieval.arguments import DIRECTIONS, Direction
from fivesentences.retrieval.cosine import cosine_of_rows, note_on_embeddings
from fivesentences.retrieval.gallery import Gallery, Source
from fivesentences.retrieval.repeated_rows import refuse_repeats
from fivesentences.seals import check_seal
from fivesentences.semantics.caption_file import own_pairing, read_captioned, read_pairing, read_texts
from fivesentences.semantics.caption_order import note_on_order
from fivesentences.semantics.phi_file import check_made_of, note_beside, read_note
from fivesentences.semantics.registry import check_whole, needs_tuples, parse_name, prepare
from fivesentences.semantics.scored import ScoredPhi
from fivesentences.semantics.scoring import matrix_of
from fivesentences.semantics.validation import check_gains


def read_gallery(
    similarity: Path,
    text: Path | None = None,
    *,
    transposed: bool = False,
    image_of_caption: Path | None = None,
    protocol: Protocol | None = None,
    phis: Sequence[str] = (),
    captions: Path | None = None,
    more_rows: bool = False,
    first_captions: int | None = None,
    in_blocks: bool | None = None,
    read: Callable[[Path | str], NDArray[Any]] = read_matrix,
) -> tuple[Gallery, list[str], list[str] | None]:
    """Read images, captions, their similarity and phi matrices from files.

    Args:
        similarity: ``[images, captions]``, as in ``read_matrix``; with ``text`` the embeddings of the images, whose
            rows may be repeated once per caption, as the loaders of SCAN and its successors do.
        text: ``[captions, dim]`` embeddings of the captions; their cosines with the images are the similarity.
        transposed: True if the rows of the similarity are captions.
        image_of_caption: File with the image index of each caption; default what the file of the captions says, or else
            equal, image-major blocks.
        protocol: Protocol whose size the similarity must have.
        phis: Files of phi, see ``with_phi_files``.
        captions: File of the captions; if it says whose they are, that is checked or taken.
        more_rows: True if phi may have more captions, see ``Gallery.with_phis``; the larger split is that of the
            protocol.
        first_captions: How many captions of each image are used; None: all.
        in_blocks: Whether the similarity of embeddings is read in blocks, see ``cosine_of_rows``.
        read: Reads a matrix; a command that needs one again gives ``OpenedOnce``.

    Returns:
        The gallery, sentences on how its similarity was computed, and the lines of ``captions``, see ``captions_of``.

    Raises:
        InputError: If a file is missing or damaged, a value is not finite, or something does not fit; the file is
            named.
    """
    rows, vectors = read(similarity), None if text is None else read(text)
    # As many captions as the longer side: whether the matrix is transposed is for the gallery to say.
    n_captions = max(rows.shape) if vectors is None else len(vectors)
    pairing = given = None if image_of_caption is None else read_pairing(image_of_caption, n_captions)
    table = None if captions is None else read_captioned(captions)
    if table is not None and captions is not None and len(table.captions) == n_captions:
        pairing = own_pairing(table, captions, given)
    how: dict[str, Any] = {"transposed": transposed, "image_of_caption": pairing, "in_blocks": in_blocks}
    matrix, notes = scores_of(rows, vectors, similarity, text, **how)
    if given is None and pairing is not None:
        apart = "" if (np.diff(pairing) >= 0).all() else ", in which captions of an image are apart"
        notes.append(f"Images and captions are taken to be in the order of {captions}{apart}.")
    gallery = Gallery.of(matrix, pairing, name=similarity).first_captions(first_captions)
    if protocol is not None:
        protocol.check(gallery)
    if gallery.kept is not None:
        used = f"{gallery.n_captions:,} of {len(gallery.kept):,} captions"
        notes.append(f"{similarity}: the first {first_captions} of each image, {used}, numbered among these.")
    lines = None if table is None else table.captions
    if lines is not None and len(lines) == n_captions:
        notes += _notes_on_captions(gallery, lines, captions)
    if phis:
        texts = None if lines is None else captions_of(gallery, lines, captions)
        split = None if protocol is None else protocol.split
        gallery = with_phi_files(gallery, phis, captions=texts, more_rows=more_rows, split=split)
    return gallery, notes, lines


def read_gallery_of_lists(
    files: Sequence[Path],
    *,
    image_of_caption: Path | None = None,
    protocol: Protocol | None = None,
    phis: Sequence[str] = (),
    captions: Path | None = None,
    image_ids: Path | None = None,
    caption_ids: Path | None = None,
) -> tuple[Gallery, list[str], list[str] | None]:
    """Read images, captions and phi matrices, with lists of the first items of every query as the similarity.

    Args:
        files: Lists for image queries and for caption queries, or one of them; see ``item_lists.read_lists``.
        image_of_caption: As in ``read_gallery``, which takes and returns the same.
        protocol: As there.
        phis: As there.
        captions: As there.
        image_ids: File of the names of images, one per line.
        caption_ids: File of the names of captions.

    Raises:
        InputError: As ``read_gallery``, ``read_lists`` and ``lists_of``; or if nothing says how many images or captions
            there are.
    """
    raws = [read_lists(file) for file in files]
    table = None if captions is None else read_captioned(captions)
    names = [None if file is None else [line.strip() for line in read_texts(file)] for file in (image_ids, caption_ids)]
    n_queries: dict[Direction, int] = {}
    if len(raws) == len(DIRECTIONS):
        n_queries = {side: raw.n_queries for side, raw in zip(DIRECTIONS, raws, strict=True)}
    known = [None if table is None else len(table.captions), None if names[1] is None else len(names[1])]
    known += [protocol.captions if protocol is not None else None, n_queries.get("t2i")]
    n_captions = next((number for number in known if number is not None), None)
    if n_captions is None:
        what = "lists do not say how many captions the gallery has"
        raise InputError(what, where=files[0], cure="give --captions FILE, or lists of both directions: I2T,t2i=T2I")
    given = None if image_of_caption is None else read_pairing(image_of_caption, n_captions)
    pairing = given if table is None or captions is None else own_pairing(table, captions, given)
    if pairing is None:
        known = [None if names[0] is None else len(names[0]), None if protocol is None else protocol.images]
        known += [n_queries.get("i2t"), raws[0].n_queries if raws[0].n_queries < n_captions else None]
        n_images = next((number for number in known if number is not None), None)
        if n_images is None or n_captions % n_images:
            of = "" if n_images is None else f": {n_captions} captions are not equal blocks for {n_images} images"
            raise InputError(f"nothing says which image each caption belongs to{of}", where=files[0],
                             cure="give --image-of-caption FILE")  # fmt: skip
        pairing = np.repeat(np.arange(n_images), n_captions // n_images)
    shape = int(pairing.max()) + 1, n_captions
    lists = lists_of(raws, shape, (names[0], names[1]))
    gallery = Gallery(cast("NDArray[Any]", lists), pairing, name=files[0])
    if protocol is not None:
        protocol.check(gallery)
    lines = None if table is None else table.captions
    notes = [] if lines is None else _notes_on_captions(gallery, lines, captions)
    if phis:
        gallery = with_phi_files(gallery, phis, captions=lines)
    return gallery, notes, lines


def _notes_on_captions(gallery: Gallery, lines: Sequence[str], captions: Path | None) -> list[str]:
    notes = [f"{captions}: {empty}, a caption without words." for empty in _empty_lines(lines)]
    return notes + note_on_order(captions_of(gallery, lines, captions), gallery.image_of_caption, captions)


def scores_of(
    rows: NDArray[Any],
    vectors: NDArray[Any] | None,
    similarity: Path,
    text: Path | None = None,
    *,
    transposed: bool = False,
    image_of_caption: NDArray[np.int64] | None = None,
    in_blocks: bool | None = None,
) -> tuple[NDArray[Any], list[str]]:
    """Return a similarity ``[images, captions]`` of what was read from a file or two, not yet checked.

    Args:
        rows: The similarity, or embeddings of the images; see ``read_gallery``.
        vectors: Embeddings of the captions; None for a similarity.
        similarity: File of ``rows``.
        text: File of ``vectors``.
        transposed: True if the rows of the similarity are captions.
        image_of_caption: ``[captions]`` image of each caption, where it is known.
        in_blocks: As in ``read_gallery``.

    Returns:
        The matrix, and sentences on how it was computed.

    Raises:
        InputError: If embeddings do not fit, or the matrix is not transposed or repeats its images.
    """
    if vectors is None or text is None:
        if transposed and len(rows) < rows.shape[1]:
            what = f"it is {list(rows.shape)}, and every image has a caption, so that its rows are images"
            raise InputError(what, where=similarity, cure="leave out --transposed")
        if transposed and len(rows) == rows.shape[1] and image_of_caption is None:
            refuse_repeats(rows.T, similarity, in_columns=True)
        return rows.T if transposed else rows, note_on_products(rows, similarity)
    matrix, merged = cosine_of_rows(rows, vectors, similarity, text, image_of_caption, in_blocks)
    return matrix, [note_on_embeddings(rows, vectors), *filter(None, [merged])]


def with_phi_files(
    gallery: Gallery,
    files: Sequence[str],
    *,
    captions: Sequence[str] | None = None,
    more_rows: bool = False,
    split: tuple[int, int] | None = None,
) -> Gallery:
    """Add phi matrices from files to a gallery, each of the gallery's captions and pairing as far as notes say.

    Args:
        gallery: Images and captions.
        files: Matrices that ``fivesentences phi`` wrote, or others that ``read_matrix`` reads; ``NAME=FILE`` names one.
            The default name is that in the note beside the matrix, or else that of the file.
        captions: The captions, to be compared with those in the notes. A matrix without a note is taken as it is.
        more_rows: True if phi may have more captions, see ``Gallery.with_phis``; a matrix of more captions is not
            compared.
        split: Images and captions of the larger split, see ``Gallery.with_phis``.

    Raises:
        InputError: If a file is missing or damaged, a value is not finite, two have the same name, or one does not
            fit: the sentence says which captions it seems to come from.
    """
    phis: dict[str, NDArray[Any]] = {}
    sources: dict[str, Source] = {}
    for given in files:
        name, equals, file = given.partition("=")
        if not equals or Path(given).exists():
            name, file = "", given
        if not file or name != name.strip() or (equals and not name and not Path(given).exists()):
            raise InputError(f"--phi is '{given}'; give FILE or NAME=FILE, such as cider=cider.npy.")
        if Path(file).is_dir():
            raise InputError(f"{file} is a folder; whole matrices are compared, so make one with 'fivesentences phi'.")
        matrix, note = read_matrix(file), _note_beside(Path(file))
        of_all = gallery.kept is not None and len(matrix) == len(gallery.kept)
        if note is not None and Path(file).suffix == ".npy":
            check_seal(note, Path(file), noted=note_beside(file), cure="recompute phi")
        if of_all:
            matrix = matrix[gallery.kept]
        elif note is not None and matrix.shape == gallery.shape[::-1]:
            pairing = gallery.image_of_caption if note.get("image_of_caption_sha256") else None
            check_made_of(Path(file), note, captions, pairing)
        noted = str((note or {}).get("phi") or "")
        name = name or (noted if noted.isprintable() else "") or Path(file.partition(":")[0]).stem
        if name in phis:
            raise InputError(f"another phi is called '{name}' too; name them: --phi NAME=FILE.", where=given)
        phis[name], sources[name] = matrix, Source(file, partial(_origin, Path(file), matrix.shape))
    return gallery.with_phis(phis, more_rows=more_rows, split=split, sources=sources)


def with_computed_phis(
    gallery: Gallery, lines: Sequence[str], captions: Path, metrics: Sequence[str], in_blocks: bool | None = None
) -> Gallery:
    """Add phi computed from its captions to a gallery.

    Args:
        gallery: Images and captions.
        lines: What ``read_gallery`` read from the file of the captions.
        captions: The file.
        metrics: Names of phi that need nothing but the captions. One with two names (cider-whitespace) counts once.
        in_blocks: Whether phi is scored where it is read, and not held; default where it has more than 150 million
            cells.

    Raises:
        InputError: If the captions are not as many as the gallery's, there is no such metric, it needs parsed captions,
            the gallery has it already, or it is 0 everywhere.
    """
    metrics = each_once(metrics, parse_name)
    for name in metrics:
        check_whole(name)
        if needs_tuples(name):
            raise InputError(
                f"{name} needs parsed captions; make it once: fivesentences phi {name} {captions} -o {name}.npy, then "
                f"pass --phi {name}.npy."
            )
        if name in gallery.phis:
            raise InputError(f"--phi and --metric both give {name}; leave one of them out.")
    texts = captions_of(gallery, lines, captions)
    scorers = {name: prepare(name, texts, gallery.image_of_caption) for name in metrics}
    if gallery.n_images * gallery.n_captions > CELLS_HELD if in_blocks is None else in_blocks:
        return gallery.and_phis({name: cast("NDArray[Any]", ScoredPhi(one, name)) for name, one in scorers.items()})
    made = {name: matrix_of(one, new_array(one.shape, np.float32, name), name) for name, one in scorers.items()}
    for name, matrix in made.items():
        check_gains(matrix, f"{captions}: {name}")
    return gallery.and_phis(made)


def captions_of(gallery: Gallery, texts: Sequence[str], path: Path | None) -> list[str]:
    """Return the captions of a gallery, of those that were read from a file.

    Raises:
        InputError: If these are more or fewer than the gallery's, or than it was made of.
    """
    if gallery.kept is not None and len(texts) == len(gallery.kept):
        return [text for text, kept in zip(texts, gallery.kept, strict=True) if kept]
    if len(texts) != gallery.n_captions:
        empty = "".join(f"; {found}, and an empty line is a caption" for found in _empty_lines(texts))
        raise InputError(
            f"{path} has {len(texts)} captions but the similarity has {gallery.n_captions} columns{empty}; give the "
            "captions that it was made of, in the same order."
        )
    return list(texts)


def _empty_lines(texts: Sequence[str]) -> list[str]:
    """Return "line 3 is empty", "lines 3, 5 are empty", or nothing."""
    lines = [number for number, text in enumerate(texts, 1) if not text.strip()]
    words = ("line", "is") if len(lines) == 1 else ("lines", "are")
    return [f"{words[0]} {first_of(lines, 5)} {words[1]} empty"] if lines else []


def _origin(path: Path, shape: tuple[int, ...]) -> str:
    """Say which captions a phi seems to come from."""
    note = _note_beside(path)
    if note is None:
        return f"it was made of {shape[0]} captions of {shape[1]} images (there is no note beside it that says which)"
    file = note.get("captions_file") or f"a captions file whose SHA-256 is {str(note['captions_sha256'])[:12]}..."
    return f"it seems to come from {file} ({note['shape'][0]} captions of {note['shape'][1]} images)"


def _note_beside(path: Path) -> dict[str, Any] | None:
    beside = note_beside(path)
    if path.suffix == ".json" or not beside.is_file():
        return None
    try:
        return read_note(beside)
    except InputError:
        return None
