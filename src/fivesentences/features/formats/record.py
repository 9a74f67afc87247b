"""What every format of features is read into and written from: one image at a time, and an outline of all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus.table import check_image_id
from fivesentences.errors import InputError
from fivesentences.features.regions import BOX, Regions

# What a file may know of an image beside its features, in the order in which sentences name it. "counts": images
# differ in their number of regions. "filenames": an image's filename is not its id.
FACTS = ("counts", "boxes", "sizes", "scores", "classes", "attributes", "attribute_scores", "filenames")
RECOGNISED = ("scores", "classes", "attributes", "attribute_scores")  # arrays with one number per region
MOST_IMAGES = 10_000_000
MOST_NUMBERS = 1 << 28  # of one image: 1 GB of float32; 100 regions of 2,048 numbers are a thousandth of it


@dataclass(frozen=True)
class ImageFeatures:
    """The features of one image and what is known of its regions; the arrays are in the same order.

    Attributes:
        image_id: Which image.
        features: ``[dim]`` or ``[regions, dim]``, float16 or float32.
        filename: Of the photograph; None where unknown.
        width: Of the photograph in pixels; None where unknown.
        height: Likewise.
        boxes: ``[regions, 4]`` float32, x1, y1, x2, y2 in pixels of the photograph; None where unknown.
        scores: ``[regions]`` float32, of the most probable class; None where unknown.
        classes: ``[regions]`` int64, from 0, without background; None where unknown.
        attributes: ``[regions]`` int64, from 0, without "no attribute"; None where unknown.
        attribute_scores: ``[regions]`` float32; None where unknown.
    """

    image_id: str
    features: NDArray[Any]
    filename: str | None = None
    width: int | None = None
    height: int | None = None
    boxes: NDArray[np.float32] | None = None
    scores: NDArray[np.float32] | None = None
    classes: NDArray[np.int64] | None = None
    attributes: NDArray[np.int64] | None = None
    attribute_scores: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, image_id: str, filename: str | None, regions: Regions) -> ImageFeatures:
        """What a detector returned for an image."""
        record = cls(image_id, regions.features, filename, regions.width, regions.height, regions.boxes)
        return replace(record, **regions.recognised())

    @property
    def regions(self) -> int | None:
        """How many there are; None for one vector of the whole image."""
        return None if self.features.ndim == 1 else len(self.features)

    def without(self, facts: frozenset[str]) -> ImageFeatures:
        """The same without some facts of ``FACTS`` ("counts" is a matter of all images)."""
        names: dict[str, Any] = {name: None for name in ("boxes", *RECOGNISED) if name in facts}
        if "sizes" in facts:
            names |= {"width": None, "height": None}
        if "filenames" in facts:
            names |= {"filename": None}
        return replace(self, **names) if names else self


@dataclass(frozen=True)
class Outline:
    """What is known of a set of features before they are read.

    Attributes:
        ids: Of the images, in the order of the file.
        counts: ``[images]`` regions of each image; None for one vector per image.
        dim: Numbers of a vector.
        dtype: float16 or float32.
        facts: Those of ``FACTS`` that are known of every image, but for "counts", see ``varies``.
    """

    ids: Sequence[str]
    counts: NDArray[np.int64] | None
    dim: int
    dtype: np.dtype[Any]
    facts: frozenset[str]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def varies(self) -> bool:
        """Whether images differ in their number of regions."""
        return self.counts is not None and bool(len(self.counts)) and bool((self.counts != self.counts[0]).any())

    @property
    def known(self) -> frozenset[str]:
        """All that is known, "counts" among it if images differ in their number of regions."""
        return self.facts | {"counts"} if self.varies else self.facts

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an image in an array of all: ``(dim,)``, or ``(the most regions, dim)``."""
        return (self.dim,) if self.counts is None else (int(self.counts.max(initial=0)), self.dim)

    def chosen(self, rows: NDArray[np.intp]) -> Outline:
        """The outline of some images, given by number, in that order."""
        return replace(
            self,
            ids=[self.ids[row] for row in rows],
            counts=None if self.counts is None else self.counts[rows],
        )


