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

    def of_images(self, images: slice) -> NDArray[np.int64]:
        """Return the captions of some consecutive images, those of the first image first."""
        last = images.stop - 1
        return self.by_image[self.first[images.start] : self.first[last] + self.count[last]]

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
