"""Galleries of every kind of trouble, and the metrics as plain Python loops, written from their definitions."""

from __future__ import annotations

import math
import statistics
import sys
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from fivesentences.metrics import Positives

EPSILON = 1e-10
ZETAS = (0, 1, 2)
KINDS = (
    "random", "unequal captions", "captions out of order", "one image", "one pair", "two images", "one caption each",
    "more than 30 images", "ties", "signed zeros", "all equal", "duplicated columns", "zero columns", "zero rows",
    "sparse phi", "float16", "float32", "whole numbers", "half precision ties", "large and small",
    "unlabelled", "unlabelled and ties", "unlabelled first and last", "all alike",
)  # fmt: skip

QUICK = ("captions out of order", "one pair", "ties", "zero columns", "half precision ties", "unlabelled and ties")


@pytest.fixture(scope="session")
def slow() -> ModuleType:
    """The functions and classes of this file."""
    return sys.modules[__name__]


@pytest.fixture(params=[pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.slow) for kind in KINDS])
def case(request: pytest.FixtureRequest) -> Case:
    """A gallery of every kind of trouble."""
    return made(request.param)


@dataclass
class Case:
    """A gallery, and everything that an evaluation can read besides."""

    similarity: np.ndarray
    phi: np.ndarray
    pairing: np.ndarray
    labels: np.ndarray
    categories: list[Any]
    caption_categories: list[Any]
    positives: Positives

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of an Evaluator that reports every metric."""
        return {
            "phis": {"phi": self.phi},
            "image_of_caption": self.pairing,
            "labels": self.labels,
            "categories": self.categories,
            "caption_categories": self.caption_categories,
            "positives": {"ECCV": self.positives},
        }


def made(kind: str) -> Case:
    """A gallery with one kind of trouble."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    counts = {"one image": [5], "one pair": [1], "two images": [5] * 2, "one caption each": [1] * 12}
    counts["more than 30 images"] = [2] * 37
    counts["unequal captions"] = counts["captions out of order"] = [1, 7, 3, 5, 5, 2, 1, 4, 6]
    of_images = counts.get(kind, [5] * 8)
    pairing = np.repeat(np.arange(len(of_images)), of_images)
    if kind == "captions out of order":
        pairing = rng.permutation(pairing)
    n_images, n_captions = int(pairing.max()) + 1, len(pairing)
    similarity = rng.normal(size=(n_images, n_captions))
    phi = np.maximum(0, rng.normal(size=(n_captions, n_images)))
    labels = (rng.random((n_images, 6)) < 0.3).astype(int)
    labels[0, 0] = 1
    categories, captions = (rng.integers(0, 4, size).astype(object) for size in (n_images, n_captions))
    captions[0] = categories[0]
    if "ties" in kind:
        similarity, phi = np.round(similarity), np.round(phi)
    if kind == "signed zeros":
        similarity = rng.choice([0.0, -0.0, 1.0], size=similarity.shape)
    if kind == "all equal":
        similarity, phi = np.full_like(similarity, 0.25), np.eye(n_images)[pairing]
    if kind == "duplicated columns":
        similarity, phi = np.repeat(similarity[:, ::5], 5, axis=1), np.repeat(phi[:, ::2], 2, axis=1)
    if kind == "one pair":
        phi = np.ones_like(phi)
    if kind == "zero columns":
        phi[:, [2, 5]] = 0
    if kind == "zero rows":
        phi[10:16] = 0
    if kind == "sparse phi":
        phi *= rng.random(phi.shape) < 0.15
    if kind in ("float16", "float32"):
        similarity, phi, labels = similarity.astype(kind), phi.astype(kind), labels.astype(kind)
    if kind == "whole numbers":
        similarity, phi, labels = np.round(9 * similarity).astype(int), phi > 1, labels.astype(bool)
    if kind == "half precision ties":
        similarity, phi = (similarity * 0.01 + 8).astype(np.float16), phi.astype(np.float16)
    if kind == "large and small":
        similarity = similarity * 10.0 ** rng.integers(-200, 200, size=similarity.shape)
    if kind.startswith("unlabelled"):
        labels[[1, 2]], categories[[0, 4]], captions[[3, 8]] = 0, None, None
        categories[3], captions[7] = 17, 18  # alone in a category
    if kind == "unlabelled first and last":
        labels[[0, -1]], labels[5] = 0, 1
    if kind == "all alike":
        labels[:], categories[:], captions[:] = labels[0], 5, 5
    i2t, t2i = (rng.random(similarity.shape) < share for share in (0.1, 0.06))
    i2t[-1], t2i[:, -1] = False, False  # queries without a positive, if there are others
    i2t[0, 0] = t2i[0, 0] = True
    own = np.zeros(i2t.shape)  # drawn lists know nothing of captions' own images
    positives = Positives(i2t, t2i, rng.integers(0, 3, n_images) * i2t.any(axis=1), own=own)
    return Case(similarity, phi, pairing, labels, categories.tolist(), captions.tolist(), positives)


