"""Rankings and ground truth in TREC's formats, which ranx, trec_eval and ir-measures read.

A run has lines ``query Q0 item rank score tag``, rank from 1; qrels have lines ``query 0 item 1``. These programs sort
a run by its scores again and order equal ones by the item's name, so the scores that are written decrease strictly:
each is the model's as float32, or the next smaller float32 after the score before it. Their ranking is ours then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.errors import Cure, InputError
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.metrics.in_blocks import ReadBefore, reading_of
from fivesentences.metrics.ranking import blocks_of_queries
from fivesentences.retrieval.blocks import best_first
from fivesentences.retrieval.gallery import Gallery, Similarity
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.products import Products
from fivesentences.retrieval.rescoring import Inference
from fivesentences.storage import replacing

if TYPE_CHECKING:
    from fivesentences.config.types import Direction

DEPTH = 100
GRADES = 1000  # of the largest phi
_LARGEST = 0x7F7FFFFF  # bits of the largest float32


def trec_ids(ids: Sequence[str] | None, number: int, letter: str, where: str = "ids") -> list[str]:
    """Return names of images or captions that can stand in a TREC file.

    Args:
        ids: Their ids; default the letter and the index from 0.
        number: Number of images or captions.
        letter: ``i`` for images, ``c`` for captions.
        where: Their file, for messages.

    Raises:
        InputError: If one is empty or holds a space, or two are equal.
    """
    if ids is None:
        return [f"{letter}{index}" for index in range(number)]
    first: dict[str, int] = {}
    for index, name in enumerate(ids):
        if name.split() != [name]:
            what = f"id {index} is {name!r}; the columns of a TREC file are words without spaces."
            raise InputError(what, where=where)
        if first.setdefault(name, index) != index:
            what = f"ids {first[name]} and {index} are both {name!r}; every item of a TREC file needs its own name."
            raise InputError(what, where=where)
    return list(ids)


def write_run(
    path: Path | str,
    scorer: ProtocolScorer,
    similarity: Similarity,
    direction: Direction,
    image_ids: Sequence[str],
    caption_ids: Sequence[str],
    *,
    inference: Inference | str = "naive",
    depth: int | None = DEPTH,
    tag: str = "fivesentences",
    progress: Callable[[], object] | None = None,
) -> None:
    """Write the ranking of every query that the protocol scores, within its gallery.

    Args:
        path: The file.
        scorer: Images, captions and protocol.
        similarity: ``[images, captions]``, larger is more similar.
        direction: Side of the queries.
        image_ids: ``[images]`` names, as ``trec_ids`` returns them.
        caption_ids: ``[captions]`` names.
        inference: How each gallery is read.
        depth: Number of items of each ranking; None for all.
        tag: The name of the run in its last column; spaces become ``_``.
        progress: Called after each gallery.

    Raises:
        InputError: If the similarity does not fit, or the file cannot be written.
    """
    how = Inference.of(inference)
    word = re.sub(r"\s+", "_", tag.strip()) or "run"
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for (images, captions), gallery in zip(_indices(scorer), scorer.galleries(similarity), strict=True):
            names = [image_ids[at] for at in images], [caption_ids[at] for at in captions]
            queries, items = names if direction == "i2t" else names[::-1]
            ((_, read),) = how.read(gallery, [direction])
            for part, order, scores in _first_items(read, direction, min(depth or len(items), len(items))):
                written = strictly_decreasing(scores)
                for at, row, values in zip(range(part.start, part.stop), order.tolist(), written.tolist(), strict=True):
                    query = queries[at]
                    ranks = enumerate(zip(row, values, strict=True), start=1)
                    file.writelines(
                        f"{query} Q0 {items[item]} {rank} {value:.9g} {word}\n" for rank, (item, value) in ranks
                    )
            if progress is not None:
                progress()


def write_qrels(
    path: Path | str,
    scorer: ProtocolScorer,
    direction: Direction,
    image_ids: Sequence[str],
    caption_ids: Sequence[str],
    *,
    phi: str | None = None,
) -> None:
    """Write which items of its gallery are each query's own, or their phi, for every query that the protocol scores.

    Grades of TREC are whole numbers, so a pair's phi is written in ``GRADES`` parts of the largest phi of the matrix
    (of the query, where all of its own would be rounded to 0), and a pair of grade 0 not at all. nDCG with linear gains
    is ours but for this rounding. A query whose phi is 0 everywhere has one line of grade 0: without any, other
    programs would leave it out of their means.

    Args:
        path: The file.
        scorer: Images, captions and protocol, and phi matrices.
        direction: Side of the queries.
        image_ids: ``[images]`` names, as ``trec_ids`` returns them.
        caption_ids: ``[captions]`` names.
        phi: Name of a matrix, whose values are written; None: own items have grade 1.

    Raises:
        InputError: If the file cannot be written.
    """
    owner = scorer.whole.image_of_caption
    given = None if phi is None else scorer.whole.phis[phi]
    if isinstance(given, Unheld):
        what = f"phi {phi} is read in blocks, and its grades take a whole matrix"
        raise InputError(what, where=str(path), cure=Cure("pass a matrix", "give --whole"))
    matrix = None if given is None else np.asarray(given)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for images, captions in _indices(scorer):
            names = [image_ids[at] for at in images], [caption_ids[at] for at in captions]
            queries, items = names if direction == "i2t" else names[::-1]
            if matrix is None:
                own = np.stack([owner[captions] - images[0], np.arange(len(captions))])
                query, item = own[:, np.argsort(own[0], kind="stable")] if direction == "i2t" else own[::-1]
                pairs = zip(query.tolist(), item.tolist(), strict=True)
                file.writelines(f"{queries[one]} 0 {items[another]} 1\n" for one, another in pairs)
                continue
            gains, unit = matrix[np.ix_(captions, images)].astype(float), GRADES / float(matrix.max())
            for query, row in zip(queries, gains.T if direction == "i2t" else gains, strict=True):
                largest = row.max()
                grades = np.rint(row * (unit if largest * unit > 0.5 else GRADES / (largest or 1))).astype(int)
                listed = np.flatnonzero(grades) if largest else [0]
                file.writelines(f"{query} 0 {items[item]} {grades[item]}\n" for item in listed)


def _first_items(
    read: Gallery, direction: Direction, depth: int
) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.floating]]]:
    """Yield some queries, their first items and the scores of these."""
    matrix = read.similarity
    if isinstance(matrix, ItemLists):
        items, scores = matrix.items[direction], matrix.scores[direction]
        yield slice(0, len(items)), items[:, :depth], scores[:, :depth]
    elif isinstance(matrix, Products | ReadBefore):
        best = reading_of(matrix, read.image_of_caption, depth).best[direction]
        yield slice(0, len(best.items)), best.items[:, :depth], best.scores[:, :depth]
    else:
        for part, block in blocks_of_queries(matrix, direction):
            order = best_first(block, depth)
            yield part, order, np.take_along_axis(block, order, axis=1)


def strictly_decreasing(scores: NDArray) -> NDArray[np.float32]:
    """Return float32 scores, each smaller than the one before it, as near to the given ones as that allows.

    Args:
        scores: ``[queries, depth]``, finite, largest first.

    Returns:
        ``[queries, depth]``. Where float32 has no such numbers (scores beyond 3e38), depth, depth - 1, ..., 1.
    """
    with np.errstate(over="ignore"):
        bits = np.ascontiguousarray(scores, dtype=np.float32).view(np.int32).astype(np.int64)
    # float32 in the order of whole numbers, both zeros at 0.
    place = np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))
    steps = np.arange(scores.shape[1])
    place = np.minimum.accumulate(place + steps, axis=1) - steps
    if place.size and (place.max() > _LARGEST or place.min() < -_LARGEST):
        return np.broadcast_to(np.arange(scores.shape[1], 0, -1, dtype=np.float32), scores.shape)
    back = np.where(place >= 0, place, np.int64(0x80000000) | -place).astype(np.uint32)
    return back.view(np.float32)


def _indices(scorer: ProtocolScorer) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the images and captions of each gallery, as indices of the file."""
    every = np.arange(scorer.whole.n_captions)
    for images, captions, _ in scorer.parts:
        yield np.arange(images.start, images.stop), every[captions]
