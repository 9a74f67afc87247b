"""What a study calls its rows: the labels of its file, or names of this package where it has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fivesentences.paper.text.names import INFERENCES, phi_in_words
from fivesentences.plan.rows import Row
from fivesentences.plan.studies import Study

Part = Literal["dataset", "model", "loss", "fraction", "inference"]
PARTS: tuple[Part, ...] = ("dataset", "model", "loss", "fraction", "inference")


def label_of(study: Study, part: Part, value: Any) -> str:
    """What a study calls a dataset, model, loss or inference method; a fraction is shown in percent."""
    if part == "fraction":
        return f"{value:.0%}"
    return study.label_of(value, INFERENCES.get(value) if part == "inference" else None)


def loss_in_words(study: Study, loss: str) -> str:
    """What a study calls a loss, for a sentence: without the plus sign of what is added to the triplet."""
    return label_of(study, "loss", loss).lstrip("+ ")


def phi_label(study: Study, phi: str) -> str:
    """What a study calls a phi."""
    return study.label_of(phi, phi_in_words(phi))


def line_labels(rows: Sequence[Row], study: Study, default: Part = "loss") -> list[str]:
    """What the lines of a figure are called: by model, loss, fraction and so on, whichever tell them apart.

    Args:
        rows: One row per line.
        study: Their study.
        default: What names them where nothing tells them apart.
    """
    telling = [part for part in PARTS if len({getattr(row, part) for row in rows}) > 1] or [default]
    labels = (", ".join(label_of(study, part, getattr(row, part)) for part in telling) for row in rows)
    return [label.replace(", + ", " + ") for label in labels]  # "VSE++ + SAM"
