"""What a study calls its rows: the labels of its file, or names of this package where it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fivesentences.paper.text.names import INFERENCES, phi_in_words
from fivesentences.study.expand import Row
from fivesentences.study.study import Study

Part = Literal["dataset", "model", "loss", "fraction", "inference"]
PARTS: tuple[Part, ...] = ("dataset", "model", "loss", "fraction", "inference")


def label_of(study: Study, part: Part, value: Any) -> str:
    """What a study calls a dataset, model, loss or inference method; a fraction is shown in percent."""
    if part == "fraction":
        return f"{value:.0%}"
    if part == "loss" and not value:
        return "pre-trained"  # an encoder
    return study.label_of(value, INFERENCES.get(value) if part == "inference" else None)


def loss_in_words(study: Study, loss: str) -> str:
    """What a study calls a loss, for a sentence: without the plus sign of what is added to the triplet."""
    return study.label_of(loss).lstrip("+ ")


def phi_label(study: Study, phi: str) -> str:
    """What a study calls a phi."""
    return study.label_of(phi, phi_in_words(phi))


def line_labels(rows: Sequence[Row], study: Study) -> list[str]:
    """What the lines of a figure, one per row, are called: by what tells the rows apart, inference methods included."""
    return labels_of_settings([{part: getattr(row, part) for part in PARTS} for row in rows], study)


def labels_of_settings(settings: Sequence[Mapping[Part, Any]], study: Study) -> list[str]:
    """What settings are called: by model, loss, fraction and so on, whichever tell them apart; by loss if none does."""
    telling = [part for part in PARTS if len({one.get(part) for one in settings}) > 1] or ["loss"]
    labels = (", ".join(label_of(study, part, one[part]) for part in telling) for one in settings)
    return [label.replace(", + ", " + ") for label in labels]  # "VSE++ + SAM"
