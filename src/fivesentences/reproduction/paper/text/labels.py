"""Labels of a study's rows: those of its file, or names of this package where it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fivesentences.reproduction.paper.text.names import INFERENCES, phi_in_words
from fivesentences.reproduction.study.expand import Row
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import AS_GIVEN

Part = Literal["dataset", "model", "loss", "fraction", "inference"]
PARTS: tuple[Part, ...] = ("dataset", "model", "loss", "fraction", "inference")


def label_of(study: Study, part: Part, value: Any) -> str:
    """Name a dataset, model, loss or inference method as the study does; a fraction in percent."""
    if part == "fraction":
        return f"{value:.0%}"
    return study.label_of(value, INFERENCES.get(value) if part == "inference" else None)


def loss_in_words(study: Study, loss: str) -> str:
    """Name a loss for a sentence, without the plus sign of what is added to the triplet."""
    return study.label_of(loss).lstrip("+ ")


def phi_label(study: Study, phi: str) -> str:
    """Name a phi as the study does."""
    return study.label_of(phi, phi_in_words(phi))


def line_labels(rows: Sequence[Row], study: Study) -> list[str]:
    """Name the lines of a figure, one per row, by what tells the rows apart, inference methods included."""
    return labels_of_settings([{part: getattr(row, part) for part in PARTS} for row in rows], study)


def labels_of_settings(settings: Sequence[Mapping[Part, Any]], study: Study) -> list[str]:
    """Name settings by whatever tells them apart (model, loss, fraction, ...); by loss, if known, if nothing does."""
    telling = [part for part in PARTS if len({one.get(part) for one in settings}) > 1]
    if not telling:  # a matrix of others has no loss
        telling = ["model" if all(one.get("loss") == AS_GIVEN for one in settings) else "loss"]
    labels = (", ".join(label_of(study, part, one[part]) for part in telling) for one in settings)
    return [label.replace(", + ", " + ") for label in labels]  # "VSE++ + SAM"
