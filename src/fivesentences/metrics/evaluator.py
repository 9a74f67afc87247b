"""All numbers of a similarity matrix in one pass per direction: rankings are made once and every metric reads them."""

from __future__ import annotations

import itertools
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import Unheld
from fivesentences.choices import each_once
from fivesentences.config.metrics import METRICS, metric_of, parse_metric
from fivesentences.errors import Argument, Cure, InputError
from fivesentences.metrics.asp import ASP_TIES, AspReader, KeptRanks, asp_by_chance
from fivesentences.metrics.category import CategoryReader, Codes, Cutoff, category_codes, checked_category_cutoffs
from fivesentences.metrics.chance import RandomRanking
from fivesentences.metrics.judged import Judged, check_judged, judged_by_chance, judged_scores, places_of
from fivesentences.metrics.ncs import paper_ncs, released_ncs
from fivesentences.metrics.notes import Placement, notes_of
from fivesentences.metrics.plausible_match import LabelDistances, PlausibleReader
from fivesentences.metrics.positives import Positives, hits_of_ranking
from fivesentences.metrics.ranking import QueryBlock, Ranking, depth_needed, rank
from fivesentences.metrics.recall import statistics_of
from fivesentences.metrics.relevance import NEIGHBOURS_PER_CAPTION, Relevance
from fivesentences.metrics.relevance_in_blocks import ReadPhi, RelevanceInBlocks
from fivesentences.metrics.result import Evaluation, about_of, sums_of
from fivesentences.metrics.semantic_recall import semantic_recall_scores
from fivesentences.metrics.values import (
    POLICIES,
    MetricKey,
    MetricValue,
    QueryValues,
    Scores,
    after_policy,
    key_of,
    percent,
)
from fivesentences.retrieval.arguments import (
    DIRECTIONS,
    Direction,
    checked_choice,
    checked_choices,
    checked_cutoffs,
    checked_direction,
)
from fivesentences.retrieval.gallery import Gallery, Similarity, as_array, checked_similarity, name_of
from fivesentences.retrieval.hubness import hubness_of_ranking
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.rescoring import Inference
from fivesentences.semantics.scored import ScoredPhi

Visit = Callable[[Gallery, Sequence[Direction]], None]
RECALL_ONLY = ("CxC",)  # positives of which nobody reports R-precision or mAP@R


