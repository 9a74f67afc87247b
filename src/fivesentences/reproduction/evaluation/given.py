"""Similarity matrices that were made elsewhere, checked against a corpus and kept as those of runs are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import new_npy
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.features.describing_precomp import share_words
from fivesentences.seals import write_record
from fivesentences.semantics.caption_file import read_captions
from fivesentences.storage import replacing, together

ROWS = 256  # that are in memory at a time


def take_similarity(
    similarity: Path, corpus: Path, out: Path, *, transposed: bool = False, captions: Path | None = None
) -> None:
    """Write a matrix of others as the similarity of a run on the test split, float32.

    Args:
        similarity: ``[images, captions]``, larger is more similar; see ``read_matrix``.
        corpus: The corpus whose test split it scores, as parquet.
        out: Where to write it.
        transposed: True if its rows are captions.
        captions: The captions in its order.

    Raises:
        InputError: If the matrix is of other images or captions or in another order, as far as that shows, or a value
            is not finite.
    """
    gallery = Corpus.read(corpus).split("test")
    matrix = read_matrix(similarity)
    matrix = matrix.T if transposed else matrix
    _check_shape(matrix, gallery, similarity, transposed)
    if captions is not None:
        _check_captions(read_captions(captions), list(gallery.captions), captions, gallery.name)
    own, total = 0.0, 0.0
    with together(), replacing(out) as temporary:
        taken = new_npy(temporary, np.float32, matrix.shape)
        for start in range(0, len(matrix), ROWS):
            with np.errstate(over="ignore"):  # what is too large is refused as infinite
                rows = np.asarray(matrix[start : start + ROWS], dtype=np.float32)
            _check_finite(rows, start, similarity, transposed)
            mine = gallery.image_of_caption[None, :] == np.arange(start, start + len(rows))[:, None]
            own += float(rows[mine].sum(dtype=np.float64))
            total += float(rows.sum(dtype=np.float64))
            taken[start : start + ROWS] = rows
        mean, of_all = own / gallery.n_captions, total / matrix.size
        if captions is None and mean <= of_all:
            raise InputError(
                f"images are no more similar to their own captions (mean {mean:.4g}) than to all ({of_all:.4g}), as if "
                f"it had another order than the test split of {gallery.name}, or smaller meant more similar",
                where=similarity,
                cure="name the captions in its order (captions: FILE), or write it again",
            )
        taken.flush()
        write_record(out.parent, {out.name: temporary})


def _check_shape(matrix: NDArray[Any], gallery: Corpus, where: Path, transposed: bool) -> None:
    expected = (gallery.n_images, gallery.n_captions)
    if matrix.shape == expected:
        return
    found = "x".join(f"{side:,}" for side in (matrix.T if transposed else matrix).shape)
    if matrix.shape == expected[::-1]:
        cure = "remove transposed: true" if transposed else "its rows are captions: write transposed: true"
    elif matrix.shape == (gallery.n_captions, gallery.n_captions):
        cure = "its images are repeated once per caption: keep one row of each"
    else:
        cure = "give the matrix of exactly these, in their order"
    raise InputError(
        f"it is {found}, but the test split of {gallery.name} has {expected[0]:,} images and {expected[1]:,} captions",
        where=where,
        cure=cure,
    )


def _check_finite(rows: NDArray[np.float32], start: int, where: Path, transposed: bool) -> None:
    if np.isfinite(rows).all():
        return
    image, caption = np.argwhere(~np.isfinite(rows))[0].tolist()
    place = (caption, image + start) if transposed else (image + start, caption)
    raise InputError(
        f"row {place[0]}, column {place[1]} is {rows[image, caption]} as a 32-bit number",
        where=where,
        cure="every score must be finite; let the model write it again",
    )


def _check_captions(theirs: Sequence[str], ours: Sequence[str], where: Path, corpus: str) -> None:
    if len(theirs) != len(ours):
        raise InputError(
            f"it has {len(theirs):,} captions, but the test split of {corpus} has {len(ours):,}",
            where=where,
            cure="give one per column of the matrix",
        )
    for number, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        if not share_words(one, other):
            raise InputError(
                f"caption {number} (from 0) is '{one[:60]}', but that of {corpus} is '{other[:60]}'",
                where=where,
                cure="bring the matrix's columns, and its images, into the order of the corpus "
                "('fivesentences captions' writes it)",
            )
