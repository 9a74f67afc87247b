"""What a model answers to the queries of a split: its first items, which of them are own, and each query's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus import Corpus
from fivesentences.metrics.empty_queries import after_policy
from fivesentences.metrics.ncs import released_ncs
from fivesentences.metrics.ranking import ranking_of
from fivesentences.metrics.relevance import Relevance
from fivesentences.retrieval.gallery import Gallery

if TYPE_CHECKING:
    from fivesentences.config.types import Direction


class Answers:
    """The answers of one model.

    Args:
        corpus: One split.
        gallery: Its similarity, and every phi that ``of`` is asked for.
        direction: Which side the queries are.
        k: How many items each query is answered with.
        relevance: What the phi of NCS says of the gallery, which models share.

    Attributes:
        items: ``[queries, k]`` gallery indices, best first.
        own: ``[queries, k]`` whether the item is one of the query's own.
        own_items: ``[queries, k]`` own items among them, ordered by index, with -1 in all other places.
        found: ``[queries]`` how many own items there are among the first k.
        n_own: ``[queries]`` how many own items there are in the gallery.
        rank: ``[queries]`` of the best-placed own item; 1 is best.
        ncs: ``[queries]`` NCS at k in percent: released formula, own items kept, 0 where the ideal is 0.
    """

    def __init__(self, corpus: Corpus, gallery: Gallery, direction: Direction, k: int, relevance: Relevance):
        ranking = ranking_of(gallery, direction, depth=k)
        self.corpus, self.gallery, self.direction = corpus, gallery, direction
        self.items, self.own = ranking.items, ranking.own
        self.own_items = np.sort(np.where(ranking.own, ranking.items, -1), axis=1)
        self.found: NDArray[np.int64] = ranking.own.sum(axis=1)
        self.n_own: NDArray[np.int64] = ranking.n_own
        self.rank: NDArray[np.int64] = ranking.ground_truth_rank + 1
        scores = released_ncs(ranking, relevance, (k,), keep_ground_truth=True)
        self.ncs: NDArray[np.float64] = 100.0 * after_policy(scores[k], "zero", direction)

    def of(self, query: int, phis: Sequence[str]) -> list[dict[str, Any]]:
        """The items that a query is answered with, best first.

        Args:
            query: Its index.
            phis: Of the gallery.

        Returns:
            For each item ``own``, ``image_id`` and ``filename`` (of a caption: those of its image), ``caption`` (of an
            image: its first) and ``phi``: each by name, between the query and the item.
        """
        corpus, answered = self.corpus, []
        for item, own in zip(self.items[query].tolist(), self.own[query].tolist(), strict=True):
            if self.direction == "i2t":
                image, caption, cell = int(corpus.image_of_caption[item]), item, (item, query)
            else:
                image, caption, cell = item, int(np.argmax(corpus.image_of_caption == item)), (query, item)
            about = corpus.images.iloc[image]
            answered.append(
                {"own": own, "image_id": str(about["image_id"]), "filename": str(about["filename"])}
                | {"caption": corpus.captions[caption]}
                | {"phi": {name: float(self.gallery.phis[name][cell]) for name in phis}}
            )
        return answered


def about_query(corpus: Corpus, direction: Direction, query: int) -> dict[str, Any]:
    """What is told of a query.

    Returns:
        ``image_id``, ``filename``, ``captions`` (all of the image; for a caption query itself alone) and ``words``, by
        which queries that look alike are known: the caption, or the image's id.
    """
    image = query if direction == "i2t" else int(corpus.image_of_caption[query])
    own = np.flatnonzero(corpus.image_of_caption == image).tolist()
    captions = [corpus.captions[row] for row in own] if direction == "i2t" else [corpus.captions[query]]
    about = corpus.images.iloc[image]
    image_id = str(about["image_id"])
    words = image_id if direction == "i2t" else captions[0]
    return {"image_id": image_id, "filename": str(about["filename"]), "captions": captions, "words": words}
