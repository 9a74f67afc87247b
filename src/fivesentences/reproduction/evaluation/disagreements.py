"""Queries on which recall and semantics, two models, or a loss and its control disagree, and some drawn at random.

Recall says of a query whether an own item is among the first k; NCS says how much of the phi that k items could have
they do have. Queries are chosen by rules over all queries of a split; the random ones show what is usual. Two models
that find the same own items of a query among their first k are equal by recall, whatever else they return (Figure 1 of
Five Sentences); ``compare_retrievals`` finds the queries for which phi says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.choices import each_once
from fivesentences.corpus import Corpus
from fivesentences.documents import read_formatted
from fivesentences.evaluation.matrix_files import read_similarity
from fivesentences.metrics import TIE_RULE
from fivesentences.metrics.relevance import Relevance
from fivesentences.pages.answers import Answers, criteria_of, largest
from fivesentences.retrieval.arguments import checked_direction
from fivesentences.retrieval.gallery import UNNAMED, Gallery
from fivesentences.semantics import read_phi
from fivesentences.storage import write_json

if TYPE_CHECKING:
    from fivesentences.config.types import Direction

FORMAT = "fivesentences.disagreements 1"
FORMAT_OF_RETRIEVALS = "fivesentences.retrievals 1"
CLOSE = 50.0  # NCS in percent
MUCH = 10.0  # points of NCS
# Listed behind the criteria of `pages.answers`; each contrast has one of its own.
CONTRAST, RANDOM = "contrast", "random"


@dataclass(frozen=True)
class _Split:
    """Images and captions of a split, their phi, and the galleries of all models, for queries of one direction."""

    corpus: Corpus
    galleries: Sequence[Gallery]
    direction: Direction

    def items(self, answers: Answers, query: int, phis: Sequence[str]) -> list[dict[str, Any]]:
        """Return what a query is answered with, best first.

        Returns:
            For each item ``own``, ``image_id`` and ``filename`` (of a caption: those of its image), ``caption`` (of an
            image: its first) and ``phi``: each by name, between the query and the item.
        """
        corpus, answered = self.corpus, []
        for item, own in zip(answers.items[query].tolist(), answers.own[query].tolist(), strict=True):
            if self.direction == "i2t":
                image, caption, cell = int(corpus.image_of_caption[item]), item, (item, query)
            else:
                image, caption, cell = item, int(np.argmax(corpus.image_of_caption == item)), (query, item)
            phi = {name: float(self.galleries[0].phis[name][cell]) for name in phis}
            answered.append({"own": own, **self._image(image), "caption": corpus.captions[caption], "phi": phi})
        return answered

    def about(self, query: int) -> dict[str, Any]:
        """Describe a query: ``image_id``, ``filename`` and ``captions`` (all of an image; a caption itself)."""
        is_image = self.direction == "i2t"
        image = query if is_image else int(self.corpus.image_of_caption[query])
        rows = np.flatnonzero(self.corpus.image_of_caption == query).tolist() if is_image else [query]
        about = {"direction": self.direction, "query": query}
        return about | self._image(image) | {"captions": [self.corpus.captions[row] for row in rows]}

    def largest(self, values: NDArray[np.float64], among: NDArray[np.bool_], most: int) -> list[int]:
        """Return the queries with the largest values; a caption with the words of an earlier one is passed over."""

        def words_of(query: int) -> str:
            return self._image(query)["image_id"] if self.direction == "i2t" else self.corpus.captions[query]

        return largest(values, among, most, words_of)

    def best_other(self, phi: str, query: int) -> float:
        """Return the largest phi between a query and an item that is not its own; 0 if every item is."""
        matrix, owner = self.galleries[0].phis[phi], self.corpus.image_of_caption
        is_image = self.direction == "i2t"
        others = matrix[owner != query, query] if is_image else np.delete(np.asarray(matrix[query]), owner[query])
        return float(others.max()) if len(others) else 0.0

    def _image(self, image: int) -> dict[str, str]:
        about = self.corpus.images.iloc[image]
        return {"image_id": str(about["image_id"]), "filename": str(about["filename"])}


def _galleries(
    corpus: Corpus, similarities: Mapping[str, ArrayLike], phis: Mapping[str, NDArray[np.floating]]
) -> tuple[list[Gallery], Relevance]:
    """Return the galleries of all models, which share phi, and what the first phi says of them."""
    first, *others = similarities.values()
    gallery = Gallery.of(first, corpus.image_of_caption, phis)
    relevance = Relevance(gallery.phis[next(iter(phis))], gallery.image_of_caption)
    return [gallery, *(gallery.with_similarity(one) for one in others)], relevance


def _about_split(corpus: Corpus, k: int, models: Iterable[str]) -> dict[str, Any]:
    return {
        "dataset": corpus.name, "split": corpus.splits[0], "images": corpus.n_images, "captions": corpus.n_captions,
        "k": k, "models": list(models), "tie_rule": TIE_RULE,
    }  # fmt: skip


def find_disagreements(
    corpus: Corpus,
    similarities: Mapping[str, ArrayLike],
    phis: Mapping[str, NDArray[np.floating]],
    *,
    k: int = 5,
    queries: int = 6,
    at_random: int = 12,
    contrasts: Iterable[Sequence[str]] = (),
    seed: int = 0,
    directions: Sequence[str] = ("i2t", "t2i"),
) -> dict[str, Any]:
    """Choose queries by each criterion, and collect what every model retrieves for them.

    The criteria, in every direction; equal values are ordered by index, and words that a criterion has shown already
    (the same caption of another image) are passed over:

    - ``missed_but_close``: a model has no own item among its first k; the largest NCS at k of such a model.
    - ``found_but_far``: a model has one; the smallest NCS at k of such a model.
    - ``equal_by_recall``: all models have the same own items, or none, among the first k; the largest difference
      between two models' NCS.
    - ``models_by_ncs``: the largest difference between two models' NCS.
    - ``models_by_rank``: the largest ratio of two models' ranks of the best-placed own item.
    - ``contrast``: the largest difference between the NCS of the two models of a contrast, whichever it favours.
    - ``random``: drawn from all queries; the draw depends on the seed and the number of queries alone.

    Those that compare models are left out where there is only one.

    Args:
        corpus: One split.
        similarities: ``[images, captions]`` of each model, by its name.
        phis: ``[captions, images]`` by name; NCS is computed with the first, the others are shown.
        k: Cut-off.
        queries: Number of queries that each criterion chooses in a direction.
        at_random: Number of queries that are drawn in a direction.
        contrasts: Pairs of names of models.
        seed: Seed of the draw.
        directions: ``"i2t"`` (queries are images) and ``"t2i"`` (captions).

    Returns:
        ``dataset``, ``split``, ``images``, ``captions``, ``k``, ``models`` (names), ``contrasts``, ``phis`` (names),
        ``seed``, ``tie_rule``, ``directions`` and ``queries``.

        ``directions``: for each ``queries`` (how many there are), ``models`` (for each ``recall`` and ``ncs``, means in
        percent; ``missed``: queries without an own item among the first k; ``close``: those of them whose NCS is at
        least 50, so that the k items have half of the phi that any k could have) and ``criteria``: for each
        ``criterion``, ``models`` (the two of a contrast, else empty), ``among`` (how many queries it applies to) and,
        for a contrast, ``first_better``, ``second_better`` and ``mean`` (NCS of the first minus that of the second,
        over all queries).

        ``queries``: each chosen query once: ``direction``, ``query`` (index), ``image_id``, ``filename``, ``captions``
        (all of an image), ``chosen`` (the places of its criteria in ``criteria``, with ``place`` from 1 and ``value``,
        null for a random one), ``best_other`` (the largest phi of an item that is not its own, by phi) and ``answers``:
        for each model ``ncs``, ``rank``, ``found`` and ``of`` (own items among the first k, and in all) and ``items``,
        see ``_Split.items``.

    Raises:
        InputError: If shapes are not the corpus's.
    """
    models, names = list(similarities), list(phis)
    pairs = [list(pair) for pair in each_once(map(tuple, contrasts))]
    galleries, relevance = _galleries(corpus, similarities, phis)
    by_direction: dict[str, Any] = {}
    shown: list[dict[str, Any]] = []
    for direction in each_once(directions):
        side = checked_direction(direction)
        split = _Split(corpus, galleries, side)
        answers = [Answers(gallery, side, k, relevance) for gallery in galleries]
        found: list[tuple[dict[str, Any], list[int], NDArray[np.float64] | None]] = []
        for one in criteria_of(answers, k):
            about = {"criterion": one.name, "models": [], "among": int(np.count_nonzero(one.among))}
            found.append((about, split.largest(one.importance, one.among, queries), one.values))
        for pair in pairs:  # two models, whichever is better
            difference = answers[models.index(pair[0])].ncs - answers[models.index(pair[1])].ncs
            better, worse = (int(np.count_nonzero(sign)) for sign in (difference > 0, difference < 0))
            about = {"criterion": CONTRAST, "models": pair, "among": len(difference), "mean": float(difference.mean())}
            about |= {"first_better": better, "second_better": worse}
            chosen = split.largest(np.abs(difference), np.ones(len(difference), dtype=bool), queries)
            found.append((about, chosen, difference))
        total = len(answers[0].ncs)
        draw = np.random.default_rng([seed, total]).choice(total, size=min(at_random, total), replace=False)
        found.append(({"criterion": RANDOM, "models": [], "among": total}, draw.tolist(), None))
        reasons: dict[int, list[dict[str, Any]]] = {}
        for number, (_, chosen, values) in enumerate(found):
            for place, query in enumerate(chosen, start=1):
                value = None if values is None else float(values[query])
                reasons.setdefault(query, []).append({"criterion": number, "place": place, "value": value})
        of_models = [_summary(one.ncs, one.rank <= k) for one in answers]
        by_direction[direction] = {"queries": total, "models": of_models, "criteria": [about for about, *_ in found]}
        for query, why in reasons.items():
            best = {name: split.best_other(name, query) for name in names}
            of_each = [
                {
                    "ncs": float(one.ncs[query]), "rank": int(one.rank[query]), "found": int(one.found[query]),
                    "of": int(one.n_own[query]), "items": split.items(one, query, names),
                }
                for one in answers
            ]  # fmt: skip
            shown.append(split.about(query) | {"chosen": why, "best_other": best, "answers": of_each})
    about = {"contrasts": pairs, "phis": names, "seed": seed}
    return _about_split(corpus, k, models) | about | {"directions": by_direction, "queries": shown}


def _summary(ncs: NDArray[np.float64], hit: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what a model reaches over all queries, and how often its recall and its NCS disagree."""
    return {
        "recall": 100.0 * float(hit.mean()),
        "ncs": float(ncs.mean()),
        "missed": int(np.count_nonzero(~hit)),
        "close": int(np.count_nonzero(~hit & (ncs >= CLOSE))),
    }


