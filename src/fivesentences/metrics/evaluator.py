"""All numbers of a similarity matrix in one pass a direction: rankings are made once and every metric reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.asp import ASP_TIES, AspReader, SemanticRanks
from fivesentences.metrics.category import CategoryReader, Codes, Cutoff, category_codes, checked_category_cutoffs
from fivesentences.metrics.frame import MetricKey, MetricValue, as_frame
from fivesentences.metrics.ncs import Scores, paper_ncs, released_ncs
from fivesentences.metrics.plausible_match import LabelDistances, PlausibleReader
from fivesentences.metrics.positives import Positives, hits_of_ranking
from fivesentences.metrics.ranking import (
    DIRECTIONS,
    UNNAMED,
    QueryBlock,
    Ranking,
    as_array,
    checked_choice,
    checked_cutoffs,
    checked_phi,
    checked_similarity,
    depth_needed,
    mean_over_queries,
    rank,
    words_of_phi,
)
from fivesentences.metrics.recall import recall_values, statistics_of, true_recall_values
from fivesentences.metrics.relevance import Relevance
from fivesentences.metrics.semantic_recall import paper_semantic_recall, released_semantic_recall
from fivesentences.metrics.whole_rankings import Reader
from fivesentences.retrieval.hubness import hubness_of_ranking
from fivesentences.retrieval.matrices import Direction, checked_direction

RECALL_ONLY = ("CxC",)  # positives of which neither R-precision nor mAP@R is reported by anybody
KEPT_BYTES = 2**30  # of ranks by phi; more are made anew at every call


class QueryValues(MetricKey):
    """One metric's value for every query: the keys of ``MetricValue``, with ``values`` for ``value``.

    ``values`` is ``[queries]``, in the metric's unit, NaN where the metric leaves a query out; their mean without NaN
    is the metric's value.
    """

    values: NDArray[np.float64]


class Evaluator:
    """The whole metric family for one or several phi and any number of similarity matrices.

    What depends on phi alone is computed at the first call and kept, so that later calls, such as one per epoch,
    only rank. Values equal those of the single functions, with their rule for ties: the lower index first. Blocks of
    queries are worked on by as many threads as there are processors, at most four.

    Args:
        phi: ``[captions, images]``; several by name, as ``{"CIDEr": ..., "SPICE": ...}``; or None for metrics without
            phi. One without a name is called "phi". Memory maps and torch tensors, on any device, are accepted.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        ks: Cut-offs.
        ms: Sizes of the relevant set of semantic recall.
        ground_truth: Which of "kept" and "removed" to report.
        formulas: Which of "released" and "paper" to report.
        styles: Which styles of semantic recall to report.
        weightings: Which of "hard" and "soft" semantic recall to report; the soft one has no style.
        discounts: Of the released NCS: None for the plain one, "log" for that weighted by rank.
        ncs_ms: Sizes of the relevant set of the paper's NCS; None for m = k.
        ideal_pool: "gallery", or "given_rows" to take an image's ideal of NCS over all rows of a phi that has more
            captions than similarity, those of similarity first; everything else reads those alone.
        empty: Policy for queries that have nothing to find, as in ``ncs``.
        asp_ties: Rules for ties under which to report ASP, of "index" and "average"; none: no ASP. Ranks by phi are
            kept for further calls if they take at most 1 GiB.
        hubness: Whether to report how often items of the gallery are nearest to a query.
        hub_ks: Items of each ranking that count in it: 1, nearest alone ("hubs max"); 5 gives "hubs max@5".
        labels: ``[images, classes]`` 0 or 1, for PMRP; images without a label are left out.
        categories: ``[images]`` numbers or strings, for mAP, mAP@R and R-precision by category.
        category_cutoffs: Where rankings end for mAP: None for nowhere, "R", or a whole number, as in ``category_map``.
        caption_categories: ``[captions]``; default that of the caption's image.
        positives: Lists of positives by name, such as ``{"CxC": ..., "ECCV": ...}``: recall of each, and of all but
            "CxC" R-precision and mAP@R. Queries without a positive are left out, whatever ``empty`` is.

    Raises:
        InputError: If an argument is unknown.
    """

    def __init__(
        self,
        phi: ArrayLike | Mapping[str, ArrayLike] | None = None,
        image_of_caption: ArrayLike | None = None,
        *,
        ks: Sequence[int] = (1, 5, 10),
        ms: Sequence[int] = (1, 2, 3),
        ground_truth: Sequence[str] = ("kept", "removed"),
        formulas: Sequence[str] = ("released", "paper"),
        styles: Sequence[str] = ("recall", "vse_recall"),
        weightings: Sequence[str] = ("hard",),
        discounts: Sequence[str | None] = (None,),
        ncs_ms: Sequence[int | None] = (None,),
        ideal_pool: str = "gallery",
        empty: str = "zero",
        asp_ties: Sequence[str] = (),
        hubness: bool = False,
        hub_ks: Sequence[int] = (1,),
        labels: ArrayLike | None = None,
        categories: ArrayLike | None = None,
        caption_categories: ArrayLike | None = None,
        category_cutoffs: Sequence[Cutoff] = (None, "R"),
        positives: Mapping[str, Positives] | None = None,
    ):
        self.ks = checked_cutoffs(ks)
        self.ms = checked_cutoffs(ms, "ms") if len(ms) else ()
        choices: tuple[tuple[str, Sequence[str | None], Sequence[str | None]], ...] = (
            ("ground_truth", ground_truth, ("kept", "removed")),
            ("formulas", formulas, ("released", "paper")),
            ("styles", styles, ("recall", "vse_recall")),
            ("weightings", weightings, ("hard", "soft")),
            ("discounts", discounts, (None, "log")),
            ("asp_ties", asp_ties, ASP_TIES),
        )
        for name, given, known in choices:
            if isinstance(given, str):
                raise InputError(f"{name} is {given!r}; give a list such as {known!r}.")
            for value in given:
                checked_choice(name, value, known)
        checked_choice("empty", empty, ("zero", "skip", "error"))
        checked_choice("ideal_pool", ideal_pool, ("gallery", "given_rows"))
        self.ground_truth, self.formulas, self.styles, self.empty = ground_truth, formulas, styles, empty
        self.weightings, self.discounts, self.ideal_pool = tuple(weightings), tuple(discounts), ideal_pool
        self.ncs_ms = tuple(None if m is None else checked_cutoffs((m,), "ncs_ms")[0] for m in ncs_ms)
        if "log" in self.discounts and "released" not in formulas:
            raise InputError("the discount 'log' belongs to the released formula of NCS; ask for that formula too.")
        if any(m is not None for m in self.ncs_ms) and "paper" not in formulas:
            raise InputError("sizes m of NCS belong to the paper's formula; ask for the formula 'paper' too.")
        self.category_cutoffs = checked_category_cutoffs(category_cutoffs)
        self.asp_ties, self.hubness, self.hub_ks = tuple(asp_ties), hubness, checked_cutoffs(hub_ks, "hub_ks")
        self.phis = _named(phi)
        if self.asp_ties and not self.phis:
            raise InputError("asp_ties asks for ASP, which compares with phi; pass phi, or leave asp_ties out.")
        self._image_of_caption = None if image_of_caption is None else as_array(image_of_caption)
        if caption_categories is not None and categories is None:
            raise InputError("caption_categories need categories, those of the images, to be compared with.")
        self._labels, self._categories, self._caption_categories = labels, categories, caption_categories
        self._positives = dict(positives or {})
        self._distances: LabelDistances | None = None
        self._codes: tuple[Codes, Codes] | None = None
        self._shape: tuple[int, ...] | None = None
        self._relevance: dict[str, Relevance] = {}
        self._relevance_of_ncs: dict[str, Relevance] = {}  # the same, unless a phi has more rows than similarity
        self._semantic_ranks: dict[str, SemanticRanks] = {}

    def __call__(self, similarity: ArrayLike, directions: Sequence[str] = DIRECTIONS) -> list[MetricValue]:
        """Every number of ``similarity``.

        Args:
            similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; a memory map or a
                torch tensor, on any device, too.
            directions: Of "i2t" and "t2i", those to report; sums need both.

        Raises:
            InputError: If shapes disagree, a value is not finite, an image has no caption, or there is no such
                direction.
        """
        values = [value for side in self._sides(similarity, directions) for value in side.values]
        return values + (_sums(values, len(self.ks)) if set(directions) == set(DIRECTIONS) else [])

    def per_query(self, similarity: ArrayLike, directions: Sequence[str] = DIRECTIONS) -> list[QueryValues]:
        """The same for every query: what ``paired_test`` compares.

        Sums over directions, medians and statistics of hubs have no value a query and are left out.

        Args:
            similarity: As in a call.
            directions: As in a call.

        Raises:
            InputError: As a call.
        """
        return [value for side in self._sides(similarity, directions, True) for value in side.per_query]

    def frame(self, similarity: ArrayLike, form: str = "tidy") -> pd.DataFrame:
        """The numbers of a call as a table, ``"tidy"`` or ``"wide"`` (see ``as_frame``).

        Raises:
            InputError: As a call; if there is no such form.
        """
        checked_choice("form", form, ("tidy", "wide"))
        return as_frame(self(similarity), form)

    def _sides(self, similarity: ArrayLike, directions: Sequence[str], per_query: bool = False) -> list[_Numbers]:
        if isinstance(directions, str) or not len(directions):
            raise InputError(f"directions is {directions!r}; give a list such as ('i2t', 't2i').")
        sides = [checked_direction(direction) for direction in directions]
        matrix, pairing = checked_similarity(similarity, self._image_of_caption)
        if self._shape != matrix.shape:
            self._prepare(matrix.shape, pairing)
        return [self._numbers(matrix, pairing, side, per_query) for side in sides]

    def _prepare(self, shape: tuple[int, ...], pairing: NDArray[np.int64]) -> None:
        n_images, n_captions = shape
        more_rows = self.ideal_pool == "given_rows"
        given = {name: checked_phi(phi, n_images, n_captions, more_rows, name) for name, phi in self.phis.items()}
        fitting = {name: phi[:n_captions] for name, phi in given.items()}
        self._relevance = {name: Relevance(phi, pairing, words_of_phi(name)) for name, phi in fitting.items()}
        self._relevance_of_ncs = {
            name: self._relevance[name] if len(phi) == n_captions else Relevance(phi, pairing, words_of_phi(name))
            for name, phi in given.items()
        }
        bytes_of_ranks = 2 * 2 * shape[0] * shape[1] * len(fitting) * len(self.asp_ties)
        self._semantic_ranks = (
            {
                name: SemanticRanks(phi, bytes_of_ranks <= KEPT_BYTES, words_of_phi(name))
                for name, phi in fitting.items()
            }
            if self.asp_ties
            else {}
        )
        for name, positives in self._positives.items():
            if positives.shape != shape:
                raise InputError(
                    f"the positives {name} are of {positives.shape[0]} images and {positives.shape[1]} captions but "
                    f"similarity has {n_images} images and {n_captions} captions; score the "
                    "whole split that they name, or leave them out."
                )
        if self._labels is not None:
            self._distances = LabelDistances(self._labels, pairing)
        if self._categories is not None:
            self._codes = category_codes(self._categories, self._caption_categories, n_images, pairing)
            if len(self._codes[1]) != n_captions:
                raise InputError(
                    f"caption_categories has {len(self._codes[1])} values but there are {n_captions} captions."
                )
        self._shape = shape

    def _numbers(self, matrix: NDArray, pairing: NDArray[np.int64], side: Direction, per_query: bool) -> _Numbers:
        numbers = _Numbers(side, self.empty, per_query)
        n_queries, n_gallery = matrix.shape if side == "i2t" else matrix.shape[::-1]
        asp = AspReader(self._semantic_ranks, side, self.asp_ties, n_queries) if self.asp_ties else None
        plausible = PlausibleReader(self._distances, side) if self._distances is not None else None
        category = CategoryReader(self._codes, side, self.category_cutoffs) if self._codes is not None else None
        readers: list[Reader] = [reader for reader in (asp, plausible, category) if reader is not None]

        def visit(block: QueryBlock) -> None:
            for read in readers:
                read(block)

        depth = max(depth_needed(max(self.ks), pairing, side), *(self.hub_ks if self.hubness else (1,)))
        for name, positives in self._positives.items():
            if name not in RECALL_ONLY:
                depth = max(depth, int(positives.number(side).max()))
        ranking = rank(matrix, pairing, side, depth, visit=visit)
        self._instance_recall(numbers, ranking)
        for name, relevance in self._relevance.items():
            self._ncs(numbers, ranking, self._relevance_of_ncs[name], name)
            self._semantic_recall(numbers, ranking, relevance, name)
        if asp is not None:
            for (name, ties), values in asp.values.items():
                numbers.percent("ASP", values, formula=ties, phi=name)
        if plausible is not None:
            of_queries = 100.0 * plausible.r_precision.mean(axis=0)  # over zetas; NaN without label
            numbers.alone("PMRP", np.nanmean(of_queries), of_queries)
        if category is not None:
            nothing = category.n_relevant == 0
            for cutoff, precision in category.average_precision.items():
                numbers.fractions("mAP" if cutoff is None else f"mAP@{cutoff}", (precision, nothing))
            numbers.fractions("R-P", (category.r_precision, nothing))
        for name, positives in self._positives.items():
            self._of_positives(numbers, ranking, positives, name)
        if self.hubness:
            for k in self.hub_ks:
                hubs = hubness_of_ranking(ranking.items, n_gallery, k)
                of = {**hubs.shares, "max": hubs.maximum, "skewness": hubs.skewness, "Gini": hubs.gini}
                for statistic, value in of.items():
                    numbers.alone(f"hubs {statistic}" if k == 1 else f"hubs {statistic}@{k}", value)
        return numbers

    def _instance_recall(self, numbers: _Numbers, ranking: Ranking) -> None:
        for k in self.ks:
            numbers.percent(f"R@{k}", recall_values(ranking, k))
        for k in self.ks:
            numbers.percent(f"true R@{k}", true_recall_values(ranking, k))
        statistics = statistics_of(ranking.ground_truth_rank)
        numbers.alone("Med r", statistics.median)
        numbers.alone("Mean r", statistics.mean, ranking.ground_truth_rank + 1)

    def _of_positives(self, numbers: _Numbers, ranking: Ranking, positives: Positives, name: str) -> None:
        hits = hits_of_ranking(ranking.items, positives, ranking.direction)
        found = {f"{name} R@{k}": (hits.recall(k), 1.0) for k in self.ks}
        if name not in RECALL_ONLY:
            found[f"{name} R-P"] = hits.r_precision(), 100.0
            found[f"{name} mAP@R"] = hits.average_precision_at_r(), 100.0
        for metric, (values, divisor) in found.items():
            percent = hits.mean(values, "skip", numbers.wants_per_query)
            numbers.either(metric, percent / divisor)

    def _ncs(self, numbers: _Numbers, ranking: Ranking, relevance: Relevance, phi: str) -> None:
        for formula in self.formulas:
            for variant in self.discounts if formula == "released" else self.ncs_ms:
                for kept in self.ground_truth:
                    keep, named = kept == "kept", _key("", "", formula, kept, phi=phi)
                    if formula == "released":
                        named["discount"] = str(variant or "")
                        found = released_ncs(ranking, relevance, self.ks, keep, named["discount"] or None)
                    else:
                        named["m"] = int(variant or 0)
                        found = paper_ncs(ranking, relevance, self.ks, keep, named["m"] or None)
                    for k, scores in found.items():
                        numbers.scores(f"N@{k}", scores, **{key: named[key] for key in named if named[key]})  # type: ignore[literal-required]

    def _semantic_recall(self, numbers: _Numbers, ranking: Ranking, relevance: Relevance, phi: str) -> None:
        kinds = [("hard", style) for style in self.styles] if "hard" in self.weightings else []
        kinds += [("soft", "")] if "soft" in self.weightings else []  # to which style means nothing
        deepest_first = sorted(set(self.ms), reverse=True)  # so that lists are made once, for the largest m
        for formula in self.formulas:
            score = released_semantic_recall if formula == "released" else paper_semantic_recall
            for kept in self.ground_truth:
                found = {
                    (m, *kind): score(ranking, relevance, self.ks, m, kept == "kept", kind[1] or "recall", kind[0])
                    for m in deepest_first
                    for kind in kinds
                }
                for m in self.ms:
                    for weighting, style in kinds:
                        for k, scores in found[m, weighting, style].items():
                            numbers.scores(
                                f"SR@{k}", scores, formula=formula, ground_truth=kept, m=m, style=style,
                                weighting=weighting, phi=phi,
                            )  # fmt: skip


class _Numbers:
    """What is reported of one direction, as means or for every query."""

    def __init__(self, direction: Direction, empty: str, wants_per_query: bool):
        self.direction, self.empty, self.wants_per_query = direction, empty, wants_per_query
        self.values: list[MetricValue] = []
        self.per_query: list[QueryValues] = []

    def scores(self, metric: str, scores: Scores, divisor: float = 1.0, **variant: Any) -> None:
        """Fractions of which some queries have none; in percent, over ``divisor``, after the policy for these."""
        found = mean_over_queries(*scores, self.empty, self.wants_per_query, self.direction)
        self.either(metric, found / divisor, **variant)

    def fractions(self, metric: str, scores: Scores, **variant: Any) -> None:
        """Fractions of which some queries have none, as they are, after the policy for these."""
        self.scores(metric, scores, 100.0, **variant)

    def percent(self, metric: str, values: NDArray[np.float64], **variant: Any) -> None:
        """Fractions that every query has; in percent."""
        self.scores(metric, (values, np.zeros(len(values), dtype=bool)), **variant)

    def either(self, metric: str, found: float | NDArray[np.float64], **variant: Any) -> None:
        """A mean, or values of every query: whichever is wanted."""
        key = _key(metric, self.direction, **variant)
        if self.wants_per_query:
            self.per_query.append({**key, "values": np.asarray(found)})
        else:
            self.values.append({**key, "value": float(found)})

    def alone(self, metric: str, value: float, of_queries: NDArray | None = None, **variant: Any) -> None:
        """A number as it is, with its value for every query if it is the mean of such."""
        if not self.wants_per_query:
            self.values.append({**_key(metric, self.direction, **variant), "value": float(value)})
        elif of_queries is not None:
            values = np.asarray(of_queries, dtype=np.float64)
            self.per_query.append({**_key(metric, self.direction, **variant), "values": values})


def _key(
    metric: str,
    direction: str,
    formula: str = "",
    ground_truth: str = "",
    m: int = 0,
    style: str = "",
    weighting: str = "",
    discount: str = "",
    phi: str = "",
) -> MetricKey:
    return {
        "metric": metric,
        "direction": direction,
        "formula": formula,
        "ground_truth": ground_truth,
        "m": m,
        "style": style,
        "weighting": weighting,
        "discount": discount,
        "phi": phi,
    }


def _named(phi: ArrayLike | Mapping[str, ArrayLike] | None) -> dict[str, NDArray]:
    """The phi matrices by name.

    Raises:
        InputError: If a name is no text or empty.
    """
    if phi is None:
        return {}
    if not isinstance(phi, Mapping):
        return {UNNAMED: as_array(phi)}
    for name in phi:
        if not isinstance(name, str) or not name:
            raise InputError(f"a phi is named {name!r}; give every phi a name such as 'CIDEr'.")
    return {name: as_array(matrix) for name, matrix in phi.items()}


def _sums(values: Sequence[MetricValue], n_cutoffs: int) -> list[MetricValue]:
    """Rsum and mR, and Nsum of each variant: sums, or the mean, over cut-offs and directions."""
    sums: dict[tuple[str, str, str, int, str, str], float] = {}
    for value in values:
        name, at, _ = value["metric"].partition("@")
        if at and name in ("R", "N"):
            variant = value["formula"], value["ground_truth"], value["m"], value["discount"], value["phi"]
            sums[f"{name}sum", *variant] = sums.get((f"{name}sum", *variant), 0.0) + value["value"]
    found: list[MetricValue] = []
    for (name, formula, kept, m, discount, phi), total in sums.items():
        found.append({**_key(name, "", formula, kept, m, discount=discount, phi=phi), "value": total})
        if name == "Rsum":
            found.append({**_key("mR", ""), "value": total / (2 * n_cutoffs)})
    return found


def evaluate_frame(
    similarity: ArrayLike,
    phi: ArrayLike | Mapping[str, ArrayLike] | None = None,
    image_of_caption: ArrayLike | None = None,
    *,
    form: str = "wide",
    **options: Any,
) -> pd.DataFrame:
    """Every number of one similarity matrix as a table, in one call.

    Args:
        similarity: ``[images, captions]``, larger is more similar.
        phi: As for an ``Evaluator``.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        form: ``"wide"`` or ``"tidy"``, as in ``as_frame``.
        **options: Further arguments of ``Evaluator``.

    Raises:
        InputError: As ``Evaluator``.
    """
    return Evaluator(phi, image_of_caption, **options).frame(similarity, form)
