"""Smaller features: the cells of a grid pooled to fewer regions, and dimensions reduced to principal components."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fivesentences.arrays import new_npy
from fivesentences.console import Bar
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.features.files import read_images, write_beside
from fivesentences.features.table import FeatureTable
from fivesentences.storage import replacing, together

Floats = npt.NDArray[np.float64]
IMAGES_AT_ONCE = 64
LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class Reduction:
    """How the features of an image, ``[dim]`` or ``[cells, dim]``, are reduced.

    Attributes:
        pooling: ``[regions, cells]`` the weights of the cells in each region, which sum to 1; None keeps the cells.
        mean: ``[dim]`` the mean of the training images.
        components: ``[dim, dimensions]`` the principal components of the training images, divided by one number such
            that the mean variance of the results is 1; None keeps the dimensions.
    """

    pooling: Floats | None = None
    mean: Floats | None = None
    components: Floats | None = None

    def apply(self, rows: npt.NDArray[np.floating]) -> Floats:
        """Map ``[images, cells, dim]`` (or ``[images, dim]``) -> ``[images, regions, dimensions]``."""
        reduced = rows.astype(np.float64)
        if self.pooling is not None:
            reduced = self.pooling @ reduced
        if self.mean is None or self.components is None:
            return reduced
        return (reduced - self.mean) @ self.components


def reduce_features(
    source: Path, corpus: Corpus, out: Path, *, regions: int | None = None, dimensions: int | None = None
) -> None:
    """Write smaller features as float16, with the same table of images beside them.

    Regions: the square of an image's cells is covered by a smaller square of windows, placed like those of torch's
    adaptive average pooling (from 7 x 7 cells to 6 x 6 regions: each is the mean of 2 x 2 cells and overlaps with its
    neighbours). Dimensions: principal components of the regions of the images of the whole *training* split (captions
    are not used), each with the sign that makes its largest weight positive. They are not whitened, so that the first
    ones stay the largest, and all are divided by one number.

    Args:
        source: Features as ``FeatureTable.open`` reads them.
        corpus: Its training split names the images that the components are computed from.
        out: The ``.npy`` to write.
        regions: Regions per image, a square number; None keeps the cells.
        dimensions: Dimensions per region; None keeps them all.

    Raises:
        InputError: If the features are not a square grid, have too few cells or dimensions, or numbers that float16
            cannot hold.
    """
    table, images = FeatureTable.open(source), read_images(source)
    _, *cells, dim = table.array.shape
    reduction = Reduction(None if regions is None else _pooling(source, cells, regions))
    if dimensions is not None:
        if dimensions > dim:
            raise InputError(f"{source} has {dim} dimensions, fewer than the requested {dimensions}; request fewer.")
        train = table.where(corpus.split("train").images["image_id"].tolist())
        reduction = _principal_components(table, train, reduction, dimensions)
    everything = np.arange(len(table.image_ids))
    shape = [len(everything), *([] if not cells else [regions or cells[0]]), dimensions or dim]
    with together(), replacing(out) as temporary, Bar("reduce features", len(everything)) as bar:
        whole = new_npy(temporary, np.float16, tuple(shape))
        for where, rows in _blocks(table, everything):
            reduced = reduction.apply(rows)
            if (most := np.abs(reduced).max(initial=0)) > LARGEST:
                what = f"it has a number of size {most:g}; float16 holds up to {LARGEST:,.0f}"
                raise InputError(what, where=source, cure="leave out half, regions and dimensions")
            whole[where] = reduced
            bar.advance(len(where))
        whole.flush()
        del whole
        write_beside(out, temporary, images)


def _pooling(source: Path, cells: list[int], regions: int) -> Floats:
    """Return ``[regions, cells]``."""
    side, wanted = (math.isqrt(cells[0]) if cells else 0), math.isqrt(regions)
    if not cells or side**2 != cells[0] or wanted**2 != regions or not 1 <= wanted <= side:
        have = f"{cells[0]} cells" if cells else "one vector"
        raise InputError(
            f"{source} has {have} per image; {regions} regions need a square grid of at least as many cells."
        )
    line = np.zeros((wanted, side))  # weights of the cells of a row in each window
    for window in range(wanted):
        first, end = window * side // wanted, -(-(window + 1) * side // wanted)
        line[window, first:end] = 1 / (end - first)
    return np.asarray(np.kron(line, line), dtype=np.float64)


def _principal_components(
    table: FeatureTable, train: npt.NDArray[np.intp], reduction: Reduction, dimensions: int
) -> Reduction:
    dim, total, count = table.array.shape[-1], 0.0, 0
    for _, rows in _blocks(table, train):
        pooled = reduction.apply(rows).reshape(-1, dim)
        total, count = total + pooled.sum(axis=0), count + len(pooled)
    mean = np.asarray(total / count)
    scatter = np.zeros((dim, dim))
    with Bar("principal components", len(train)) as bar:
        for where, rows in _blocks(table, train):
            centred = reduction.apply(rows).reshape(-1, dim) - mean
            scatter += centred.T @ centred
            bar.advance(len(where))
    variances, vectors = np.linalg.eigh(scatter / count)  # in rising order
    variances, vectors = variances[::-1][:dimensions], vectors[:, ::-1][:, :dimensions]
    sign = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(dimensions)])
    scale = math.sqrt(max(float(variances.mean()), np.finfo(np.float64).tiny))
    return Reduction(reduction.pooling, mean, vectors * sign / scale)


def _blocks(
    table: FeatureTable, where: npt.NDArray[np.intp]
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]]]:
    for start in range(0, len(where), IMAGES_AT_ONCE):
        rows = where[start : start + IMAGES_AT_ONCE]
        yield rows, table.take(rows)