def write_disagreements(
    corpus: Corpus,
    similarities: Mapping[str, Path | str],
    phis: Mapping[str, Path | str],
    out: Path | str,
    **options: Any,
) -> None:
    """Write what ``find_disagreements`` finds in stored similarities and phi matrices as JSON.

    Raises:
        InputError: If a similarity is missing, damaged or of other images, or a phi was made of other captions; see
            ``find_disagreements``.
    """
    matrices = {name: read_similarity(Path(path), corpus) for name, path in similarities.items()}
    read = {name: read_phi(path, corpus.captions) for name, path in phis.items()}
    write_json(out, find_disagreements(corpus, matrices, read, **options) | {"format": FORMAT})


def read_disagreements(path: Path | str) -> dict[str, Any]:
    """Read what ``write_disagreements`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not disagreements as this version finds them; make them again.")


def compare_retrievals(
    corpus: Corpus,
    similarities: Mapping[str, ArrayLike],
    phi: NDArray[np.floating],
    *,
    k: int = 5,
    directions: Sequence[str] = ("i2t", "t2i"),
    queries: int = 1,
) -> dict[str, Any]:
    """Find queries that two models answer equally well by recall and most unequally by phi.

    Recall calls queries equal for which both models have the same own items, or none, among the first k. Both kinds
    of recall at k of Five Sentences (eq. 1 and 2) are equal there, so that any difference in NCS at k (released
    formula, own items kept) is due to items of other queries.

    Args:
        corpus: One split.
        similarities: ``[images, captions]`` of two models by name.
        phi: ``[captions, images]``.
        k: Cut-off.
        directions: ``"i2t"`` (queries are images) and ``"t2i"`` (captions).
        queries: Number of queries shown of each direction and outcome: those with the largest difference, whichever
            model it favours; equal differences by index, and queries whose words are shown already are skipped.

    Returns:
        ``dataset``, ``split``, ``k``, ``models`` (both names), ``tie_rule``, ``counts`` and ``chosen``.

        ``counts``: for each direction and outcome (own items found by ``neither`` or ``both``): ``queries``, ``equal``
        (those that recall calls equal), and among the equal ones ``first_better``, ``second_better`` (by NCS) and
        ``much`` (by 10 points or more). Queries for which only one model finds an own item count in neither outcome.

        ``chosen``: ``direction``, ``outcome``, ``query`` (index), ``image_id``, ``filename`` and ``captions`` (all of
        the image; for a caption query itself alone), and ``answers``: for each model ``ncs`` and ``items``, each with
        ``phi``, ``own``, and ``caption`` or ``filename`` and ``image_id``, best first.

    Raises:
        InputError: If shapes are not the corpus's.
    """
    galleries, relevance = _galleries(corpus, similarities, {UNNAMED: phi})
    counts: dict[str, dict[str, dict[str, int]]] = {}
    chosen: list[dict[str, Any]] = []
    for direction in each_once(directions):
        split = _Split(corpus, galleries, checked_direction(direction))
        first, second = (Answers(gallery, split.direction, k, relevance) for gallery in galleries)
        shown = ("own", "image_id", "caption" if direction == "i2t" else "filename")
        difference = second.ncs - first.ncs
        equal = (first.own_items == second.own_items).all(axis=1)
        # Of two models, how many find an own item among the first k.
        outcomes = {"neither": (first.found == 0) & (second.found == 0), "both": (first.found > 0) & (second.found > 0)}
        counts[direction] = {}
        for outcome, has_outcome in outcomes.items():
            among = has_outcome & equal
            counts[direction][outcome] = {
                "queries": int(np.count_nonzero(has_outcome)),
                "equal": int(np.count_nonzero(among)),
                "first_better": int(np.count_nonzero(difference[among] < 0)),
                "second_better": int(np.count_nonzero(difference[among] > 0)),
                "much": int(np.count_nonzero(np.abs(difference[among]) >= MUCH)),
            }
            for query in split.largest(np.abs(difference), among, queries):
                answers = []
                for one in (first, second):
                    items = split.items(one, query, (UNNAMED,))
                    cut = [{"phi": item["phi"][UNNAMED], **{key: item[key] for key in shown}} for item in items]
                    answers.append({"ncs": float(one.ncs[query]), "items": cut})
                chosen.append(split.about(query) | {"outcome": outcome, "answers": answers})
    return _about_split(corpus, k, similarities) | {"counts": counts, "chosen": chosen}


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
    write_json(out, found | {"phi": Path(phi).stem, "format": FORMAT_OF_RETRIEVALS})


def read_retrievals(path: Path | str) -> dict[str, Any]:
    """Read what ``write_retrievals`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(
        path, FORMAT_OF_RETRIEVALS, "these are not retrievals as this version compares them; make them again."
    )
