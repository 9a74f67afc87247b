"""What every detector offers: an image in, its regions out; and the names of what it recognises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError

LARGEST_VOCABULARY = 1 << 20  # bytes; the files have a few thousand


@dataclass(frozen=True)
class Regions:
    """The regions of one image, all arrays in the same order.

    Attributes:
        features: ``[regions, dim]`` float32.
        boxes: ``[regions, 4]`` float32, x1, y1, x2, y2 in pixels of the original image.
        width: Width of the original image, in pixels.
        height: Height of the original image, in pixels.
        scores: ``[regions]`` float32 in [0, 1], of the most probable class; None where unknown.
        classes: ``[regions]`` int64, from 0, without background; None where unknown.
        attributes: ``[regions]`` int64, from 0, without "no attribute"; None where unknown.
        attribute_scores: ``[regions]`` float32 in [0, 1]; None where unknown.
    """

    features: NDArray[np.float32]
    boxes: NDArray[np.float32]
    width: int
    height: int
    scores: NDArray[np.float32] | None = None
    classes: NDArray[np.int64] | None = None
    attributes: NDArray[np.int64] | None = None
    attribute_scores: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.features)


class Detector(Protocol):
    """Finds and describes regions.

    Attributes:
        dim: Numbers per region.
        most: Regions per image at most.
        class_count: Number of classes; ``Regions.classes`` counts from 0, without background.
        attribute_count: Number of attributes; 0 if it knows none.
        source: Where its features come from, as plain values: extractor, SHA-256 of the weights, every rule and setting
            that the numbers depend on, versions. Features of equal sources may be mixed.
    """

    dim: int
    most: int
    class_count: int
    attribute_count: int
    source: dict[str, Any]

    def regions(self, image: Image.Image) -> Regions:
        """Find and describe the regions of an RGB image that stands upright."""


def detect(image: Image.Image, detector: Detector) -> Regions:
    """Find and describe the regions of an image.

    Args:
        image: As ``corpus.decode`` returns it: upright, 8-bit RGB. Other modes are converted.
        detector: Such as ``BottomUpAttention`` or ``FasterRCNN``.

    Returns:
        At most ``detector.most`` regions, with boxes in pixels of this image; fewer where the network proposes fewer.
    """
    return detector.regions(image if image.mode == "RGB" else image.convert("RGB"))


def read_vocabulary(path: Path | str, count: int | None = None) -> tuple[str, ...]:
    """Read ``objects_vocab.txt`` or ``attributes_vocab.txt``: line k names class k, from 0, without background.

    A line may hold synonyms separated by commas; the first is the name.

    Args:
        path: The file.
        count: Number of classes of the detector; None where it is unknown.

    Raises:
        InputError: If it is not a text file, has another number of lines, or a line without a name or with a control
            character.
    """
    path, cure = Path(path), "give the vocabulary of the detector, one class per line"
    lines = text_of(read_bytes(path, LARGEST_VOCABULARY), path).rstrip().splitlines()
    if count is not None and len(lines) != count:
        raise InputError(f"it has {len(lines):,} lines, but the detector has {count:,} classes", where=path, cure=cure)
    names = tuple(line.split(",")[0].strip().lower() for line in lines)
    for line, name in enumerate(names, start=1):
        if not name or not name.isprintable():
            what = f"holds a control character ({name[:40]!r})" if name else "has no name"
            raise InputError(f"line {line} {what}", where=path, cure=cure)
    return names