class Evaluator:
    """The whole metric family for one or several phi and any number of similarity matrices.

    What depends on phi alone is computed at the first call and kept, so that later calls, such as one per epoch,
    only rank; from the second on that includes ranks by phi for ASP, which take as much memory as a float32 phi, for
    each rule for ties. Values equal those of the single functions, with their rule for ties: the lower index first.
    Blocks of queries are processed by as many threads as there are processors, at most four.

    Args:
        phis: ``[captions, images]``; several by name, as ``{"CIDEr": ..., "SPICE": ...}``; or None for metrics without
            phi. One without a name is called "phi". Memory maps and torch tensors, on any device, are accepted.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        ks: Cut-offs; of this list and the following ones, a value that is repeated is reported, and summed, once.
        ms: Sizes of the relevant set of semantic recall.
        ground_truth: Which of "kept" and "removed" to report.
        formulas: Which of "released" and "paper" to report.
        styles: Which styles of semantic recall to report, of "recall" and "vse_recall".
        weightings: Which of "hard" and "soft" semantic recall to report; the soft one has no style.
        discounts: Discounts of the released NCS: None for the plain one, "log" for that weighted by rank.
        ncs_ms: Sizes of the relevant set of the paper's NCS; None for m = k.
        ideal_pool: "gallery", or "given_rows" to take an image's ideal of NCS over all rows of a phi that has more
            captions than similarity, those of similarity first; everything else reads those alone.
        empty: Policy for queries that have nothing to find, as in ``ncs``.
        asp_ties: Rules for ties under which to report ASP where there is a phi, of "index" and "average"; none leaves
            out ASP, which takes longest.
        hubness: Whether to report how often items of the gallery are nearest to a query.
        hub_ks: How many items of each ranking count in it: 1 is the nearest alone ("hubs max"); 5 gives "hubs max@5".
        labels: ``[images, classes]`` 0 or 1, for PMRP; images without a label are left out.
        categories: ``[images]`` numbers or strings, for mAP, mAP@R and R-precision by category.
        category_cutoffs: Where rankings end for mAP: None for nowhere, "R", or a whole number, as in ``category_map``.
        caption_categories: ``[captions]``; default that of the caption's image.
        positives: Lists of positives by name, such as ``{"CxC": ..., "ECCV": ...}``: recall of each, and of all but
            "CxC" R-precision and mAP@R. Queries without a positive are left out, whatever ``empty`` is. A name is one
            word, since "CxC R@1" is taken apart at its space. Lists in another order than the gallery are refused, see
            ``Positives.check_owners``.
        judged: Images that were judged for some captions, by name, such as ``{"crowd": Judged(...)}``; see
            ``by_judgements``. Captions without a right image are left out, whatever ``empty`` is.

    Raises:
        InputError: If an argument is unknown.
    """

    def __init__(
        self,
        phis: ArrayLike | Mapping[str, ArrayLike] | None = None,
        image_of_caption: ArrayLike | None = None,
        *,
        ks: Sequence[int] = (1, 5, 10),
        ms: Sequence[int] = (1, 2, 3),
        ground_truth: Sequence[str] = ("kept", "removed"),
        formulas: Sequence[str] = ("released",),
        styles: Sequence[str] = ("recall",),
        weightings: Sequence[str] = ("hard",),
        discounts: Sequence[str | None] = (None,),
        ncs_ms: Sequence[int | None] = (None,),
        ideal_pool: str = "gallery",
        empty: str = "zero",
        asp_ties: Sequence[str] = ("index",),
        hubness: bool = False,
        hub_ks: Sequence[int] = (1,),
        labels: ArrayLike | None = None,
        categories: ArrayLike | None = None,
        caption_categories: ArrayLike | None = None,
        category_cutoffs: Sequence[Cutoff] = (None, "R"),
        positives: Mapping[str, Positives] | None = None,
        judged: Mapping[str, Judged] | None = None,
    ):
        self.ks, self.hub_ks = checked_cutoffs(ks), checked_cutoffs(hub_ks, "hub_ks")
        self.ms = checked_cutoffs(ms, "ms") if len(ms) else ()
        self.ncs_ms = each_once(None if m is None else checked_cutoffs((m,), "ncs_ms")[0] for m in ncs_ms)
        self.ground_truth = checked_choices("ground_truth", ground_truth, ("kept", "removed"))
        self.formulas = checked_choices("formulas", formulas, ("released", "paper"))
        self.styles = checked_choices("styles", styles, ("recall", "vse_recall"))
        self.weightings = checked_choices("weightings", weightings, ("hard", "soft"))
        self.discounts = checked_choices("discounts", discounts, (None, "log"))
        self.asp_ties = tuple(map(str, checked_choices("asp_ties", asp_ties, ASP_TIES)))
        self.category_cutoffs = checked_category_cutoffs(category_cutoffs)
        checked_choice("empty", empty, POLICIES)
        checked_choice("ideal_pool", ideal_pool, ("gallery", "given_rows"))
        self.empty, self.ideal_pool, self.hubness = empty, ideal_pool, hubness
        if "log" in self.discounts and "released" not in self.formulas:
            raise InputError("the discount 'log' belongs to the released formula of NCS; ask for that formula too.")
        if any(m is not None for m in self.ncs_ms) and "paper" not in self.formulas:
            raise InputError("sizes m of NCS belong to the paper's formula; ask for the formula 'paper' too.")
        if caption_categories is not None and categories is None:
            raise InputError("caption_categories need categories, those of the images, to be compared with.")
        self._phis, self._image_of_caption = phis, image_of_caption
        self._labels, self._categories, self._caption_categories = labels, categories, caption_categories
        self._positives = _checked_positives(positives)
        self._judged = _checked_judged(judged, self._positives)
        self._known: _Known | None = None

    def __call__(
        self, similarity: Similarity, directions: Sequence[str] = DIRECTIONS, inference: str | Inference = "naive"
    ) -> Evaluation:
        """Compute every number of ``similarity``.

        Args:
            similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; a memory map or a
                torch tensor, on any device, too. Or a ``Gallery``, whose pairing counts, and whose phi matrices do if
                the evaluator was given none.
            directions: Which of "i2t" and "t2i" to report; sums need both.
            inference: How the similarity is read, such as "csls" or "csls,k=5"; see ``retrieval.rescoring``.

        Raises:
            InputError: If shapes disagree, a value is not finite, an image has no caption, or there is no such
                direction or inference method.
        """
        found = self.with_queries(similarity, directions, inference)
        return replace(found, queries=[], scored={}, placements={})

    def per_query(self, similarity: Similarity, directions: Sequence[str] = DIRECTIONS) -> list[QueryValues]:
        """Compute the values of every query, which ``paired_test`` compares.

        Sums over directions, medians and statistics of hubs have no value per query and are left out. Arguments and
        errors as in a call.
        """
        return self.with_queries(similarity, directions).queries

    def with_queries(
        self,
        similarity: Similarity,
        directions: Sequence[str] = DIRECTIONS,
        inference: str | Inference = "naive",
        visit: Visit | None = None,
    ) -> Evaluation:
        """Compute every number, as a call does, and in ``queries`` the values of every query.

        Arguments and errors as in a call; ``visit`` is called with the gallery as it is read, and the directions that
        are read from it.
        """
        if isinstance(directions, str) or not len(directions):
            raise InputError(f"is {directions!r}; give a list such as ('i2t', 't2i').", where=Argument("directions"))
        wanted = each_once(checked_direction(direction) for direction in directions)
        how = Inference.of(inference)
        whole, known = self._use(similarity)
        known.similarities += 1
        numbers: list[_Number] = []
        placements: dict[Direction, Placement] = {}
        for sides, gallery in how.read(whole, wanted):
            if visit is not None:
                visit(gallery, sides)
            rankings: dict[Direction, Ranking] = {}
            read = {side: self._readers(gallery.similarity, known, side) for side in sides}
            depth = max(self._depth(known, side) for side in sides)  # of both, which blocks are read for together
            for side in sides:
                visit_blocks = read[side].visit if read[side].every else None
                rankings[side] = rank(gallery.similarity, known.pairing, side, depth, visit=visit_blocks)
            for relevance in known.relevance.values():
                if isinstance(relevance, RelevanceInBlocks):
                    relevance.expect(rankings)
            for side in sides:
                found, placements[side] = self._numbers(rankings[side], gallery.similarity, known, side, read[side])
                numbers += found
        values: list[MetricValue] = [{**number.key, "value": number.value} for number in numbers]
        if set(wanted) == set(DIRECTIONS):
            values += sums_of(values)
        queries: list[QueryValues] = [{**one.key, "values": one.queries} for one in numbers if one.queries is not None]
        scored = {str(side): np.arange(known.shape[side == "t2i"]) for side in wanted}
        about = {**about_of(known.shape, [known.shape]), "phis": list(known.phis), **how.about}
        about["notes"] = [*whole.notes, *self.left_out(replace(whole, phis=known.phis)), *self.notes_of(placements)]
        return Evaluation(values, about, queries, scored, placements)

    def notes_of(self, placements: Mapping[Direction, Placement]) -> list[str]:
        """Return sentences on what the numbers hang on: ties, chance, small galleries, queries with nothing to find."""
        return notes_of(placements, self.ks, self.ms if self._known and self._known.phis else (), self.empty)

    def by_chance(self, similarity: Similarity) -> list[MetricValue]:
        """Compute what a ranking in random order reaches on average, of every number that has a closed form.

        Args:
            similarity: As in a call; only its shape counts, and the pairing and phi of a ``Gallery``.

        Raises:
            InputError: As in a call.
        """
        _, known = self._use(similarity)
        numbers = [number for side in DIRECTIONS for number in self._numbers_by_chance(known, side)]
        values: list[MetricValue] = [{**number.key, "value": number.value} for number in numbers]
        return values + sums_of(values)

    def _use(self, similarity: Similarity) -> tuple[Gallery, _Known]:
        """Check the matrix and return what is known of its gallery, computed again only where the gallery changed."""
        given = similarity if isinstance(similarity, Gallery) else as_array(similarity, "similarity")
        known = self._known
        if known is not None and known.fits(given, self._phis is None):
            notes = given.notes if isinstance(given, Gallery) else ()
            matrix = checked_similarity(given, known.shape)
            return Gallery(matrix, known.pairing, name=name_of(similarity), notes=notes), known
        pairing = None if isinstance(given, Gallery) else self._image_of_caption
        gallery = Gallery.of(given, pairing, self._phis, more_rows=self.ideal_pool == "given_rows")
        self._known = self._learned(gallery, isinstance(given, Gallery))
        return replace(gallery, phis={}), self._known

    def _learned(self, gallery: Gallery, was_given: bool) -> _Known:
        """Compute everything that depends on the gallery but not on the similarity."""
        pairing, n_captions = gallery.image_of_caption, gallery.n_captions
        known = _Known(gallery.shape, pairing, gallery.phis, was_given)
        for name, phi in gallery.phis.items():
            if isinstance(phi, ScoredPhi) and len(phi) != n_captions:
                what = f"the ideal pool 'given_rows' takes in {len(phi):,} captions, and phi {name} is read in blocks"
                raise InputError(what, cure=Cure("pass a matrix", "give --whole"))
            if isinstance(phi, ScoredPhi):
                known.relevance[name] = known.relevance_of_ncs[name] = RelevanceInBlocks(phi, pairing)
                continue
            own = phi[:n_captions]
            known.relevance[name] = Relevance(own, pairing)
            known.relevance_of_ncs[name] = known.relevance[name] if len(own) == len(phi) else Relevance(phi, pairing)
        for name, positives in self._positives.items():
            positives.check(gallery.shape, f"the positives {name}")
            positives.check_owners(pairing, f"the positives {name}")
        for name, judged in self._judged.items():
            check_judged(judged, gallery.shape, pairing, f"the judgements {name}")
        if self._labels is not None:
            known.distances = LabelDistances(self._labels, pairing)
        if self._categories is not None:
            known.codes = category_codes(self._categories, self._caption_categories, gallery.shape, pairing)
        return known

    def left_out(self, gallery: Gallery) -> list[str]:
        """Return a sentence on metrics of whole rankings, which a gallery that is read in blocks does not have."""
        if isinstance(gallery.similarity, ItemLists):
            return ["Left out: numbers by judgements, which read whole rankings."] if self._judged else []
        similarity = isinstance(gallery.similarity, Unheld)
        phis = bool(self.asp_ties) and any(similarity or isinstance(one, Unheld) for one in gallery.phis.values())
        named = {"ASP": phis, "PMRP": similarity and self._labels is not None}
        named["numbers by judgements"] = similarity and bool(self._judged)
        named["mAP and R-P by category"] = similarity and self._categories is not None
        soft = "soft" in self.weightings and "released" in self.formulas and self.ms
        notes = []
        if soft and any(isinstance(one, ReadPhi) for one in gallery.phis.values()):
            notes.append("Left out: soft semantic recall (released), which reads phi that parts do not hold.")
        if not any(named.values()):
            return notes
        what = ", ".join(name for name, is_out in named.items() if is_out)
        size = gallery.n_images * gallery.n_captions
        whole = Cure("in_blocks=False", "--whole")
        return [
            *notes,
            f"Left out: {what}, of whole rankings. Matrices of {size:,} pairs are read in blocks; {whole} holds each "
            f"of them, in {4 * size / 1e9:,.1f} GB.",
        ]

    def depths(self, similarity: Similarity) -> tuple[int, int]:
        """Return how many items of each ranking by similarity, and by phi, the metrics read; arguments as in a call."""
        _, known = self._use(similarity)
        depth = max(self._depth(known, side) for side in DIRECTIONS)
        most = max([*self.ks, *self.ms, *(m for m in self.ncs_ms if m is not None)])
        by_phi = (depth_needed(most, known.pairing, side) for side in DIRECTIONS)
        return depth, max(NEIGHBOURS_PER_CAPTION + 1, depth, *by_phi)

    def _depth(self, known: _Known, side: Direction) -> int:
        """Return how many items of each ranking metrics read."""
        depth = max(depth_needed(max(self.ks), known.pairing, side), *(self.hub_ks if self.hubness else (1,)))
        to_r = [positives for name, positives in self._positives.items() if name not in RECALL_ONLY]
        return max([depth, *(int(positives.number(side).max()) for positives in to_r)])

    def _readers(self, matrix: NDArray, known: _Known, side: Direction) -> _Readers:
        """Return what reads whole rankings, which only a similarity and phi that are held have."""
        if isinstance(matrix, Unheld | ItemLists):
            return _Readers()
        phis = {name: one.phi for name, one in known.relevance.items() if not isinstance(one, RelevanceInBlocks)}
        kept = known.ranks_by_phi if known.similarities > 1 else None
        return _Readers(
            AspReader(phis, side, self.asp_ties, kept) if phis and self.asp_ties else None,
            PlausibleReader(known.distances, side) if known.distances is not None else None,
            CategoryReader(known.codes, side, self.category_cutoffs) if known.codes is not None else None,
        )

    def _numbers(
        self, ranking: Ranking, matrix: NDArray, known: _Known, side: Direction, read: _Readers
    ) -> tuple[list[_Number], Placement]:
        """Return every number of one direction, and where the own items of its queries stand."""
        asp, plausible, category = read.asp, read.plausible, read.category
        ranks = ranking.ground_truth_rank
        statistics = statistics_of(ranks)
        numbers = [
            *self._registered(ranking),
            _Number(key_of("Med r", side), statistics.median),
            _Number(key_of("Mean r", side), statistics.mean, (ranks + 1).astype(np.float64)),
        ]
        for name, relevance in known.relevance.items():
            numbers += self._ncs(ranking, known.relevance_of_ncs[name], name)
            numbers += self._semantic_recall(ranking, relevance, name)
            numbers += self._registered(ranking, relevance, name)
        if asp is not None:
            for (name, ties), values in asp.values.items():
                numbers.append(_mean(key_of("ASP", side, formula=ties, phi=name), values))
        if plausible is not None:
            of_queries = 100.0 * plausible.r_precision.mean(axis=0)  # over zetas; NaN without label
            value = float(np.nanmean(of_queries))
            numbers.append(_Number(key_of("PMRP", side), value, of_queries, np.isnan(of_queries)))
        if category is not None:
            for cutoff in self.category_cutoffs:
                metric = "mAP" if cutoff is None else f"mAP@{cutoff}"
                numbers.append(self._mean(key_of(metric, side), category.scores(cutoff)))
            numbers.append(self._mean(key_of("R-P", side), (category.r_precision, category.n_relevant == 0)))
        for name, positives in self._positives.items():
            numbers += self._of_positives(ranking, positives, name)
        nothing: dict[tuple[str, str, str], NDArray[np.bool_]] = {}
        for number in numbers:
            # Also where no query has nothing, so that several galleries have the same keys.
            found = np.zeros(len(ranks), dtype=bool) if number.nothing is None else number.nothing
            key = metric_of(number.key["metric"]).name, number.key["phi"], number.key["ground_truth"]
            nothing[key] = nothing.get(key, False) | found
        if not isinstance(matrix, Unheld | ItemLists):
            numbers += self._of_judged(matrix, side)
        everything = np.zeros(len(ranks), dtype=bool) if category is None else category.n_relevant == ranking.n_gallery
        placed = Placement.of(ranking, matrix, known.pairing, nothing, everything)
        numbers += self._hubs(ranking) if self.hubness else []
        if isinstance(matrix, ItemLists):
            numbers = _within(numbers, ranking, matrix.items[side].shape[1])
        return numbers, placed

    def _numbers_by_chance(self, known: _Known, side: Direction) -> Iterator[_Number]:
        """Yield the expected numbers of one direction, in the order of ``_numbers``."""
        ranking = RandomRanking.of(known.pairing, known.shape[0], side)
        yield from self._registered(ranking)
        yield _Number(key_of("Mean r", side), float(np.mean((ranking.n_gallery + 1) / (ranking.n_own + 1))))
        for name, relevance in known.relevance.items():
            yield from self._ncs(ranking, known.relevance_of_ncs[name], name)
            yield from self._semantic_recall(ranking, relevance, name)
            yield from self._registered(ranking, relevance, name)
        for ties, (name, relevance) in itertools.product(self.asp_ties, known.relevance.items()):
            if isinstance(relevance, RelevanceInBlocks):
                continue
            own = relevance.phi[: len(known.pairing)]
            yield _mean(key_of("ASP", side, formula=ties, phi=name), asp_by_chance(own, side, ties))
        if known.distances is not None:
            of_zetas = PlausibleReader(known.distances, side).by_chance()
            yield _mean(key_of("PMRP", side), of_zetas.mean(axis=0))
        if known.codes is not None:
            category = CategoryReader(known.codes, side, self.category_cutoffs)
            for cutoff in self.category_cutoffs:
                metric = "mAP" if cutoff is None else f"mAP@{cutoff}"
                yield self._mean(key_of(metric, side), category.by_chance(cutoff))
            yield self._mean(key_of("R-P", side), category.r_precision_by_chance())
        for name, positives in self._positives.items():
            yield from self._of_positives(ranking, positives, name)
        yield from self._of_judged(None, side)

    def _mean(self, key: MetricKey, scores: Scores, empty: str = "") -> _Number:
        """Return a mean over queries of which some may have nothing to find."""
        direction: Direction = "i2t" if key["direction"] == "i2t" else "t2i"
        return replace(_mean(key, after_policy(scores, empty or self.empty, direction)), nothing=scores[1])

    def _registered(
        self, ranking: Ranking | RandomRanking, relevance: Relevance | None = None, phi: str = ""
    ) -> Iterator[_Number]:
        """Yield the metrics whose entry in the registry names the function that computes them."""
        for metric in METRICS.values():
            function = metric.scores if isinstance(ranking, Ranking) else metric.chance
            if function and metric.needs_phi == (relevance is not None):
                compute = pkgutil.resolve_name(function)
                given = (ranking,) if relevance is None else (ranking, relevance)
                for k in self.ks if metric.name.endswith("@k") else (None,):
                    name = metric.name if k is None else f"{metric.name[:-1]}{k}"
                    scores = compute(*given) if k is None else compute(*given, k)
                    key = key_of(name, ranking.direction, phi=phi)
                    yield self._mean(key, scores) if isinstance(scores, tuple) else _mean(key, scores)

    def _of_positives(self, ranking: Ranking | RandomRanking, positives: Positives, name: str) -> Iterator[_Number]:
        items = ranking.items if isinstance(ranking, Ranking) else ranking
        hits = hits_of_ranking(items, positives, ranking.direction)
        found = {f"{name} R@{k}": hits.recall(k) for k in self.ks}
        if name not in RECALL_ONLY:
            found[f"{name} R-P"] = hits.r_precision()
            found[f"{name} mAP@R"] = hits.average_precision_at_r()
        for metric, values in found.items():
            yield self._mean(key_of(metric, ranking.direction), hits.scores(values, "skip"), "skip")

    def _of_judged(self, matrix: NDArray | None, side: Direction) -> Iterator[_Number]:
        """Yield numbers of captions as queries by judgements; expected ones without a matrix."""
        places: dict[bytes, NDArray[np.int64]] = {}  # sets of judgements of the same captions share rankings
        for (name, judged), kept in itertools.product(self._judged.items() if side == "t2i" else (), self.ground_truth):
            keep = kept == "kept"
            if matrix is None:
                scores = judged_by_chance(judged, keep)
            else:
                queries = judged.queries.tobytes()
                if queries not in places:
                    places[queries] = places_of(matrix, judged.queries)
                scores = judged_scores(matrix, judged, keep, places[queries])
            for metric, of_metric in scores.items():
                yield self._mean(key_of(f"{name} {metric}", side, ground_truth=kept), of_metric, "skip")

    def _ncs(self, ranking: Ranking | RandomRanking, relevance: Relevance, phi: str) -> Iterator[_Number]:
        of_formula: dict[Any, tuple[Any, str, Sequence[Any]]] = {
            "released": (released_ncs, "discount", self.discounts),
            "paper": (paper_ncs, "m", self.ncs_ms),
        }
        for formula in self.formulas:
            compute, name, variants = of_formula[formula]
            for variant, kept in itertools.product(variants, self.ground_truth):
                named: dict[str, Any] = {"formula": formula, "ground_truth": kept, "phi": phi}
                named |= {name: variant} if variant else {}
                for k, scores in compute(ranking, relevance, self.ks, kept == "kept", variant).items():
                    yield self._mean(key_of(f"N@{k}", ranking.direction, **named), scores)

    def _semantic_recall(self, ranking: Ranking | RandomRanking, relevance: Relevance, phi: str) -> Iterator[_Number]:
        if not self.ms:
            return
        side, deepest = ranking.direction, max(self.ms)
        kinds = [("hard", str(style)) for style in self.styles if "hard" in self.weightings]
        kinds += [("soft", "")] if "soft" in self.weightings else []  # style means nothing to soft weights
        if "paper" in self.formulas:  # lists are made once, for the largest m
            relevance.ideal(side, deepest)
        if "released" in self.formulas:
            relevance.neighbours(deepest, keep_ground_truth=True)
        for formula, kept, m, (weighting, style) in itertools.product(self.formulas, self.ground_truth, self.ms, kinds):
            if formula == "released" and weighting == "soft" and relevance.is_read_before:
                continue
            given = ranking, relevance, self.ks, m, kept == "kept", str(formula), style or "recall", weighting
            named = {"formula": formula, "ground_truth": kept, "m": m, "style": style, "weighting": weighting}
            for k, scores in semantic_recall_scores(*given).items():
                yield self._mean(key_of(f"SR@{k}", side, **named, phi=phi), scores)

    def _hubs(self, ranking: Ranking) -> list[_Number]:
        numbers: list[_Number] = []
        for k in self.hub_ks:
            hubs = hubness_of_ranking(ranking.items, ranking.n_gallery, k)
            of = {**hubs.shares, "max": hubs.maximum, "skewness": hubs.skewness, "Gini": hubs.gini}
            for statistic, value in of.items():
                metric = f"hubs {statistic}" if k == 1 else f"hubs {statistic}@{k}"
                numbers.append(_Number(key_of(metric, ranking.direction), float(value)))
        return numbers


