"""Records between formats of features: one image at a time, and an outline of all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus.table import check_image_id
from fivesentences.errors import InputError

# What a file may know of an image beside its features, in the order in which sentences name it. "counts": images
# differ in their number of regions. "filenames": an image's filename is not its id.
FACTS = ("counts", "boxes", "sizes", "scores", "classes", "attributes", "attribute_scores", "filenames")
RECOGNISED = ("scores", "classes", "attributes", "attribute_scores")  # arrays with one number per region
BOX = 4  # x1, y1, x2, y2
MOST_IMAGES = 10_000_000


@dataclass(frozen=True)
class ImageFeatures:
    """The features of one image and what is known of its regions; the arrays are in the same order.

    Attributes:
        image_id: Which image.
        features: ``[dim]`` or ``[regions, dim]``, float16 or float32.
        filename: Name of the photograph; None where unknown.
        width: Width of the photograph in pixels; None where unknown.
        height: Height of the photograph in pixels; None where unknown.
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

    def __len__(self) -> int:
        return len(self.features)

    def without(self, facts: Collection[str]) -> ImageFeatures:
        """Return the same without some facts of ``FACTS`` ("counts" is a matter of all images)."""
        names = {"sizes": ("width", "height"), "filenames": ("filename",), "counts": ()}
        nothing: dict[str, Any] = {name: None for fact in facts for name in names.get(fact, (fact,))}
        return replace(self, **nothing)


@dataclass(frozen=True)
class Outline:
    """Facts known of a set of features before they are read.

    Attributes:
        ids: Ids of the images, in the order of the file.
        counts: ``[images]`` regions of each image; None for one vector per image.
        dim: Numbers of a vector.
        dtype: float16 or float32.
        facts: The ``FACTS`` that are known of every image, but for "counts", see ``known``.
    """

    ids: Sequence[str]
    counts: NDArray[np.int64] | None
    dim: int
    dtype: np.dtype[Any]
    facts: frozenset[str]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def known(self) -> frozenset[str]:
        """All that is known, "counts" among it if images differ in their number of regions."""
        varies = self.counts is not None and bool((self.counts != self.counts[0]).any())
        return self.facts | {"counts"} if varies else self.facts

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an image in an array of all: ``(dim,)``, or ``(the most regions, dim)``."""
        return (self.dim,) if self.counts is None else (int(self.counts.max(initial=0)), self.dim)

    def chosen(self, rows: NDArray[np.intp]) -> Outline:
        """Return the outline of some images, given by number, in that order."""
        counts = None if self.counts is None else self.counts[rows]
        return replace(self, ids=[self.ids[row] for row in rows], counts=counts)

    def checked(self, record: ImageFeatures, row: int, where: Path | str) -> ImageFeatures:
        """Return an image after checking that it is what this outline announced and that every number is finite.

        Args:
            record: Features of one image.
            row: Which image it is.
            where: The file, for messages.

        Raises:
            InputError: If it is not.
        """
        name = record.image_id
        if name != self.ids[row]:
            raise InputError(f"it changed while it was read: '{self.ids[row]}' is now '{name}'", where=where)
        n = () if self.counts is None else (int(self.counts[row]),)
        for what in ("features", "boxes", *RECOGNISED):
            array, shape = getattr(record, what), {"features": (*n, self.dim), "boxes": (*n, BOX)}.get(what, n)
            if array is None:
                continue
            dtype = self.dtype if what == "features" else array.dtype
            if array.shape != shape or array.dtype != dtype:
                held = f"the {what} of image '{name}' are {array.dtype} {list(array.shape)}, not {dtype} {list(shape)}"
                raise InputError(held, where=where, cure="all images need one type and one number of dimensions")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
                held = f"the {what} of image '{name}' hold {float(array[place])} at {place}; they must be finite."
                raise InputError(held, where=where)
        if "sizes" in self.facts and not ((record.width or 0) > 0 and (record.height or 0) > 0):
            raise InputError(f"image '{name}' is {record.width} x {record.height}; an image has pixels.", where=where)
        return record


Add = Callable[[ImageFeatures], None]  # appends one image to a file, in the order of its outline


class FeatureSource(ABC):
    """A set of features that is open for reading. Use as a context manager.

    Attributes:
        path: The file.
        outline: Facts known before any image is read.
    """

    path: Path
    outline: Outline

    @abstractmethod
    def read(self, row: int) -> ImageFeatures:
        """Read the features of one image, given by number; only they are read.

        Raises:
            InputError: If they are damaged.
        """

    def origin(self) -> dict[str, Any] | None:
        """Return what the file itself says about where its features come from; None if it says nothing."""
        return None

    def files(self) -> list[Path]:
        """Return every file that belongs to it."""
        return [self.path]

    def close(self) -> None:  # noqa: B027 (not every source has something to close)
        """Close what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_ids(ids: Sequence[str], where: Path | str) -> None:
    """Check that names of images can serve as such.

    Raises:
        InputError: If there is none or there are too many, one is given twice, is empty or very long, holds a control
            character, or is a path that leaves its folder.
    """
    if not 0 < len(ids) <= MOST_IMAGES:
        raise InputError(f"it has {len(ids):,} images; 1 to {MOST_IMAGES:,} make sense here.", where=where)
    seen: set[str] = set()
    for image_id in ids:
        check_image_id(image_id, where)
        if image_id in seen:
            cure = "features have one entry per image; keep one"
            raise InputError(f"image '{image_id}' is in it more than once", where=where, cure=cure)
        seen.add(image_id)
