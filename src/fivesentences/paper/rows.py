"""Rows of a study at a scale: which dataset, model, loss and runs stand behind a line of a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from fivesentences.config import (
    INFERENCES,
    WIDTHS,
    Inference,
    LossSpec,
    ModelSettings,
    RowSpec,
    RunSpec,
    Scale,
    Study,
    as_list,
    check,
    registered_models,
)
from fivesentences.errors import InputError

Setting = TypeVar("Setting", int, list[int])
LeftOut = Literal["role", "loss", "fraction", "inference"]


@dataclass(frozen=True)
class Row:
    """One line of a table or figure, resolved at a scale.

    ``runs`` holds one run a seed, in the order of the scale's seeds. It is empty where the line is left out, and
    ``left_out`` says why: nobody plays the role, or the scale has no time for the loss, the fraction or the inference
    method. Lines that differ in inference alone read the same runs.
    """

    role: str
    dataset: str | None
    model: str
    loss: str
    spec: LossSpec
    fraction: float
    inference: Inference
    published: str | None
    runs: tuple[RunSpec, ...]
    left_out: LeftOut | None = None


def expand_rows(rows: Iterable[RowSpec], study: Study, scale: Scale) -> list[Row]:
    """Multiply out the rows of a table or figure, in the order model, fraction, loss, inference.

    Those left out stay in.

    Raises:
        InputError: If a model is unknown or the scale does not say how many epochs a fraction takes.
    """
    expanded = []
    for row in rows:
        lists = (as_list(row.model), as_list(row.fraction), as_list(row.loss), as_list(row.inference))
        for model, fraction, loss, inference in itertools.product(*lists):
            dataset = scale.roles.get(row.role)
            left_out = _why_left_out(scale, dataset, loss, fraction, inference)
            spec, kind = study.losses[loss], _model(study, model)
            runs: tuple[RunSpec, ...] = ()
            if dataset is not None and left_out is None:
                runs = _runs(scale, dataset, model, kind, loss, spec, fraction)
            expanded.append(
                Row(row.role, dataset, model, loss, spec, fraction, inference, row.published, runs, left_out)
            )
    return expanded


def runs_of_table(study: Study, table: str, scale: Scale) -> dict[str, RunSpec]:
    """Runs that a table needs at a scale, by ``RunSpec.name``."""
    return runs_of_rows(expand_rows(study.rows_of(table), study, scale))


def runs_of_figure(study: Study, figure: str, scale: Scale) -> dict[str, RunSpec]:
    """Runs that a figure needs at a scale, by ``RunSpec.name``."""
    return runs_of_rows(expand_rows(study.rows_of(figure), study, scale))


def runs_of_study(study: Study, scale: Scale) -> dict[str, RunSpec]:
    """Runs that a study's tables and figures need at a scale, by ``RunSpec.name``; a shared run appears once.

    Raises:
        InputError: If two different runs would have one name.
    """
    return runs_of_rows(rows_of_study(study, scale))


def rows_of_study(study: Study, scale: Scale) -> list[Row]:
    """Rows of all tables and figures of runs that a scale makes of a study."""
    made = [name for name in (*study.tables, *study.figures) if scale.makes(name)]
    return [row for name in made for row in expand_rows(study.rows_of(name), study, scale)]


def runs_of_scale(studies: Mapping[str, Study], scale: Scale) -> dict[str, RunSpec]:
    """Runs of all studies at a scale, by ``RunSpec.name``; what two studies share appears once.

    Raises:
        InputError: If two different runs would have one name, or an exception names a model or loss of no study.
    """
    _check_exceptions(studies, scale)
    return _union(run for study in studies.values() for run in runs_of_study(study, scale).values())


def inferences_of_runs(studies: Mapping[str, Study], scale: Scale) -> dict[str, list[Inference]]:
    """By which inference methods each run of a scale is evaluated: as it is, and what its rows ask for besides."""
    found: dict[str, list[Inference]] = {}
    for study in studies.values():
        for row in rows_of_study(study, scale):
            for run in row.runs:
                asked = found.setdefault(run.name, ["naive"])
                if row.inference not in asked:
                    asked.append(row.inference)
    # In the order of the configuration, so that an evaluation does not depend on the order of tables.
    return {run: [method for method in INFERENCES if method in asked] for run, asked in found.items()}


def compared_rows(study: Study, figure: str, scale: Scale) -> list[Row]:
    """The two rows whose retrievals a figure compares: its first two that the scale trains on one dataset, or none."""
    rows = [row for row in expand_rows(study.rows_of(figure), study, scale) if row.runs]
    pair = [row for row in rows if row.dataset == rows[0].dataset][:2]
    return pair if len(pair) == 2 else []


def runs_of_rows(rows: Iterable[Row]) -> dict[str, RunSpec]:
    """Runs behind the given rows, by ``RunSpec.name``."""
    return _union(run for row in rows for run in row.runs)


def _union(runs: Iterable[RunSpec]) -> dict[str, RunSpec]:
    named: dict[str, RunSpec] = {}
    for run in runs:
        first = named.setdefault(run.name, run)
        if first != run:
            ours, theirs = first.model_dump(), run.model_dump()
            key = next(key for key in ours if ours[key] != theirs[key])
            raise InputError(
                f"two different runs are both named '{run.name}': {key} is {ours[key]!r} in one and {theirs[key]!r} "
                "in the other; give them settings that show in the name."
            )
    return named


def _why_left_out(
    scale: Scale, dataset: str | None, loss: str, fraction: float, inference: Inference
) -> LeftOut | None:
    if dataset is None:
        return "role"
    if loss in scale.leave_out.losses:
        return "loss"
    if inference in scale.leave_out.inferences:
        return "inference"
    return "fraction" if fraction in scale.leave_out.fractions else None


def _check_exceptions(studies: Mapping[str, Study], scale: Scale) -> None:
    """An exception with a mistaken name would hold for no run, and nobody would see it."""
    known = {
        "model": {*registered_models(), *(name for study in studies.values() for name in study.models)},
        "loss": {name for study in studies.values() for name in study.losses},
    }
    for number, exception in enumerate(scale.training.exceptions):
        for key, names in known.items():
            for name in as_list(getattr(exception, key) or []):
                if name not in names:
                    raise InputError(
                        f"scale {scale.scale}: training.exceptions[{number}].{key} is '{name}', but the studies have "
                        f"only: {', '.join(sorted(names))}."
                    )


def _model(study: Study, name: str) -> ModelSettings:
    """The model that a row names: a variant of the study's, or one of the registry as it is."""
    return study.models.get(name) or check(ModelSettings, {"name": name}, f"{study.paper}: a row's model")


