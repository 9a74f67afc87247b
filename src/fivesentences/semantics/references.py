"""The captions that are the references of each image, and sums, means and maxima over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.semantics.sparse_rows import ranges


class References:
    """The references of each image, for work on (caption, image) pairs.

    Attributes:
        image_of_caption: ``[captions]`` image index.
        count: ``[images]`` number of references, at least 1.
        by_image: ``[captions]`` caption indices, those of image 0 first, ascending within an image.
        first: ``[images]`` position of an image's first caption in ``by_image``.
        shape: Number of captions, number of images.
    """

    def __init__(self, image_of_caption: NDArray[np.int64]):
        self.image_of_caption = image_of_caption
        self.count = np.bincount(image_of_caption)
        self.shape = (len(image_of_caption), len(self.count))
        self.by_image = np.argsort(image_of_caption, kind="stable")
        self.first = np.cumsum(self.count) - self.count

    def of_image(self, image: int, without: int | None = None) -> list[int]:
        """Return an image's captions in ascending order, leaving out the caption ``without``."""
        captions: list[int] = self.by_image[self.first[image] :][: self.count[image]].tolist()
        return [caption for caption in captions if caption != without]

    def of_pairs(
        self, captions: NDArray[np.int64], images: NDArray[np.int64], without_own: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the references that each pair is compared with.

        Returns:
            ``[references of all pairs]`` index of the pair, ascending, and index of the reference; ``[pairs]`` number
            of references.
        """
        count = self.count[images]
        pair = np.repeat(np.arange(len(captions)), count)
        reference = self.by_image[ranges(self.first[images], count)]
        if without_own:
            kept = reference != captions[pair]
            pair, reference = pair[kept], reference[kept]
            count = np.bincount(pair, minlength=len(captions))
        return pair, reference, count

    def own(self, captions: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.bool_]:
        """``[pairs]`` True where the caption is one of the image's references."""
        return np.asarray(self.image_of_caption[captions] == images)


def mean_of_pairs(pair: NDArray[np.int64], values: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """``[pairs]`` mean of the values of each pair's references, as ``References.of_pairs`` lists them; NaN for none."""
    summed = np.bincount(pair, weights=values, minlength=len(count))
    return np.asarray(np.divide(summed, count, out=np.full(len(count), np.nan), where=count > 0))


class ByImage:
    """An order of captions in which values per caption are quickly reduced to values per image.

    First come the first captions of all images, then the second captions, and so on, with the images of many captions
    in front: a maximum over the captions of each image is then an elementwise maximum of a few long rows. If an image
    has very many captions, the images are reduced one by one instead.

    Attributes:
        caption: ``[captions]`` caption at each position of the order.
    """

    MOST_ROWS = 32

    def __init__(self, references: References):
        count = references.count
        self._first = references.first
        self._rows: list[int] = []
        self._back: NDArray[np.int64] | None = None
        self.caption = references.by_image
        if count.max() <= self.MOST_ROWS:
            images = np.argsort(-count, kind="stable")
            rank = ranges(np.zeros_like(count), count)  # first, second, ... caption of its image
            place = np.empty_like(images)
            place[images] = np.arange(len(images))
            self.caption = self.caption[np.lexsort((place[references.image_of_caption[self.caption]], rank))]
            self._rows = np.bincount(rank).tolist()
            if count.min() < count.max():
                self._back = place

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce ``[captions]`` values in this order to ``[images]``, over the captions of each image."""
        if not self._rows:
            return np.asarray(ufunc.reduceat(values, self._first))
        reduced = values[: self._rows[0]].copy()
        start = self._rows[0]
        for row in self._rows[1:]:
            ufunc(reduced[:row], values[start : start + row], out=reduced[:row])
            start += row
        return reduced if self._back is None else reduced[self._back]
