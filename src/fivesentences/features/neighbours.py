"""Which images are nearest in feature space: the quickest way to see whether features mean anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivesentences.choices import each_once
from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.features.formats import FeatureSource

BLOCK = 256  # images that are compared at a time


@dataclass(frozen=True)
class Neighbours:
    """The nearest images of some images, nearest first.

    Attributes:
        queries: ``[queries]`` rows of the features.
        nearest: ``[queries, k]`` rows of the features, without the query itself.
        cosine: ``[queries, k]`` float64, of the two vectors.
    """

    queries: NDArray[np.intp]
    nearest: NDArray[np.intp]
    cosine: NDArray[np.float64]


def nearest_images(
    features: FeatureSource, queries: Sequence[int], k: int, among: Sequence[int] | None = None
) -> Neighbours:
    """Find the images whose vectors have the largest cosine with those of some images.

    An image with several regions or cells is represented by their mean. All images are read once; memory holds a block
    of them. Of two equal cosines the earlier row is nearer; a vector of zeros has the cosine 0 with everything.

    Args:
        features: Open for reading.
        queries: Rows, see ``rows_of``.
        k: Images per query; fewer if there are not so many others.
        among: Rows of the images that may be neighbours, in rising order; None: all.

    Raises:
        InputError: If there is one image, or the features are damaged.
    """
    known = np.arange(len(features.outline)) if among is None else np.array(among, dtype=np.intp)
    count = len(known)
    if count < 2:
        raise InputError("there is one image, which has no neighbours", where=features.path, cure="give more images")
    k = min(k, count - 1)
    asked = np.array(queries, dtype=np.intp)
    directions = _directions(features, asked)
    nearest: NDArray[np.intp] = np.zeros((len(asked), 0), dtype=np.intp)
    cosine: NDArray[np.float64] = np.zeros((len(asked), 0))
    with Bar("nearest images", count) as bar:
        for start in range(0, count, BLOCK):
            rows = known[start : start + BLOCK]
            found = np.asarray(directions @ _directions(features, rows).T)
            found[asked[:, None] == rows] = -np.inf
            nearest = np.concatenate([nearest, np.broadcast_to(rows, found.shape)], axis=1)
            cosine = np.concatenate([cosine, found], axis=1)
            best = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
            nearest = np.take_along_axis(nearest, best, axis=1)
            cosine = np.take_along_axis(cosine, best, axis=1)
            bar.advance(len(rows))
    return Neighbours(asked, nearest, cosine)


def _directions(features: FeatureSource, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return ``[rows, dim]``, each of length 1 or 0."""
    vectors = []
    for row in rows.tolist():
        vector = features.read(row).features.astype(np.float64)
        vectors.append(vector.mean(axis=0) if vector.ndim == 2 else vector)
    stacked = np.stack(vectors)
    length = np.linalg.norm(stacked, axis=1, keepdims=True)
    return np.asarray(stacked / np.where(length > 0, length, 1))


def rows_of(features: FeatureSource, wanted: Sequence[str], otherwise: int) -> list[int]:
    """Return the rows of some images.

    Args:
        features: Open for reading.
        wanted: Ids of images, of which each counts once; without any, rows that are evenly spread over the file.
        otherwise: How many of those.

    Raises:
        InputError: If an id is unknown.
    """
    ids = list(features.outline.ids)
    if not wanted:
        many = min(otherwise, len(ids))
        return [len(ids) * place // many for place in range(many)]
    place = {image_id: row for row, image_id in enumerate(ids)}
    for image_id in wanted:
        if image_id not in place:
            raise InputError(
                f"there is no image '{image_id}'", where=features.path, cure=f"its ids look like '{ids[0]}'"
            )
    return [place[image_id] for image_id in each_once(wanted)]
