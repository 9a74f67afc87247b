"""What every detector offers: an image in, its regions out."""

from __future__ import annotations

from typing import Any, Protocol

from PIL import Image

from fivesentences.features.regions import Regions


class Detector(Protocol):
    """Finds and describes regions.

    Attributes:
        dim: Numbers per region.
        most: Regions per image at most.
        class_count: Number of classes; ``Regions.classes`` counts from 0, without background.
        attribute_count: Likewise of attributes; 0 if it knows none.
        source: Where its features come from, as plain values: extractor, SHA-256 of the weights, every rule and setting
            that the numbers depend on, versions. Features of equal sources may be mixed.
    """

    dim: int
    most: int
    class_count: int
    attribute_count: int
    source: dict[str, Any]

    def regions(self, image: Image.Image) -> Regions:
        """The regions of an RGB image that stands upright."""


def detect(image: Image.Image, detector: Detector) -> Regions:
    """Find and describe the regions of an image.

    Args:
        image: As ``corpus.decode`` returns it: upright, 8-bit RGB. Other modes are converted.
        detector: Such as ``BottomUpAttention`` or ``FasterRCNN``.

    Returns:
        At most ``detector.most`` regions, with boxes in pixels of this image; fewer where the network proposes fewer.
    """
    return detector.regions(image if image.mode == "RGB" else image.convert("RGB"))
