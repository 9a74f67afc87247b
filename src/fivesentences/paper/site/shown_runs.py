"""Every run of a scale as its page shows it: settings, numbers, epochs, time, and which tables and figures show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import pandas as pd
import yaml

from fivesentences.config.documents import SELECTIONS
from fivesentences.evaluation.categories import read_subspace_table
from fivesentences.evaluation.tidy import HISTORY_COLUMNS as COLUMNS
from fivesentences.evaluation.tidy import read_tidy, read_training_histories
from fivesentences.losses import LossSpec
from fivesentences.models import MODELS
from fivesentences.paper.headline import BESIDE, MEASURES, kind_of, values_of_runs
from fivesentences.paper.text.labels import label_of
from fivesentences.plan.encoded import EncodedRun, Scored, members_of
from fivesentences.plan.ensembles import EnsembleRun
from fivesentences.plan.plan import Plan
from fivesentences.plan.rows import expand_rows
from fivesentences.plan.runs import RunSpec
from fivesentences.plan.subspace_runs import SubspaceRun
from fivesentences.plan.subspaces import rows_shown

Part = Literal["matching", "categories"]
NUMBERS = MEASURES | BESIDE  # of image-text matching
SIDES = {"mean": "mAP", "i2t": "mAP i2t", "t2i": "mAP t2i"}
# Which epoch's weights a number of category retrieval belongs to.
EPOCH_OF = {"map": "best validation mAP", "loss": "lowest validation loss", "last": "last epoch"}


class Series(NamedTuple):
    """What was recorded of one run after some of its epochs, which count from 1."""

    epochs: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class ShownRun:
    """One run.

    Attributes:
        name: As everywhere; the page's anchor.
        seed: Of everything that is drawn.
        values: Numbers of the test split, by name; those that a run lacks are left out.
        kept: The epoch whose weights were kept, by why: "" for the best on dev; of category retrieval there are three.
        series: "loss" and "score" by epoch, as far as they were recorded.
        device: Where it was trained; empty if that is unknown.
        torch: With which version of PyTorch.
        members: Names of the runs whose similarities an ensemble averages.
    """

    name: str
    seed: int
    values: Mapping[str, float]
    kept: Mapping[str, int] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)
    device: str = ""
    torch: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """Runs that differ in their seed alone.

    Attributes:
        name: That of its runs, without the seed.
        part: Which of the page's tables it belongs to.
        what: "training", "ensemble", "encoder" or "category retrieval".
        dataset: Or the documents and their division.
        model: As tables call it; of category retrieval the method.
        loss: As tables call it; empty for what is not trained by one.
        fraction: Of the training captions, 0 to 1; None if that does not apply.
        beside: What else tells it from others in words: features, captions per image, batches.
        settings: All of them as YAML, apart from the seed.
        runs: By seed.
        shown_in: Tables and figures that show these runs: ``study/name`` and title.
        seconds: Of training, per run; None if unknown.
        of_job: Whether ``seconds`` is the mean over the runs of a job, of which alone the time is known.
    """

    name: str
    part: Part
    what: str
    dataset: str
    model: str
    loss: str
    fraction: float | None
    beside: tuple[str, ...]
    settings: str
    runs: tuple[ShownRun, ...]
    shown_in: tuple[tuple[str, str], ...] = ()
    seconds: float | None = None
    of_job: bool = False

    def mean(self, name: str) -> float | None:
        """The mean of a number over the seeds that have it."""
        values = [run.values[name] for run in self.runs if name in run.values]
        return sum(values) / len(values) if values else None

    @property
    def epochs(self) -> int | None:
        """The most epochs that a run recorded."""
        recorded = (series.epochs for run in self.runs for series in run.series.values())
        return max((epochs[-1] for epochs in recorded if epochs), default=None)


@dataclass(frozen=True)
class Recorded:
    """What the page is made from.

    Attributes:
        values: ``[runs, NUMBERS]`` of image-text matching.
        histories: See ``collect_histories``.
        subspaces: The table of metrics of category retrieval.
        subspace_histories: Its epochs.
        jobs: What the manifest says of training jobs, by rule and job.
    """

    values: pd.DataFrame
    histories: pd.DataFrame
    subspaces: pd.DataFrame
    subspace_histories: pd.DataFrame
    jobs: Mapping[str, Mapping[str, Mapping[str, float]]]


def anchor_of(run: str) -> str:
    """The address of a run, or of a kind of run, on the page of runs, behind ``#``."""
    return quote(run, safe="/=,+@:|")


