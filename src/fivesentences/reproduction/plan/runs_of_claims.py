"""Claims at a scale: which of its runs stand on either side of each test.

A claim never makes a run: it is tested by those that the scale's studies have anyway, found by their losses and
settings, whatever a study calls them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fivesentences.config.types import Inference, as_list, asked
from fivesentences.losses import LossSpec
from fivesentences.reproduction.categories.runs import SubspaceRun
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.study.claims import LevelTest, MethodsTest, RunsTest, Than
from fivesentences.reproduction.study.exhibits import ColumnSpec, Summed
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import RunSpec

BEGINNING = 5  # epochs: a study that names fewer looks at the beginning of a run
Setting = dict[str, dict[int, RunSpec]]  # runs of one setting by the folder of their loss, and seed


@dataclass(frozen=True)
class Term:
    """One side of a test.

    Attributes:
        factor: 1 or -1; a test is a sum of terms.
        runs: Names, one per seed.
        measure: Metric that is read of them.
        inference: How they are read.
    """

    factor: int
    runs: tuple[str, ...]
    measure: ColumnSpec
    inference: Inference = "naive"

    def summed(self, phi: str) -> Summed | None:
        """Return the column of values per image that holds it; None if there are none."""
        column = self.measure
        if self.inference != "naive" or column.formula != "released" or column.phi not in (None, phi):
            return None
        match column.metric, column.ground_truth, column.direction:
            case "Rsum", _, None:
                return "Rsum"
            case "Nsum", kept, None:
                return "Nsum" if kept == "kept" else "Nsum_own_removed"
            case "ASP", _, "i2t" | "t2i" if column.ties == "index":
                return "ASP_i2t" if column.direction == "i2t" else "ASP_t2i"
        return None


@dataclass(frozen=True)
class RunCell:
    """One test of a claim: a sum of terms, paired by seed.

    Attributes:
        terms: The first two are the sides whose values are shown.
        seeds: The seeds of each term's runs.
        losses: Losses of the first two terms.
        settings: A run of the setting in which they are tested, and of that against which the effect is held, if any.
        asked_by: The study with a setup of its own whose runs they are; empty for those of the scale.
    """

    terms: tuple[Term, ...]
    seeds: tuple[int, ...]
    losses: tuple[LossSpec, ...]
    settings: tuple[RunSpec, ...]
    asked_by: str = ""

    @property
    def runs(self) -> list[str]:
        """Names of all runs, each once."""
        return list(dict.fromkeys(run for term in self.terms for run in term.runs))

    def per_image(self, phi: str) -> list[Summed] | None:
        """Return the column of each term's values per image; None if one has none, or the terms have other images."""
        found = [column for term in self.terms if (column := term.summed(phi)) is not None]
        return found if len(found) == len(self.terms) and len({run.dataset for run in self.settings}) == 1 else None


@dataclass(frozen=True)
class MethodCell:
    """One test of a claim on category retrieval.

    Attributes:
        a: Runs of the first side, one per seed.
        b: Runs of the second side.
        selection: Which epoch's weights are read, of either side.
        seeds: The seeds of both.
        methods: Names of both sides' methods in the study.
        where: Documents of both sides, and their division.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    selection: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[str, str]
    where: tuple[str, str, str]

    @property
    def runs(self) -> list[str]:
        """Names of all runs."""
        return [*self.a, *self.b]


@dataclass(frozen=True)
class Candidate:
    """A run that claims may be tested by.

    Attributes:
        run: The run.
        setting: Settings that it shares with runs of other losses and seeds.
        about: Values of the keys that tests ask for.
    """

    run: RunSpec
    setting: str
    about: dict[str, Any]


def candidates_of(runs: Iterable[RunSpec], scale: Scale) -> list[Candidate]:
    """Return the runs of a scale that claims may be tested by: found once, since a scale may have thousands."""
    found = []
    for run in runs:
        if run.epochs_named and run.training.epochs < BEGINNING:
            continue
        specs = scale.further_features.items() if run.features_named else ()
        about = {
            "features": next((name for name, spec in specs if spec.as_read == run.features), None),
            "model": run.model.name,
            "fraction": run.fraction,
            "captions_per_image": "all" if run.captions_per_image is None else run.captions_per_image,
            "noise": run.training.noise,
            "epochs": run.training.epochs,
        }
        found.append(Candidate(run, _without_loss(run).name, about))
    return found


def run_cells(
    test: RunsTest | LevelTest,
    study: Study,
    scale: Scale,
    candidates: Sequence[Candidate],
    inferences: Mapping[str, Sequence[str]],
) -> list[RunCell]:
    """Return every test of a claim that the runs allow.

    Args:
        test: Test of the claim.
        study: Study that names the losses.
        scale: Scale that says who plays a role, and with which phi runs are evaluated.
        candidates: Runs of the scale; see ``candidates_of``.
        inferences: How each run is read.
    """
    if any(one.phi not in (None, *scale.phis) for one, _ in test.sides()):
        return []
    settings = _settings(one for one in candidates if _is_of(test, one, scale))
    than = test.than if isinstance(test, RunsTest) else None
    elsewhere: dict[str, list[Setting]] = {}  # by what such a setting has in common with the setting here
    if than is not None:
        free = test.model_copy(update=dict.fromkeys(than.model_fields_set | {"epochs"}))
        there = _settings(one for one in candidates if _is_of(free, one, scale) and _is_there(than, one, scale))
        for setting in there.values():
            elsewhere.setdefault(_in_common(than, _any(setting)), []).append(setting)
    found = []
    for names in test.pairs():
        losses = [study.losses[name] for name in names]
        for setting in settings.values():
            if (cell := _cell(test, losses, [setting])) is None:
                continue
            cells: list[RunCell | None] = [cell]
            if than is not None:
                others = elsewhere.get(_in_common(than, _any(setting)), [])
                cells = [_cell(test, losses, [setting, other]) for other in others]
            made = [one for one in cells if one is not None]
            found += [one for one in made if all(_is_read(term, inferences) for term in one.terms)]
    return found


def _cell(test: RunsTest | LevelTest, losses: Sequence[LossSpec], settings: Sequence[Setting]) -> RunCell | None:
    """A test in a setting, less the same in another if there is one; None if a side has no run, or they share no seed.

    A run of one of the losses, by name of its folder, that is configured otherwise excludes the setting.
    """
    sides = []
    for sign, setting in zip((1, -1), settings, strict=False):
        for factor, loss, (measure, inference) in zip((sign, -sign), losses, test.sides(), strict=False):
            of_loss = setting.get(loss.folder, {})
            if any(run.loss != loss for run in of_loss.values()):
                return None
            sides.append((factor, of_loss, measure, inference))
    seeds = tuple(seed for seed in sides[0][1] if all(seed in of_loss for _, of_loss, _, _ in sides))
    if not seeds:
        return None
    terms = tuple(
        Term(factor, tuple(of_loss[seed].name for seed in seeds), measure, inference)
        for factor, of_loss, measure, inference in sides
    )
    return RunCell(terms, seeds, tuple(losses), tuple(map(_any, settings)))


def without_repeats(cells: Sequence[Any]) -> list[Any]:
    """Leave out a test whose runs are all among those of another study's test of the same, which has more seeds."""
    return [
        one
        for place, one in enumerate(cells)
        if not any(_is_within(one, other, place > there) for there, other in enumerate(cells) if there != place)
    ]


