"""Queries on which recall and semantics, two models, or a loss and its control disagree, and some drawn at random.

Recall says of a query whether an own item is among the first k; NCS says how much of the phi that k items could have
they do have. Queries are chosen by rules over all queries of a split; the random ones show what is usual. Two models
that find the same own items of a query among their first k are equal by recall, whatever else they return (Figure 1 of
Five Sentences); ``compare_retrievals`` finds the queries for which phi says otherwise.
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
from fivesentences.evaluation.matrix_files import read_similarity
from fivesentences.metrics import TIE_RULE
from fivesentences.metrics.empty_queries import after_policy
from fivesentences.metrics.ncs import released_ncs
from fivesentences.metrics.ranking import ranking_of
from fivesentences.metrics.relevance import Relevance
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
OUTCOMES = ("neither", "both")  # of two models finds an own item among the first k
# In the order in which queries are listed; each contrast has a criterion of its own behind these.
MISSED, FOUND, EQUAL, NCS, RANK, CONTRAST, RANDOM = (
    *("missed_but_close", "found_but_far", "equal_by_recall", "models_by_ncs", "models_by_rank", "contrast"),
    "random",
)


class Answers:
    """The answers of one model.

    Args:
        corpus: One split.
        gallery: Its similarity, and every phi that ``items_of`` is asked for.
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

    def items_of(self, query: int, phis: Sequence[str]) -> list[dict[str, Any]]:
        """The items that a query is answered with, best first.

        Args:
            query: Its index.
            phis: Names of phi matrices of the gallery.

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
            answered.append(
                {"own": own, **_image(corpus, image), "caption": corpus.captions[caption]}
                | {"phi": {name: float(self.gallery.phis[name][cell]) for name in phis}}
            )
        return answered


def _image(corpus: Corpus, image: int) -> dict[str, str]:
    about = corpus.images.iloc[image]
    return {"image_id": str(about["image_id"]), "filename": str(about["filename"])}


def _about_query(corpus: Corpus, direction: Direction, query: int) -> dict[str, Any]:
    """Describe a query: ``image_id``, ``filename`` and ``captions`` (all of an image; of a caption itself alone)."""
    if direction == "t2i":
        return {**_image(corpus, int(corpus.image_of_caption[query])), "captions": [corpus.captions[query]]}
    own = np.flatnonzero(corpus.image_of_caption == query).tolist()
    return {**_image(corpus, query), "captions": [corpus.captions[row] for row in own]}


def _first_of_each_text(corpus: Corpus, direction: Direction, queries: Iterable[int], most: int) -> list[int]:
    """The first queries in this order; a caption with the words of an earlier one is passed over."""
    first: dict[str, int] = {}
    for query in queries:
        if len(first) == most:
            break
        words = str(corpus.images["image_id"].iloc[query]) if direction == "i2t" else corpus.captions[query]
        first.setdefault(words, query)
    return list(first.values())


def _galleries(
    corpus: Corpus, similarities: Mapping[str, ArrayLike], phis: Mapping[str, NDArray[np.floating]]
) -> tuple[list[Gallery], Relevance]:
    """The galleries of all models, which share phi, and what the first phi says of them."""
    first, *others = similarities.values()
    gallery = Gallery.of(first, corpus.image_of_caption, phis)
    relevance = Relevance(gallery.phis[next(iter(phis))], gallery.image_of_caption)
    return [gallery, *(gallery.with_similarity(one) for one in others)], relevance


def _about_split(corpus: Corpus, k: int, models: Iterable[str]) -> dict[str, Any]:
    return {
        "dataset": corpus.name,
        "split": corpus.splits[0],
        "images": corpus.n_images,
        "captions": corpus.n_captions,
        "k": k,
        "models": list(models),
        "tie_rule": TIE_RULE,
    }


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
        see ``Answers.items_of``.

    Raises:
        InputError: If a contrast names no model, or shapes are not the corpus's.
    """
    pairs = [(first, second) for first, second in contrasts]
    if unknown := [name for pair in pairs for name in pair if name not in similarities]:
        raise InputError(f"a contrast names '{unknown[0]}', which is none of the models: {', '.join(similarities)}.")
    models = list(similarities)
    galleries, relevance = _galleries(corpus, similarities, phis)
    by_direction: dict[str, Any] = {}
    shown: list[dict[str, Any]] = []
    for direction in directions:
        side = checked_direction(direction)
        answers = [Answers(corpus, gallery, side, k, relevance) for gallery in galleries]
        choice = _Choice(corpus, side, answers, k, queries)
        criteria = choice.of_models()
        criteria += [choice.of_contrast(pair, [models.index(name) for name in pair]) for pair in pairs]
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
            best = {name: choice.best_other(galleries[0].phis[name], query) for name in phis}
            about = {"direction": direction, "query": query, **_about_query(corpus, side, query)}
            of_each = [
                {
                    "ncs": float(one.ncs[query]),
                    "rank": int(one.rank[query]),
                    "found": int(one.found[query]),
                    "of": int(one.n_own[query]),
                    "items": one.items_of(query, list(phis)),
                }
                for one in answers
            ]
            shown.append(about | {"chosen": reasons, "best_other": best, "answers": of_each})
    about = {"contrasts": [list(pair) for pair in pairs], "phis": list(phis), "seed": seed}
    return _about_split(corpus, k, models) | about | {"directions": by_direction, "queries": shown}