def read_recorded_runs(
    tidy: Sequence[Path],
    histories: Sequence[Path],
    subspaces: Sequence[Path],
    subspace_histories: Sequence[Path],
    manifest: Mapping[str, Any],
) -> Recorded:
    """Read what the rule is given; a scale without runs of a sort gives no files of it.

    Raises:
        InputError: If a file is missing or damaged.
    """
    none = pd.DataFrame(columns=list(COLUMNS))
    return Recorded(
        values_of_runs(read_tidy(tidy[0]), NUMBERS) if tidy else pd.DataFrame(columns=list(NUMBERS)),
        read_training_histories(histories[0]) if histories else none,
        read_subspace_table(subspaces, "metrics"),
        read_subspace_table(subspace_histories, "histories"),
        manifest.get("trained", {}),
    )


def kinds_of(plan: Plan, scale: str, recorded: Recorded) -> list[Kind]:
    """Every run of the scale, or of its complete form, by kind: trainings, ensembles, encoders, category retrieval."""
    return [*_matching(plan, scale, recorded), *_categories(plan, scale, recorded)]


# --- image-text matching -------------------------------------------------------------------------------------


def _matching(plan: Plan, scale: str, recorded: Recorded) -> list[Kind]:
    known: dict[str, Scored] = {**plan.all_runs, **plan.all_ensembles, **plan.all_encoded}
    specs = [known[name] for name in plan.evaluated_at(scale)]
    said, shown = _said_of_rows(plan, scale)
    histories = _by_run(recorded.histories)
    values: dict[str, dict[str, float]] = {str(run): dict(of_run) for run, of_run in recorded.values.iterrows()}
    kinds = []
    for name, of_kind in _by_kind(specs).items():
        first = of_kind[0]
        model, loss = said.get(name) or _words(first)
        seconds = [_seconds_of(recorded, "train", plan.job_of(spec.name)) for spec in of_kind]
        kinds.append(
            Kind(
                name=name,
                part="matching",
                what=_what(first),
                dataset=first.dataset,
                model=model,
                loss=loss,
                fraction=None if isinstance(first, EncodedRun) else first.fraction,
                beside=tuple(_beside(members_of(first)[0])) if members_of(first) else (),
                settings=_settings(first),
                runs=tuple(_run(spec, values, histories) for spec in sorted(of_kind, key=lambda one: one.seed)),
                shown_in=tuple(shown.get(name, {}).items()),
                **_time(seconds),
            )
        )
    return kinds


def _run(spec: Scored, values: Mapping[str, Mapping[str, float]], histories: Mapping[str, pd.DataFrame]) -> ShownRun:
    of_run = values.get(spec.name, {})
    history = histories.get(spec.name)
    known = {name: float(value) for name, value in of_run.items() if value == value}
    members = tuple(member.name for member in members_of(spec)) if isinstance(spec, EnsembleRun) else ()
    if history is None or not len(history):
        return ShownRun(spec.name, spec.seed, known, members=members)
    history = history.sort_values("epoch")
    best = history.loc[history["best"].eq(1), "epoch"].tolist()
    return ShownRun(
        name=spec.name,
        seed=spec.seed,
        values=known,
        kept={"": int(best[0])} if best else {},
        series={"loss": _series(history, "loss"), "score": _series(history, "dev_Rsum")},
        device=str(history["device"].iloc[0]),
        torch=str(history["torch"].iloc[0]),
    )


def _what(spec: Scored) -> str:
    return {EnsembleRun: "ensemble", EncodedRun: "encoder"}.get(type(spec), "training")


def _words(spec: Scored) -> tuple[str, str]:
    """Model and loss of what no row shows, such as a member of an ensemble."""
    if isinstance(spec, RunSpec):
        return MODELS[spec.model.name].title, spec.loss.label()
    return (spec.model, "") if isinstance(spec, EncodedRun) else (spec.ensemble, spec.loss.label())


def _beside(run: RunSpec) -> Iterator[str]:
    """What a run's name says beside its dataset, model, loss and fraction; epochs have a column."""
    if run.captions_per_image is not None:
        yield f"{run.captions_per_image} per image"
    if run.training.one_caption_per_image:
        yield "one caption per image in a batch"
    if run.features_named:
        yield run.features.stem


def _settings(spec: Scored) -> str:
    if isinstance(spec, EnsembleRun):
        members = [kind_of(member.name) for member in spec.members]
        return _yaml({"ensemble": spec.ensemble, "members": members, "loss": _plain(spec.loss)})
    return _yaml(_plain(spec))


def _plain(spec: Scored | LossSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude={"seed"})


