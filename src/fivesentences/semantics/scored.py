"""A phi that is not held: its rows are scored where they are read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.console import Bar
from fivesentences.semantics.references import ranges
from fivesentences.semantics.scoring import SECONDS_WITHOUT_BAR, Indices, Scorer, ahead, rows_at_once

PARTS = 8  # of what is scored at once, where few captions are


class Wanted:
    """Pairs of captions and images of which cells are wanted, by caption.

    Args:
        captions: ``[pairs]`` caption of each pair.
        n_captions: Captions that there are.
    """

    def __init__(self, captions: Indices, n_captions: int):
        self._order = np.argsort(captions, kind="stable")
        self._often = np.bincount(captions, minlength=n_captions)
        self._first = np.cumsum(self._often) - self._often

    def of(self, captions: Indices) -> tuple[Indices, Indices]:
        """Return the place among some captions, and the pair, of every pair that has one of them."""
        often = self._often[captions]
        return np.repeat(np.arange(len(captions)), often), self._order[ranges(self._first[captions], often)]


class ScoredPhi(Unheld):
    """phi ``[captions, images]`` of a scorer, in float32 as a matrix of ``matrix_of`` has it, to the bit.

    Args:
        scorer: The scorer.
        name: Its name, for progress.
        captions: ``[captions]`` which captions; default all.
        images: ``[images]`` which images; default all.
    """

    def __init__(self, scorer: Scorer, name: str, captions: Indices | None = None, images: Indices | None = None):
        shape = tuple(
            size if one is None else len(one) for one, size in zip((captions, images), scorer.shape, strict=True)
        )
        super().__init__((shape[0], shape[1]), np.float32)
        self.scorer, self.name = scorer, name
        self._captions, self._images = captions, images

    def part(self, rows: Indices | None, columns: Indices | None) -> ScoredPhi:
        """Return some captions and images; None stands for all."""
        captions = self._captions if rows is None else self._of_scorer(rows, self._captions)
        images = self._images if columns is None else self._of_scorer(columns, self._images)
        return ScoredPhi(self.scorer, self.name, captions, images)

    def cells(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Score ``[pairs]`` of captions and images; last digits may differ from those of whole rows."""
        pairs = self._of_scorer(rows, self._captions), self._of_scorer(columns, self._images)
        return self.scorer.pairs(*pairs).astype(np.float32)

    def read_cells(self, captions: Indices, images: Indices) -> NDArray[np.float32]:
        """Return ``[pairs]`` cells to the last digit, of one reading of all rows."""
        found, wanted = np.empty(len(captions), dtype=np.float32), Wanted(captions, self.shape[0])
        for some, rows in self.rows():
            row, pair = wanted.of(some)
            found[pair] = rows[row, images[pair]]
        return found

    def computed(self) -> NDArray[np.float32]:
        """Score all of it."""
        captions = np.arange(self.scorer.shape[0]) if self._captions is None else self._captions
        images = slice(None) if self._images is None else self._images
        wanted = np.zeros(self.scorer.shape[0], dtype=bool)
        wanted[captions] = True
        step = PARTS * rows_at_once(self.scorer.shape[1])
        order = np.concatenate([group[wanted[group]] for group in self.scorer.groups(step)])  # which is cheap to score
        result = np.empty(self.shape, dtype=np.float32)
        place = np.argsort(captions, kind="stable")
        for start in range(0, len(order), step):
            some = order[start : start + step]
            result[place[np.searchsorted(captions, some, sorter=place)]] = self.scorer.score(some)[:, images]
        return result

    def rows(self) -> Iterator[tuple[Indices, NDArray[np.float32]]]:
        """Yield indices of some captions, ascending, and their rows of phi, until all were read.

        Threads score the next rows meanwhile; if it takes long, a bar says how far it is.
        """
        n_captions, n_images = self.scorer.shape
        place = np.arange(n_captions)
        if self._captions is not None:
            place = np.full(n_captions, -1)
            place[self._captions] = np.arange(len(self._captions))

        def score(group: Indices) -> NDArray[np.float32]:
            kept = place[group] >= 0
            if not kept.any():
                return np.empty((0, self.shape[1]), dtype=np.float32)
            if self.scorer.scores_rows_alone:
                rows = self.scorer.score(group[kept]).astype(np.float32, copy=False)
            else:
                rows = self.scorer.score(group).astype(np.float32, copy=False)
                rows = rows if kept.all() else rows[kept]
            return rows if self._images is None else rows[:, self._images]

        with Bar(f"phi {self.name}", n_captions, delay=SECONDS_WITHOUT_BAR) as bar:
            for group, rows in ahead(score, self.scorer.groups(rows_at_once(n_images))):
                captions = place[group][place[group] >= 0]
                if (np.diff(captions) < 0).any():
                    order = np.argsort(captions)
                    captions, rows = captions[order], rows[order]
                if len(rows):
                    yield captions, rows
                bar.advance(len(group))

    @staticmethod
    def _of_scorer(some: Indices, chosen: Indices | None) -> Indices:
        return some if chosen is None else chosen[some]