class _Choice:
    """Queries of one direction, by criterion."""

    def __init__(self, corpus: Corpus, direction: Direction, answers: Sequence[Answers], k: int, queries: int):
        self.corpus, self.direction, self.answers, self.queries = corpus, direction, answers, queries
        self.ncs = np.stack([one.ncs for one in answers])  # [models, queries]
        self.rank = np.stack([one.rank for one in answers])  # [models, queries]
        self.hit = self.rank <= k
        self.n_queries = self.ncs.shape[1]
        self.every = np.ones(self.n_queries, dtype=bool)

    def of_models(self) -> list[dict[str, Any]]:
        """Criteria that look at one model at a time, and those that compare several."""
        close = np.where(self.hit, -np.inf, self.ncs).max(axis=0)
        far = np.where(self.hit, self.ncs, np.inf).min(axis=0)
        found = [
            self._largest(MISSED, close, np.isfinite(close)),
            self._largest(FOUND, -far, np.isfinite(far)) | {"values": far},
        ]
        if len(self.answers) == 1:
            return found
        own_items = np.stack([one.own_items for one in self.answers])  # [models, queries, k]
        equal = (own_items == own_items[0]).all(axis=(0, 2))
        spread, ratio = np.ptp(self.ncs, axis=0), self.rank.max(axis=0) / self.rank.min(axis=0)
        return [
            *found,
            self._largest(EQUAL, spread, equal),
            self._largest(NCS, spread, self.every),
            self._largest(RANK, ratio, self.every),
        ]

    def of_contrast(self, names: Sequence[str], models: Sequence[int]) -> dict[str, Any]:
        """Two models, whichever is better."""
        difference = self.ncs[models[0]] - self.ncs[models[1]]
        found = self._largest(CONTRAST, np.abs(difference), self.every)
        better, worse = (int(np.count_nonzero(side)) for side in (difference > 0, difference < 0))
        about = {"models": list(names), "values": difference, "mean": float(difference.mean())}
        return found | about | {"first_better": better, "second_better": worse}

    def random(self, queries: int, seed: int) -> dict[str, Any]:
        """Some of all queries, chosen without regard to models and phi."""
        draw = np.random.default_rng([seed, self.n_queries])
        some = draw.choice(self.n_queries, size=min(queries, self.n_queries), replace=False)
        chosen = [int(query) for query in some]
        return {"criterion": RANDOM, "models": [], "among": self.n_queries, "chosen": chosen, "values": None}

    def _largest(self, criterion: str, values: NDArray[np.float64], among: NDArray[np.bool_]) -> dict[str, Any]:
        """The queries with the largest values; words that are shown already are passed over."""
        possible = np.flatnonzero(among)
        order = possible[np.argsort(-values[possible], kind="stable")].tolist()
        chosen = _first_of_each_text(self.corpus, self.direction, order, self.queries)
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
    galleries, relevance = _galleries(corpus, similarities, {UNNAMED: phi})
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
            hits = [one.found > 0 if outcome == "both" else one.found == 0 for one in answers]
            of_outcome = hits[0] & hits[1]
            among = np.flatnonzero(of_outcome & equal)
            counts[direction][outcome] = {
                "queries": int(np.count_nonzero(of_outcome)),
                "equal": len(among),
                "first_better": int(np.count_nonzero(difference[among] < 0)),
                "second_better": int(np.count_nonzero(difference[among] > 0)),
                "much": int(np.count_nonzero(np.abs(difference[among]) >= MUCH)),
            }
            order = among[np.argsort(-np.abs(difference[among]), kind="stable")].tolist()
            for query in _first_of_each_text(corpus, side, order, queries):
                about = {
                    "direction": direction,
                    "outcome": outcome,
                    "query": query,
                    **_about_query(corpus, side, query),
                }
                chosen.append(about | {"answers": [_shown(one, query) for one in answers]})
    return _about_split(corpus, k, similarities) | {"counts": counts, "chosen": chosen}


def _shown(answers: Answers, query: int) -> dict[str, Any]:
    """NCS and items of one model's answer to one query, with what the figure shows of each item."""
    kept = ("own", "image_id", "caption" if answers.direction == "i2t" else "filename")
    items = answers.items_of(query, (UNNAMED,))
    shown = [{"phi": item["phi"][UNNAMED], **{key: item[key] for key in kept}} for item in items]
    return {"ncs": float(answers.ncs[query]), "items": shown}


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
