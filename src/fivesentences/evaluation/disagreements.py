"""Queries on which recall and semantics, two models, or a loss and its control disagree, and some drawn at random.

Recall says of a query whether an own item is among the first k; NCS says how much of the phi that k items could have
they do have. Queries are chosen by rules over all queries of a split; the random ones show what is usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from fivesentences.retrieval.gallery import Gallery
from fivesentences.semantics import read_phi
from fivesentences.storage import write_json

if TYPE_CHECKING:
    from fivesentences.config.types import Direction

FORMAT = "fivesentences.disagreements 1"
CLOSE = 50.0  # NCS in percent
# In the order in which queries are listed; each contrast has a criterion of its own behind these.
MISSED, FOUND, EQUAL, NCS, RANK, CONTRAST, RANDOM = (
    *("missed_but_close", "found_but_far", "equal_by_recall", "models_by_ncs", "models_by_rank", "contrast"),
    "random",
)


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
        queries: How many each criterion chooses in a direction.
        at_random: How many are drawn in a direction.
        contrasts: Pairs of names of models.
        seed: Of the draw.
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
        see ``Answers.of``.

    Raises:
        InputError: If there is no model or no phi, a contrast names no model, or shapes are not the corpus's.
    """
    if not similarities or not phis:
        raise InputError(f"{len(similarities)} models and {len(phis)} phi are given; give at least one of each.")
    pairs = [(first, second) for first, second in contrasts]
    for name in (name for pair in pairs for name in pair):
        if name not in similarities:
            raise InputError(f"a contrast names '{name}', which is none of the models: {', '.join(similarities)}.")
    models, first_phi = list(similarities), next(iter(phis))
    first_gallery = Gallery.of(similarities[models[0]], corpus.image_of_caption, phis)
    galleries = [first_gallery, *(first_gallery.with_similarity(similarities[name]) for name in models[1:])]
    relevance = Relevance(first_gallery.phis[first_phi], first_gallery.image_of_caption)
    by_direction: dict[str, Any] = {}
    shown: list[dict[str, Any]] = []
    for direction in directions:
        side = checked_direction(direction)
        answers = [Answers(corpus, gallery, side, k, relevance) for gallery in galleries]
        choice = _Choice(corpus, side, answers, k)
        criteria = choice.of_models(queries) if len(models) > 1 else choice.of_each(queries)
        for pair in pairs:
            criteria.append(choice.of_contrast(queries, pair, [models.index(name) for name in pair]))
        criteria.append(choice.random(at_random, seed))
        chosen: dict[int, list[dict[str, Any]]] = {}
        for number, criterion in enumerate(criteria):
            values = criterion.pop("values")
            for place, query in enumerate(criterion.pop("chosen"), start=1):
                value = None if values is None else float(values[query])
                chosen.setdefault(query, []).append({"criterion": number, "place": place, "value": value})
        of_models = [choice.summary(number) for number in range(len(models))]
        by_direction[direction] = {"queries": choice.n_queries, "models": of_models, "criteria": criteria}
        for query, reasons in chosen.items():
            about = about_query(corpus, side, query)
            del about["words"]
            best = {name: choice.best_other(first_gallery.phis[name], query) for name in phis}
            shown.append(
                {"direction": direction, "query": query, **about, "chosen": reasons, "best_other": best}
                | {"answers": [_answer(one, query, list(phis)) for one in answers]}
            )
    return {
        "dataset": corpus.name,
        "split": corpus.splits[0],
        "images": corpus.n_images,
        "captions": corpus.n_captions,
        "k": k,
        "models": models,
        "contrasts": [list(pair) for pair in pairs],
        "phis": list(phis),
        "seed": seed,
        "tie_rule": TIE_RULE,
        "directions": by_direction,
        "queries": shown,
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
    """What ``write_disagreements`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not disagreements as this version finds them; make them again.")


class _Choice:
    """Queries of one direction, by criterion."""

    def __init__(self, corpus: Corpus, direction: Direction, answers: Sequence[Answers], k: int):
        self.corpus, self.direction, self.answers = corpus, direction, answers
        self.ncs = np.stack([one.ncs for one in answers])  # [models, queries]
        self.rank = np.stack([one.rank for one in answers])  # [models, queries]
        self.hit = self.rank <= k
        self.n_queries = self.ncs.shape[1]

    def of_each(self, queries: int) -> list[dict[str, Any]]:
        """Criteria that look at one model at a time."""
        close = np.where(self.hit, -np.inf, self.ncs).max(axis=0)
        far = np.where(self.hit, self.ncs, np.inf).min(axis=0)
        return [
            self._largest(MISSED, close, np.isfinite(close), queries),
            self._largest(FOUND, -far, np.isfinite(far), queries) | {"values": far},
        ]

    def of_models(self, queries: int) -> list[dict[str, Any]]:
        """These, and those that compare all models."""
        every = np.ones(self.n_queries, dtype=bool)
        own_items = np.stack([one.own_items for one in self.answers])  # [models, queries, k]
        equal = (own_items == own_items[0]).all(axis=(0, 2))
        spread, ratio = np.ptp(self.ncs, axis=0), self.rank.max(axis=0) / self.rank.min(axis=0)
        return [
            *self.of_each(queries),
            self._largest(EQUAL, spread, equal, queries),
            self._largest(NCS, spread, every, queries),
            self._largest(RANK, ratio, every, queries),
        ]

    def of_contrast(self, queries: int, names: Sequence[str], models: Sequence[int]) -> dict[str, Any]:
        """Two models, whichever is better."""
        difference = self.ncs[models[0]] - self.ncs[models[1]]
        found = self._largest(CONTRAST, np.abs(difference), np.ones(self.n_queries, dtype=bool), queries)
        better, worse = (int(np.count_nonzero(side)) for side in (difference > 0, difference < 0))
        about = {"models": list(names), "values": difference, "mean": float(difference.mean())}
        return found | about | {"first_better": better, "second_better": worse}

    def random(self, queries: int, seed: int) -> dict[str, Any]:
        """Some of all queries, which no model or phi has a say in."""
        draw = np.random.default_rng([seed, self.n_queries])
        some = draw.choice(self.n_queries, size=min(queries, self.n_queries), replace=False)
        chosen = [int(query) for query in some]
        return {"criterion": RANDOM, "models": [], "among": self.n_queries, "chosen": chosen, "values": None}

    def _largest(
        self, criterion: str, values: NDArray[np.float64], among: NDArray[np.bool_], queries: int
    ) -> dict[str, Any]:
        """The queries with the largest values, words that are shown already passed over."""
        possible = np.flatnonzero(among)
        chosen: list[int] = []
        described: set[str] = set()
        for query in possible[np.argsort(-values[possible], kind="stable")].tolist():
            if len(chosen) == queries:
                break
            words = about_query(self.corpus, self.direction, query)["words"]
            if words not in described:
                described.add(words)
                chosen.append(query)
        return {"criterion": criterion, "models": [], "among": len(possible), "chosen": chosen, "values": values}

    def summary(self, model: int) -> dict[str, Any]:
        """What a model reaches over all queries, and how often its recall and its NCS disagree."""
        missed, ncs = ~self.hit[model], self.ncs[model]
        return {
            "recall": 100.0 * float(self.hit[model].mean()),
            "ncs": float(ncs.mean()),
            "missed": int(np.count_nonzero(missed)),
            "close": int(np.count_nonzero(missed & (ncs >= CLOSE))),
        }

    def best_other(self, phi: NDArray[np.floating], query: int) -> float:
        """The largest phi between a query and an item that is not its own; 0 if every item is."""
        owner = self.corpus.image_of_caption
        if self.direction == "i2t":
            others = phi[owner != query, query]
        else:
            others = np.delete(np.asarray(phi[query]), owner[query])
        return float(others.max()) if len(others) else 0.0


def _answer(answers: Answers, query: int, phis: Sequence[str]) -> dict[str, Any]:
    """The answer of one model to one query."""
    return {
        "ncs": float(answers.ncs[query]),
        "rank": int(answers.rank[query]),
        "found": int(answers.found[query]),
        "of": int(answers.n_own[query]),
        "items": answers.of(query, phis),
    }
