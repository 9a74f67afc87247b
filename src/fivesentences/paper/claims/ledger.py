"""The claims of the papers, each with what the runs of a scale say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fivesentences.corpus.parquet import read_frame
from fivesentences.errors import InputError
from fivesentences.evaluation.contrasts import Precisions, read_precisions
from fivesentences.evaluation.tidy import read_per_image, read_tidy
from fivesentences.metrics.registry import metric_of
from fivesentences.paper.claims.effects import (
    correlation_difference,
    mean_over_images,
    over_seeds,
    over_seeds_and_queries,
    rank_correlation,
)
from fivesentences.paper.claims.verdicts import SHARE, Effect, Outcome, Verdict, chance_of, outcome_of, verdict_of
from fivesentences.paper.headline import kind_of
from fivesentences.paper.numbers.results import Measure, Results
from fivesentences.plan.claimed import MethodCell, PaperClaims, RunCell
from fivesentences.plan.claims import Claim, FoundTest, JudgesTest, LevelTest, MethodsTest, RanksTest, RunsTest
from fivesentences.plan.exhibits import ColumnSpec
from fivesentences.plan.plan import Plan
from fivesentences.plan.rows import expand_rows
from fivesentences.plan.subspaces import rows_shown

NO_PEOPLE = "scenes_truth"  # a judge that knows what was drawn: claims are about what people say
POWER = 0.02  # of ten: a twentieth more pairs is the least that counts
FEWEST_SETTINGS = 8  # for a rank correlation over settings
MAP = "mAP"


@dataclass(frozen=True)
class Cell:
    """One test of a claim and what was measured.

    Attributes:
        label: Which runs, in words.
        effect: The difference or value.
        outcome: What it says by itself.
        link: Address of the table or figure that shows its runs, from the page of claims; empty if there is none.
        kinds: Its runs without their seeds, as the page of runs names them; empty if it tests no runs of its own.
    """

    label: str
    effect: Effect
    outcome: Outcome
    link: str = ""
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        paper: File name of its paper.
        title: Of the paper.
        claim: What is stated.
        verdict: By the rules of ``verdicts``.
        cells: Its tests.
        why: Why it cannot be tested; empty if it can.
        unit: Of effects: "points" of percent, "fraction" or "" for others.
        smallest: The smallest effect that counts.
    """

    paper: str
    title: str
    claim: Claim
    verdict: Verdict
    cells: tuple[Cell, ...]
    why: str
    unit: Literal["points", "fraction", ""]
    smallest: float


@dataclass(frozen=True)
class Numbers:
    """What the verdicts are made from.

    Attributes:
        per_image: What each test image contributes to sums of recall and scores, by run.
        results: Every value of every run; None if the scale trains none.
        precisions: Average precisions of test documents.
        judged: Judged pairs by the name of the judge.
        found: What it takes to find the right ones, by the name of the judge.
    """

    per_image: Mapping[str, pd.DataFrame]
    results: Results | None
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
    """Read what the rule is given.

    Raises:
        InputError: If a file is damaged.
    """
    cells = [cell for of_claim in plan.cells_of_claims(scale).values() for cell in of_claim]
    runs = [run for cell in cells if isinstance(cell, RunCell) for run in cell.runs]
    methods = [run for cell in cells if isinstance(cell, MethodCell) for run in cell.runs]
    return Numbers(
        read_per_image(per_image, runs),
        Results(read_tidy(tidy[0])) if tidy else None,
        read_precisions(queries, methods),
        {path.stem: read_frame(path, "ask the judge again") for path in judged},
        {path.stem: read_frame(path, "search for the pairs again") for path in found},
    )


def judge_claims(plan: Plan, scale: str, numbers: Numbers) -> list[Judged]:
    """Every claim with its verdict, in the order of the files.

    Args:
        plan: Of the scale.
        scale: Its name, or that of its complete form.
        numbers: Measured.

    Raises:
        InputError: If a run has no values.
    """
    cells, shown = plan.cells_of_claims(scale), _Shown(plan, scale)
    return [
        _judge(paper, one, cells[paper.name, one.name], plan, scale, numbers, shown)
        for paper in plan.claims
        for one in paper.claims.claims
    ]


