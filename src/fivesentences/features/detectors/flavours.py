"""The two conversions of the bottom-up attention network: what differs between their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from fivesentences.config.types import FlavourName
from fivesentences.errors import InputError, did_you_mean

ANCHORS = 12  # per cell


@dataclass(frozen=True)
class Flavour:
    """How weights of one conversion are named, laid out and meant to be used.

    Attributes:
        name: ``d2`` for weights named as by detectron2 and Hugging Face, ``caffe`` for those that keep Caffe's layout.
        pixels_inclusive: Whether a box ends on its last pixel (Caffe: width = x2 - x1 + 1) or behind it (x2 - x1).
        background_first: Whether background is class 0 or the last class; "no attribute" stands likewise.
        paired_objectness: Whether an anchor has two scores, all of the background before all of objects.
        box_weights: What the regressed dx, dy, dw and dh of a class are divided by.
        smallest_side: Of a proposal, in pixels of the original image; 0 drops only empty boxes.
        embedding: Key of the class embedding that the attribute head reads, within the box predictor.
        attribute_hidden: Key of the first layer of the attribute head.
        attribute_scores: Key of the second.
    """

    name: FlavourName
    pixels_inclusive: bool
    background_first: bool
    paired_objectness: bool
    box_weights: tuple[float, float, float, float]
    smallest_side: float
    embedding: str
    attribute_hidden: str
    attribute_scores: str


FLAVOURS: dict[FlavourName, Flavour] = {
    "d2": Flavour(
        name="d2",
        pixels_inclusive=False,
        background_first=False,
        paired_objectness=False,
        box_weights=(10.0, 10.0, 5.0, 5.0),
        smallest_side=0.0,
        embedding="cls_embedding",
        attribute_hidden="fc_attr",
        attribute_scores="attr_score",
    ),
    "caffe": Flavour(
        name="caffe",
        pixels_inclusive=True,
        background_first=True,
        paired_objectness=True,
        box_weights=(1.0, 1.0, 1.0, 1.0),
        smallest_side=16.0,
        embedding="cls_embed",
        attribute_hidden="attr_linear1",
        attribute_scores="attr_linear2",
    ),
}


def flavour_named(name: str) -> Flavour:
    """The flavour of a name.

    Raises:
        InputError: If there is none of this name.
    """
    known = get_args(FlavourName)
    if name not in known:
        raise InputError(f"flavour is '{name}'", cure=did_you_mean(name, known) or f"choose {' or '.join(known)}")
    return FLAVOURS[name]  # type: ignore[index]
