"""What a number hangs on: ties, chance, a gallery smaller than the cut-off, queries that have nothing to find."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.metrics import metric_of, shown_name
from fivesentences.errors import Cure
from fivesentences.metrics.in_blocks import ReadBefore
from fivesentences.metrics.ranking import Ranking, rank
from fivesentences.metrics.values import percent
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.repeated_rows import all_equal, rows_behind, tolerance, twins

SHOWN = 0.005  # percentage points that change the last digit of a table
BLOCK, SMALLEST_BLOCK = 1_200, 16  # rows and columns of a similarity whose rank is looked at
BEYOND = 1.01  # more than a cosine
LOW_RANK, GROWTH, ENOUGH_RANK = 1e-3, 8, 0.9  # pivots that count as rounding, and the share that does not
DEVIATIONS = 3.0  # standard errors from the mean rank of a random order
TIED = {"captions": "an own caption ties with one of another image", "images": "the own image ties with another"}
Flags = NDArray[np.bool_]
ALWAYS_LEFT_OUT = ("labels", "lists of positives")  # what metrics need that leave queries out, whatever the policy
Kind = tuple[str, str, str]  # metric, phi, ground truth


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the own items of queries stand in the rankings of one direction.

    Attributes:
        ahead: ``[queries]`` items that score higher than the best own item.
        tied: ``[queries]`` items of others that score as high as it.
        n_own: ``[queries]`` own items.
        n_gallery: ``[queries]`` items of the gallery.
        nothing: By metric, phi and ground truth (as in ``MetricValue``), ``[queries]`` which have nothing to find.
        everything: ``[queries]`` which have every item of the gallery in their category; False without categories.
        interleaved: ``[queries]`` whether own items stand far better if captions are taken to be in the order a, b, c,
            a, b, c instead of blocks.
    """

    ahead: NDArray[np.int64]
    tied: NDArray[np.int64]
    n_own: NDArray[np.int64]
    n_gallery: NDArray[np.int64]
    nothing: Mapping[Kind, Flags] = field(default_factory=dict)
    everything: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))
    interleaved: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        matrix: NDArray,
        pairing: NDArray[np.int64],
        nothing: Mapping[Kind, Flags],
        everything: Flags,
    ) -> Placement:
        """Read a ranking of a gallery.

        Args:
            ranking: The ranking, with the ranks of the ground truth.
            matrix: ``[images, captions]`` that was ranked.
            pairing: ``[captions]`` image of each caption.
            nothing: As the attribute.
            everything: As the attribute.
        """
        n_gallery = np.full(len(ranking.n_own), ranking.n_gallery)
        placed = cls(ranking.ahead, ranking.tied, ranking.n_own, n_gallery)
        times = len(pairing) // len(matrix)
        other = np.tile(np.arange(len(matrix)), times)
        in_blocks = times > 1 and np.array_equal(pairing, np.repeat(np.arange(len(matrix)), times))
        found = False
        can_turn = in_blocks and not isinstance(matrix, ReadBefore)
        if can_turn and (placed.deviations or -np.inf) > -DEVIATIONS:
            turned = rank(matrix, other, ranking.direction, 1)
            found = (cls(turned.ahead, turned.tied, turned.n_own, n_gallery).deviations or 0.0) < -2 * DEVIATIONS
        interleaved = np.full(len(n_gallery), found)
        return replace(placed, nothing=nothing, everything=everything, interleaved=interleaved)

    @classmethod
    def joined(cls, several: Sequence[Placement]) -> Placement:
        """Return the placements of several galleries as one."""
        found: dict[str, Any] = {}
        for name in (one.name for one in fields(cls)):
            values = [getattr(one, name) for one in several]
            if isinstance(values[0], Mapping):
                found[name] = {key: np.concatenate([one[key] for one in values]) for key in values[0]}
            else:
                found[name] = np.concatenate(values)
        return cls(**found)

    @property
    def deviations(self) -> float | None:
        """Mean rank of the best own item, in standard errors from that of a random order; None for few queries.

        Ties count half. The smallest of ``m`` of ``n`` places, from 0, has the mean (n - m) / (m + 1) and the variance
        m (n + 1) (n - m) / ((m + 1)^2 (m + 2)).
        """
        n, m = self.n_gallery.astype(np.float64), self.n_own.astype(np.float64)
        mean, variance = (n - m) / (m + 1), m * (n + 1) * (n - m) / ((m + 1) ** 2 * (m + 2))
        error = float(np.sqrt(variance.sum()))
        if error == 0 or mean.sum() / error < 2 * DEVIATIONS:  # even a perfect order would not stand out
            return None
        return float((self.ahead + self.tied / 2 - mean).sum() / error)

    @property
    def ranks_well(self) -> bool:
        """True if own items rank far better than by chance."""
        return (self.deviations or 0.0) <= -2 * DEVIATIONS


def notes_of(
    placements: Mapping[Direction, Placement], ks: Sequence[int], ms: Sequence[int] = (), empty: str = "zero"
) -> list[str]:
    """Return sentences on what the numbers of each direction hang on; none where they hang on nothing.

    Args:
        placements: Where own items stand, by direction.
        ks: Cut-offs.
        ms: Sizes of the relevant set of semantic recall.
        empty: What queries without anything to find count.
    """
    notes = []
    for side, placed in placements.items():
        words = ("images", "captions") if side == "i2t" else ("captions", "images")
        found = (
            _on_order(placed, ks, *words),
            _on_gallery(placed, ks, ms, words[1]),
            _on_nothing(placed, words[0], empty),
        )
        notes += [f"{side}: {sentence}" for sentence in itertools.chain(*found)]
    return notes