def _is_within(one: Any, other: Any, later: bool) -> bool:
    """Tell whether a test repeats part of another: of two with the same runs the later one does."""
    if not (isinstance(one, RunCell) and isinstance(other, RunCell)) or one.asked_by == other.asked_by:
        return False
    pairs = list(zip(one.terms, other.terms, strict=False))
    alike = len(one.terms) == len(other.terms) and all(replace(a, runs=()) == replace(b, runs=()) for a, b in pairs)
    within = alike and all(set(a.runs) <= set(b.runs) for a, b in pairs)
    return within and (later or any(len(a.runs) < len(b.runs) for a, b in pairs))


def method_cells(test: MethodsTest, study: Study, runs: Iterable[SubspaceRun], scale: Scale) -> list[MethodCell]:
    """Return every test of a claim on category retrieval that the runs allow."""
    roles = {} if scale.categories is None else scale.categories.roles
    # By documents and division, then by the folder of the method, then by seed.
    by_setting: dict[tuple[str, str], dict[str, dict[int, SubspaceRun]]] = {}
    for run in runs:
        of_setting = by_setting.setdefault((run.documents, run.division), {})
        of_setting.setdefault(run.method.folder, {})[run.seed] = run
    found = []
    for role in as_list(test.role) if test.role is not None else list(roles):
        for documents, division in (key for key in by_setting if key[0] == roles.get(role)):
            there = documents if test.b_role is None else roles.get(test.b_role, "")
            for names in test.pairs():
                methods = [study.methods[name] for name in names]
                first = by_setting[documents, division].get(methods[0].folder, {})
                second = by_setting.get((there, division), {}).get(methods[1].folder, {})
                seeds = tuple(seed for seed in first if seed in second)
                if seeds and (names[0] != names[1] or test.b is None):
                    a, b = (tuple(side[seed].name for seed in seeds) for side in (first, second))
                    selections = [
                        tuple(one if method.iterative else "last" for method in methods) for one in test.selection
                    ]
                    where = (documents, there, division)
                    found += [MethodCell(a, b, one, seeds, names, where) for one in dict.fromkeys(selections)]
    return found


def _without_loss(run: RunSpec, **changes: Any) -> RunSpec:
    """Return a run without its loss and seed, and with other changes."""
    return run.model_copy(update={"loss": LossSpec(), "seed": 0, **changes})


def _settings(candidates: Iterable[Candidate]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for one in candidates:
        found.setdefault(one.setting, {}).setdefault(one.run.loss.folder, {})[one.run.seed] = one.run
    return found


def _any(setting: Setting) -> RunSpec:
    return next(iter(next(iter(setting.values())).values()))


def _is_of(test: RunsTest | LevelTest, one: Candidate, scale: Scale) -> bool:
    fits = all(asked(value, getattr(test, key, None)) for key, value in one.about.items())
    return fits and (test.role is None or scale.roles.get(test.role) == one.run.dataset)


def _is_there(than: Than, one: Candidate, scale: Scale) -> bool:
    if than.role is not None:
        return scale.roles.get(than.role) == one.run.dataset
    return all(one.about[key] == getattr(than, key) for key in than.model_fields_set)


def _in_common(than: Than, run: RunSpec) -> str:
    """A setting apart from what ``than`` names; parts of the data are trained for different numbers of epochs."""
    (key,) = than.model_fields_set
    apart: dict[str, Any] = {"epochs_named": False}
    match key:
        case "role":
            apart |= {"dataset": "any"}
        case "features":
            apart |= {"features_named": False}
        case "noise":
            apart |= {"training": run.training.model_copy(update={"noise": 0.0})}
        case "fraction" | "captions_per_image":
            apart |= {"fraction": 1.0, "captions_per_image": None}
    rest = _without_loss(run, **apart)
    return rest.named("any") if key == "model" else rest.name


def _is_read(term: Term, inferences: Mapping[str, Sequence[str]]) -> bool:
    return all(term.inference in inferences.get(run, ()) for run in term.runs)