def ranked(scores):
    """All items, larger scores first, equal ones by index."""
    return sorted(range(len(scores)), key=lambda item: (-float(scores[item]), item))


@dataclass
class Query:
    """One query: its scores, its phi, its own items and its image."""

    scores: list
    phi: list
    own: set
    image: int
    number: int
    order: list = field(init=False)
    best: list = field(init=False)

    def __post_init__(self):
        self.order, self.best = ranked(self.scores), ranked(self.phi)

    def retrieved(self, keep):
        """All items in the model's order, without the query's own unless kept."""
        return self.order if keep else [item for item in self.order if item not in self.own]

    def ideal(self, keep):
        return self.best if keep else [item for item in self.best if item not in self.own]


@dataclass(eq=False)
class Definitions:
    """Every metric of one direction: a list with a value per query, None for a query that has nothing to find."""

    case: Case
    direction: str

    @cached_property
    def queries(self):
        similarity, phi, pairing = self.case.similarity, self.case.phi, self.case.pairing
        n_images, n_captions = similarity.shape
        if self.direction == "i2t":
            own = [set(np.flatnonzero(pairing == image).tolist()) for image in range(n_images)]
            return [Query(list(similarity[i]), list(phi[:, i]), own[i], i, i) for i in range(n_images)]
        return [
            Query(list(similarity[:, c]), list(phi[c]), {int(pairing[c])}, int(pairing[c]), c)
            for c in range(n_captions)
        ]

    def of(self, row):
        """The values that a row of ``Evaluator.per_query`` should have."""
        name, _, k = row["metric"].rpartition("@")
        name, k = (name, int(k)) if k.isdigit() else (row["metric"], 0)
        keep, m = row["ground_truth"] == "kept", row["m"]
        if name == "N":
            return self.ncs(k, row["formula"], keep, m or None, row["discount"])
        if name == "SR":
            return self.semantic_recall(k, row["formula"], keep, m, row["style"], row["weighting"])
        if name == "mAP" or name == "mAP@R":
            return self.average_precision(k or ("R" if name == "mAP@R" else None))
        return {
            "R": lambda: [100.0 * any(item in query.own for item in query.order[:k]) for query in self.queries],
            "true R": lambda: [
                100.0 * len(query.own & set(query.order[:k])) / len(query.own) for query in self.queries
            ],
            "Mean r": self.ranks,
            "nDCG": lambda: self.ndcg(k),
            "ASP": lambda: self.asp(row["formula"]),
            "PMRP": lambda: [
                None if of[0] is None else 100 * sum(of) / len(of) for of in zip(*self.pmrp(), strict=True)
            ],
            "R-P": self.r_precision,
            "ECCV R": lambda: self.of_positives(lambda hits, r: 100.0 * any(hits[:k])),
            "ECCV R-P": lambda: self.of_positives(lambda hits, r: sum(hits[:r]) / r),
            "ECCV mAP@R": lambda: self.of_positives(
                lambda hits, r: sum(sum(hits[: at + 1]) / (at + 1) for at in range(min(r, len(hits))) if hits[at]) / r
            ),
        }[name]()

    def of_positives(self, value):
        """A value of each query from whether each item is positive, best first, and how many positives there are."""
        of, i2t = self.case.positives, self.direction == "i2t"
        pairs, outside = (of.i2t.toarray(), of.outside_i2t) if i2t else (of.t2i.toarray().T, of.outside_t2i)
        numbers = pairs.sum(axis=1) + outside
        return [
            value([pairs[q.number, item] for item in q.order], int(r)) if r else None
            for q, r in zip(self.queries, numbers, strict=True)
        ]

    def ndcg(self, k):
        def discounted(query, items):
            return sum(float(query.phi[item]) / math.log2(p + 2) for p, item in enumerate(items[:k]))

        ideals = [discounted(query, query.ideal(True)) for query in self.queries]
        found = [discounted(query, query.retrieved(True)) for query in self.queries]
        return [one / ideal if ideal else None for one, ideal in zip(found, ideals, strict=True)]

    def ranks(self):
        return [1 + min(query.order.index(item) for item in query.own) for query in self.queries]

    def median_and_mean_rank(self):
        found = self.ranks()
        return math.floor(statistics.median(found) - 1) + 1, sum(found) / len(found)

    def ncs(self, k, formula, keep, m, discount):
        values = []
        for query in self.queries:
            retrieved, best = query.retrieved(keep)[:k], query.ideal(keep)
            phi = [float(value) for value in query.phi]
            if formula == "paper":
                best = set(best[: m or k])
                possible = sum(phi[item] for item in best)
                gained = sum(phi[item] for item in retrieved if item in best)
                values.append(100.0 * gained / possible if possible else None)
                continue
            best = best[:k]
            weight = (lambda p: math.log2(k - p + 1)) if discount == "log" else (lambda p: 1.0)
            ideal = sum(weight(p) * phi[item] for p, item in enumerate(best)) / max(1, len(best))
            gained = sum(weight(p) * phi[item] for p, item in enumerate(retrieved)) / max(1, len(retrieved))
            values.append(100.0 * gained / (ideal + EPSILON) if ideal else None)
        return values

    @cache  # noqa: B019
    def neighbours(self, keep):
        """Per image: images in order of the phi summed over the 30-image lists of its captions, and the sums."""
        phi, found = self.case.phi, []
        for image in range(phi.shape[1]):
            total = {}
            for caption in np.flatnonzero(self.case.pairing == image):
                for other in ranked(phi[caption])[:30]:
                    total[other] = total.get(other, 0.0) + float(phi[caption, other])
            if not keep:
                total.pop(image, None)
            found.append(([other for _, other in sorted((-of, other) for other, of in total.items())], total))
        return found

    def semantic_recall(self, k, formula, keep, m, style, weighting):
        values = []
        for query in self.queries:
            hits = retrieved = query.retrieved(keep)[:k]
            if formula == "released":
                order, total = self.neighbours(keep)[query.image]
                images = relevant = order[:m]
                nothing = not any(total[other] for other in images) or not self.case.phi[:, query.image].any()
                if self.direction == "i2t":
                    relevant = np.flatnonzero(np.isin(self.case.pairing, images)).tolist()
            else:
                relevant = query.ideal(keep)[:m]
                nothing = not sum(float(query.phi[item]) for item in relevant)
            hits = [item for item in retrieved if item in set(relevant)]
            if weighting == "soft":
                possible = sum(float(query.phi[item]) for item in relevant)
                nothing = nothing or not possible
                value = sum(float(query.phi[item]) for item in hits) / (possible or 1.0)
                value /= len(relevant) if formula == "released" and relevant else 1
            else:
                value = float(bool(hits)) if style == "vse_recall" else len(hits) / max(1, len(relevant))
            values.append(None if nothing else 100.0 * value)
        return values

    def asp(self, ties):
        """With the ranks of scipy."""
        values = []
        for query in self.queries:
            scores = np.asarray(query.scores, dtype=float), np.asarray(query.phi, dtype=float)
            ranks = [rankdata(-of, method={"index": "ordinal", "average": "average"}[ties]) for of in scores]
            values.append(100 * sum(min(s, c) / max(s, c) for s, c in zip(*ranks, strict=True)) / len(ranks[0]))
        return values

    @property
    def relevance(self):
        """Per query, whether the first item, the second and so on has the query's category."""
        categories = [self.case.categories, self.case.caption_categories]
        of_query, of_item = categories if self.direction == "i2t" else categories[::-1]
        for query in self.queries:
            category = of_query[query.number]
            yield [category is not None and of_item[item] == category for item in query.order]

    def average_precision(self, cutoff, divide_by=None):
        values = []
        for relevant in self.relevance:
            everything = sum(relevant)
            end = {None: len(relevant), "R": everything}.get(cutoff, cutoff)
            hits = [sum(relevant[: at + 1]) / (at + 1) for at in range(min(end, len(relevant))) if relevant[at]]
            rule = divide_by or ("relevant" if cutoff == "R" else "found")
            size = {"found": len(hits), "relevant": everything, "possible": min(everything, end)}[rule]
            values.append(None if not everything else sum(hits) / size if size else 0.0)
        return values

    def r_precision(self):
        return [sum(found[: sum(found)]) / sum(found) if sum(found) else None for found in self.relevance]

    def pmrp(self, zetas=ZETAS):
        """Fractions ``[zetas][queries]``, None for a query without a label."""
        labels = [tuple(int(value) for value in row) for row in self.case.labels]
        pairing, values = self.case.pairing, []
        for zeta in zetas:
            values.append([])
            for query in self.queries:
                own = labels[query.image]
                of_items = [labels[pairing[item] if self.direction == "i2t" else item] for item in query.order]
                matches = [sum(a != b for a, b in zip(own, of, strict=True)) <= zeta for of in of_items if any(of)]
                found = sum(matches[: sum(matches)]) / sum(matches) if any(own) else None
                values[-1].append(found)
        return values


def after_policy(values, empty):
    """Values per query and their mean, with None counted 0 or left out."""
    if empty == "skip":
        left = [value for value in values if value is not None]
        return [math.nan if value is None else value for value in values], sum(left) / len(left) if left else None
    filled = [0.0 if value is None else value for value in values]
    return filled, sum(filled) / len(filled)
