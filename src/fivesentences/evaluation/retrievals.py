"""What two models retrieve for the same queries, where recall calls them equal and phi does not (after Figure 1).

Instance recall looks at the query's own items only. Two models that find the same own items of a query among their
first k are equal by recall, whatever else they return. This module finds the queries for which phi says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.corpus import Corpus
from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.evaluation.answers import Answers, about_query
from fivesentences.evaluation.matrix_files import read_similarity
from fivesentences.metrics import TIE_RULE
from fivesentences.metrics.relevance import Relevance
from fivesentences.retrieval.arguments import checked_direction
from fivesentences.retrieval.gallery import UNNAMED, Gallery
from fivesentences.semantics import read_phi
from fivesentences.storage import write_json

FORMAT = "fivesentences.retrievals 1"
OUTCOMES = ("neither", "both")  # of the models finds an own item among the first k
MUCH = 10.0  # points of NCS


def compare_retrievals(
    corpus: Corpus,
    similarities: Mapping[str, ArrayLike],
    phi: NDArray[np.floating],
    *,
    k: int = 5,
    directions: Sequence[str] = ("i2t", "t2i"),
    queries: int = 1,
) -> dict[str, Any]:
    """Queries that two models answer equally well by recall and most unequally by phi.

    Recall calls queries equal for which both models have the same own items, or none, among the first k. Both kinds
    of recall at k of Five Sentences (eq. 1 and 2) are equal there, so that any difference in NCS at k (released
    formula, own items kept) is due to items of other queries.

    Args:
        corpus: One split.
        similarities: ``[images, captions]`` of two models by name.
        phi: ``[captions, images]``.
        k: Cut-off.
        directions: ``"i2t"`` (queries are images) and ``"t2i"`` (captions).
        queries: How many of each direction and outcome are shown: those with the largest difference, whichever model
            it favours; equal differences by index, and queries whose words are shown already are skipped.

    Returns:
        ``dataset``, ``split``, ``k``, ``models`` (both names), ``tie_rule``, ``counts`` and ``chosen``.

        ``counts``: for each direction and outcome (own items found by ``neither`` or ``both``): ``queries``, ``equal``
        (those that recall calls equal), and among the equal ones ``first_better``, ``second_better`` (by NCS) and
        ``much`` (by 10 points or more). Queries for which only one model finds an own item count in neither outcome.

        ``chosen``: ``direction``, ``outcome``, ``query`` (index), ``image_id``, ``filename`` and ``captions`` (all of
        the image; for a caption query itself alone), and ``answers``: for each model ``ncs`` and ``items``, each with
        ``phi``, ``own``, and ``caption`` or ``filename`` and ``image_id``, best first.

    Raises:
        InputError: If there are not two models, or shapes are not the corpus's.
    """
    if len(similarities) != 2:
        raise InputError(f"retrievals of {len(similarities)} models cannot be compared; give two.")
    first_gallery = Gallery.of(next(iter(similarities.values())), corpus.image_of_caption, {UNNAMED: phi})
    galleries = [first_gallery, *(first_gallery.with_similarity(one) for one in list(similarities.values())[1:])]
    relevance = Relevance(first_gallery.phis[UNNAMED], first_gallery.image_of_caption)
    counts: dict[str, dict[str, dict[str, int]]] = {}
    chosen: list[dict[str, Any]] = []
    for direction in directions:
        side = checked_direction(direction)
        answers = [Answers(corpus, gallery, side, k, relevance) for gallery in galleries]
        first, second = answers
        difference = second.ncs - first.ncs
        equal = (first.own_items == second.own_items).all(axis=1)
        counts[direction] = {}
        for outcome in OUTCOMES:
            if outcome == "both":
                of_outcome = (first.found > 0) & (second.found > 0)
            else:
                of_outcome = (first.found == 0) & (second.found == 0)
            among = np.flatnonzero(of_outcome & equal)
            counts[direction][outcome] = {
                "queries": int(np.count_nonzero(of_outcome)),
                "equal": len(among),
                "first_better": int(np.count_nonzero(difference[among] < 0)),
                "second_better": int(np.count_nonzero(difference[among] > 0)),
                "much": int(np.count_nonzero(np.abs(difference[among]) >= MUCH)),
            }
            order = among[np.argsort(-np.abs(difference[among]), kind="stable")]
            described: set[str] = set()
            for query in order.tolist():
                about = about_query(corpus, side, query)
                if len(described) == queries or about["words"] in described:
                    continue
                described.add(about.pop("words"))
                chosen.append(
                    {"direction": direction, "outcome": outcome, "query": query, **about}
                    | {"answers": [_answer(one, query) for one in answers]}
                )
    return {
        "dataset": corpus.name,
        "split": corpus.splits[0],
        "images": corpus.n_images,
        "captions": corpus.n_captions,
        "k": k,
        "models": list(similarities),
        "tie_rule": TIE_RULE,
        "counts": counts,
        "chosen": chosen,
    }


def write_retrievals(
    corpus: Corpus, similarities: Mapping[str, Path | str], phi: Path | str, out: Path | str, **options: Any
) -> None:
    """Write what ``compare_retrievals`` finds for two runs' stored similarities as JSON.

    Raises:
        InputError: If a similarity is missing, damaged or of other images, or phi was made of other captions; see
            ``compare_retrievals``.
    """
    matrices = {name: read_similarity(Path(path), corpus) for name, path in similarities.items()}
    found = compare_retrievals(corpus, matrices, read_phi(phi, corpus.captions), **options)
    write_json(out, found | {"phi": Path(phi).stem, "format": FORMAT})


def read_retrievals(path: Path | str) -> dict[str, Any]:
    """What ``write_retrievals`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not retrievals as this version compares them; make them again.")


def _answer(answers: Answers, query: int) -> dict[str, Any]:
    """The answer of one model to one query, with what the figure shows of each item."""
    shown = "caption" if answers.direction == "i2t" else "filename"
    items = [
        {"phi": item["phi"][UNNAMED], **{key: item[key] for key in ("own", "image_id", shown)}}
        for item in answers.of(query, (UNNAMED,))
    ]
    return {"ncs": float(answers.ncs[query]), "items": items}
