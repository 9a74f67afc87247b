"""Similar merged scene-graph tuples: of the same length, and with similar concepts in every position.

Two concepts are similar if they share a word or a synset. A concept is similar to only a few others, so similar tuples
are found by a join: pairs of tuples that match in two positions, and among these the pairs that match in the third.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from fivesentences.semantics.references import chunks, ranges
from fivesentences.semantics.scene_graphs import Concepts, ConceptTuple

CANDIDATES_PER_STEP = 1_000_000  # of the join; about 50 MB

Ints = NDArray[np.int64]


def similar_tuples(
    test: list[ConceptTuple], reference: list[ConceptTuple], concepts: Concepts
) -> scipy.sparse.csr_array:
    """``[test tuples, reference tuples]`` 1 where two tuples are of the same length and similar in every position."""
    alike = _similar_concepts(test, reference, concepts)
    rows, columns = [], []
    for arity in (1, 2, 3):
        mine = np.array([index for index, one in enumerate(test) if len(one) == arity], dtype=np.int64)
        theirs = np.array([index for index, one in enumerate(reference) if len(one) == arity], dtype=np.int64)
        if len(mine) == 0 or len(theirs) == 0:
            continue
        left = np.array([test[index] for index in mine])
        right = np.array([reference[index] for index in theirs])
        # Objects first: few pairs of (subject, object) are similar, but many of (subject, relation).
        order = [0, 2, 1][:arity] if arity == 3 else list(range(arity))
        similar, left_key, right_key = alike, left[:, 0], right[:, 0]
        for position in order[1:]:
            left_pair, left_key = np.unique(np.stack([left_key, left[:, position]], 1), axis=0, return_inverse=True)
            right_pair, right_key = np.unique(np.stack([right_key, right[:, position]], 1), axis=0, return_inverse=True)
            similar = _joined(similar, alike, left_pair, right_pair)
        # Now every tuple has a key of its own: its position in sorted order.
        found = similar[left_key][:, right_key].tocoo()
        rows.append(mine[found.row])
        columns.append(theirs[found.col])
    row = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
    column = np.concatenate([*columns, np.zeros(0, dtype=np.int64)])
    return _ones(row, column, (len(test), len(reference)))


def _similar_concepts(
    test: list[ConceptTuple], reference: list[ConceptTuple], concepts: Concepts
) -> scipy.sparse.csr_array:
    """``[concepts, concepts]`` 1 where a concept of the tests shares a word or synset with one of the references."""
    feature: dict[str | int, int] = {}
    rows: tuple[list[int], list[int]] = ([], [])
    columns: tuple[list[int], list[int]] = ([], [])
    for side, tuples in enumerate((test, reference)):
        for concept in sorted({concept for one in tuples for concept in one}):
            names: list[str | int] = [*concepts.words[concept], *concepts.synsets[concept]]
            for name in names:
                rows[side].append(concept)
                columns[side].append(feature.setdefault(name, len(feature)))
    left, right = (
        _ones(np.array(row, dtype=np.int64), np.array(column, dtype=np.int64), (len(concepts), len(feature)))
        for row, column in zip(rows, columns, strict=True)
    )
    return scipy.sparse.csr_array(left @ right.T.tocsr())


def _joined(
    first: scipy.sparse.csr_array, second: scipy.sparse.csr_array, left: Ints, right: Ints
) -> scipy.sparse.csr_array:
    """Return ``[left pairs, right pairs]`` 1 where two pairs are similar in both positions.

    Args:
        first: Similarity in the first position.
        second: Similarity in the second position.
        left: ``[pairs, 2]`` row indices of ``first`` and ``second``.
        right: ``[pairs, 2]`` column indices of ``first`` and ``second``, sorted, every pair once.
    """
    width = int(right[:, 1].max()) + 1
    keys = right[:, 0].astype(np.int64) * width + right[:, 1]
    degrees = np.diff(first.indptr), np.diff(second.indptr)
    candidates = degrees[0][left[:, 0]].astype(np.int64) * degrees[1][left[:, 1]]
    rows, columns = [], []
    for pairs in chunks(candidates, CANDIDATES_PER_STEP):
        count = candidates[pairs]
        row = np.repeat(np.arange(pairs.start, pairs.stop), count)
        place = ranges(np.zeros_like(count), count)
        a, b = left[row, 0], left[row, 1]
        quotient, rest = np.divmod(place, np.maximum(1, degrees[1][b]))
        one = first.indices[first.indptr[a] + quotient].astype(np.int64)
        two = second.indices[second.indptr[b] + rest]
        known = two < width
        key = np.where(known, one * width + two, -1)
        column = np.searchsorted(keys, key)
        column[column == len(keys)] = 0
        good = keys[column] == key
        rows.append(row[good])
        columns.append(column[good])
    return _ones(np.concatenate(rows), np.concatenate(columns), (len(left), len(right)))


def _ones(row: Ints, column: Ints, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((np.ones(len(row), dtype=np.int32), (row, column)), shape=shape)
