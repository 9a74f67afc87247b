"""PMRP, plausible-match R-precision: images that show the same kinds of object are as good as the query's own image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.choices import each_once
from fivesentences.errors import InputError
from fivesentences.metrics.ranking import QueryBlock, parts, read_rankings
from fivesentences.retrieval.arguments import Direction, checked_choice, checked_direction
from fivesentences.retrieval.gallery import Gallery, Similarity, as_array

ZETAS = (0, 1, 2)
UNLABELLED = 2**15 - 1  # distance of an image without a label from every other: more than labels can differ in


class LabelDistances:
    """The number of labels in which images differ: 2 bytes for every pair of images.

    Args:
        labels: ``[images, classes]`` 0 or 1.
        pairing: ``[captions]`` image of each caption.
        unlabelled: As in ``pmrp``.

    Raises:
        InputError: If labels do not fit, hold anything but 0 and 1, or no image has one; with ``"error"`` if an image
            has none.
    """

    def __init__(self, labels: ArrayLike, pairing: NDArray[np.int64], unlabelled: str = "drop"):
        checked_choice("unlabelled", unlabelled, ("drop", "error"))
        table = _checked_labels(labels, int(pairing.max()) + 1)
        self.pairing = pairing
        self.labelled: NDArray[np.bool_] = np.asarray(table.any(axis=1))
        without = np.flatnonzero(~self.labelled)
        if len(without) == len(table):
            raise InputError("no image has a label; are labels and image ids of the same dataset?")
        if unlabelled == "error" and len(without):
            what = f"{len(without)} of {len(table)} images have no label, the first is image {without[0]}"
            raise InputError(f"{what}; unlabelled='drop' leaves them out.")
        size = table.sum(axis=1)
        self.distance = np.empty((len(table), len(table)), dtype=np.int16)
        for rows in parts(self.distance):
            self.distance[rows] = size[rows, None] + size - 2 * (table[rows] @ table.T)
        self.distance[:, without] = UNLABELLED


def _checked_labels(labels: ArrayLike, n_images: int) -> NDArray[np.float32]:
    table = as_array(labels, "labels")
    if table.ndim != 2 or table.dtype.kind not in "fiub" or not 0 < table.shape[1] < UNLABELLED:
        what = f"{table.dtype} of shape {list(table.shape)}"
        raise InputError(f"labels is {what}; a table [images, classes] of 0 and 1 is expected.")
    if len(table) != n_images:
        raise InputError(f"labels has {len(table)} rows but there are {n_images} images; give one row per image.")
    wrong = np.argwhere((table != 0) & (table != 1))  # NaN is neither
    if len(wrong):
        image, label = wrong[0].tolist()
        raise InputError(f"labels[{image}, {label}] is {table[image, label]}; an image has a label (1) or not (0).")
    return table.astype(np.float32)


class PlausibleReader:
    """R-precision of every query by plausible matches, filled block by block as ``read_rankings`` shows them.

    Args:
        distances: Distances between the labels of the images.
        direction: Which side the queries are.
        zetas: The numbers of labels in which a match may differ.

    Attributes:
        r_precision: ``[zetas, queries]`` fractions, NaN for a query without a label.
    """

    def __init__(self, distances: LabelDistances, direction: Direction, zetas: Sequence[int] = ZETAS):
        self.distances, self.direction, self.zetas = distances, direction, each_once(zetas)
        self.is_query = distances.labelled if direction == "i2t" else distances.labelled[distances.pairing]
        self.r_precision = np.full((len(self.zetas), len(self.is_query)), np.nan)

    def by_chance(self) -> NDArray[np.float64]:
        """Return ``[zetas, queries]`` expected R-precision of a random ranking: the share of items that match."""
        pairing, labelled = self.distances.pairing, self.distances.labelled
        of_image = np.bincount(pairing, minlength=len(labelled)) if self.direction == "i2t" else np.ones(len(labelled))
        share = [(self.distances.distance <= zeta) @ of_image / of_image[labelled].sum() for zeta in self.zetas]
        of_queries = np.stack(share)[:, ... if self.direction == "i2t" else pairing]
        return np.where(self.is_query, of_queries, np.nan)

    def __call__(self, block: QueryBlock) -> None:
        """Read one block."""
        distance, pairing, labelled = self.distances.distance, self.distances.pairing, self.distances.labelled
        for rows in parts(block.order):
            queries = slice(block.part.start + rows.start, block.part.start + rows.stop)
            order = block.order[rows]
            images = pairing[order] if self.direction == "i2t" else order
            own = np.arange(queries.start, queries.stop) if self.direction == "i2t" else pairing[queries]
            apart = np.stack([distance[image][others] for image, others in zip(own, images, strict=True)])
            place = np.broadcast_to(np.arange(order.shape[1]), order.shape)
            if not labelled.all():  # items without a label leave the ranking, and those after them move up
                place = np.cumsum(apart < UNLABELLED, axis=1) - 1
            is_query = self.is_query[queries]
            for zeta, precision in zip(self.zetas, self.r_precision, strict=True):
                match = apart <= zeta
                size = np.count_nonzero(match, axis=1)
                found = np.count_nonzero(match & (place < size[:, None]), axis=1)
                precision[queries] = np.where(is_query, found / np.maximum(1, size), np.nan)


def pmrp(
    similarity: Similarity,
    labels: ArrayLike,
    direction: str = "i2t",
    zetas: Sequence[int] = ZETAS,
    image_of_caption: ArrayLike | None = None,
    *,
    unlabelled: str = "drop",
) -> float:
    """Compute plausible-match R-precision (Chun et al. 2021, PCME), mean over queries and zetas.

    An item matches if the labels of its image differ from those of the query's image in at most zeta classes; a
    caption has the labels of its image. Of the first R items, R being the number of matches in the gallery, the share
    that matches counts. Published numbers are of COCO's 90 instance categories (``read_instances``); "1K" is the mean
    over five folds, each scored alone, "5K" the whole. Equal scores are ordered by index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        labels: ``[images, classes]`` 0 or 1: which classes the image shows.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        zetas: The numbers of labels in which a match may differ, each from 0.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        unlabelled: Images without any label, and their captions, are neither queries nor items (``"drop"``, as
            released), or are refused (``"error"``). Every other query has a match: its own item.

    Returns:
        Percent.

    Raises:
        InputError: If shapes disagree, a value is not finite, labels are not 0 or 1, or no image has a label.
    """
    side = checked_direction(direction)
    if isinstance(zetas, str) or not len(zetas):
        raise InputError(f"zetas is {zetas!r}; give a list such as (0, 1, 2).")
    for zeta in zetas:
        if isinstance(zeta, bool) or not isinstance(zeta, int | np.integer) or not 0 <= zeta < UNLABELLED:
            raise InputError(f"zetas holds {zeta!r}; it is the number of labels in which a match may differ, from 0.")
    gallery = Gallery.of(similarity, image_of_caption)
    reader = PlausibleReader(LabelDistances(labels, gallery.image_of_caption, unlabelled), side, zetas)
    read_rankings(gallery.similarity, side, reader)
    return float(np.nanmean((100.0 * reader.r_precision).mean(axis=0)))
