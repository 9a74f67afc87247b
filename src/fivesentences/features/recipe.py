"""What features are made by, in the words of a command; imported by every worker process, so it imports little."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fivesentences.config.types import Crops, Layout, Precision

#: The name of the extractor that needs no learned weights: colours, gradients and flat shapes.
GRID_DESCRIPTORS = "grid_descriptors"


@dataclass(frozen=True)
class Recipe:
    """What a worker needs to know in order to build the extractor.

    Attributes:
        extractor: ``grid_descriptors`` or the name of a timm network.
        layout: ``global`` or ``grid``.
        weights: A safetensors file; None where the extractor has no weights, or timm downloads them.
        device: As torch names it.
        crops: ``centre``: what the network's own preparation leaves of an image. ``ten``: four corners, the centre and
            their mirror images; the features are the mean over the ten.
        normalise: Scale each vector to length 1 (after the mean over crops).
        precision: What a network computes in. Below float32, torch's autocast decides which operations stay precise.
        preprocessing: How the network, which another process has, prepares images, as JSON; None to build it here.
    """

    extractor: str
    layout: Layout
    weights: Path | None
    device: str = "cpu"
    crops: Crops = "centre"
    normalise: bool = False
    precision: Precision = "float32"
    preprocessing: str | None = None
