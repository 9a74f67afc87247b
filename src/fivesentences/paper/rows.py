"""Rows of a study at a scale: which dataset, model, loss and runs stand behind a line of a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from fivesentences.config import LossSpec, ModelSpec, RowSpec, RunSpec, Scale, Study, as_list, check
from fivesentences.errors import InputError

Setting = TypeVar("Setting", int, list[int])
LeftOut = Literal["role", "loss", "fraction"]


@dataclass(frozen=True)
class Row:
    """One line of a table or figure, resolved at a scale.

    ``runs`` holds one run a seed, in the order of the scale's seeds. It is empty where the line is left out, and
    ``left_out`` says why: nobody plays the role, or the scale has no time for the loss or the fraction.
    """

    role: str
    dataset: str | None
    model: str
    loss: str
    spec: LossSpec
    fraction: float
    published: str | None
    runs: tuple[RunSpec, ...]
    left_out: LeftOut | None = None


def expand_rows(rows: Iterable[RowSpec], study: Study, scale: Scale) -> list[Row]:
    """Multiply out the rows of a table or figure, in the order model, fraction, loss; those left out stay in.

    Raises:
        InputError: If a model is unknown or the scale does not say how many epochs a fraction takes.
    """
    expanded = []
    for row in rows:
        for model, fraction, loss in itertools.product(as_list(row.model), as_list(row.fraction), as_list(row.loss)):
            dataset = scale.roles.get(row.role)
            left_out = _why_left_out(scale, dataset, loss, fraction)
            runs: tuple[RunSpec, ...] = ()
            if dataset is not None and left_out is None:
                run = _run(scale, dataset, model, study.losses[loss], fraction)
                runs = tuple(
                    run.model_copy(update={"seed": seed})
                    for seed in _of_fraction(scale, "seeds", scale.seeds, fraction)
                )
            expanded.append(
                Row(row.role, dataset, model, loss, study.losses[loss], fraction, row.published, runs, left_out)
            )
    return expanded


def runs_of_table(study: Study, table: str, scale: Scale) -> dict[str, RunSpec]:
    """Runs that a table needs at a scale, by ``RunSpec.name``."""
    return runs_of_rows(expand_rows(study.tables[table].rows, study, scale))


def runs_of_figure(study: Study, figure: str, scale: Scale) -> dict[str, RunSpec]:
    """Runs that a figure needs at a scale, by ``RunSpec.name``."""
    return runs_of_rows(expand_rows(study.figures[figure].rows, study, scale))


def runs_of_study(study: Study, scale: Scale) -> dict[str, RunSpec]:
    """Runs that a study's tables and figures need at a scale, by ``RunSpec.name``; a shared run appears once.

    Raises:
        InputError: If two different runs would have one name.
    """
    made = [thing for name, thing in (study.tables | study.figures).items() if scale.makes(name)]
    return runs_of_rows(row for thing in made for row in expand_rows(thing.rows, study, scale))


def runs_of_scale(studies: Mapping[str, Study], scale: Scale) -> dict[str, RunSpec]:
    """Runs of all studies at a scale, by ``RunSpec.name``; what two studies share appears once.

    Raises:
        InputError: If two different runs would have one name.
    """
    return _union(run for study in studies.values() for run in runs_of_study(study, scale).values())


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


def _why_left_out(scale: Scale, dataset: str | None, loss: str, fraction: float) -> LeftOut | None:
    if dataset is None:
        return "role"
    if loss in scale.leave_out.losses:
        return "loss"
    return "fraction" if fraction in scale.leave_out.fractions else None


def _run(scale: Scale, dataset: str, model: str, loss: LossSpec, fraction: float) -> RunSpec:
    training = scale.training
    assert scale.features is not None  # a scale with roles has features
    widths = {"name": model, "embedding": training.embedding, "word": training.word}
    return RunSpec(
        dataset=dataset,
        features=scale.features,
        model=check(ModelSpec, widths, f"a study's model at scale {scale.scale}"),
        loss=loss,
        fraction=fraction,
        draw=training.draw,
        epochs=_of_fraction(scale, "training.epochs", training.epochs, fraction),
        batch_size=training.batch_size,
        learning_rate=training.learning_rate,
        drop_after=training.drop_after,
        gradient_clip=training.gradient_clip,
        min_word_count=training.min_word_count,
        selection=training.selection,
        threads=training.threads,
    )


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
