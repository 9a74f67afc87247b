"""Interface of every detector: an image in, its regions out; and the names of its classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from PIL import Image

from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError
from fivesentences.features.formats.record import ImageFeatures

LARGEST_VOCABULARY = 1 << 20  # bytes; the files have a few thousand


class Detector(Protocol):
    """Finds and describes regions.

    Attributes:
        dim: Numbers per region.
        class_count: Number of classes; ``ImageFeatures.classes`` counts from 0, without background.
        source: Where its features come from, as plain values: extractor, SHA-256 of the weights, every rule and setting
            that the numbers depend on, versions. Features of equal sources may be mixed.
    """

    dim: int
    class_count: int
    source: dict[str, Any]

    def regions(self, image: Image.Image) -> ImageFeatures:
        """Find and describe the regions of an RGB image that stands upright; they have no image id."""


def detect(image: Image.Image, detector: Detector) -> ImageFeatures:
    """Find and describe the regions of an image.

    Args:
        image: An image as ``corpus.decode`` returns it: upright, 8-bit RGB. Other modes are converted.
        detector: A detector such as ``BottomUpAttention`` or ``FasterRCNN``.

    Returns:
        At most as many regions as the detector's settings say, with boxes in pixels of this image; fewer where the
        network proposes fewer.
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