class Source(ABC):
    """A set of features that is open for reading. Use as a context manager.

    Attributes:
        path: The file or folder.
        outline: What is known before any image is read.
        sha256: Of the file, if opening it has read all of it.
    """

    path: Path
    outline: Outline
    sha256: str | None = None

    @abstractmethod
    def read(self, row: int) -> ImageFeatures:
        """The features of one image, given by number; only they are read.

        Raises:
            InputError: If they are damaged.
        """

    def origin(self) -> dict[str, Any] | None:
        """What the file itself says about where its features come from; None if it says nothing."""
        return None

    def files(self) -> list[Path]:
        """Every file that belongs to it."""
        return [self.path]

    def close(self) -> None:  # noqa: B027 (not every source has something to close)
        """Close what is open."""

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_ids(ids: Sequence[str], where: Path | str) -> None:
    """Check that names of images can serve as such.

    Raises:
        InputError: If there is none or there are too many, one is given twice, is empty or very long, holds a control
            character, or is a path that leaves its folder.
    """
    if not ids:
        raise InputError("it holds no image.", where=where)
    check_count(len(ids), where)
    for image_id in ids:
        check_image_id(image_id, where)
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(image_id for image_id in ids if image_id in seen or seen.add(image_id))  # type: ignore[func-returns-value]
        raise InputError(
            f"image '{twice}' is in it more than once", where=where, cure="features have one entry per image; keep one"
        )


def check_count(images: int, where: Path | str) -> None:
    """Check that there are not too many images, before a list of them is made.

    Raises:
        InputError: If there are.
    """
    if images > MOST_IMAGES:
        raise InputError(f"it has {images:,} images; at most {MOST_IMAGES:,} make sense here.", where=where)


def checked(record: ImageFeatures, outline: Outline, row: int, where: Path | str) -> ImageFeatures:
    """Check that an image is what the outline announced and that every number is finite.

    Args:
        record: What was read.
        outline: Of all images.
        row: Which image it is.
        where: The file, for messages.

    Returns:
        The record.

    Raises:
        InputError: If it is not.
    """
    if record.image_id != outline.ids[row]:
        raise InputError(
            f"it changed while it was read: image '{outline.ids[row]}' is now '{record.image_id}'", where=where
        )
    regions = None if outline.counts is None else int(outline.counts[row])
    expected = (outline.dim,) if regions is None else (regions, outline.dim)
    features = record.features
    if features.shape != expected or features.dtype != outline.dtype:
        raise InputError(
            f"the features of image '{record.image_id}' are {features.dtype} {list(features.shape)}, but those of the "
            f"file {outline.dtype} {list(expected)}",
            where=where,
            cure="all images need one type and one number of dimensions",
        )
    _check_finite(features, "features", record.image_id, where)
    n = regions or 0
    for name in ("boxes", *RECOGNISED):
        array = getattr(record, name)
        if (array is not None) != (name in outline.facts):
            raise InputError(f"some images have {name}, and others such as '{record.image_id}' have none.", where=where)
        if array is None:
            continue
        shape = (n, BOX) if name == "boxes" else (n,)
        if array.shape != shape:
            raise InputError(
                f"the {name} of image '{record.image_id}' are {list(array.shape)}; {n} regions need {list(shape)}.",
                where=where,
            )
        if array.dtype.kind == "f":
            _check_finite(array, name, record.image_id, where)
    if "sizes" in outline.facts and not (record.width and record.height and record.width > 0 and record.height > 0):
        raise InputError(
            f"image '{record.image_id}' is {record.width} x {record.height}; an image has pixels.", where=where
        )
    return record


def _check_finite(array: NDArray[Any], name: str, image_id: str, where: Path | str) -> None:
    if not np.isfinite(array).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"the {name} of image '{image_id}' hold {float(array[place])} at {place}; they must be finite.", where=where
        )
