"""phi matrices as files: which metrics there are, and a matrix beside a note of what it was made of."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.cider import cider_matrix
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.storage import read_json, replacing, write_json


class SemanticMetric(Protocol):
    """A function that scores every caption against every image."""

    def __call__(
        self,
        captions: Sequence[str],
        image_of_caption: ArrayLike,
        tokenize: str = ...,
        out: str | Path | NDArray[np.floating] | None = ...,
    ) -> NDArray[np.floating]:
        """phi, ``[captions, images]``."""


SEMANTIC_METRICS: dict[str, SemanticMetric] = {"cider": cider_matrix}


def captions_sha256(captions: Sequence[str]) -> str:
    """SHA-256 of the captions as a UTF-8 text file with one caption per line."""
    return hashlib.sha256("".join(f"{caption}\n" for caption in captions).encode("utf-8", "surrogatepass")).hexdigest()


def write_phi(
    metric: str, captions: Sequence[str], image_of_caption: ArrayLike, out: Path | str, tokenize: str = "whitespace"
) -> None:
    """Write phi as float32 ``.npy`` and, beside it, a ``.json`` that says what it was made of.

    The note is written last and an old one removed first, so a matrix with its note is a whole matrix.

    Args:
        metric: A name in ``SEMANTIC_METRICS``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        out: Path of the ``.npy`` file.
        tokenize: As in ``cider_matrix``.

    Raises:
        InputError: If the metric is unknown, the captions do not fit, or ``out`` does not end in ``.npy``.
    """
    if metric not in SEMANTIC_METRICS:
        raise InputError(f"semantic metric is {metric!r}; expected one of {', '.join(sorted(SEMANTIC_METRICS))}.")
    out = Path(out)
    if out.suffix != ".npy":
        raise InputError(f"{out}: the name of a phi matrix must end in .npy.")
    captions = checked_captions(captions)
    pairing = checked_pairing(image_of_caption, len(captions))
    shape = (len(captions), int(pairing.max()) + 1)
    note = {
        "metric": metric,
        "tokenisation": tokenize,
        "idf_corpus": f"these {shape[0]} captions of {shape[1]} images",
        "captions_sha256": captions_sha256(captions),
        "shape": list(shape),
        "rows": "captions",
        "columns": "images",
        "version": importlib.metadata.version("fivesentences"),
    }
    with replacing(out) as temporary:
        SEMANTIC_METRICS[metric](captions, pairing, tokenize, temporary)
        out.with_suffix(".json").unlink(missing_ok=True)
    write_json(out.with_suffix(".json"), note)


def read_phi_note(path: Path | str) -> dict[str, Any]:
    """What ``write_phi`` noted beside the matrix at ``path``.

    Raises:
        InputError: If the note is missing or is not one of ours.
    """
    beside = Path(path).with_suffix(".json")
    if not beside.exists():
        raise InputError(f"{path}: there is no {beside.name} beside it, so the matrix is not whole; make phi again.")
    note = read_json(beside)
    if not isinstance(note, dict) or not {"metric", "tokenisation", "captions_sha256", "shape"} <= note.keys():
        raise InputError(f"{beside}: this is not the note of a phi matrix: {json.dumps(note)[:60]}; make phi again.")
    return note


def read_phi(path: Path | str, captions: Sequence[str] | None = None) -> NDArray[np.float32]:
    """A phi matrix that ``write_phi`` wrote, memory-mapped and read-only.

    Args:
        path: The ``.npy`` file.
        captions: Captions that the matrix must have been made of, if they are to be compared.

    Returns:
        ``[captions, images]`` float32.

    Raises:
        InputError: If a file is missing or damaged, the shape is not the noted one, or the captions are others.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such phi matrix; make it with write_phi or 'fivesentences phi'.")
    note = read_phi_note(path)
    try:
        phi: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: this is not a whole .npy file ({error}); make phi again.") from None
    if list(phi.shape) != note["shape"] or phi.dtype != np.float32:
        raise InputError(
            f"{path}: the matrix is {phi.dtype} {list(phi.shape)} but its note says float32 {note['shape']}; "
            "make phi again."
        )
    if captions is not None:
        if len(captions) != phi.shape[0]:
            raise InputError(
                f"{path}: phi has {phi.shape[0]} rows but there are {len(captions)} captions: it was made of another "
                "caption file; make phi again."
            )
        if captions_sha256(captions) != note["captions_sha256"]:
            raise InputError(
                f"{path}: phi was made of other captions (their sha256 was {note['captions_sha256'][:12]}..., these "
                f"have {captions_sha256(captions)[:12]}...); make phi again."
            )
    return phi