def _judge(
    paper: PaperClaims,
    claim: Claim,
    made: Sequence[RunCell | MethodCell],
    plan: Plan,
    scale: str,
    numbers: Numbers,
    shown: _Shown,
) -> Judged:
    test, phi = claim.test, plan.scale.evaluation_phi
    unit, smallest = _unit(test)
    effects: list[tuple[str, Effect, str]] = []
    kinds: list[tuple[str, ...]] = []
    match test:
        case RunsTest() | LevelTest() | MethodsTest():
            for cell in made:
                if isinstance(cell, RunCell):
                    effect = _of_runs(cell, numbers, phi)
                else:
                    assert isinstance(test, MethodsTest)
                    effect = _of_methods(cell, test, numbers)
                contrasted = not isinstance(test, LevelTest) and len(set(cell.runs)) > len(cell.seeds)
                effects.append((cell.label, effect, shown.link(cell.runs, contrasted)))
                kinds.append(tuple(dict.fromkeys(map(kind_of, cell.runs))))
            why = "the scale has no runs that test it"
        case RanksTest():
            effects, why = _of_ranks(test, plan, scale, numbers, shown.every_run), "the scale has too few settings"
        case JudgesTest():
            effects, why = _of_judges(test, plan, numbers, shown), "the scale has no people who rated such pairs"
        case FoundTest():
            effects, why = _of_found(test, numbers, shown), "the scale has no judge of right pairs, or no labels"
    level = test.level if isinstance(test, LevelTest | RanksTest) else 0.0
    outcomes = [outcome_of(effect, test.expect, smallest, level) for _, effect, _ in effects]
    chances = [chance_of(effect, test.expect, smallest, level) for _, effect, _ in effects]
    verdict = verdict_of(outcomes, chances)
    cells = tuple(
        Cell(label, effect, outcome, link, of_cell)
        for (label, effect, link), outcome, of_cell in zip(effects, outcomes, kinds or [()] * len(effects), strict=True)
    )
    if effects:
        why = _why(cells) if verdict == "not testable" else ""
    return Judged(paper.name, paper.study.paper, claim, verdict, cells, why, unit, smallest)


def _why(cells: Sequence[Cell]) -> str:
    if not any(cell.effect.is_repeated for cell in cells):
        return "too few seeds"
    return "too uncertain" if all(cell.outcome == "open" for cell in cells) else "settings disagree or are open"


def _unit(test: Any) -> tuple[Literal["points", "fraction", ""], float]:
    """The unit of an effect, and the smallest that counts: half a percent of the range of the metric."""
    if isinstance(test, RunsTest | LevelTest):
        metric = metric_of(test.measure.metric)
        highest = 600.0 if metric.name in ("Rsum", "Nsum") else 100.0
        unit: Literal["points", "fraction", ""] = "points" if metric.unit == "percent" else ""
        found = SHARE * highest if metric.unit == "percent" else 1.0
    elif isinstance(test, FoundTest):
        unit, found = "", POWER
    else:
        unit, found = "fraction", SHARE * (1.0 if isinstance(test, MethodsTest) else 2.0)
    return unit, test.smallest or found


# --- effects of each kind of test -----------------------------------------------------------------------------------


def _of_runs(cell: RunCell, numbers: Numbers, phi: str) -> Effect:
    columns = cell.per_image(phi)
    if columns is not None:
        parts = [
            term.factor * np.stack([_of_run(numbers, run)[column].to_numpy(np.float64) for run in term.runs])
            for term, column in zip(cell.terms, columns, strict=True)
        ]
        _check_images(cell, numbers)
        effect = over_seeds_and_queries(np.sum(parts, axis=0))
        sides = [float(part.mean()) * term.factor for part, term in zip(parts, cell.terms, strict=True)]
    else:
        values = [[_value(numbers, run, term.measure, term.inference, phi) for run in term.runs] for term in cell.terms]
        factors = np.array([term.factor for term in cell.terms])
        effect = over_seeds((factors @ np.array(values)).tolist())
        sides = [float(np.mean(of_term)) for of_term in values]
    return replace(effect, a=sides[0], b=sides[1] if len(sides) > 1 else None)


def _of_run(numbers: Numbers, run: str) -> pd.DataFrame:
    if run not in numbers.per_image:
        raise InputError(f"the run '{run}' has no values per image; evaluate it again.")
    return numbers.per_image[run]


def _check_images(cell: RunCell, numbers: Numbers) -> None:
    first = _of_run(numbers, cell.runs[0]).index
    for run in cell.runs:
        if not _of_run(numbers, run).index.equals(first):
            raise InputError(f"the runs '{cell.runs[0]}' and '{run}' were tested on different images; evaluate again.")


def _value(numbers: Numbers, run: str, column: ColumnSpec, inference: str, phi: str) -> float:
    assert numbers.results is not None  # a scale with runs has a table of them
    measure = Measure.of_column(column, phi)
    if inference == "naive":
        return numbers.results.over_directions(run, measure)
    return numbers.results.value(run, measure, inference)


def _of_methods(cell: MethodCell, test: Any, numbers: Numbers) -> Effect:
    sides: list[list[pd.Series[float]]] = []
    directions = test.direction, test.b_direction or test.direction
    for runs, selection, direction in zip((cell.a, cell.b), cell.selection, directions, strict=True):
        frames = []
        for run in runs:
            if (run, selection) not in numbers.precisions:
                raise InputError(f"the run '{run}' has no values of the epoch by '{selection}'; evaluate it again.")
            frames.append(numbers.precisions[run, selection][MAP, direction])
        sides.append(frames)
    if test.b_role is not None:  # other documents: each seed has one number of either side
        first, second = ([float(frame.mean()) for frame in frames] for frames in sides)
        effect = over_seeds((np.array(first) - np.array(second)).tolist())
        return replace(effect, a=float(np.mean(first)), b=float(np.mean(second)))
    pool = list(dict.fromkeys(document for frame in sides[0] for document in frame.index))
    a, b = (np.stack([frame.reindex(pool).to_numpy(np.float64) for frame in frames]) for frames in sides)
    return replace(over_seeds_and_queries(a - b), a=float(np.nanmean(a)), b=float(np.nanmean(b)))


