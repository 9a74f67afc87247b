"""Pairs that people rated or contrasted: CxC's image-image and text-text tasks, Winoground, SugarCrepe."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.corpus.csv_rows import separator_of
from fivesentences.corpus.cxc import score_of
from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import Argument, InputError, counted, say_left_out
from fivesentences.evaluation.positives import CXC_THRESHOLD, Ids, coco_test_ids, places_of
from fivesentences.metrics.positives import Positives, recall_of_positives
from fivesentences.retrieval.gallery import checked_matrix
from fivesentences.semantics.validation import checked_pairing

# Columns by task: CxC's SIS and STS, Winoground, and captions with foils (SugarCrepe).
TASKS = {
    "images": ("image1", "image2", "agg_score"),
    "captions": ("caption1", "caption2", "agg_score"),
    "winoground": ("image_0", "image_1", "caption_0", "caption_1"),
    "foils": ("image", "caption", "foil"),
}
_IDS = {
    "images": re.compile(r"COCO_(?:train|val)2014_([0-9]{12})\.jpg"),
    "captions": re.compile(r"COCO_(?:train|val)2014:sentid:([0-9]{1,12})"),
}


def cxc_within(
    similarity: ArrayLike,
    ratings_csv: Path | str,
    ids: Ids | None = None,
    ks: Sequence[int] = (1, 5, 10),
    *,
    image_of_caption: ArrayLike | None = None,
    threshold: float = CXC_THRESHOLD,
) -> dict[str, float]:
    """Score a similarity within a modality on Crisscrossed Captions (Parekh et al. 2021): image-image or text-text.

    An item is a query if a pair with it is rated ``threshold`` or more; it retrieves from all other items, equal ones
    by index, lower first. A pair that is listed in both orders counts once, by its mean rating (2,830 of SIS's test
    images have two). STS rates half of the pairs of captions of one image: ``image_of_caption`` makes all of them
    matches, at any rating. Their bootstrapped correlation is another number than the correlation here.

    Args:
        similarity: ``[items, items]``, rows are queries, larger is more similar; any real dtype, finite. The diagonal
            is not read.
        ratings_csv: CxC's SIS (columns ``image1``, ``image2``) or STS (``caption1``, ``caption2``), with ``agg_score``.
        ids: ``[items]`` COCO's image or caption ids of the rows; default the order of ``coco_test_ids``.
        ks: Cut-offs of recall.
        image_of_caption: ``[items]`` image index of each caption; default none.
        threshold: Lowest rating of a match, 0 to 5.

    Returns:
        ``{"R@1": ..., "Spearman": ..., "queries": ..., "pairs": ...}``: share of queries with a match among the first
        k in percent, correlation of similarities (of the pair as listed first) with ratings in -1 to 1 (NaN if all
        are equal), and the numbers of queries and of rated pairs.

    Raises:
        InputError: If the matrix is not square or not finite, ids do not fit, the file is no such table, or no pair
            rated ``threshold`` or more is among the items.
    """
    matrix = checked_matrix(similarity)
    size = len(matrix)
    if matrix.shape[1] != size:
        what = f"is {list(matrix.shape)}; images with images, or captions with captions, are square."
        raise InputError(what, where=Argument("similarity"))
    of, rated = _rated(ratings_csv)
    place = places_of(coco_test_ids()[of == "captions"] if ids is None else ids, "ids")
    if len(place) != size:
        raise InputError(f"there are {len(place):,} ids of {of} but {size:,} rows of the similarity; give one each.")
    pairs = {(place[a], place[b]): score for (a, b), score in rated.items() if a in place and b in place}
    say_left_out(ratings_csv, counted(len(pairs), "rated pair"), {f"of other {of}": len(rated) - len(pairs)})
    matches = np.array([pair for pair, score in pairs.items() if score >= threshold]).reshape(-1, 2)
    if not len(matches):
        what = f"no pair rated {threshold:g} or more is of these {of} (the first id is {next(iter(place))})"
        raise InputError(what, where=ratings_csv, cure="give the ids of COCO")
    wanted = scipy.sparse.csr_array((np.ones(len(matches), dtype=bool), tuple(matches.T)), (size, size))
    wanted = wanted + wanted.T
    if image_of_caption is not None:
        owner = checked_pairing(image_of_caption, size)
        own = scipy.sparse.csr_array((np.ones(size, dtype=bool), (np.arange(size), owner)))
        wanted = wanted + own @ own.T
        wanted.setdiag(False)
    others = np.array(matrix, dtype=np.result_type(matrix.dtype, np.float32))
    np.fill_diagonal(others, np.finfo(others.dtype).min)  # last: an item does not retrieve itself
    found = recall_of_positives(others, Positives(wanted, wanted, own=scipy.sparse.csr_array((size, size))), ks)
    listed = np.array(list(pairs))
    likeness, ratings = others[listed[:, 0], listed[:, 1]], np.array(list(pairs.values()))
    varied = np.ptp(likeness) > 0 and np.ptp(ratings) > 0
    correlation = float(scipy.stats.spearmanr(likeness, ratings).statistic) if varied else float("nan")
    queries = int(np.count_nonzero(wanted.sum(axis=1)))
    values: dict[str, float] = {f"R@{k}": value for k, value in found.items()}
    return values | {"Spearman": correlation, "queries": queries, "pairs": len(pairs)}


def _rated(path: Path | str) -> tuple[str, dict[tuple[int, int], float]]:
    """Return what is rated, and the mean rating of each pair of ids, in the order in which it is listed first."""
    task, rows = _rows(path)
    if task not in _IDS:
        what = "it is not SIS or STS of Crisscrossed Captions, whose columns begin with image1 or caption1."
        raise InputError(what, where=path)
    scores: dict[tuple[int, int], list[float]] = {}
    for number, row in enumerate(rows, 2):
        where, pair = f"{path}, line {number}", []
        for column in TASKS[task][:2]:
            known = _IDS[task].fullmatch(row[column] or "")
            if known is None:
                expected = {"images": "COCO_val2014_<12 digits>.jpg", "captions": "COCO_val2014:sentid:<number>"}[task]
                raise InputError(f"{column} is '{str(row[column])[:60]}'; expected {expected}.", where=where)
            pair.append(int(known[1]))
        a, b = pair
        if a == b:
            raise InputError(f"it pairs {a} with itself", where=where, cure="fetch the file again")
        key = (b, a) if (b, a) in scores else (a, b)
        scores.setdefault(key, []).append(score_of(row["agg_score"] or "", where, "agg_score", 5.0))
    return task, {pair: sum(given) / len(given) for pair, given in scores.items()}


def read_contrasts(path: Path | str) -> tuple[NDArray[np.int64], list[str]]:
    """Read a CSV of indices into a similarity, from 0: Winoground's examples, or captions with foils (SugarCrepe).

    Args:
        path: The file, with the columns ``image_0``, ``image_1``, ``caption_0``, ``caption_1``, or ``image``,
            ``caption``, ``foil``; ``category`` may say which kind of example a line is.

    Returns:
        ``[examples, 4]`` or ``[examples, 3]`` indices in the order of these columns, and the category of each example;
        an empty text without that column.

    Raises:
        InputError: If the file is missing, has neither of these columns, a cell is not an index, or an example has one
            image or caption twice.
    """
    task, rows = _rows(path)
    if task in _IDS:
        expected = " or ".join(", ".join(TASKS[name]) for name in ("winoground", "foils"))
        raise InputError(f"it rates {task}; the columns {expected} are expected.", where=path)
    for number, row in enumerate(rows, 2):
        for column in TASKS[task]:
            if not re.fullmatch("[0-9]{1,12}", (row[column] or "").strip()):
                what = f"{column} is '{str(row[column])[:40]}'; it must be the index of a row or column, from 0."
                raise InputError(what, where=f"{path}, line {number}")
    indices = np.array([[int(row[column]) for column in TASKS[task]] for row in rows], dtype=np.int64)
    _refuse_twice(indices, path)
    return indices, [row.get("category") or "" for row in rows]


def pair_wins(similarity: ArrayLike, contrasts: ArrayLike) -> dict[str, NDArray[np.bool_]]:
    """Decide every example of Winoground (Thrush et al. 2022) or SugarCrepe (Hsieh et al. 2023); a tie is not a win.

    Args:
        similarity: ``[images, captions]``, larger is more similar; finite where an example looks.
        contrasts: ``[examples, 4]`` indices of image 0, image 1, caption 0 and caption 1, or ``[examples, 3]`` of an
            image, its caption and the foil, a caption.

    Returns:
        ``[examples]`` each; the mean is the score. Of four columns ``text`` (each image prefers its caption; by chance
        25 %), ``image`` (each caption prefers its image; 25 %) and ``group`` (both; 16.7 %); of three ``accuracy``
        (50 %).

    Raises:
        InputError: If an index is outside the similarity, an example has one image or caption twice, which nothing can
            win, or a shape or a value that is read is wrong.
    """
    matrix, given = checked_matrix(similarity), np.asarray(contrasts)
    if given.ndim != 2 or given.shape[1] not in (3, 4) or not len(given) or given.dtype.kind not in "iu":
        what = f"is {given.dtype} {list(given.shape)}; give whole numbers [examples, 3 or 4]."
        raise InputError(what, where=Argument("contrasts"))
    _refuse_twice(given, Argument("contrasts"))
    n_images = given.shape[1] - 2  # one or two, which stand first
    for columns, size, of in ((given[:, :n_images], matrix.shape[0], "images"),
                              (given[:, n_images:], matrix.shape[1], "captions")):  # fmt: skip
        if (wrong := np.argwhere((columns < 0) | (columns >= size))).size:
            example, column = wrong[0].tolist()
            what = f"example {example} names {columns[example, column]} but the similarity has {size} {of}, from 0."
            raise InputError(what, where=Argument("contrasts"))
    # [examples, images, captions]
    scores = np.asarray(matrix[given[:, :n_images, None], given[:, None, n_images:]])
    if not np.isfinite(scores).all():
        example = int(np.argwhere(~np.isfinite(scores))[0][0])
        raise InputError(f"is not finite where example {example} looks.", where=Argument("similarity"))
    if n_images == 1:
        return {"accuracy": scores[:, 0, 0] > scores[:, 0, 1]}
    text = (scores[:, 0, 0] > scores[:, 0, 1]) & (scores[:, 1, 1] > scores[:, 1, 0])
    image = (scores[:, 0, 0] > scores[:, 1, 0]) & (scores[:, 1, 1] > scores[:, 0, 1])
    return {"text": text, "image": image, "group": text & image}


def undecidable(similarity: ArrayLike, contrasts: ArrayLike) -> int:
    """Count examples of Winoground whose two images, or two captions, have equal scores, so that they cannot be won."""
    matrix, given = checked_matrix(similarity), np.asarray(contrasts)
    if given.shape[1] != 4:
        return 0
    scores = np.asarray(matrix[given[:, :2, None], given[:, None, 2:]])
    return int(((scores[:, 0] == scores[:, 1]).all(axis=1) | (scores[..., 0] == scores[..., 1]).all(axis=1)).sum())


def _refuse_twice(contrasts: NDArray[np.integer], where: Path | str) -> None:
    for columns, what in ((contrasts[:, :-2], "image"), (contrasts[:, -2:], "caption")):
        twice = np.flatnonzero((columns[:, 0] == columns[:, -1]) & (columns.shape[1] > 1))
        if len(twice):
            held = f"example {twice[0]} has {what} {columns[twice[0], 0]} twice, so that nothing can win it"
            raise InputError(held, where=where, cure=f"give two {what}s, or leave it out")


def task_of(path: Path | str) -> str:
    """Return the name in ``TASKS`` of the columns of a CSV; InputError if they are of none."""
    return _rows(path)[0]


def _rows(path: Path | str) -> tuple[str, list[dict[str, str]]]:
    text = text_of(read_bytes(path), path)
    separator = separator_of(text, lambda header: any(set(columns) <= set(header) for columns in TASKS.values())) or ","
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"it is not CSV ({error}).", where=path) from None
    if not rows:
        raise InputError("it has no line below a heading.", where=path)
    task = next((task for task, columns in TASKS.items() if set(columns) <= rows[0].keys()), None)
    if task is None:
        raise InputError(f"it lacks columns; expected {'; or '.join(map(', '.join, TASKS.values()))}.", where=path)
    return task, rows
