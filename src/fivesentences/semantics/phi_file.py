"""phi matrices as files: the matrix, and beside it a note of what it was made from."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import new_npy, plain_array, read_npy
from fivesentences.documents import read_json
from fivesentences.errors import Cure, InputError
from fivesentences.seals import check_seal, seal_of
from fivesentences.semantics.registry import SEMANTIC_METRICS, check_whole, needs_tuples, parse_name, prepare
from fivesentences.semantics.scoring import Scorer, fill
from fivesentences.semantics.validation import check_gains, checked_pairing
from fivesentences.storage import alone, check_npy, replacing, together, write_json

if TYPE_CHECKING:
    from fivesentences.semantics.sentence_encoders import CaptionVectors
    from fivesentences.semantics.tuples import Tuples


def captions_sha256(captions: Sequence[str]) -> str:
    """Return the SHA-256 of the captions as a UTF-8 text file with one caption per line."""
    return hashlib.sha256("".join(f"{caption}\n" for caption in captions).encode("utf-8", "surrogatepass")).hexdigest()


def pairing_sha256(image_of_caption: ArrayLike) -> str:
    """Return the SHA-256 of the image indices as a text file with one number per line."""
    pairing = plain_array(image_of_caption, "image_of_caption")
    return captions_sha256(list(map(str, checked_pairing(pairing, pairing.size).tolist())))


def write_phi(
    phi_name: str,
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    out: Path | str,
    tuples: Tuples | None = None,
    captions_file: str | None = None,
    vectors: CaptionVectors | None = None,
    truth: NDArray[np.floating] | None = None,
) -> None:
    """Write phi as float32 ``.npy`` and, beside it, a ``.json`` note of what it was made from.

    The note holds a checksum of both, and both get their names together: one process at a time writes a matrix.

    Args:
        phi_name: As in ``prepare``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        out: Path of the ``.npy`` file.
        tuples: As in ``prepare``.
        captions_file: Name of the file that the captions were read from; noted for people, never compared.
        vectors: As in ``prepare``.
        truth: As in ``prepare``.

    Raises:
        InputError: If there is no such phi or it has no whole matrix, the captions do not fit, tuples are needed and
            missing, ``out`` does not end in ``.npy``, the disk has too little room, or phi is the same everywhere.
    """
    out = Path(out)
    check_matrix(phi_name, out)
    scorer = prepare(phi_name, captions, image_of_caption, tuples, vectors, truth)
    note = note_of(phi_name, scorer, captions, image_of_caption, tuples)
    if captions_file is not None:
        note["captions_file"] = captions_file
    with (
        alone(out.with_name(f".{out.name}.lock"), f"{out} is being written by another process; waiting"),
        together(),
        replacing(out) as temporary,
    ):
        rows = new_npy(temporary, np.float32, scorer.shape)
        fill(scorer, rows, phi_name)
        check_gains(rows, phi_name)
        rows.flush()
        del rows  # Windows renames no file that is mapped
        write_json(note_beside(out), note | {"sha256": seal_of(note, temporary)})


def note_beside(path: Path | str) -> Path:
    """Return the file of the note beside a phi matrix."""
    return Path(path).with_suffix(".json")


def check_matrix(phi_name: str, out: Path) -> None:
    """Check that ``write_phi`` can write such a matrix, before any costly work is done.

    Raises:
        InputError: If there is no such phi, it scores single pairs only, ``out`` does not end in ``.npy``, or the file
            in which its note would be written exists and is something else.
    """
    check_whole(phi_name)
    check_npy(out, "a phi matrix")
    note = note_beside(out)
    if os.path.lexists(note):
        try:
            read_note(note)
        except InputError:
            what = f"its note would be written to {note.name}, and that file is no such note"
            raise InputError(what, where=out, cure="name another matrix") from None


def note_of(
    phi_name: str, scorer: Scorer, captions: Sequence[str], image_of_caption: ArrayLike, tuples: Tuples | None
) -> dict[str, Any]:
    """Return the note of what a phi is made from, for the file beside it; its scorer has checked the captions."""
    metric, tokenisation, *_ = parse_name(phi_name)
    shape = list(scorer.shape)
    used = tuples if needs_tuples(phi_name) else None
    return {
        "phi": phi_name,
        "metric": metric,
        "tokenisation": tokenisation,
        "idf_corpus": f"these {shape[0]} captions of {shape[1]} images" if SEMANTIC_METRICS[metric].idf else None,
        "captions_sha256": captions_sha256(captions),
        "image_of_caption_sha256": pairing_sha256(image_of_caption),
        "undefined": SEMANTIC_METRICS[metric].undefined,
        "tuples": None if used is None else {"source": used.source, "sha256": used.sha256},
        "shape": shape,
        "rows": "captions",
        "columns": "images",
        "version": importlib.metadata.version("fivesentences"),
        **scorer.facts,
    }


def read_phi_note(path: Path | str) -> dict[str, Any]:
    """Read the note that ``write_phi`` wrote beside the matrix at ``path``.

    Raises:
        InputError: If the note is missing, or is not the note of a phi.
    """
    beside = note_beside(path)
    if not beside.exists():
        raise InputError(f"{path}: there is no {beside.name} beside it, so the matrix is not complete; recompute phi.")
    return read_note(beside)


def is_note_beside(matrix: Path) -> bool:
    """Return whether a matrix has the note of a phi beside it; a ``.json`` of that name may be something else."""
    try:
        return matrix.suffix == ".npy" and read_note(note_beside(matrix)) is not None
    except InputError:
        return False


def read_note(path: Path) -> dict[str, Any]:
    """Read a note and check that it is the note of a phi.

    Raises:
        InputError: If it is missing, or is not the note of a phi.
    """
    note = read_json(path)
    known = isinstance(note, dict) and {"metric", "tokenisation", "captions_sha256", "shape"} <= note.keys()
    shape = note["shape"] if known else None
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(number) is int for number in shape):
        raise InputError(f"{path}: this is not the note of a phi matrix: {json.dumps(note)[:60]}; recompute phi.")
    return dict(note)


def read_phi(
    path: Path | str, captions: Sequence[str] | None = None, image_of_caption: ArrayLike | None = None
) -> NDArray[np.float32]:
    """Open a phi matrix that ``write_phi`` wrote, memory-mapped and read-only.

    Args:
        path: The ``.npy`` file.
        captions: Captions that the matrix must have been made from; not compared if None.
        image_of_caption: Image indices that the matrix must have been made from; not compared if None.

    Returns:
        ``[captions, images]`` float32.

    Raises:
        InputError: If a file is missing or damaged, the shape differs from the note, or phi was made from other
            captions or images.
    """
    path = Path(path)
    if not path.exists():
        cure = Cure(python="create it with write_phi", shell="create it with 'fivesentences phi'")
        raise InputError("there is no such phi matrix", where=path, cure=cure)
    note = read_phi_note(path)
    phi = map_array(path, np.float32, note["shape"])
    check_seal(note, path, noted=note_beside(path), cure="recompute phi")
    check_made_of(path, note, captions, image_of_caption)
    return phi


def map_array(path: Path, dtype: type[np.generic], shape: list[int]) -> NDArray[Any]:
    """Open a ``.npy`` file, memory-mapped and read-only.

    Raises:
        InputError: If it is not complete, or of another type or shape than its note says.
    """
    array = read_npy(path, "recompute phi")
    if list(array.shape) != shape or array.dtype != dtype:
        found = f"it is {array.dtype} {list(array.shape)} but its note says {np.dtype(dtype)} {shape}"
        raise InputError(found, where=path, cure="recompute phi")
    return array


def check_made_of(
    path: Path, note: dict[str, Any], captions: Sequence[str] | None, image_of_caption: ArrayLike | None
) -> None:
    """Compare captions and their images, where given, with those that a phi was made from.

    Raises:
        InputError: If they differ.
    """
    n_captions = note["shape"][0]
    if captions is not None and len(captions) != n_captions:
        what = f"phi has {n_captions} rows but there are {len(captions)} captions"
        raise InputError(f"{what}, so it was made from another caption file", where=path, cure="recompute phi")
    made_of: tuple[tuple[str, str, Any, Callable[[Any], str]], ...] = (
        ("captions", "captions_sha256", captions, captions_sha256),
        ("images of these captions", "image_of_caption_sha256", image_of_caption, pairing_sha256),
    )
    for what, key, given, digest_of in made_of:
        if given is not None and (digest := digest_of(given)) != note.get(key):
            shown = f"sha256 {str(note.get(key))[:12]}..., not {digest[:12]}..."
            raise InputError(f"phi was made from other {what} ({shown})", where=path, cure="recompute phi")
