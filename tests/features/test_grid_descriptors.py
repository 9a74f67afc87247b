"""Grid descriptors: held against slow loops and scikit-image's own measurements."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw
from skimage.color import rgb2lab
from skimage.measure import label, regionprops

from fivesentences.features.grid_descriptors import (
    COLOURS,
    EXTENTS,
    GRID,
    LONG,
    PALETTE,
    PARTS,
    SIDE,
    SIZES,
    SMALLEST_PATCH,
    GridDescriptors,
)

NAMES = list(PALETTE)


def scene(number: int) -> Image.Image:
    """Blobs, bars and boxes in palette colours on a palette background, anti-aliased by drawing them larger."""
    random = np.random.default_rng(number)
    colours = [tuple(PALETTE[name]) for name in random.permutation(NAMES)]
    image = Image.new("RGB", (4 * SIDE, 4 * SIDE), colours[0])
    pen = ImageDraw.Draw(image)
    for colour in colours[1:8]:
        x, y, width, height = (random.random(4) * [3.2, 3.2, 1.2, 1.2] * SIDE).astype(int).tolist()
        shape = pen.ellipse if random.random() < 0.5 else pen.rectangle
        shape((x, y, x + width + 20, y + height + 20), fill=colour)
    return image.resize((SIDE, SIDE), Image.Resampling.BOX)


def described(image: Image.Image, layout: str = "global") -> np.ndarray:
    extractor = GridDescriptors(layout)
    return extractor.describe(extractor.prepare(image)[None])[0]


def part(row: np.ndarray, name: str) -> np.ndarray:
    return dict(zip(PARTS, np.split(row, np.cumsum(list(PARTS.values()))[:-1]), strict=True))[name]


def nearest_colours(image: Image.Image) -> np.ndarray:
    """As the descriptors see it: in steps of eight per channel."""
    pixels = (np.asarray(image).astype(int) // 8 * 8 + 4) / 255
    palette = rgb2lab(np.array(list(PALETTE.values())) / 255)
    return np.square(rgb2lab(pixels)[:, :, None] - palette).sum(-1).argmin(-1)


@pytest.mark.parametrize(("layout", "shape"), [("global", (1199,)), ("grid", (GRID * GRID, 72))])
def test_features_have_the_documented_dimensions_and_do_not_depend_on_the_batch(layout, shape):
    extractor = GridDescriptors(layout)
    rows = extractor.describe(np.stack([extractor.prepare(scene(number)) for number in range(3)]))
    assert rows.shape == (3, *shape) and rows.dtype == np.float32
    np.testing.assert_array_equal(rows[2], described(scene(2), layout))


def test_every_colour_of_the_palette_is_recognised_and_a_picture_of_one_colour_has_finite_features():
    for number, colour in enumerate(PALETTE.values()):
        image = Image.new("RGB", (50, 300), colour)
        row = described(image)
        np.testing.assert_array_equal(part(row, "colours on a pyramid")[:COLOURS], np.arange(COLOURS) == number)
        assert np.isfinite(row).all() and np.isfinite(described(image, "grid")).all()


def test_the_pyramid_counts_pixels():
    image = scene(1)
    colour = nearest_colours(image)
    expected = []
    for cells in (1, 2, 4):
        side = SIDE // cells
        for y in range(cells):
            for x in range(cells):
                inside = colour[y * side : (y + 1) * side, x * side : (x + 1) * side]
                expected += [np.sqrt((inside == number).mean()) for number in range(COLOURS)]
    np.testing.assert_allclose(part(described(image), "colours on a pyramid"), expected, atol=1e-6)


@pytest.mark.parametrize("number", range(4))
def test_patches_equal_those_that_scikit_image_measures(number):
    image = scene(number)
    colour = nearest_colours(image)
    shapes, sizes = np.zeros((COLOURS, 3, 3)), np.zeros((COLOURS, 3))
    for patch in regionprops(label(colour, connectivity=1, background=-1)):
        if patch.area < SMALLEST_PATCH:
            continue
        which = colour[tuple(patch.coords[0])]
        height, width = np.sqrt(patch.coords.var(axis=0) + 1 / 12)
        stance = 1 if width >= LONG * height else 2 if height >= LONG * width else 0
        shapes[which, np.digitize(patch.extent, EXTENTS), stance] += 1
        sizes[which, np.digitize(patch.area / SIDE**2, SIZES)] += 1
    row = described(image)
    np.testing.assert_allclose(part(row, "shapes of each colour"), np.sqrt(np.minimum(shapes, 4)).ravel(), atol=1e-6)
    np.testing.assert_allclose(part(row, "sizes of each colour"), np.sqrt(np.minimum(sizes, 4)).ravel(), atol=1e-6)


def test_neighbours_equal_a_loop_over_pairs():
    image = scene(2)
    colour = nearest_colours(image)
    above, beside = np.zeros((COLOURS, COLOURS)), np.zeros((COLOURS, COLOURS))
    for y in range(SIDE):
        for x in range(SIDE):
            if y + 4 < SIDE and colour[y, x] != colour[y + 4, x]:
                above[colour[y, x], colour[y + 4, x]] += 1
            if x + 4 < SIDE and colour[y, x] != colour[y, x + 4]:
                first, second = sorted((colour[y, x], colour[y, x + 4]))
                beside[first, second] += 1
    row = described(image)
    np.testing.assert_allclose(part(row, "colour above colour"), np.sqrt(above / above.sum()).ravel(), atol=1e-6)
    pairs = beside[np.triu_indices(COLOURS, 1)] / beside.sum()
    np.testing.assert_allclose(part(row, "colour beside colour"), np.sqrt(pairs), atol=1e-6)


def test_edges_of_a_colour_know_their_direction():
    image = Image.new("RGB", (SIDE, SIDE), PALETTE["white"])
    ImageDraw.Draw(image).rectangle((0, 90, SIDE, 110), fill=PALETTE["red"])
    edges = part(described(image), "edges of each colour").reshape(COLOURS, -1)
    assert edges[NAMES.index("red")].argmax() == 4  # the gradient of a lying bar stands: 90 of 180 degrees
    assert edges[NAMES.index("blue")].sum() == 0


def test_grid_regions_are_row_by_row_from_the_top_left():
    image = Image.new("RGB", (SIDE, SIDE), PALETTE["white"])
    image.paste(PALETTE["red"], (32, 0, 64, 32))  # second region of the first row
    colours = described(image, "grid")[:, :COLOURS]
    assert np.flatnonzero(colours[:, NAMES.index("red")]).tolist() == [1]
