"""The captions that are the references of each image, and products of chosen rows of sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

ENTRIES_PER_CHUNK = 2_000_000


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

    def of_each(self, images: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the captions of some images, those of the first one first, and where those of each image begin."""
        count = self.count[images]
        return self.by_image[ranges(self.first[images], count)], np.cumsum(count) - count

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
        reference, _ = self.of_each(images)
        if without_own:
            kept = reference != captions[pair]
            pair, reference = pair[kept], reference[kept]
            count = np.bincount(pair, minlength=len(captions))
        return pair, reference, count

    def own(self, captions: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return ``[pairs]`` True where the caption is one of the image's references."""
        return np.asarray(self.image_of_caption[captions] == images)


def mean_of_pairs(pair: NDArray[np.int64], values: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """``[pairs]`` mean of the values of each pair's references, as ``References.of_pairs`` lists them; NaN for none."""
    summed = np.bincount(pair, weights=values, minlength=len(count))
    return np.asarray(np.divide(summed, count, out=np.full(len(count), np.nan), where=count > 0))


def dot_of_rows(
    left: Any, left_rows: NDArray[np.int64], right: Any, right_rows: NDArray[np.int64]
) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return ``sum(left[left_rows[i]] * right[right_rows[i]])`` for every i.

    Args:
        left: ``scipy.sparse.csr_array`` ``[a, columns]`` with ascending columns in each row.
        left_rows: ``[pairs]``.
        right: ``scipy.sparse.csr_array`` ``[b, columns]`` with ascending columns in each row.
        right_rows: ``[pairs]``.

    Returns:
        ``[pairs]``.
    """
    dots = np.zeros(len(left_rows), dtype=np.result_type(left.dtype, right.dtype))
    entries = np.diff(left.indptr)[left_rows].astype(np.int64) + np.diff(right.indptr)[right_rows]
    for chunk in chunks(entries):
        product = left[left_rows[chunk]].multiply(right[right_rows[chunk]])
        dots[chunk] = np.asarray(product.sum(axis=1)).ravel()
    return dots


def places_of(values: NDArray[np.integer], known: NDArray[np.integer]) -> NDArray[np.int64]:
    """Index of each value in an ascending array without repetitions; -1 where it is not there."""
    if not len(known):
        return np.full(len(values), -1)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, place, -1)


def block_of_rows(left: Any, right: Any) -> NDArray[Any]:
    """Return ``left @ right.T``, dense, of two matrices of few rows and of more columns than are looked at.

    Args:
        left: ``scipy.sparse.csr_array`` ``[a, columns]``.
        right: ``scipy.sparse.csr_array`` ``[b, columns]``.

    Returns:
        ``[a, b]``; products are added in the order of ``left``'s columns.
    """
    columns, column = np.unique(left.indices, return_inverse=True)
    place = places_of(right.indices, columns)
    known = place >= 0
    row = np.repeat(np.arange(right.shape[0]), np.diff(right.indptr))
    few = scipy.sparse.csr_array((right.data[known], (place[known], row[known])), shape=(len(columns), right.shape[0]))
    rows = scipy.sparse.csr_array((left.data, column, left.indptr), shape=(left.shape[0], len(columns)))
    return np.asarray((rows @ few).toarray())


def chunks(cost: NDArray[np.int64], most: int = ENTRIES_PER_CHUNK) -> Iterator[slice]:
    """Yield consecutive slices of items with these costs; each costs at most ``most`` or holds a single item."""
    end = np.cumsum(cost)
    start = 0
    while start < len(cost):
        spent = int(end[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(end, spent + most, side="right")))
        yield slice(start, stop)
        start = stop


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``start[0], start[0] + 1, ... (count[0] numbers), start[1], ...`` as one array."""
    end = np.cumsum(count)
    return np.asarray(np.repeat(start - end + count, count) + np.arange(end[-1] if len(end) else 0))


def sorted_rows(data: NDArray[Any], column: NDArray[np.int64], start: NDArray[np.int64], n_columns: int) -> Any:
    """Return a ``scipy.sparse.csr_array`` with ascending columns in each row and the smallest possible index type."""
    index_type = np.int32 if len(data) < 2**31 and n_columns < 2**31 else np.int64
    matrix = scipy.sparse.csr_array(
        (data, column.astype(index_type), start.astype(index_type)), shape=(len(start) - 1, n_columns)
    )
    matrix.sort_indices()
    return matrix