def _checked_positives(given: Mapping[str, Positives] | None) -> dict[str, Positives]:
    """Return lists of positives whose names make names of metrics, such as "CxC R@1", that can be taken apart again."""
    for name, positives in (given or {}).items():
        if not isinstance(name, str) or not name or name != "".join(name.split()):
            better = "-".join(str(name).split()) or "CxC"
            raise InputError(
                f"a list of positives is named {name!r:.60}; give one without spaces, such as {better!r:.60}."
            )
        if (taken := metric_of(f"{name} R@1")).needs != "lists of positives":
            raise InputError(
                f"a list of positives is named '{name}', but '{taken.name}' is a metric already; rename it."
            )
        if not isinstance(positives, Positives):
            kind = type(positives).__name__
            raise InputError(f"the positives '{name}' are {kind}; give Positives, as Positives.symmetric makes.")
    return dict(given or {})


def _checked_judged(given: Mapping[str, Judged] | None, positives: Mapping[str, Positives]) -> dict[str, Judged]:
    """Return judgements whose names make names of metrics, such as "crowd AP"."""
    for name, judged in (given or {}).items():
        if not isinstance(name, str) or not name or name != "".join(name.split()) or name in positives:
            raise InputError(f"judgements are named {name!r:.60}; give one word that no list of positives has.")
        if not isinstance(judged, Judged):
            raise InputError(f"the judgements '{name}' are {type(judged).__name__}; give Judged(...).")
    return dict(given or {})