def _said_of_rows(plan: Plan, scale: str) -> tuple[dict[str, tuple[str, str]], dict[str, dict[str, str]]]:
    """Of each kind of run what the first study that shows it calls its model and loss; and what shows it."""
    said: dict[str, tuple[str, str]] = {}
    shown: dict[str, dict[str, str]] = {}
    for name, exhibit in plan.exhibits.items():
        study = plan.study_of(name)
        for row in expand_rows(exhibit.row_specs(), study, plan.scales[scale]):
            for run in row.runs:
                kind = kind_of(run.name)
                said.setdefault(kind, (label_of(study, "model", row.model), label_of(study, "loss", row.loss)))
                shown.setdefault(kind, {})[name] = exhibit.title
    return said, shown


# --- category retrieval --------------------------------------------------------------------------------------


def _categories(plan: Plan, scale: str, recorded: Recorded) -> list[Kind]:
    subspaces = plan.subspaces
    specs = [subspaces.all_runs[name] for name in plan.subspaces_at(scale)]
    metrics, histories = _by_run(recorded.subspaces), _by_run(recorded.subspace_histories)
    shown = _rows_of_categories(plan, scale)
    kinds = []
    for name, of_kind in _by_kind(specs).items():
        first, found = of_kind[0], shown.get(name, {})
        jobs = [subspaces.jobs[job] for job in subspaces.jobs_of(run.name for run in of_kind)]
        seconds = [_seconds_of(recorded, "train_subspaces", job) for job in jobs]
        kinds.append(
            Kind(
                name=name,
                part="categories",
                what="category retrieval",
                dataset=f"{first.documents}, {first.division}",
                model=first.method.called,
                loss=first.method.label(),
                fraction=None,
                beside=(),
                settings=_yaml({key: value for key, value in first.plain.items() if key != "seed"}),
                runs=tuple(
                    _category_run(run, metrics.get(run.name), histories.get(run.name))
                    for run in sorted(of_kind, key=lambda one: one.seed)
                ),
                shown_in=tuple(found.items()),
                **_time(seconds),
            )
        )
    return kinds


def _category_run(run: SubspaceRun, metrics: pd.DataFrame | None, history: pd.DataFrame | None) -> ShownRun:
    values: dict[str, float] = {}
    if metrics is not None:
        found = metrics[metrics["metric"].eq("mAP")].set_index(["selection", "direction"])["value"].to_dict()
        for selection in SELECTIONS:
            beside = "" if selection == "last" else f", {EPOCH_OF[selection]}"
            of_selection = {
                f"{name}{beside}": float(found[selection, side])
                for side, name in SIDES.items()
                if (selection, side) in found
            }
            values |= of_selection
    if history is None or not len(history):
        return ShownRun(run.name, run.seed, values)
    history = history.sort_values("epoch")
    marks = history["selected"].fillna("").astype(str) if "selected" in history else [""] * len(history)
    kept = {word: int(epoch) for epoch, said in zip(history["epoch"], marks, strict=True) for word in said.split()}
    series = {"loss": _series(history, "loss"), "score": _series(history, "validation_map")}
    return ShownRun(run.name, run.seed, values, kept, series)


def _rows_of_categories(plan: Plan, scale: str) -> dict[str, dict[str, str]]:
    """Which tables and figures show each kind of run."""
    shown: dict[str, dict[str, str]] = {}
    for name, exhibit in plan.exhibits.items():
        for row in rows_shown(exhibit, plan.study_of(name), plan.scales[scale]):
            for run in row.runs:
                shown.setdefault(kind_of(run.name), {})[name] = exhibit.title
    return shown


# --- both ----------------------------------------------------------------------------------------------------


def _by_kind(specs: Iterable[Any]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for spec in specs:
        kinds.setdefault(kind_of(spec.name), []).append(spec)
    return kinds


def _by_run(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {str(run): lines for run, lines in frame.groupby("run", sort=False)}


def _series(history: pd.DataFrame, column: str) -> Series:
    known = history.dropna(subset=column)
    return Series(tuple(map(int, known["epoch"])), tuple(map(float, known[column])))


def _seconds_of(recorded: Recorded, rule: str, job: Any) -> tuple[float, int] | None:
    """Seconds per run of a job, and how many runs it has."""
    of_job = recorded.jobs.get(rule, {}).get(job.name)
    return None if of_job is None else (of_job["seconds"] / len(job.runs), len(job.runs))


def _time(found: Sequence[tuple[float, int] | None]) -> dict[str, Any]:
    known = [one for one in found if one is not None]
    if not known:
        return {}
    return {"seconds": sum(one[0] for one in known) / len(known), "of_job": any(one[1] > 1 for one in known)}


def _yaml(content: Any) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
