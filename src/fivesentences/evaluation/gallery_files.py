"""A gallery from files: a similarity or embeddings, whose captions there are, and phi matrices, checked together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import Cure, InputError
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.evaluation.protocols import Protocol
from fivesentences.retrieval.cosine import cosine_similarity, unique_images
from fivesentences.retrieval.gallery import Gallery, Source, first_not_finite, not_finite, repeats
from fivesentences.semantics.caption_file import read_pairing
from fivesentences.semantics.phi import captions_sha256, pairing_sha256, read_note
from fivesentences.storage import sha256_of

_LARGEST_CAPTION_FILE = 100_000_000  # bytes: larger files beside a phi are not searched for its captions


def read_gallery(
    similarity: Path,
    text: Path | None = None,
    *,
    transposed: bool = False,
    image_of_caption: Path | None = None,
    protocol: Protocol | None = None,
) -> tuple[Gallery, list[str]]:
    """Images, captions and their similarity, from files.

    Args:
        similarity: ``[images, captions]``, as in ``read_matrix``; with ``text`` the embeddings of the images.
        text: ``[captions, dim]`` embeddings of the captions; their cosines with the images are the similarity.
        transposed: Whether the rows of the similarity are captions.
        image_of_caption: File with the image index of each caption; default equal, image-major blocks.
        protocol: Whose size the similarity must have.

    Returns:
        The gallery, and sentences on how its similarity was computed.

    Raises:
        InputError: If a file is missing or damaged, a value is not finite, or something does not fit; it names the file.
    """
    notes = []
    if text is None:
        matrix = read_matrix(similarity).T if transposed else read_matrix(similarity)
    else:
        images, captions, often = read_embeddings(similarity, text)
        matrix = cosine_similarity(images, captions)
        repeated = f" {similarity.name} has every image {often} times; one of each was taken." if often > 1 else ""
        notes = [f"Cosine similarity of embeddings of {images.shape[1]} dimensions.{repeated}"]
    # As many captions as the longer side: whether the matrix is transposed is for the gallery to say.
    pairing = None if image_of_caption is None else read_pairing(image_of_caption, max(matrix.shape))
    gallery = Gallery.of(matrix, pairing, name=similarity)
    if protocol is not None:
        protocol.check(gallery)
    return gallery, notes


def with_phi_files(
    gallery: Gallery,
    files: Sequence[str],
    *,
    captions: Sequence[str] | None = None,
    more_rows: bool = False,
    split: tuple[int, int] | None = None,
) -> Gallery:
    """The gallery with phi matrices from files, each of the gallery's captions and pairing as far as notes say.

    Args:
        gallery: Images and captions.
        files: Matrices that ``fivesentences phi`` wrote, or others that ``read_matrix`` reads; ``NAME=FILE`` names one.
            The default name is that in the note beside the matrix, or else that of the file.
        captions: The captions, to be compared with those in the notes. A matrix without a note is taken as it is.
        more_rows: As in ``Gallery.with_phis``; a matrix of more captions is not compared.
        split: As in ``Gallery.with_phis``.

    Raises:
        InputError: If a file is missing or damaged, a value is not finite, two have the same name, or one does not
            fit: the sentence says which captions it seems to come from.
    """
    phis: dict[str, NDArray[Any]] = {}
    sources: dict[str, Source] = {}
    for given in files:
        name, file = _name_and_file(given)
        matrix, note = read_matrix(file), _note_beside(Path(file))
        if note is not None and matrix.shape == gallery.shape[::-1]:
            _check_made_of(file, note, gallery.image_of_caption, captions)
        name = name or str((note or {}).get("phi") or Path(file.partition(":")[0]).stem)
        if name in phis:
            raise InputError(f"another phi is called '{name}' too; name them: --phi NAME=FILE.", where=given)
        phis[name], sources[name] = matrix, Source(file, partial(_origin, Path(file), matrix.shape))
    return gallery.with_phis(phis, more_rows=more_rows, split=split, sources=sources)


def read_embeddings(images: Path | str, captions: Path | str) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Embeddings of images and of captions, one row per image however often the file repeats it.

    The loaders of SCAN and its successors give every image once per caption; such blocks of equal rows are recognised.

    Args:
        images: As in ``read_matrix``: ``[images, dim]``, or ``[captions, dim]`` with equal rows for equal images.
        captions: ``[captions, dim]``.

    Returns:
        ``[images, dim]``, ``[captions, dim]``, and how many times the file has each image.

    Raises:
        InputError: As ``read_matrix``; or a value is not finite, the dimensions differ, or the two look exchanged.
    """
    image_rows, caption_rows = read_matrix(images), read_matrix(captions)
    if image_rows.shape[1] != caption_rows.shape[1]:
        raise InputError(
            f"{images} is {list(image_rows.shape)} but {captions} is {list(caption_rows.shape)}; embeddings of images "
            "and captions have the same number of columns."
        )
    for path, rows in ((images, image_rows), (captions, caption_rows)):
        if place := first_not_finite(rows):
            where = "row and column of the file, from 0"
            raise not_finite(f"{path}: ", rows, place, where, "write the embeddings again")
    images_once = unique_images(image_rows)
    often = len(image_rows) // len(images_once)
    if often > 1 and len(image_rows) == len(caption_rows):
        return images_once, caption_rows, often
    if (of_captions := repeats(caption_rows)) > 1:
        raise InputError(
            f"{captions} has {len(caption_rows)} rows but they repeat {len(caption_rows) // of_captions} of them "
            f"{of_captions} times each, as embeddings of images do; give the embeddings of the images first, then "
            "those of the captions."
        )
    if len(image_rows) > len(caption_rows):
        raise InputError(
            f"{images} has {len(image_rows)} rows and {captions} only {len(caption_rows)}; give the embeddings of "
            "the images first, then those of the captions."
        )
    return image_rows, caption_rows, 1