def _within(numbers: list[_Number], ranking: Ranking, length: int) -> list[_Number]:
    """Return numbers of lists of this length, NaN in place of those that read items behind the end of a list."""
    whole = length == ranking.n_gallery
    of_others = ranking.items.shape[1] - int(np.count_nonzero(ranking.own, axis=1).max())
    found = []
    for number in numbers:
        cutoff = parse_metric(number.key["metric"]).cutoff
        k = "1" if cutoff is None and number.key["metric"].startswith("hubs") else str(cutoff)
        is_known = whole or (
            k.isdigit() and int(k) <= (of_others if number.key["ground_truth"] == "removed" else length)
        )
        found.append(number if is_known else replace(number, value=float("nan"), queries=None))
    return found


@dataclass
class _Known:
    """Results that depend only on a gallery's captions and phi matrices, kept from call to call.

    Attributes:
        shape: Images and captions.
        pairing: ``[captions]`` image of each caption.
        phis: By name, perhaps with more rows than there are captions.
        of_gallery: Whether they are those of a ``Gallery`` that was given, not the evaluator's own.
        relevance: Rankings of the gallery's captions by phi, by the name of the phi.
        relevance_of_ncs: The same, unless a phi has more rows.
        distances: Between the labels of images, for PMRP.
        codes: Categories of images and captions.
        similarities: How many have been read.
        ranks_by_phi: Of every item, for ASP; kept from the second similarity on, since one alone has no use for them.
    """

    shape: tuple[int, int]
    pairing: NDArray[np.int64]
    phis: Mapping[str, NDArray]
    of_gallery: bool
    relevance: dict[str, Relevance] = field(default_factory=dict)
    relevance_of_ncs: dict[str, Relevance] = field(default_factory=dict)
    distances: LabelDistances | None = None
    codes: tuple[Codes, Codes] | None = None
    similarities: int = 0
    ranks_by_phi: KeptRanks = field(default_factory=dict)

    def fits(self, given: NDArray | Gallery, with_its_phis: bool) -> bool:
        """Return True if a similarity is of the same gallery; one of another gallery must be given as a ``Gallery``."""
        if not isinstance(given, Gallery):
            return given.shape == self.shape and not self.of_gallery
        same_phis = given.phis is self.phis or not with_its_phis
        return given.image_of_caption is self.pairing and same_phis


