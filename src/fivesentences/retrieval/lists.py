"""The first items of every query, as search engines and vector databases return them, in place of a similarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import Cure, InputError
from fivesentences.retrieval.arguments import Direction


@dataclass(frozen=True, eq=False)
class ItemLists:
    """The first items of every query by direction; what lies behind them is unknown.

    Attributes:
        shape: Images and captions of the gallery.
        items: By direction, ``[queries, K]`` gallery indices, best first.
        scores: By direction, ``[queries, K]``, descending.
        names: By direction, where the lists come from, for errors.
    """

    shape: tuple[int, int]
    items: Mapping[Direction, NDArray[np.int64]]
    scores: Mapping[Direction, NDArray[np.float64]]
    names: Mapping[Direction, str]

    ndim = 2
    dtype = np.dtype(np.float64)

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        i2t: tuple[ArrayLike, ArrayLike] | None = None,
        t2i: tuple[ArrayLike, ArrayLike] | None = None,
        names: Mapping[Direction, str] | None = None,
    ) -> ItemLists:
        """Check lists as ``index.search`` of faiss returns them, scores and indices.

        Args:
            shape: Images and captions of the gallery.
            i2t: ``[images, K]`` scores, largest first, and captions; -1 behind the end of a list. All lists are cut to
                the shortest.
            t2i: ``[captions, K]`` scores and images.
            names: Where the lists come from, for errors.

        Raises:
            InputError: If there are none, shapes disagree, an index is beyond the gallery or twice in a list, a list is
                empty, or a score is NaN or rises.
        """
        given: dict[Direction, Any] = {"i2t": i2t, "t2i": t2i}
        items: dict[Direction, NDArray[np.int64]] = {}
        scores: dict[Direction, NDArray[np.float64]] = {}
        called: dict[Direction, str] = {"i2t": "i2t", "t2i": "t2i"}
        called |= names or {}
        for side, (some, indices) in ((side, pair) for side, pair in given.items() if pair is not None):
            sizes = shape if side == "i2t" else shape[::-1]
            scores[side], items[side] = _checked(np.asarray(some), np.asarray(indices), sizes, called[side])
        if not items:
            raise InputError("there are no lists; give i2t, t2i or both, each as scores and indices.")
        return cls(shape, items, scores, {side: called[side] for side in items})

    @property
    def directions(self) -> list[Direction]:
        """The directions that there are lists of."""
        return list(self.items)

    @property
    def size(self) -> int:
        """Number of pairs of the gallery."""
        return self.shape[0] * self.shape[1]

    def check_reach(self, k: int) -> None:
        """Refuse a cut-off beyond the lists.

        Raises:
            InputError: If a list ends before it, and the gallery does not.
        """
        for direction, items in self.items.items():
            if items.shape[1] < min(k, self.shape[direction == "i2t"]):
                what = f"its shortest list has {items.shape[1]} items, and the largest cut-off is {k}"
                cure = Cure(f"search for {k} items, or lower ks", f"search for {k} items, or lower --ks")
                raise InputError(what, where=self.names[direction], cure=cure)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> ItemLists:
        parts = key if isinstance(key, tuple) else (key,)
        sizes = zip(parts, self.shape, strict=False)
        if all(isinstance(one, slice) and one.indices(size) == (0, size, 1) for one, size in sizes):
            return self
        what = "these lists are of one gallery, of which no part can be taken: the first items would be others"
        cure = "leave out --dataset and --first-captions, or give the similarity or embeddings"
        raise InputError(what, where=next(iter(self.names.values())), cure=cure)


def _checked(
    scores: NDArray[Any], items: NDArray[Any], sizes: tuple[int, int], name: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores and items of one direction, cut to the shortest list."""
    if items.ndim != 2 or items.shape != scores.shape or items.dtype.kind not in "iu" or scores.dtype.kind != "f":
        shapes = f"indices are {items.dtype} {list(items.shape)} and scores {scores.dtype} {list(scores.shape)}"
        raise InputError(f"{shapes}; both are [queries, K], whole numbers and floats.", where=name)
    if len(items) != sizes[0]:
        raise InputError(f"it has {len(items):,} lists, and there are {sizes[0]:,} queries.", where=name)
    items, scores = items.astype(np.int64), scores.astype(np.float64)
    there = items >= 0
    length = int(np.where(there.all(axis=1), items.shape[1], there.argmin(axis=1)).min(initial=items.shape[1]))
    if not length:
        raise InputError(f"query {int(there[:, 0].argmin())} has no item; search with every query.", where=name)
    items, scores = items[:, :length], scores[:, :length]
    ordered = np.sort(items, axis=1)
    rises = scores[:, 1:] > scores[:, :-1]
    wrong = {
        f"is beyond the {sizes[1]:,} items of the gallery": items >= sizes[1],
        "has the score NaN, which has no place in an order": np.isnan(scores),
        "has a higher score than the one before; save similarities, best first; for distances, such as of faiss's "
        "IndexFlatL2, their negatives": np.pad(rises, ((0, 0), (1, 0))),
    }
    for what, cells in wrong.items():
        for query, place in np.argwhere(cells)[:1].tolist():
            found = f"item {items[query, place]}, in place {place} of the list of query {query} (from 0)"
            raise InputError(f"{found}, {what}.", where=name)
    for query, place in np.argwhere(ordered[:, 1:] == ordered[:, :-1])[:1].tolist():
        what = f"item {ordered[query, place]} is twice in the list of query {query} (numbers from 0)"
        raise InputError(what, where=name, cure="write each item once, with its best score")
    return scores, items
