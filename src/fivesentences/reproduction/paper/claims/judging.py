"""The claims of the papers, each with what the runs of a scale say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.config.metrics import metric_of
from fivesentences.corpus.parquet import read_frame
from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.agreement import column_of
from fivesentences.reproduction.evaluation.seed_contrasts import Precisions, read_precisions
from fivesentences.reproduction.evaluation.tidy import read_per_image, read_tidy
from fivesentences.reproduction.paper.claims.verdicts import (
    SHARE,
    Effect,
    chance_of,
    correlation_difference,
    mean_over_images,
    outcome_of,
    over_seeds,
    over_seeds_and_queries,
    rank_correlation,
    verdict_of,
)
from fivesentences.reproduction.paper.numbers.results import Measure, Results, kind_of
from fivesentences.reproduction.paper.text.claim_notes import cell_in_words
from fivesentences.reproduction.paper.text.names import REFERENCES, listed, unique
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.plan.runs_of_claims import MethodCell, RunCell
from fivesentences.reproduction.study.claims import (
    AmongTest,
    AnyTest,
    Claim,
    FoundTest,
    JudgesTest,
    LevelTest,
    MethodsTest,
    OrdersTest,
    OwnBelowTest,
    RanksTest,
    RunsTest,
    SizeTest,
)
from fivesentences.reproduction.study.exhibits import ColumnSpec
from fivesentences.reproduction.study.expand import expand_rows, rows_shown
from fivesentences.reproduction.study.study import PaperClaims, Study

NO_PEOPLE = "scenes_truth"  # a judge that knows what was drawn: claims are about what people say
POWER = 0.02  # of ten: a twentieth more pairs is the least that counts
CLOSE = 10  # points of a sum of recalls
FEWEST_SETTINGS = 8  # for a rank correlation over settings
CONTRASTS = ("contrasts", "subspace_contrasts")  # what exhibits of differences read
Unit = Literal["points", "fraction", ""]
# One test of a claim: which runs, in words; what was measured; the address of the table or figure that shows its runs
# ("" if none does), from the page of claims; its runs without their seeds, as the page of runs names them; and what
# navigation calls the study with settings of its own whose runs they are ("" for those of the scale).
Tested = tuple[str, Effect, str, list[str], str]


@dataclass(frozen=True)
class Numbers:
    """Measured numbers behind the verdicts.

    Attributes:
        per_image: Contributions of each test image to sums of recall and scores, by run.
        results: Every value of every run, by the study with settings of its own; "" for runs of the scale.
        precisions: Average precisions of test documents.
        judged: Judged pairs by the name of the judge.
        found: Pairs searched until the right ones are found, by the name of the judge.
    """

    per_image: Mapping[str, pd.DataFrame]
    results: Mapping[str, Results]
    precisions: Precisions
    judged: Mapping[str, pd.DataFrame]
    found: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def read_numbers(
    plan: Plan,
    scale: str,
    *,
    per_image: Sequence[Path],
    tidy: Sequence[Path],
    queries: Sequence[Path],
    judged: Sequence[Path],
    found: Sequence[Path],
) -> Numbers:
    """Read the files that the rule names.

    Raises:
        InputError: If a file is damaged.
    """
    runs = [run for of_claim in plan.report.cells_of_claims(scale).values() for cell in of_claim for run in cell.runs]
    return Numbers(
        read_per_image(per_image, runs),
        {_study_of(plan, scale, path): Results(read_tidy(path)) for path in tidy},
        read_precisions(queries, runs),
        {path.stem: read_frame(path, "ask the judge again") for path in judged},
        {path.stem: read_frame(path, "search for the pairs again") for path in found},
    )


def _study_of(plan: Plan, scale: str, tidy: Path) -> str:
    """Return the study with settings of its own whose table a path is; empty for that of the scale."""
    return next(pool.partition("/")[2] for pool in plan.pools_of(scale) if plan.places.tidy(pool) == tidy)


def judge_claims(plan: Plan, scale: str, numbers: Numbers) -> list[dict[str, Any]]:
    """Return every claim with its verdict, in the order of the files, but for orders of models that no scale trains.

    Args:
        plan: Plan of the scale.
        scale: Its name, or that of its complete form.
        numbers: Measured numbers.

    Returns:
        For each claim ``paper`` (its file) and ``title``; what ``config/claims`` says of it; ``verdict`` by the rules
        of ``verdicts``; ``unit`` of its effects ("points" of percent, "fraction", or "" for others); the ``smallest``
        effect that counts; and ``cells``, its tests: ``label``, ``effect``, ``outcome``, ``link``, ``kinds`` and
        ``study``, see ``Tested``.

    Raises:
        InputError: If a run has no values.
    """
    cells, judge = plan.report.cells_of_claims(scale), _Judge(plan, scale, numbers)
    return [
        judge.claim(paper, one, cells[paper.name, one.name])
        for paper in plan.claims
        for one in paper.claims.claims
        if not isinstance(one.test, OrdersTest)
    ]


def with_verdict(paper: PaperClaims, claim: Claim, tested: Sequence[Tested]) -> dict[str, Any]:
    """Return a claim as it is stored, see ``judge_claims``, with the verdict that its tests give."""
    test, (unit, smallest) = claim.test, _unit(claim.test)
    level = test.level if isinstance(test, LevelTest | RanksTest | SizeTest) else 0.0
    outcomes = [outcome_of(effect, test.expect, smallest, level) for _, effect, *_ in tested]
    chances = [chance_of(effect, test.expect, smallest, level) for _, effect, *_ in tested]
    verdict = verdict_of(outcomes, chances, any(effect.is_repeated for _, effect, *_ in tested))
    cells = [
        {"label": label, "effect": asdict(effect), "outcome": outcome, "link": link, "kinds": kinds}
        | ({"study": study} if study else {})
        for (label, effect, link, kinds, study), outcome in zip(tested, outcomes, strict=True)
    ]
    said = claim.model_dump(mode="json", exclude_defaults=True)
    about = {"verdict": verdict, "unit": unit, "smallest": smallest, "cells": cells}
    return {"paper": paper.name, "title": paper.study.paper, **said, **about}


class _Judge:
    """Tests claims by the numbers of a scale, and knows which table or figure shows the runs of a test."""

    def __init__(self, plan: Plan, scale: str, numbers: Numbers) -> None:
        self.plan, self.scale, self.numbers, self.phi = plan, scale, numbers, plan.scale.evaluation_phi
        self.shown: list[tuple[str, set[str], bool]] = []  # address, its runs, and whether it shows differences
        self.reading: dict[str, str] = {}  # the first address that reads each kind of numbers
        order = {"contrasts": 0, "subspace_contrasts": 0, "runs": 1, "subspaces": 1}
        for name, exhibit in sorted(plan.exhibits.items(), key=lambda one: order.get(one[1].reads, 2)):
            address = "../{0}/index.html#{2}".format(*name.partition("/"))
            study, of_scale = plan.study_of(name), plan.at(scale, name)
            names = {run.name for row in expand_rows(exhibit.row_specs(), study, of_scale) for run in row.runs}
            names |= {run.name for row in rows_shown(exhibit, study, of_scale) for run in row.runs}
            self.shown.append((address, names, exhibit.reads in CONTRASTS))
            self.reading.setdefault(exhibit.reads, address)

    def claim(self, paper: PaperClaims, claim: Claim, made: Sequence[RunCell | MethodCell]) -> dict[str, Any]:
        """Test one claim and word what can be said of it."""
        return with_verdict(paper, claim, list(self._tested(claim.test, paper.study, made)))

    def _tested(self, test: AnyTest, study: Study, made: Sequence[RunCell | MethodCell]) -> Iterator[Tested]:
        match test:
            case RanksTest():
                yield from self._of_ranks(test)
            case JudgesTest():
                yield from self._of_judges(test)
            case FoundTest():
                yield from self._of_found(test)
            case OwnBelowTest():
                yield from self._of_own_captions(test)
            case AmongTest():
                yield from self._of_first_pairs(test)
            case _:
                for cell in made:
                    effect = self._of_runs(cell) if isinstance(cell, RunCell) else self._of_methods(cell, test)
                    contrasted = not isinstance(test, LevelTest) and len(set(cell.runs)) > len(cell.seeds)
                    # The first that has all of these runs; one of differences only if differences are asked for.
                    links = (
                        address
                        for address, runs, differences in self.shown
                        if runs >= set(cell.runs) and (contrasted or not differences)
                    )
                    called = self._called(getattr(cell, "asked_by", ""))
                    label = f"{called}: " * bool(called) + cell_in_words(cell, test, study)
                    yield label, effect, next(links, ""), unique(map(kind_of, cell.runs)), called

    def _called(self, study: str) -> str:
        return study and (self.plan.studies[study].short or study)

    def _of_runs(self, cell: RunCell) -> Effect:
        columns, frames = cell.per_image(self.phi), self.numbers.per_image
        if columns is not None:
            if not all(frames[run].index.equals(frames[cell.runs[0]].index) for run in cell.runs):
                kinds = listed(unique(map(kind_of, cell.runs)))
                raise InputError(f"the runs of {kinds} were tested on different images; evaluate them again.")
            parts = [
                term.factor * np.stack([frames[run][column].to_numpy(np.float64) for run in term.runs])
                for term, column in zip(cell.terms, columns, strict=True)
            ]
            effect = over_seeds_and_queries(np.sum(parts, axis=0))
            sides = [float(part.mean()) * term.factor for part, term in zip(parts, cell.terms, strict=True)]
        else:
            asked_by = cell.asked_by
            values = [
                [self._value(asked_by, run, one.measure, one.inference) for run in one.runs] for one in cell.terms
            ]
            factors = np.array([term.factor for term in cell.terms])
            effect = over_seeds((factors @ np.array(values)).tolist())
            sides = [float(np.mean(of_term)) for of_term in values]
        return replace(effect, a=sides[0], b=sides[1] if len(sides) > 1 else None)

    def _value(self, asked_by: str, run: str, column: ColumnSpec, inference: str = "naive") -> float:
        results, measure = self.numbers.results[asked_by], Measure.of_column(column, self.phi)
        return results.over_directions(run, measure) if inference == "naive" else results.value(run, measure, inference)

    def _of_methods(self, cell: MethodCell, test: AnyTest) -> Effect:
        assert isinstance(test, MethodsTest)
        directions = test.direction, test.b_direction or test.direction
        sides: list[list[pd.Series[float]]] = [
            [self.numbers.precisions[run, selection]["mAP", direction] for run in runs]
            for runs, selection, direction in zip((cell.a, cell.b), cell.selection, directions, strict=True)
        ]
        if test.b_role is not None:  # other documents: each seed has one number of either side
            a, b = (np.array([float(frame.mean()) for frame in frames]) for frames in sides)
            return replace(over_seeds((a - b).tolist()), a=float(np.mean(a)), b=float(np.mean(b)))
        pool = list(dict.fromkeys(document for frame in sides[0] for document in frame.index))
        a, b = (np.stack([frame.reindex(pool).to_numpy(np.float64) for frame in frames]) for frames in sides)
        return replace(over_seeds_and_queries(a - b), a=float(np.nanmean(a)), b=float(np.nanmean(b)))

    def _of_ranks(self, test: RanksTest) -> Iterator[Tested]:
        """Yield one test per dataset on which several models were trained: claims of models are not about losses."""
        known = (None, *self.plan.phis)
        if not {test.x.phi, test.y.phi} <= set(known):
            return
        pools = [(name, list(made.runs.values())) for name, _, made in self.plan.report.pools(self.scale)]
        sets = [(name, runs, one) for name, runs in pools for one in unique(run.dataset for run in runs)]
        for asked_by, runs, dataset in sets:
            here = [run for run in runs if run.dataset == dataset]
            models = {run.model.name for run in here}
            lines = [
                (
                    run.model_copy(update={"seed": 0}).name,
                    *(self._value(asked_by, run.name, one) for one in (test.x, test.y)),
                )
                for run in here
            ]
            means = pd.DataFrame(lines, columns=["setting", "x", "y"]).groupby("setting", sort=False).mean()
            if len(means) < FEWEST_SETTINGS or len(models) < 2:
                continue
            x, y = (means[side].to_numpy(np.float64) for side in ("x", "y"))
            label = f"{dataset}, {len(means)} settings of {len(models)} models{_close_ones(x, y)}"
            yield label, rank_correlation(x, y), self.reading.get("every_run", ""), [], self._called(asked_by)

    def _of_judges(self, test: JudgesTest) -> Iterator[Tested]:
        """Yield one test per judge."""
        for judge, pairs in self.numbers.judged.items():
            kept = pairs if test.pairs == "all" else pairs[~pairs["own"].astype(bool)]
            columns = [_column(pairs, phi) for phi in (test.a, test.b) if phi is not None]
            if judge == NO_PEOPLE or len(kept) < 2 or None in columns:
                continue
            known = kept.assign(**kept[[*columns, "human"]].astype(np.float64)).dropna(subset=[*columns, "human"])
            sides = [known[column].to_numpy() for column in columns]
            images, human = pd.factorize(known["image_id"])[0], known["human"].to_numpy()
            effect = correlation_difference(sides[0], sides[1] if len(sides) > 1 else None, human, images)
            yield (
                f"{judge.replace('_', ' ')}, {len(known):,} pairs",
                effect,
                self.reading.get("correlations", ""),
                [],
                "",
            )

    def _of_found(self, test: FoundTest) -> Iterator[Tested]:
        """Yield one test per judge."""
        for judge, table in self.numbers.found.items():
            searched = table.pivot_table("searched", ["image_id", "caption_id"], "order", sort=False)
            if {test.a, test.b} <= set(searched.columns):
                a, b = (np.log10(searched[order].to_numpy(np.float64)) for order in (test.a, test.b))
                effect = mean_over_images(b - a, pd.factorize(searched.index.get_level_values("image_id"))[0])
                label = f"{judge.replace('_', ' ')}, {len(searched):,} right pairs"
                yield label, effect, self.reading.get("found_positives", ""), [], ""

    def _of_own_captions(self, test: OwnBelowTest) -> Iterator[Tested]:
        """Yield the percentage of own captions below the bar, if the judge's table of pairs has that phi."""
        pairs, column = self.numbers.judged.get(test.judge), column_of(test.phi, test.references)
        if pairs is None or column not in pairs:
            return
        own = pairs[pairs["own"].astype(bool) & pairs[column].notna()]
        low = np.where(own[column].to_numpy(np.float64) < test.below, 100.0, 0.0)
        if len(own):
            label = f"{len(own):,} captions, {REFERENCES[test.references]}"
            effect = mean_over_images(low, pd.factorize(own["image_id"])[0])
            yield label, effect, self.reading.get("correlations", ""), [], ""

    def _of_first_pairs(self, test: AmongTest) -> Iterator[Tested]:
        """Yield the number of right pairs among the first, if pairs were searched by that phi."""
        table = self.numbers.found.get(test.judge)
        right = None if table is None else table[table["order"] == test.phi]
        if right is not None and len(right):
            reached = right["searched"].to_numpy() <= test.first
            within = np.where(reached, float(len(right)), 0.0)  # its mean is how many there are
            effect = mean_over_images(within, pd.factorize(right["image_id"])[0])
            label = f"of {len(right):,} right pairs, among the first {test.first:,}"
            yield label, effect, self.reading.get("found_positives", ""), [], ""


