"""Products of chosen pairs of sparse rows, and rows of a product, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError

ENTRIES_AT_A_TIME = 2_000_000


def dot_of_rows(
    left: Any, left_rows: NDArray[np.int64], right: Any, right_rows: NDArray[np.int64]
) -> NDArray[np.float64] | NDArray[np.int64]:
    """``sum(left[left_rows[i]] * right[right_rows[i]])`` for every i.

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


def chunks(cost: NDArray[np.int64], most: int = ENTRIES_AT_A_TIME) -> Iterator[slice]:
    """Consecutive slices of things that cost ``cost`` each, at most ``most`` together or one thing alone."""
    end = np.cumsum(cost)
    start = 0
    while start < len(cost):
        spent = int(end[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(end, spent + most, side="right")))
        yield slice(start, stop)
        start = stop


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """``start[0], start[0] + 1, ... (count[0] numbers), start[1], ...`` as one array."""
    end = np.cumsum(count)
    return np.asarray(np.repeat(start - end + count, count) + np.arange(end[-1] if len(end) else 0))


def sorted_rows(data: NDArray[Any], column: NDArray[np.int64], start: NDArray[np.int64], n_columns: int) -> Any:
    """A ``scipy.sparse.csr_array`` with ascending columns in each row and indices as small as they can be."""
    index_type = np.int32 if len(data) < 2**31 and n_columns < 2**31 else np.int64
    matrix = scipy.sparse.csr_array(
        (data, column.astype(index_type), start.astype(index_type)), shape=(len(start) - 1, n_columns)
    )
    matrix.sort_indices()
    return matrix


def groups_of_one(kind: NDArray[np.int64], rows: int) -> list[NDArray[np.int64]]:
    """Indices of things of one kind together, at most ``rows`` in a group, the most frequent kind first."""
    _, frequency = np.unique(kind, return_counts=True)
    by_kind = np.split(np.argsort(kind, kind="stable"), np.cumsum(frequency)[:-1])
    groups: list[NDArray[np.int64]] = []
    for position in np.argsort(-frequency, kind="stable"):
        members = by_kind[position]
        groups.extend(members[start : start + rows] for start in range(0, len(members), rows))
    return groups


Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """The things made last, for threads that need the same one at about the same time."""

    def __init__(self, most: int):
        self._most, self._kept, self._lock = most, OrderedDict[int, Kept](), Lock()

    def get(self, key: int, make: Callable[[int], Kept]) -> Kept:
        """What ``make(key)`` returns, made again only if it is no longer among the last."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make(key)  # outside the lock: two threads may make the same thing, which is harmless
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


class References:
    """Which captions are the references of each image, for work on (caption, image) pairs.

    Attributes:
        image_of_caption: ``[captions]`` image index.
        count: ``[images]`` references of each image, at least 1.
        by_image: ``[captions]`` caption indices, those of image 0 first, ascending within an image.
        first: ``[images]`` where an image's captions begin in ``by_image``.
        shape: Number of captions, number of images.
    """

    def __init__(self, image_of_caption: NDArray[np.int64]):
        self.image_of_caption = image_of_caption
        self.count = np.bincount(image_of_caption)
        self.shape = (len(image_of_caption), len(self.count))
        self.by_image = np.argsort(image_of_caption, kind="stable")
        self.first = np.cumsum(self.count) - self.count

    def of_pairs(
        self, captions: NDArray[np.int64], images: NDArray[np.int64], without_own: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The references that each pair is compared with.

        Returns:
            ``[pairs' references]`` index of the pair, ascending, and of the reference; ``[pairs]`` how many.
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
        """``[pairs]`` whether the caption is one of the image's references."""
        return np.asarray(self.image_of_caption[captions] == images)


def mean_of_pairs(pair: NDArray[np.int64], values: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """``[pairs]`` mean of the values of each pair's references, which ``References.of_pairs`` gave; NaN without any."""
    summed = np.bincount(pair, weights=values, minlength=len(count))
    return np.asarray(np.divide(summed, count, out=np.full(len(count), np.nan), where=count > 0))


class ByImage:
    """An order of captions in which numbers of captions become numbers of images quickly.

    First captions of all images, then second captions and so on, images with many captions first: a maximum over the
    captions of an image is then one over a few long rows. Images with very many captions are reduced one by one.

    Attributes:
        caption: ``[captions]`` caption at each place of the order.
    """

    MOST_ROWS = 32

    def __init__(self, image_of_caption: NDArray[np.int64]):
        count = np.bincount(image_of_caption)
        by_image = np.argsort(image_of_caption, kind="stable")
        self._first = np.cumsum(count) - count
        self._rows: list[int] = []
        self._back: NDArray[np.int64] | None = None
        self.caption = by_image
        if count.max() <= self.MOST_ROWS:
            images = np.argsort(-count, kind="stable")
            rank = np.arange(len(by_image)) - np.repeat(self._first, count)  # first, second, ... of its image
            place = np.empty_like(images)
            place[images] = np.arange(len(images))
            self.caption = by_image[np.lexsort((place[image_of_caption[by_image]], rank))]
            self._rows = np.bincount(rank).tolist()
            if count.min() < count.max():
                self._back = place

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """``[images]`` of ``[captions]`` in this order, over the captions of each image."""
        if not self._rows:
            return np.asarray(ufunc.reduceat(values, self._first))
        reduced = values[: self._rows[0]].copy()
        start = self._rows[0]
        for row in self._rows[1:]:
            ufunc(reduced[:row], values[start : start + row], out=reduced[:row])
            start += row
        return reduced if self._back is None else reduced[self._back]


def checked_pairs(
    captions: ArrayLike, images: ArrayLike, shape: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs as two int64 arrays of one length.

    Raises:
        InputError: If they are not lists of whole numbers of one length, or an index is out of range.
    """
    pair = []
    for name, given, limit in (("captions", captions, shape[0]), ("images", images, shape[1])):
        indices = np.asarray(given)
        if indices.ndim != 1 or (indices.dtype.kind not in "iu" and len(indices)):
            raise InputError(f"{name} is {indices.dtype} {list(indices.shape)}; give a list of whole numbers.")
        wrong = (indices < 0) | (indices >= limit)
        if wrong.any():
            where = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{name}[{where}] is {indices[where]}; this corpus has {name} 0 to {limit - 1}.")
        pair.append(indices.astype(np.int64))
    if len(pair[0]) != len(pair[1]):
        raise InputError(f"{len(pair[0])} captions are paired with {len(pair[1])} images; give as many of both.")
    return pair[0], pair[1]