def _on_order(placed: Placement, ks: Sequence[int], queries: str, items: str) -> Iterator[str]:
    """Yield sentences on ties and chance."""
    constant = (placed.ahead == 0) & (placed.tied == placed.n_gallery - placed.n_own) & (placed.tied > 0)
    if constant.any():
        number = f"{constant.sum():,} of {len(constant):,} {queries}"
        yield f"{number} score all {items} equally, so that as queries they rank by index alone."
    if constant.all():
        return
    ranges = []
    for k in ks:
        low = percent((placed.ahead + placed.tied < k).astype(np.float64))
        high = percent((placed.ahead < k).astype(np.float64))
        if high - low >= SHOWN:
            ranges.append(f"R@{k} from {low:.2f} to {high:.2f}")
    if ranges:
        share = percent((placed.tied > 0).astype(np.float64))
        yield (
            f"for {share:.1f}% of the queries, {TIED[items]}, and only the order of equal scores separates them: "
            f"{', '.join(ranges)}; save scores in a finer type."
        )
    deviations = placed.deviations
    if deviations is None or deviations < -DEVIATIONS:
        return
    if placed.interleaved.any():
        yield (
            f"own {items} rank no better than chance: captions come one for each image, then the second for each; "
            "reorder them, or say which image each belongs to (image_of_caption; --image-of-caption FILE)."
        )
    elif deviations > DEVIATIONS:
        yield f"own {items} rank worse than chance: larger must mean more similar; negate distances."
    else:
        yield f"own {items} rank no better than chance: check that captions are in the order of their images."


def _on_gallery(placed: Placement, ks: Sequence[int], ms: Sequence[int], items: str) -> Iterator[str]:
    """Yield a sentence on cut-offs that the gallery does not reach."""
    smallest = int(placed.n_gallery.min())
    if trivial := [f"R@{k}" for k in ks if k >= smallest] + [f"SR m={m}" for m in ms if m >= smallest]:
        names = f"{', '.join(trivial)} and all others at this cut-off"
        yield f"the gallery has {smallest} {items}, so that {names} are the same for every model."
    if placed.everything.any():
        number = f"{placed.everything.sum():,} of {len(placed.everything):,} queries"
        yield f"{number} find all {items} in their category, so that mAP and R-P of these are 1 for every model."


def _on_nothing(placed: Placement, queries: str, empty: str) -> Iterator[str]:
    """Yield sentences on queries that have nothing to find, by a phi or a list."""
    alike: dict[tuple[int, str, bool], list[str]] = {}
    for (metric, phi, truth), nothing in placed.nothing.items():
        if nothing.any():
            of = alike.setdefault((int(nothing.sum()), phi, metric_of(metric).needs in ALWAYS_LEFT_OUT), [])
            of.append(f"{shown_name(metric)} {truth}".strip())
    for (number, phi, left_out), metrics in alike.items():
        verb = "has" if number == 1 else "have"
        what = f"{number:,} of {len(placed.ahead):,} {queries} {verb} nothing to find by {', '.join(metrics)}"
        words = ("it is left out", "it counts 0") if number == 1 else ("they are left out", "they count 0")
        end = words[0] if left_out or empty == "skip" else words[1]
        yield f"{what}{f' (phi {phi})' if phi else ''}; there {end}."


def note_on_products(matrix: NDArray, name: object) -> list[str]:
    """Return a sentence on a similarity that looks like products of embeddings; none where it does not.

    It does if scores reach beyond 1 and a part of it has a lower rank than rows and columns, unlike the scores of a
    network that reads an image and a caption together. Scaled cosines look alike, so the sentence is conditional.
    """
    side = min(*matrix.shape, BLOCK)
    if matrix.dtype.kind != "f" or side < SMALLEST_BLOCK:
        return []
    block = np.asarray(matrix[:side, :side], dtype=np.float64)
    if not np.isfinite(block).all() or (block == np.trunc(block)).all():
        return []
    largest, spread = float(block.max()), float(block.std())
    if largest <= BEYOND or spread == 0:
        return []
    import scipy.linalg  # takes a fifth of a second

    pivots = np.abs(np.diagonal(scipy.linalg.lu(block, permute_l=True)[1]))  # at the end those of rounding alone
    rounding = np.finfo(matrix.dtype).eps * np.sqrt((block**2).mean())
    if (pivots > LOW_RANK * spread + GROWTH * rounding).mean() > ENOUGH_RANK:
        return []
    return [
        f"{name} reaches {largest:,.1f} and looks like products of embeddings. Unless these were normalised, their "
        f"cosine gives other numbers; give the embeddings: {Cure('evaluate(images, texts)', 'IMAGES,TEXTS')}."
    ]


def note_on_equal_rows(matrix: NDArray, name: object) -> list[str]:
    """Return a sentence on images whose scores equal those of another, where there are any."""
    if isinstance(matrix, ReadBefore):
        return []  # its parts say so
    matrix = rows_behind(matrix)
    other = twins(matrix)
    rows = np.flatnonzero(other >= 0)
    if not len(rows) or all_equal(matrix, tolerance(matrix)):  # of constant scores there is a sentence already
        return []
    pair = " and ".join(map(str, sorted((int(rows[0]), int(other[rows[0]])))))
    number = f"{len(rows):,} of {len(matrix):,} images"
    return [f"{name}: {number} have the scores of another up to rounding, such as {pair}: the same photograph twice?"]