def _of_ranks(test: RanksTest, plan: Plan, scale: str, numbers: Numbers, link: str) -> list[tuple[str, Effect, str]]:
    """One cell per dataset."""
    phi, found = plan.scale.evaluation_phi, []
    if numbers.results is None or any(one.phi not in (None, *plan.scale.phis) for one in (test.x, test.y)):
        return []
    runs = [plan.all_runs[name] for name in plan.trained_at(scale)]
    for dataset in dict.fromkeys(run.dataset for run in runs):
        lines = [
            (
                run.model_copy(update={"seed": 0}).name,
                _value(numbers, run.name, test.x, "naive", phi),
                _value(numbers, run.name, test.y, "naive", phi),
            )
            for run in runs
            if run.dataset == dataset
        ]
        means = pd.DataFrame(lines, columns=["setting", "x", "y"]).groupby("setting", sort=False).mean()
        if len(means) >= FEWEST_SETTINGS:
            x, y = (means[side].to_numpy(np.float64) for side in ("x", "y"))
            found.append((f"{dataset}, {len(means)} settings", rank_correlation(x, y), link))
    return found


def _of_judges(test: JudgesTest, plan: Plan, numbers: Numbers, shown: _Shown) -> list[tuple[str, Effect, str]]:
    found = []
    for judge, pairs in numbers.judged.items():
        kept = pairs if test.pairs == "all" else pairs[~pairs["own"].astype(bool)]
        columns = [_column(pairs, phi) for phi in (test.a, test.b) if phi is not None]
        if judge == NO_PEOPLE or len(kept) < 2 or None in columns:
            continue
        values = kept[[*columns, "human"]].astype(np.float64)
        known = values.notna().all(axis=1)
        sides = [values.loc[known, column].to_numpy() for column in columns]
        images = pd.factorize(kept.loc[known, "image_id"])[0]
        human = values.loc[known, "human"].to_numpy()
        effect = correlation_difference(sides[0], sides[1] if len(sides) > 1 else None, human, images)
        found.append((f"{judge.replace('_', ' ')}, {known.sum():,} pairs", effect, shown.of_judges))
    return found


def _of_found(test: FoundTest, numbers: Numbers, shown: _Shown) -> list[tuple[str, Effect, str]]:
    found = []
    for judge, table in numbers.found.items():
        searched = table.pivot_table("searched", ["image_id", "caption_id"], "order", sort=False)
        if not {test.a, test.b} <= set(searched.columns):
            continue
        a, b = (np.log10(searched[order].to_numpy(np.float64)) for order in (test.a, test.b))
        images = pd.factorize(searched.index.get_level_values("image_id"))[0]
        effect = mean_over_images(b - a, images)
        found.append((f"{judge.replace('_', ' ')}, {len(searched):,} right pairs", effect, shown.of_found))
    return found


def _column(pairs: pd.DataFrame, phi: str) -> str | None:
    """The column of a phi with all references, of whichever tokens were asked for."""
    return next((str(name) for name in pairs.columns if str(name).partition("-")[0] == phi and "|" not in name), None)


# --- what shows a test ----------------------------------------------------------------------------------------------


class _Shown:
    """Addresses of tables and figures from the page of claims, by the runs that they show."""

    def __init__(self, plan: Plan, scale: str):
        self._runs: dict[str, tuple[set[str], bool]] = {}
        self.every_run = self.of_judges = self.of_found = ""
        order = {"contrasts": 0, "subspace_contrasts": 0, "runs": 1, "subspaces": 1}
        exhibits = sorted(plan.exhibits.items(), key=lambda one: order.get(one[1].reads, 2))
        for name, exhibit in exhibits:
            address = "../{0}/index.html#{2}".format(*name.partition("/"))
            study, of_scale = plan.study_of(name), plan.scales[scale]
            rows = expand_rows(exhibit.row_specs(), study, of_scale)
            names = {run.name for row in rows for run in row.runs}
            names |= {run.name for row in rows_shown(exhibit, study, of_scale) for run in row.runs}
            self._runs[address] = names, exhibit.reads in ("contrasts", "subspace_contrasts")
            if exhibit.reads == "every_run":
                self.every_run = self.every_run or address
            if exhibit.reads == "correlations":
                self.of_judges = self.of_judges or address
            if exhibit.reads == "found_positives":
                self.of_found = self.of_found or address

    def link(self, runs: Sequence[str], contrasted: bool) -> str:
        """The first that shows all of these runs; empty if none does.

        Args:
            runs: Their names.
            contrasted: Whether differences are asked for, which then go before values; else values alone will do.
        """
        asked = set(runs)
        found = (
            address
            for address, (shown, differences) in self._runs.items()
            if asked <= shown and (contrasted or not differences)
        )
        return next(found, "")
