"""Bottom-up attention: the regions that SCAN and its successors read, from published weights of either conversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torchvision
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from fivesentences.config.types import ResizeRule, SelectionRule
from fivesentences.errors import InputError
from fivesentences.features.detectors import boxes
from fivesentences.features.detectors.network import (
    BottomUpNetwork,
    Flavour,
    Proposals,
    Recognised,
    Widths,
    flavour_named,
)
from fivesentences.features.detectors.resizing import Resized, resize
from fivesentences.features.detectors.selection import FLOOR, select_class_agnostic, select_per_class
from fivesentences.features.detectors.weights import fit, read_state
from fivesentences.features.exactness import exact
from fivesentences.features.formats.record import ImageFeatures
from fivesentences.storage import sha256_of

# Overlaps that the rules allow: the original one; and the list of AIRSPLAY's script for COCO.
THRESHOLDS: dict[SelectionRule, tuple[float, ...]] = {
    "per_class": (0.3,),
    "class_agnostic": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
SHORTEST = 5  # pixels of a side that become one cell


@dataclass(frozen=True)
class Settings:
    """How regions are made of an image; the defaults are those of the 36-region features that the papers use.

    Attributes:
        resize: See ``resizing.resize``.
        short: Pixels of the shorter side.
        long: Most pixels of the longer side.
        candidates: Anchors that compete to be proposals.
        proposals: Regions among which is selected.
        overlap: Above which a less probable proposal is dropped.
        selection: ``per_class`` keeps proposals as boxes, as the original extraction did. ``class_agnostic`` returns
            boxes regressed for the most probable class, while the features remain those of the proposals.
        least: Regions per image; fewer only where fewer are proposed.
        most: Regions per image.
        thresholds: Overlaps of the selection; default those of ``THRESHOLDS``.
        floor: Confidence that ``per_class`` asks for where there are enough regions.
        chunk: Regions at once; memory grows with it, and no number depends on it beyond rounding.
    """

    resize: ResizeRule = "opencv"
    short: int = 600
    long: int = 1000
    candidates: int = 6000
    proposals: int = 300
    overlap: float = 0.7
    selection: SelectionRule = "per_class"
    least: int = 36
    most: int = 36
    thresholds: tuple[float, ...] = ()
    floor: float = FLOOR
    chunk: int = 50


class Found(NamedTuple):
    """Everything that the network says of one image, before the selection; ``n`` proposals.

    Attributes:
        proposals: In pixels of the resized image.
        features: ``[n, dim]``.
        recognised: Classes, attributes and deltas.
    """

    proposals: Proposals
    features: Tensor
    recognised: Recognised


class BottomUpAttention:
    """The network with its weights as a detector; see ``Detector``."""

    def __init__(
        self,
        weights: Path | str,
        flavour: str = "d2",
        settings: Settings | None = None,
        device: str = "cpu",
    ):
        """Build the network and load its weights.

        Args:
            weights: See ``weights.read_state``; 536 tensors. Other widths than those of the published network, such as
                other numbers of classes, are those that the tensors have.
            flavour: ``d2`` or ``caffe``: whose conversion the weights are.
            settings: Default those of the 36-region features.
            device: ``cpu`` or ``cuda``.

        Raises:
            InputError: If the flavour is unknown, or the weights cannot be read or are not those of the network.
        """
        kind, state = flavour_named(flavour), read_state(weights)
        with torch.device("meta"):
            network = BottomUpNetwork(kind, Widths.of(state, kind))
        fit(network, state, weights, f"bottom-up attention in the flavour '{kind.name}'")
        self._made_of(network, settings or Settings(), device)
        self.source |= {"weights_sha256": sha256_of(weights)}

    @classmethod
    def of(cls, network: BottomUpNetwork, settings: Settings | None = None) -> BottomUpAttention:
        """Return a detector around a network that has its weights, on the device and in the precision that it is in."""
        made = object.__new__(cls)
        made._made_of(network, settings or Settings(), None)
        return made

    def _made_of(self, network: BottomUpNetwork, settings: Settings, device: str | None) -> None:
        self.network = network if device is None else network.to(device)
        self.settings = settings
        self.flavour: Flavour = network.flavour
        self.dim, self.class_count = 8 * network.widths.out, network.widths.classes
        rules: dict[str, Any] = {key: value for key, value in asdict(settings).items() if key != "chunk"}
        known = boxes.cell_anchors(self.flavour.name)
        table = network.proposal_generator.anchor_generator.cell_anchors.table()
        self.source: dict[str, Any] = {
            "extractor": "bottom_up_attention",
            "flavour": self.flavour.name,
            "precision": str(table.dtype).removeprefix("torch."),
            **rules,
            "thresholds": list(self._thresholds),
            "boxes": "proposals" if settings.selection == "per_class" else "regressed",
            "anchors": "as published" if np.allclose(table.cpu().numpy(), known, atol=1e-3) else table.tolist(),
            "normalisation": "none",
            "dim": self.dim,
            **({} if network.widths == Widths() else {"widths": asdict(network.widths)}),
            "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__},
        }

    @property
    def _thresholds(self) -> tuple[float, ...]:
        return self.settings.thresholds or THRESHOLDS[self.settings.selection]

    def regions(self, image: Image.Image) -> ImageFeatures:
        """Find and describe the regions of an RGB image that stands upright."""
        bgr = np.asarray(image)[..., ::-1]
        resized = self.resize(bgr)
        return self.select(self.find([resized])[0], resized, bgr.shape[0], bgr.shape[1])

    def resize(self, bgr: NDArray[np.uint8]) -> Resized:
        """Return an image ``[height, width, 3]``, blue first, as the network reads it."""
        return resize(bgr, self.settings.resize, self.settings.short, self.settings.long)

    def find(self, images: Sequence[Resized]) -> list[Found]:
        """Run the network on images, which must be of one size and one scale.

        Nothing is padded, since padding would change the proposals near the border.

        Raises:
            InputError: If sizes or scales differ, or a side is too short for the network.
        """
        if len({(image.pixels.shape, image.scale) for image in images}) != 1:
            raise InputError("images of different sizes cannot be one batch; give them one by one.")
        height, width = images[0].pixels.shape[1:]
        if min(height, width) < SHORTEST:
            what = f"an image is {width} x {height} when resized; the network needs {SHORTEST} pixels per side."
            raise InputError(what)
        network, settings = self.network, self.settings
        weight = network.backbone.stem.conv1.weight
        pixels = torch.from_numpy(np.stack([image.pixels for image in images])).to(weight.device, weight.dtype)
        with exact():
            maps = network.backbone(pixels)
            limits = (settings.candidates, settings.proposals, settings.overlap)
            proposed = network.proposal_generator(maps, pixels.shape[2:], images[0].scale, *limits)
            found = []
            for number, proposals in enumerate(proposed):
                features = network.roi_heads(maps[number : number + 1], proposals.boxes, settings.chunk)
                recognised = network.roi_heads.box_predictor(features)
                found.append(Found(proposals, features, recognised))
        return found

    def select(self, found: Found, resized: Resized, height: int, width: int) -> ImageFeatures:
        """Regions among the proposals of an image, in pixels of the original.

        Args:
            found: Output of the network.
            resized: Image as the network read it.
            height: Height of the original, in pixels.
            width: Width of the original, in pixels.
        """
        settings = self.settings
        scores = _numpy(found.recognised.classes)
        scale = np.array((*resized.scale_xy, *resized.scale_xy))
        if settings.selection == "per_class":
            original = (_numpy(found.proposals.boxes) / scale).astype(scores.dtype)
            limits = (settings.least, settings.most, self._thresholds[0], settings.floor)
            keep = select_per_class(original, scores, *limits, self.flavour.pixels_inclusive)
        else:
            _, new_height, new_width = resized.pixels.shape
            cut = boxes.clip(self.regressed(found), new_height, new_width, self.flavour.pixels_inclusive)
            keep = select_class_agnostic(
                _numpy(cut), scores.max(axis=1, initial=0), settings.least, settings.most, self._thresholds
            )
            original = (_numpy(cut) / scale).astype(scores.dtype)
        # Rounding may put a border a billionth outside.
        inside = np.minimum(original, np.array((width, height, width, height), dtype=original.dtype))[keep]
        attributes = _numpy(found.recognised.attributes)[keep]
        return ImageFeatures(
            image_id="",
            features=_numpy(found.features)[keep].astype(np.float32),
            boxes=inside.astype(np.float32),
            width=width,
            height=height,
            scores=scores[keep].max(axis=1, initial=0).astype(np.float32),
            classes=scores[keep].argmax(axis=1).astype(np.int64),
            attributes=attributes.argmax(axis=1).astype(np.int64),
            attribute_scores=attributes.max(axis=1, initial=0).astype(np.float32),
        )

    def regressed(self, found: Found) -> Tensor:
        """Return the boxes of the most probable classes, in pixels of the resized image and not clipped: ``[n, 4]``."""
        deltas = found.recognised.deltas.reshape(-1, self.class_count, 4)
        best = found.recognised.classes.argmax(dim=1)
        chosen = deltas[torch.arange(len(best), device=best.device), best]
        weights, inclusive = self.flavour.box_weights, self.flavour.pixels_inclusive
        return boxes.decode(found.proposals.boxes, chosen, weights, inclusive)


def _numpy(tensor: Tensor) -> NDArray[Any]:
    return tensor.cpu().numpy()  # type: ignore[no-any-return]
