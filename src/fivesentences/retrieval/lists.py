"""The first items of every query, as search engines and vector databases return them, in place of a similarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