def _runs(
    scale: Scale, dataset: str, name: str, model: ModelSettings, loss_name: str, loss: LossSpec, fraction: float
) -> tuple[RunSpec, ...]:
    """One run a seed, in the order of the scale's seeds."""
    settings = scale.training.model_dump(exclude={"exceptions", "minutes", "gpu", "runs_per_job", "tensorboard"})
    for exception in scale.training.exceptions:
        if exception.matches({name, model.name}, loss_name, fraction):
            settings |= exception.settings
    layout = settings.pop("features", None) or model.layout
    features = scale.grid_features if layout == "grid" and scale.grid_features is not None else scale.features
    assert features is not None  # a scale with roles has features
    widths = {key: settings.pop(key) for key in WIDTHS if key in settings}
    run = RunSpec(
        dataset=dataset,
        features=features,
        model=model.with_widths(widths),
        loss=loss,
        fraction=fraction,
        **settings | {"epochs": _of_fraction(scale, "training.epochs", settings["epochs"], fraction)},
    )
    return tuple(run.model_copy(update={"seed": seed}) for seed in _of_fraction(scale, "seeds", scale.seeds, fraction))


def _of_fraction(scale: Scale, key: str, setting: Setting | dict[float, Setting], fraction: float) -> Setting:
    """A setting that a scale gives once for all fractions, or one for each."""
    if not isinstance(setting, dict):
        return setting
    if fraction not in setting:
        known = ", ".join(f"{key:g}" for key in setting)
        raise InputError(
            f"scale {scale.scale}: {key} has no entry for the fraction {fraction:g} (only {known}); "
            "add one, or give a single value for all."
        )
    return setting[fraction]
