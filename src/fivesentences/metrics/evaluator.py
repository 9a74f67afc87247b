"""All numbers of a similarity matrix in one pass: rankings are made once and every metric reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from numpy.typing import ArrayLike

from fivesentences.errors import InputError
from fivesentences.metrics.ncs import Scores, paper_ncs, released_ncs
from fivesentences.metrics.ranking import (
    DIRECTIONS,
    Direction,
    Ranking,
    checked_choice,
    checked_cutoffs,
    checked_phi,
    checked_similarity,
    depth_needed,
    mean_over_queries,
    rank,
)
from fivesentences.metrics.recall import recall_values, statistics_of, true_recall_values
from fivesentences.metrics.relevance import Relevance
from fivesentences.metrics.semantic_recall import paper_semantic_recall, released_semantic_recall


class MetricValue(TypedDict):
    """One number and what it is, in the columns of the tidy table.

    ``metric`` is "R@1", "true R@1", "Med r", "Mean r", "Rsum", "N@1", "Nsum" or "SR@1" (any cut-off); ``direction``
    is empty for sums of both; ``formula``, ``ground_truth`` and ``style`` are empty and ``m`` 0 where they do not
    apply (N@k of the paper has m = k).
    """

    metric: str
    direction: str
    formula: str
    ground_truth: str
    m: int
    style: str
    value: float


class Evaluator:
    """The metric family of Five Sentences for one phi and any number of similarity matrices.

    What depends on phi alone is computed at the first call and kept, so that later calls, such as one per epoch,
    only rank. Values equal those of the single functions.

    Args:
        phi: ``[captions, images]``, or None for instance recall only.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        ks: Cut-offs.
        ms: Sizes of the relevant set of semantic recall.
        ground_truth: Which of "kept" and "removed" to report.
        formulas: Which of "released" and "paper" to report.
        styles: Which styles of semantic recall to report.
        empty: Policy for queries that have nothing to find, as in ``ncs``.

    Raises:
        InputError: If an argument is unknown.
    """

    def __init__(
        self,
        phi: ArrayLike | None = None,
        image_of_caption: ArrayLike | None = None,
        *,
        ks: Sequence[int] = (1, 5, 10),
        ms: Sequence[int] = (1, 2, 3),
        ground_truth: Sequence[str] = ("kept", "removed"),
        formulas: Sequence[str] = ("released", "paper"),
        styles: Sequence[str] = ("recall", "vse_recall"),
        empty: str = "zero",
    ):
        self.ks = checked_cutoffs(ks)
        self.ms = checked_cutoffs(ms, "ms") if len(ms) else ()
        for name, given, known in (
            ("ground_truth", ground_truth, ("kept", "removed")),
            ("formulas", formulas, ("released", "paper")),
            ("styles", styles, ("recall", "vse_recall")),
        ):
            if isinstance(given, str):
                raise InputError(f"{name} is {given!r}; give a list such as {known!r}.")
            for value in given:
                checked_choice(name, value, known)
        checked_choice("empty", empty, ("zero", "skip", "error"))
        self.ground_truth, self.formulas, self.styles, self.empty = ground_truth, formulas, styles, empty
        self._phi, self._image_of_caption = phi, image_of_caption
        self._relevance: Relevance | None = None

    def __call__(self, similarity: ArrayLike) -> list[MetricValue]:
        """Every number of ``similarity``, ``[images, captions]``.

        Raises:
            InputError: If shapes disagree, a value is not finite, or an image has no caption.
        """
        matrix, pairing = checked_similarity(similarity, self._image_of_caption)
        relevance = None
        if self._phi is not None:
            if self._relevance is None or self._relevance.phi.shape != matrix.shape[::-1]:
                self._relevance = Relevance(checked_phi(self._phi, *matrix.shape), pairing)
            relevance = self._relevance
        values: list[MetricValue] = []
        for direction in DIRECTIONS:
            ranking = rank(matrix, pairing, direction, depth_needed(max(self.ks), pairing, direction))
            values += self._instance_recall(ranking)
            if relevance is not None:
                values += self._ncs(ranking, relevance)
                values += self._semantic_recall(ranking, relevance)
        return values + _sums(values)

    def _instance_recall(self, ranking: Ranking) -> list[MetricValue]:
        side = ranking.direction
        values = [_value(f"R@{k}", side, 100.0 * float(recall_values(ranking, k).mean())) for k in self.ks]
        for k in self.ks:
            values.append(_value(f"true R@{k}", side, 100.0 * float(true_recall_values(ranking, k).mean())))
        statistics = statistics_of(ranking.ground_truth_rank)
        return [*values, _value("Med r", side, statistics.median), _value("Mean r", side, statistics.mean)]

    def _ncs(self, ranking: Ranking, relevance: Relevance) -> list[MetricValue]:
        values = []
        for formula in self.formulas:
            score = released_ncs if formula == "released" else paper_ncs
            for kept in self.ground_truth:
                for k, scores in score(ranking, relevance, self.ks, kept == "kept").items():
                    number = self._mean(scores, ranking.direction)
                    values.append(_value(f"N@{k}", ranking.direction, number, formula, kept))
        return values

    def _semantic_recall(self, ranking: Ranking, relevance: Relevance) -> list[MetricValue]:
        values = []
        deepest_first = sorted(self.ms, reverse=True)  # so that lists are made once, for the largest m
        for formula in self.formulas:
            score = released_semantic_recall if formula == "released" else paper_semantic_recall
            for kept in self.ground_truth:
                for m in deepest_first:
                    for style in self.styles:
                        for k, scores in score(ranking, relevance, self.ks, m, kept == "kept", style).items():
                            number = self._mean(scores, ranking.direction)
                            values.append(_value(f"SR@{k}", ranking.direction, number, formula, kept, m, style))
        return values

    def _mean(self, scores: Scores, direction: Direction) -> float:
        return float(mean_over_queries(*scores, self.empty, False, direction))


def _value(
    metric: str,
    direction: str,
    value: float,
    formula: str = "",
    ground_truth: str = "",
    m: int = 0,
    style: str = "",
) -> MetricValue:
    return {
        "metric": metric,
        "direction": direction,
        "formula": formula,
        "ground_truth": ground_truth,
        "m": m,
        "style": style,
        "value": value,
    }


def _sums(values: Sequence[MetricValue]) -> list[MetricValue]:
    """Rsum, and Nsum of each formula with and without ground truth: sums over cut-offs and directions."""
    sums: dict[tuple[str, str, str], float] = {}
    for value in values:
        name = {"R": "Rsum", "N": "Nsum"}.get(value["metric"].partition("@")[0])
        if name and "@" in value["metric"]:
            key = (name, value["formula"], value["ground_truth"])
            sums[key] = sums.get(key, 0.0) + value["value"]
    return [_value(name, "", total, formula, kept) for (name, formula, kept), total in sums.items()]
