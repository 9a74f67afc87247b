"""phi that somebody gave: scores of captions with images by a person or a language model, read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus.csv_rows import csv_rows
from fivesentences.errors import InputError, counted, say_once

COLUMNS = ("caption", "image", "score")
LARGEST = float(np.finfo(np.float32).max)


def read_judged(path: Path | str, caption_ids: Sequence[str], image_ids: Sequence[str]) -> NDArray[np.float32]:
    """Read scores of captions with images as a matrix.

    A CSV has the columns ``caption``, ``image`` (their ids) and ``score``, one pair per row; pairs that it lacks score
    0, as what has nothing in common does by every phi. A ``.npy`` is the whole matrix, in the order of the ids.

    Args:
        path: ``.csv`` or ``.npy``.
        caption_ids: ``[captions]`` ids of the rows.
        image_ids: ``[images]`` ids of the columns.

    Returns:
        ``[captions, images]``.

    Raises:
        InputError: If the file is missing or damaged, an id is unknown, a pair is scored twice, a score is not a
            finite number of at least 0, or no score is above 0.
    """
    path = Path(path)
    if path.suffix == ".npy":
        scores = _whole(path, (len(caption_ids), len(image_ids)))
    else:
        scores = _pairs(path, caption_ids, image_ids)
    if not scores.any():
        raise InputError("no score of these captions with these images is above 0", where=path, cure="check the ids")
    return scores


def _whole(path: Path, shape: tuple[int, int]) -> NDArray[np.float32]:
    matrix = read_npy(path)
    if matrix.shape != shape or matrix.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: scores are {matrix.dtype} {list(matrix.shape)}; numbers for {shape[0]} captions and {shape[1]} "
            "images are needed, a row per caption."
        )
    scores = matrix.astype(np.float32)
    if wrong := np.argwhere(~np.isfinite(scores) | (scores < 0))[:1].tolist():
        row, column = wrong[0]
        raise InputError(
            f"{path}: the score in row {row}, column {column} is {matrix[row, column]}; a score is finite and at least "
            "0."
        )
    return scores


def _pairs(path: Path, caption_ids: Sequence[str], image_ids: Sequence[str]) -> NDArray[np.float32]:
    places = [{identity: place for place, identity in enumerate(ids)} for ids in (caption_ids, image_ids)]
    scores = np.full((len(caption_ids), len(image_ids)), np.nan, dtype=np.float32)
    for where, row in csv_rows(path, COLUMNS):
        try:
            score = float(row["score"])
        except ValueError:
            score = np.nan
        if not (np.isfinite(score) and 0 <= score <= LARGEST):
            raise InputError(f"{where}: score is {row['score'][:40]!r}; a score is a finite number of at least 0.")
        for name, known in zip(COLUMNS, places, strict=False):
            if row[name] not in known:
                raise InputError(f"{where}: there is no {name} {row[name][:60]!r}; give the ids of the corpus.")
        pair = places[0][row["caption"]], places[1][row["image"]]
        if not np.isnan(scores[pair]):
            named = f"caption {row['caption'][:60]!r} with image {row['image'][:60]!r}"
            raise InputError(f"{where}: {named} is scored a second time; keep one score.")
        scores[pair] = score
    if missing := int(np.isnan(scores).sum()):
        say_once(f"{path}: {scores.size - missing:,} of {counted(scores.size, 'pair')} are scored; the others score 0.")
    return np.nan_to_num(scores, copy=False)