def _name_and_file(given: str) -> tuple[str, str]:
    """``NAME=FILE`` as two; the name is empty where none is given."""
    name, equals, file = given.partition("=")
    if not equals or Path(given).exists():
        name, file = "", given
    if Path(file).is_dir():
        raise InputError(f"{file} is a folder; whole matrices are compared, so make one with 'fivesentences phi'.")
    return name, file


def _check_made_of(
    file: str, note: dict[str, Any], image_of_caption: NDArray[np.int64], captions: Sequence[str] | None
) -> None:
    """Refuse a phi of other captions, or of the same captions in another order of images."""
    noted = note.get("image_of_caption_sha256")
    if noted is not None and noted != pairing_sha256(image_of_caption):
        raise InputError(
            "phi was made with another list of whose caption each one is",
            where=file,
            cure=Cure(
                "pass the image_of_caption that it was made with, or make phi again with this one",
                "give the list it was made with by --image-of-caption FILE, or make phi again with this one",
            ),
        )
    if captions is not None and note["captions_sha256"] != captions_sha256(captions):
        of = f"those of {note['captions_file']}" if note.get("captions_file") else "others"
        raise InputError(f"{file}: phi was made of other captions than these ({of}); make phi again of these captions.")


def _origin(path: Path, shape: tuple[int, ...]) -> str:
    """Which captions a phi seems to come from, in words."""
    note = _note_beside(path)
    if note is None:
        return f"it was made of {shape[0]} captions of {shape[1]} images (there is no note beside it that says which)"
    size = f"({note['shape'][0]} captions of {note['shape'][1]} images)"
    noted, wanted = note.get("captions_file"), note["captions_sha256"]
    for folder in dict.fromkeys((path.resolve().parent, Path.cwd())):
        for candidate in sorted(folder.glob("*.txt")):
            if candidate.stat().st_size <= _LARGEST_CAPTION_FILE and sha256_of(candidate) == wanted:
                return f"it comes from {candidate.name} {size}"
    if noted:
        return f"it seems to come from {noted} {size}"
    return f"it seems to come from a captions file whose SHA-256 is {str(wanted)[:12]}... {size}"


def _note_beside(path: Path) -> dict[str, Any] | None:
    beside = path.with_suffix(".json")
    if path.suffix == ".json" or not beside.is_file():
        return None
    try:
        return read_note(beside)
    except InputError:
        return None
