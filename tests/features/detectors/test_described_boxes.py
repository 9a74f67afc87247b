"""Boxes of no detector, described by a network: where they lie, and what describes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from fivesentences.errors import InputError
from fivesentences.features.detectors import Detector, detect
from fivesentences.features.detectors import proposals as module
from fivesentences.features.detectors.described_boxes import DescribedBoxes, DescribedBoxesSettings, describe
from fivesentences.features.detectors.proposals import selective_search, tiles
from random_networks import fresh


@pytest.fixture(scope="module")
def scene() -> Image.Image:
    """A red and a blue rectangle on grey."""
    image = Image.new("RGB", (300, 200), (120, 120, 120))
    draw = ImageDraw.Draw(image)
    draw.rectangle((30, 40, 109, 159), fill=(220, 30, 30))
    draw.rectangle((180, 60, 259, 139), fill=(30, 30, 220))
    return image


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Detector]:
    _, weights = fresh("test_resnet", tmp_path_factory.mktemp("weights"))

    def made(**settings: object) -> Detector:
        return DescribedBoxes("test_resnet", weights, DescribedBoxesSettings(**settings))

    return made


def overlap(a: np.ndarray, b: tuple[float, ...]) -> float:
    width, height = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return float(common / (sum(areas) - common))


def test_selective_search_finds_what_stands_out_first_the_whole(scene):
    boxes = selective_search(scene, 12)
    for there in ((30, 40, 110, 160), (180, 60, 260, 140)):
        assert max(overlap(box, there) for box in boxes) > 0.85
    assert boxes[0].tolist() == [0, 0, 300, 200] and len(boxes) == 12
    assert boxes.min() >= 0 and boxes[:, 2].max() <= scene.width and boxes[:, 3].max() <= scene.height
    for _ in range(3):  # OpenCV draws the ranks of its boxes at random
        np.testing.assert_array_equal(selective_search(scene, 12), boxes)


@pytest.mark.parametrize("size", [(1, 200), (3, 3), (700, 20)])
def test_every_image_has_a_box(size):
    boxes = selective_search(Image.new("RGB", size, (9, 9, 9)), 36)
    np.testing.assert_allclose(boxes[0], (0, 0, *size))


def test_tiles_cover_the_image_without_overlap():
    boxes = tiles(Image.new("RGB", (90, 60)), 9)
    np.testing.assert_array_equal(
        boxes[[0, 1, 3, 8]], [[0, 0, 30, 20], [30, 0, 60, 20], [0, 20, 30, 40], [60, 40, 90, 60]]
    )
    assert len({tuple(box) for box in boxes.tolist()}) == 9
    with pytest.raises(InputError, match="35 tiles are no square grid"):
        tiles(Image.new("RGB", (90, 60)), 35)


def test_a_box_is_described_by_the_mean_of_the_map_inside_it():
    """On a map that rises evenly the mean is the value at the box's centre, whatever its size."""
    rows, columns = torch.meshgrid(torch.arange(10.0), torch.arange(20.0), indexing="ij")
    rising = torch.stack([columns, rows, torch.full_like(rows, 7.0)])[None]
    # Pixels: 32 a cell, so that the value of column c is that of pixel 32 c + 16.
    boxes = np.array([[64, 64, 128, 160], [100, 90, 420, 200], [205, 81, 231, 99]], dtype=np.float32)
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    expected = np.stack([x / 32 - 0.5, y / 32 - 0.5, np.full(3, 7.0)], axis=1)
    np.testing.assert_allclose(describe(rising, boxes, (640, 320)).numpy(), expected, rtol=1e-5)


def test_regions_lie_inside_and_say_what_made_them(network, scene):
    detector = network(proposals="selective_search", most=10, short=96)
    regions = detect(scene, detector)
    assert regions.features.shape == (len(regions), detector.dim) and 2 <= len(regions) <= 10
    assert regions.classes is None and regions.scores is None and detector.class_count == 0
    assert {"opencv", "searched", "weights", "short"} <= detector.source.keys()
    np.testing.assert_array_equal(detect(scene, detector).features, regions.features)
    whole = detect(scene, network(proposals="tiles", most=1, short=96))
    assert len(whole) == 1 and np.isfinite(whole.features).all()
    assert "opencv" not in network(proposals="tiles").source


def test_what_cannot_be_done_is_said(network, scene, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="most is 0; it must be at least 1"):
        network(most=0)
    _, weights = fresh("test_vit", tmp_path)
    transformer = DescribedBoxes("test_vit", weights, DescribedBoxesSettings("tiles", short=160, long=160))
    with pytest.raises(InputError, match="the last map of 'test_vit' has 3 axes"):
        detect(scene.resize((160, 160)), transformer)

    def none_installed(package: str, extra: str, what: str) -> None:
        raise InputError(f"{what} needs {package}, {extra}")

    monkeypatch.setattr(module, "need", none_installed)
    with pytest.raises(InputError, match="selective search needs cv2, proposals"):
        network(proposals="selective_search")