@dataclass(frozen=True)
class _Readers:
    """What reads whole rankings of one direction."""

    asp: AspReader | None = None
    plausible: PlausibleReader | None = None
    category: CategoryReader | None = None

    @property
    def every(self) -> list[Callable[[QueryBlock], None]]:
        """Those that there are."""
        return [one for one in (self.asp, self.plausible, self.category) if one is not None]

    def visit(self, block: QueryBlock) -> None:
        """Show a block of queries to all of them."""
        for read in self.every:
            read(block)


@dataclass(frozen=True, eq=False)
class _Number:
    """A number.

    Attributes:
        key: Its name and variant.
        value: Its value.
        queries: ``[queries]`` its value for every query if there is one; NaN where a query is left out.
        nothing: ``[queries]`` which queries have nothing to find.
    """

    key: MetricKey
    value: float
    queries: NDArray[np.float64] | None = None
    nothing: NDArray[np.bool_] | None = None


def _mean(key: MetricKey, fractions: NDArray[np.float64]) -> _Number:
    """Return the mean over queries, in percent or, where the registry says so, as a fraction."""
    divisor = 100.0 if metric_of(key["metric"]).unit == "fraction" else 1.0
    return _Number(key, percent(fractions) / divisor, 100.0 * fractions / divisor)
