"""Colours, oriented gradients and flat shapes on a grid: image features that need no learned weights.

They are meant for flat, colourful pictures of about 200 pixels in which a thing is a patch of one colour. They describe
which colours there are and where, in which direction the edges of each colour run, how round or long its patches are,
and which colours are above or beside each other. They can describe photographs too, but a network does so better.

Histograms of oriented gradients are those of Dalal and Triggs (2005) as implemented in scikit-image. Square roots of
histograms (Hellinger's kernel under a dot product) prevent large backgrounds from dominating small objects.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from skimage.color import rgb2lab
from skimage.feature import hog
from skimage.measure import label

if TYPE_CHECKING:
    from fivesentences.config.types import Layout

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.intp]

VERSION = "1"  # part of the fingerprint of chunks; to be raised whenever the numbers change
SIDE = 192  # pixels; images are squashed to a square of this side
GRID = 6  # regions per side
ORIENTATIONS = 9  # bins of unsigned gradient direction over 180 degrees
SMALLEST_PATCH = 40  # pixels, 0.1% of the square; smaller patches are seams between anti-aliased colours

# Basic colour terms (Berlin and Kay 1969) in sRGB, with light and dark variants for skies, grass and seas.
PALETTE = {
    "black": (20, 20, 22),
    "grey": (130, 130, 135),
    "white": (245, 245, 242),
    "red": (210, 40, 40),
    "orange": (240, 145, 40),
    "yellow": (248, 220, 70),
    "light green": (130, 200, 90),
    "dark green": (45, 110, 50),
    "light blue": (160, 210, 240),
    "blue": (50, 105, 205),
    "purple": (130, 70, 165),
    "pink": (245, 150, 185),
    "brown": (120, 75, 45),
    "beige": (225, 200, 160),
}
COLOURS = len(PALETTE)
# Share of its bounding box that a patch fills: triangles are below, discs (0.785) between, boxes above these.
EXTENTS = (0.66, 0.88)
LONG = 2.0  # ratio of the axes from which a patch counts as lying (wide) or standing (tall)
SIZES = (0.004, 0.03)  # share of the picture: small patches are below, large ones above these

# The parts of a global vector with their lengths, in order.
PARTS = {
    "colours on a pyramid": COLOURS * (1 + 4 + 16),
    "gradients": GRID * GRID * ORIENTATIONS,
    "edges of each colour": COLOURS * ORIENTATIONS,
    "shapes of each colour": COLOURS * 9,
    "sizes of each colour": COLOURS * 3,
    "colour above colour": COLOURS * COLOURS,
    "colour beside colour": COLOURS * (COLOURS - 1) // 2,
}


class GridDescriptors:
    """The extractor ``grid_descriptors``.

    ``describe`` returns float32, ``[images, 1199]`` for the layout ``global`` and ``[images, 36, 72]`` for ``grid``
    (row by row from the top left), all within [-2, 2].
    """

    on_accelerator = False
    images_at_once = 8
    preparer = None  # only needed for an accelerator

    def __init__(self, layout: Layout):
        self.layout = layout

    def facts(self) -> dict[str, Any]:
        """Return everything that the features depend on, see ``recipe.Extractor``."""
        return {"version": VERSION, "preprocessing": {"input_size": [3, SIDE, SIDE], "crop_mode": "squash"}}

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """Return an RGB image as ``[192, 192, 3]``."""
        return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR))

    def describe(self, batch: npt.NDArray[np.uint8]) -> Floats:
        """Describe prepared images ``[n, 192, 192, 3]``."""
        one = _global if self.layout == "global" else _grid
        return np.stack([one(_Picture(image)) for image in batch])


class _Picture:
    """The pixels of a picture as colours and edges, for both layouts."""

    def __init__(self, image: npt.NDArray[np.uint8]):
        self.pixels = image
        coarse = (image >> 3).astype(np.intp)
        self.colour: Integers = _nearest_colours()[coarse[..., 0], coarse[..., 1], coarse[..., 2]]  # [side, side]
        self.lab: Floats = rgb2lab(image.astype(np.float32) / 255) / np.float32(100)
        down, right = np.gradient(self.lab, axis=(0, 1))
        strength = down**2 + right**2
        # As in Dalal and Triggs: at every pixel the channel with the strongest gradient counts.
        channel = strength.argmax(axis=2)[..., None]
        down, right = (np.take_along_axis(g, channel, 2)[..., 0] for g in (down, right))
        self.strength: Floats = np.hypot(down, right)
        angle = np.arctan2(down, right) % np.pi
        self.orientation: Integers = np.minimum((angle * (ORIENTATIONS / np.pi)).astype(np.intp), ORIENTATIONS - 1)


@cache
def _nearest_colours() -> Integers:
    """Index into ``PALETTE`` of the colour nearest in Lab, for every RGB in steps of eight: ``[32, 32, 32]``."""
    steps = (np.arange(32) * 8 + 4) / 255
    lab = rgb2lab(np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1))
    palette = rgb2lab(np.array(list(PALETTE.values()), dtype=np.float64) / 255)
    distance = ((lab[..., None, :] - palette) ** 2).sum(axis=-1)
    return np.asarray(distance.argmin(axis=-1), dtype=np.intp)


def _global(picture: _Picture) -> Floats:
    shapes, sizes = _patches(picture.colour)
    above, beside = _neighbours(picture.colour)
    joint = np.bincount(
        (picture.colour * ORIENTATIONS + picture.orientation).ravel(),
        weights=picture.strength.ravel(),
        minlength=COLOURS * ORIENTATIONS,
    )
    parts = [
        np.sqrt(_pyramid(picture.colour)),
        _gradients(picture.pixels, SIDE // GRID).ravel(),
        np.sqrt(joint / max(float(joint.sum()), 1e-12)),
        shapes,
        sizes,
        above,
        beside,
    ]
    return np.concatenate(parts).astype(np.float32)


def _grid(picture: _Picture) -> Floats:
    side = SIDE // GRID
    region = _cell_of_pixel(GRID)

    def share(weights: Any = None) -> Any:  # of each colour in each region
        counts = np.bincount(
            (region * COLOURS + picture.colour).ravel(), weights=weights, minlength=GRID * GRID * COLOURS
        ).reshape(GRID * GRID, COLOURS)
        return np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12))

    # [regions, pixels, 3]
    lab = picture.lab.reshape(GRID, side, GRID, side, 3).swapaxes(1, 2).reshape(GRID * GRID, side * side, 3)
    gradients = _gradients(picture.pixels, side // 2)  # four cells per region
    gradients = gradients.reshape(GRID, 2, GRID, 2, ORIENTATIONS).swapaxes(1, 2).reshape(GRID * GRID, -1)
    centre = (np.arange(GRID) + 0.5) / GRID
    place = np.stack(np.meshgrid(centre, centre, indexing="ij"), axis=-1).reshape(-1, 2)
    parts = [share(), lab.mean(axis=1), lab.std(axis=1), gradients, share(picture.strength.ravel()), place]
    return np.concatenate(parts, axis=1).astype(np.float32)


@cache
def _cell_of_pixel(cells: int) -> Integers:
    """Index of the cell that each pixel lies in, for ``cells x cells`` cells: ``[side, side]``."""
    line = np.arange(SIDE) * cells // SIDE
    return np.asarray(line[:, None] * cells + line[None, :], dtype=np.intp)


def _pyramid(colour: Integers) -> npt.NDArray[np.float64]:
    """Share of each colour in the whole picture, in its quarters and in its sixteenths."""
    counts = np.bincount((_cell_of_pixel(4) * COLOURS + colour).ravel(), minlength=16 * COLOURS)
    fine = counts.reshape(4, 4, COLOURS) / (SIDE * SIDE / 16)
    quarters = fine.reshape(2, 2, 2, 2, COLOURS).mean(axis=(1, 3))
    return np.concatenate([quarters.mean(axis=(0, 1)).ravel(), quarters.ravel(), fine.ravel()])


def _gradients(pixels: npt.NDArray[np.uint8], cell: int) -> Floats:
    """Square roots of histograms of oriented gradients in square cells: ``[cells, cells, orientations]``.

    They are normalised over the whole picture: in smaller blocks the noise of a plain sky would count as much as an
    object.
    """
    cells = SIDE // cell
    histogram = hog(
        pixels,
        orientations=ORIENTATIONS,
        pixels_per_cell=(cell, cell),
        cells_per_block=(cells, cells),
        block_norm="L2-Hys",
        channel_axis=-1,
        feature_vector=False,
    )
    return np.sqrt(np.asarray(histogram, dtype=np.float32).reshape(cells, cells, ORIENTATIONS))


def _patches(colour: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Square roots of the numbers of connected patches of each colour and shape, and of each colour and size."""
    patch = label(colour, connectivity=1, background=-1)  # type: ignore[no-untyped-call]  # from 1
    flat = patch.ravel()
    area = np.bincount(flat).astype(np.float64)
    area[0] = 1  # no patch has the number 0; avoids a division by zero
    y, x = np.divmod(np.arange(flat.size), SIDE)
    mean_y, mean_x = np.bincount(flat, y) / area, np.bincount(flat, x) / area
    spread_y = np.bincount(flat, y * y) / area - mean_y**2 + 1 / 12
    spread_x = np.bincount(flat, x * x) / area - mean_x**2 + 1 / 12
    lowest_y, highest_y = np.full(area.size, SIDE), np.zeros(area.size, dtype=np.intp)
    lowest_x, highest_x = lowest_y.copy(), highest_y.copy()
    np.minimum.at(lowest_y, flat, y)
    np.maximum.at(highest_y, flat, y)
    np.minimum.at(lowest_x, flat, x)
    np.maximum.at(highest_x, flat, x)
    first = np.zeros(area.size, dtype=np.intp)
    first[flat] = colour.ravel()
    keep = area >= SMALLEST_PATCH
    keep[0] = False

    extent = area / np.maximum((highest_y - lowest_y + 1) * (highest_x - lowest_x + 1), 1)
    fill = np.digitize(extent, EXTENTS)
    ratio = np.sqrt(spread_x / spread_y)
    stance = np.where(ratio >= LONG, 1, np.where(ratio <= 1 / LONG, 2, 0))  # compact, lying, standing
    size = np.digitize(area / (SIDE * SIDE), SIZES)
    shapes = np.bincount((first * 9 + fill * 3 + stance)[keep], minlength=COLOURS * 9)
    sizes = np.bincount((first * 3 + size)[keep], minlength=COLOURS * 3)
    # More than four means "many"; without the bound, mottled photographs would dominate.
    return np.sqrt(np.minimum(shapes, 4)), np.sqrt(np.minimum(sizes, 4))


def _neighbours(colour: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return how often a colour is directly above and beside another: ``[colours * colours]`` and unordered pairs.

    Pixels four apart are compared, so that the blended pixels of an anti-aliased seam do not count as a third colour.
    """
    gap = 4
    above = np.bincount((colour[:-gap] * COLOURS + colour[gap:]).ravel(), minlength=COLOURS * COLOURS)
    beside = np.bincount((colour[:, :-gap] * COLOURS + colour[:, gap:]).ravel(), minlength=COLOURS * COLOURS)
    unordered = beside.reshape(COLOURS, COLOURS) + beside.reshape(COLOURS, COLOURS).T
    pairs = unordered[np.triu_indices(COLOURS, k=1)]
    down = above.reshape(COLOURS, COLOURS).copy()
    np.fill_diagonal(down, 0)  # pairs within one colour: the pyramid counts those
    return np.sqrt(down.ravel() / max(down.sum(), 1)), np.sqrt(pairs / max(pairs.sum(), 1))