def _close_ones(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Say how often y orders two settings as x does where x tells little apart: a correlation is one of far ones."""
    pairs = np.triu(np.abs(x[:, None] - x) < CLOSE, 1)
    alike = np.sign(x[:, None] - x) == np.sign(y[:, None] - y)
    if not pairs.any():
        return ""
    return f"; {alike[pairs].mean():.0%} of {pairs.sum():,} pairs less than {CLOSE} apart ordered alike"


def _unit(test: AnyTest) -> tuple[Unit, float]:
    """Return the unit of an effect and the smallest that counts: half a percent of the metric's range, or as stated."""
    unit: Unit = "fraction"
    if isinstance(test, RunsTest | LevelTest):
        metric = metric_of(test.measure.metric)
        unit = "points" if metric.unit == "percent" else ""
        found = SHARE * (600.0 if metric.name in ("Rsum", "Nsum") else 100.0) if unit else 1.0
    elif isinstance(test, FoundTest):
        unit, found = "", POWER
    elif isinstance(test, SizeTest):
        unit, found = "points" if isinstance(test, OwnBelowTest) else "", test.within
    else:
        found = SHARE * (1.0 if isinstance(test, MethodsTest) else 2.0)
    return unit, found


def _column(pairs: pd.DataFrame, phi: str) -> str | None:
    """Find the column of a phi with all references, whichever tokens it has."""
    return next((str(name) for name in pairs.columns if str(name).partition("-")[0] == phi and "|" not in name), None)
