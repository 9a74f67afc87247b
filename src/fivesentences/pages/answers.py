"""What models retrieve for every query, and the queries on which recall and phi, or two models, disagree.

Recall says of a query whether an own item is among the first k; NCS says how much of the phi that k items could have
they do have.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivesentences.metrics.ncs import released_ncs
from fivesentences.metrics.ranking import ranking_of
from fivesentences.metrics.relevance import Relevance
from fivesentences.metrics.relevance_in_blocks import RelevanceInBlocks
from fivesentences.metrics.values import after_policy
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.gallery import Gallery

# Criteria by which queries are chosen, in the order in which they are listed.
MISSED, FOUND, EQUAL = "missed_but_close", "found_but_far", "equal_by_recall"
NCS, RANK = "models_by_ncs", "models_by_rank"


class Answers:
    """The answers of one model.

    Args:
        gallery: Its similarity.
        direction: Side of the queries.
        k: Number of items that a query is answered with.
        relevance: Relevance of the gallery by the phi of NCS, which models share.

    Attributes:
        items: ``[queries, k]`` gallery indices, best first.
        own: ``[queries, k]`` True if the item is one of the query's own.
        own_items: ``[queries, k]`` own items among them, ordered by index, with -1 in all other places.
        found: ``[queries]`` number of own items among the first k.
        n_own: ``[queries]`` number of own items in the gallery.
        rank: ``[queries]`` rank of the best-placed own item; 1 is best.
        ncs: ``[queries]`` NCS at k in percent: released formula, own items kept, 0 where the ideal is 0.
        phi: ``[queries, k]`` phi between the query and each item.
    """

    def __init__(self, gallery: Gallery, direction: Direction, k: int, relevance: Relevance):
        ranking = ranking_of(gallery, direction, depth=k)
        if isinstance(relevance, RelevanceInBlocks):
            relevance.expect({direction: ranking})
        self.items, self.own, self.n_own = ranking.items, ranking.own, ranking.n_own
        self.own_items = np.sort(np.where(ranking.own, ranking.items, -1), axis=1)
        self.found: NDArray[np.int64] = ranking.own.sum(axis=1)
        self.rank: NDArray[np.int64] = ranking.ground_truth_rank + 1
        scores = released_ncs(ranking, relevance, (k,), keep_ground_truth=True)
        # The same items in another order add up to other last digits, by processor: rounded, two models tie everywhere.
        self.ncs: NDArray[np.float64] = np.round(100.0 * after_policy(scores[k], "zero", direction), 9)
        self.phi: NDArray[np.float64] = relevance.values(self.items, direction)


@dataclass(frozen=True)
class Criterion:
    """A reason to look at a query.

    Attributes:
        name: Its name.
        values: ``[queries]`` what is said of a query: an NCS, a difference between two, or a ratio of ranks.
        importance: ``[queries]`` the largest are chosen.
        among: ``[queries]`` True where it applies.
    """

    name: str
    values: NDArray[np.float64]
    importance: NDArray[np.float64]
    among: NDArray[np.bool_]


def criteria_of(answers: Sequence[Answers], k: int) -> list[Criterion]:
    """Return the criteria that look at one model at a time, and, where there are several, those that compare all.

    Args:
        answers: Answers of each model to the same queries.
        k: Cut-off of recall and NCS.
    """
    ncs = np.stack([one.ncs for one in answers])  # [models, queries]
    rank = np.stack([one.rank for one in answers])  # [models, queries]
    own_items = np.stack([one.own_items for one in answers])  # [models, queries, k]
    close = np.where(rank <= k, -np.inf, ncs).max(axis=0)
    far = np.where(rank <= k, ncs, np.inf).min(axis=0)
    every, spread = np.ones(ncs.shape[1], dtype=bool), np.ptp(ncs, axis=0)
    criteria = [
        Criterion(MISSED, close, close, np.isfinite(close)),
        Criterion(FOUND, far, -far, np.isfinite(far)),
    ]
    if len(answers) > 1:
        ratio = rank.max(axis=0) / rank.min(axis=0)
        criteria.append(Criterion(EQUAL, spread, spread, (own_items == own_items[0]).all(axis=(0, 2))))
        criteria += [Criterion(NCS, spread, spread, every), Criterion(RANK, ratio, ratio, every)]
    return criteria


def largest(
    values: NDArray[np.float64], among: NDArray[np.bool_], most: int, words_of: Callable[[int], Hashable]
) -> list[int]:
    """Return the queries with the largest values; equal ones by index.

    Args:
        values: ``[queries]``.
        among: ``[queries]`` True where a query may be chosen.
        most: The most queries.
        words_of: What a query says; one that says the same as an earlier one is passed over.
    """
    first: dict[Hashable, int] = {}
    possible = np.flatnonzero(among)
    for query in possible[np.argsort(-values[possible], kind="stable")].tolist():
        if len(first) == most:
            break
        first.setdefault(words_of(query), query)
    return list(first.values())
