"""Recall and NCS over cut-offs, with intervals and what chance reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.evaluation.protocols import Protocol, ProtocolScorer
from fivesentences.metrics import Evaluation
from fivesentences.metrics.comparison import paired_tests
from fivesentences.retrieval.arguments import DIRECTIONS, Direction
from fivesentences.retrieval.gallery import Gallery
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.rescoring import Inference

GRID = (1, 2, 5, 10, 20, 50, 100)  # cut-offs of curves
RESAMPLES, CONFIDENCE = 2_000, 0.95  # of their intervals


@dataclass(frozen=True)
class Line:
    """A metric of a model over cut-offs.

    Attributes:
        metric: ``"R"``, or ``"NCS"`` of the first phi.
        ground_truth: ``"kept"`` or ``"removed"`` of NCS; empty of recall.
        direction: Side of the queries.
        ks: Cut-offs.
        values: Percent at each.
        low: Lower ends of their intervals, by a bootstrap over images, each with its captions; None if there are none.
        high: Upper ends.
        chance: What a ranking in random order reaches on average.
    """

    metric: str
    ground_truth: str
    direction: Direction
    ks: tuple[int, ...]
    values: list[float]
    low: list[float | None]
    high: list[float | None]
    chance: list[float]


def curves_of(
    found: Evaluation,
    chance: Evaluation,
    image_of_caption: NDArray[np.int64],
    directions: Sequence[Direction],
    ks: Sequence[int],
    phi: str | None,
) -> list[Line]:
    """Return recall and NCS over cut-offs, with intervals by a bootstrap over images.

    Args:
        found: Numbers of a model, with the values of every query.
        chance: What a random ranking reaches.
        image_of_caption: ``[captions]`` image of each caption.
        directions: Sides of the queries.
        ks: Cut-offs that were scored.
        phi: Name of the phi of NCS; None without one.
    """
    kinds = [("R", "R", "", "")]
    kinds += [] if phi is None else [("NCS", "N", phi, kept) for kept in ("kept", "removed")]
    rows = {(row["metric"], row["direction"], row["phi"], row["ground_truth"]): row for row in found.queries}
    by_chance = {
        (row["metric"], row["direction"], row["phi"], row["ground_truth"]): row["value"] for row in chance.values
    }
    lines = []
    for side in directions:
        scored = found.scored[side]
        clusters = scored if side == "i2t" else image_of_caption[scored]
        # Lists of first items do not reach every cut-off without own items.
        known = [
            (name, kept, [k for k in ks if (f"{short}@{k}", side, of, kept) in rows], (short, of))
            for name, short, of, kept in kinds
        ]
        keys = [(f"{short}@{k}", side, of, kept) for _, kept, reached, (short, of) in known for k in reached]
        values = np.stack([rows[key]["values"] for key in keys])
        how = {"method": "bootstrap", "resamples": RESAMPLES, "confidence": CONFIDENCE}
        found_at = iter(paired_tests(values, np.zeros_like(values), clusters=clusters, **how))  # type: ignore[arg-type]
        expected = iter(by_chance[key] for key in keys)
        for name, kept, reached, _ in known:
            tests = [next(found_at) for _ in reached]
            lines.append(
                Line(
                    name, kept, side, tuple(reached), [one.difference for one in tests], [one.low for one in tests],
                    [one.high for one in tests], [next(expected) for _ in reached],
                )
            )  # fmt: skip
    return lines


class Curves:
    """Recall and NCS over cut-offs of several models, under a protocol, for a figure alone.

    Args:
        gallery: Images, captions and phi; NCS is by the first phi, if there is one.
        protocol: How the gallery is cut; None: it is one.
    """

    def __init__(self, gallery: Gallery, protocol: Protocol | None = None):
        lists = gallery.similarity if isinstance(gallery.similarity, ItemLists) else None
        self.phi = next(iter(gallery.phis), None)
        most = min(reach_of(gallery), gallery.n_images if protocol is None else protocol.gallery)
        self.ks = tuple(k for k in GRID if k <= most)
        self.directions: list[Direction] = list(DIRECTIONS if lists is None else lists.directions)
        self._scorer = ProtocolScorer(gallery, protocol, ks=self.ks, ms=(), asp_ties=())
        self.lines: dict[str, list[Line]] = {}

    def add(self, name: str, gallery: Gallery, t2i: Gallery | None, inference: Inference) -> None:
        """Score a model; arguments as those of ``ProtocolScorer``."""
        found = self._scorer(gallery, t2i=t2i, inference=inference, queries=True)
        owner, chance = self._scorer.whole.image_of_caption, self._scorer.by_chance()
        self.lines[name] = curves_of(found, chance, owner, self.directions, self.ks, self.phi)

    def write(self, path: Path) -> None:
        """Draw all models (needs matplotlib).

        Raises:
            InputError: If the file cannot be written.
        """
        from fivesentences.pages.figures import draw_curves, save_figure

        save_figure(draw_curves(self.lines, self.phi), path)


def reach_of(gallery: Gallery) -> int:
    """Return how deep rankings are read: to the smaller side of the gallery, and not beyond the end of lists."""
    lists = gallery.similarity if isinstance(gallery.similarity, ItemLists) else None
    return min(gallery.n_images, *([one.shape[1] for one in lists.items.values()] if lists else [gallery.n_captions]))
