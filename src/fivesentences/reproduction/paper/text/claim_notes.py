"""Names of a claim's tests: where, and between which sides."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.metrics import shown_name
from fivesentences.losses import LossSpec
from fivesentences.reproduction.plan.runs_of_claims import MethodCell, RunCell
from fivesentences.reproduction.study.claims import AnyTest, LevelTest, MethodsTest, RunsTest
from fivesentences.reproduction.study.exhibits import ColumnSpec
from fivesentences.reproduction.study.study import Study
from fivesentences.semantics.registry import IN_WORDS
from fivesentences.training.spec import RunSpec


def cell_in_words(cell: RunCell | MethodCell, test: AnyTest, study: Study) -> str:
    """Word the setting of a test and its sides, such as ``wikipedia, printed: CCA against PLS``."""
    if isinstance(cell, MethodCell):
        assert isinstance(test, MethodsTest)  # which alone has such cells
        documents, other, division = cell.where
        a, b = map(study.label_of, cell.methods)
        sides = f"{a}, {test.direction} against {test.b_direction}"
        if test.b is not None:
            sides = f"{a} against {b}"
        elif test.b_role is not None:
            sides = f"{a}, against the same on {other}"
        last = ", last epoch" if len(test.selection) > 1 and "map" not in cell.selection else ""
        return f"{documents}, {division.replace('_', ' ')}{last}: {sides}"
    assert isinstance(test, RunsTest | LevelTest)
    first, *others = map(_in_words, cell.settings)
    elsewhere = "".join(f"; less the same in {other}" for other in others)
    return f"{first}: {_sides_in_words(test, study, cell.losses)}{elsewhere}"


def _in_words(run: RunSpec) -> str:
    """Return a setting for a reader: dataset, model, data and length of training."""
    options = run.model.folder.removeprefix(run.model.name).strip(",")
    captions = "" if run.captions_per_image is None else f", {run.captions_per_image} caption(s) an image"
    noise = f", {100 * run.training.noise:g}% wrong pairs" if run.training.noise else ""
    features = f", {run.features.stem}" if run.features_named else ""
    return (
        f"{run.dataset}, {run.model.title}{f' ({options})' if options else ''}{features}, {100 * run.fraction:g}% of "
        f"the data{captions}{noise}, {run.training.epochs} epochs"
    )


def _sides_in_words(test: RunsTest | LevelTest, study: Study, losses: Sequence[LossSpec]) -> str:
    first, second = (loss.label(IN_WORDS | study.labels) for loss in losses)
    if isinstance(test, LevelTest):
        return first
    if test.b is not None:
        return f"{first} against {second}"
    if test.b_inference is not None:
        return f"{first}, {test.inference.replace('_', ' ')} against {test.b_inference.replace('_', ' ')}"
    return f"{first}, {_measure(test.measure)} against {_measure(test.against or test.measure)}"


def _measure(column: ColumnSpec) -> str:
    details = [column.direction or "", f"m = {column.m}" if column.m else "", column.style.replace("_", " ")]
    return " ".join([shown_name(column.metric), *(one for one in details if one)])
