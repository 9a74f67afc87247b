"""Settings of an extractor, and the interface of every extractor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

if TYPE_CHECKING:
    from fivesentences.config.types import Crops, Layout, Precision

#: The name of the extractor that needs no learned weights: colours, gradients and flat shapes.
GRID_DESCRIPTORS = "grid_descriptors"


@dataclass(frozen=True)
class Recipe:
    """Settings that an extractor is built from.

    Attributes:
        extractor: ``grid_descriptors`` or the name of a timm network.
        layout: ``global`` or ``grid``.
        weights: A safetensors file; None where the extractor has no weights, or timm downloads them.
        device: Name of the device in torch.
        crops: ``centre``: what the network's own preparation leaves of an image. ``ten``: four corners, the centre and
            their mirror images; the features are the mean over the ten.
        normalise: Scale each vector to length 1 (after the mean over crops).
        precision: Precision of the network's arithmetic. Below float32, torch's autocast decides which operations stay
            precise.
    """

    extractor: str
    layout: Layout
    weights: Path | None
    device: str = "cpu"
    crops: Crops = "centre"
    normalise: bool = False
    precision: Precision = "float32"


class Extractor(Protocol):
    """Turns images into features, in two steps that may run in different processes.

    Attributes:
        on_accelerator: Whether ``describe`` needs a device that only one process should use.
        images_at_once: Images that are described together: the unit of work.
        preparer: Prepares images as this does, and can be pickled.
    """

    on_accelerator: bool
    images_at_once: int
    preparer: Any

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """Turn an RGB image into bytes of a fixed shape."""

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Compute features ``[n, dim]`` or ``[n, regions, dim]`` of prepared images ``[n, ...]``."""

    def facts(self) -> dict[str, Any]:
        """Return what the features depend on besides name and layout, as JSON: preparation, versions, weights."""
