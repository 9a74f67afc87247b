"""Anchors, boxes, pooling, resizing and selection, against hand-made cases and what released functions return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from fivesentences.corpus import decode
from fivesentences.features.detectors import boxes, resizing
from fivesentences.features.detectors.selection import confidence, select_class_agnostic, select_per_class

RULES = {"opencv": "caffe", "torch": "d2_float", "pillow": "airsplay_pil_uint8"}


@pytest.fixture(scope="module")
def pieces(parity: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    return parity("butd_pieces")


def tensor(values: np.ndarray, dtype: torch.dtype | None = None) -> torch.Tensor:
    found = torch.from_numpy(values)
    return found if dtype is None else found.to(dtype)


@pytest.mark.parity
def test_anchors(pieces):
    height, width = (int(side) for side in pieces["anchors/grid_hw"])
    for flavour in ("d2", "caffe"):
        table = boxes.cell_anchors(flavour)
        np.testing.assert_allclose(table, pieces[f"anchors/{flavour}/table"], rtol=0, atol=1e-12)
        stored = pieces.get(f"anchors/{flavour}/table_float32", pieces[f"anchors/{flavour}/table"])
        np.testing.assert_array_equal(boxes.grid(stored, height, width), pieces[f"anchors/{flavour}/grid"])


@pytest.mark.parity
def test_decoding(pieces):
    start, deltas = (tensor(pieces[f"decode/{name}"], torch.float64) for name in ("boxes", "deltas"))
    weighted = tensor(pieces["decode/deltas_for_w10"])
    for key, ours in {
        "decode/d2_w1": boxes.decode(start, deltas),
        "decode/d2_w10_10_5_5": boxes.decode(start, weighted, (10, 10, 5, 5)),
        "decode/caffe_clamped": boxes.decode(start, deltas, inclusive=True),
        "decode/caffe_original_no_clamp": boxes.decode(start, deltas, inclusive=True, largest_growth=np.inf),
    }.items():
        assert_equal_boxes(ours, pieces[key])
    start, deltas = (tensor(pieces[f"decode_multi/{name}"], torch.float64) for name in ("boxes", "deltas"))
    assert_equal_boxes(boxes.decode(start, deltas), pieces["decode_multi/d2_w1"])
    assert_equal_boxes(boxes.decode(start, deltas, inclusive=True), pieces["decode_multi/caffe"])


def assert_equal_boxes(ours, theirs):
    # A corner near 0 is a difference of large numbers, and has their rounding.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.parity
def test_clipping_and_the_smallest_sides(pieces):
    size = [int(side) for side in pieces["clip/image_hw"]]
    start = tensor(pieces["clip/boxes"])
    d2, caffe = boxes.clip(start, *size), boxes.clip(start, *size, inclusive=True)
    np.testing.assert_array_equal(d2, pieces["clip/d2"])
    np.testing.assert_array_equal(caffe, pieces["clip/caffe"])
    smallest = float(pieces["filter/min_size"] * pieces["filter/im_scale"])
    np.testing.assert_array_equal(boxes.large_enough(d2, 0), pieces["filter/d2_keep"])
    original, milvlg = pieces["filter/caffe_original_keep"], pieces["filter/milvlg_keep"]
    np.testing.assert_array_equal(boxes.large_enough(caffe, smallest, inclusive=True), original)
    np.testing.assert_array_equal(boxes.large_enough(caffe, smallest, inclusive=True, strict=True), milvlg)
    # The two differ on boxes of exactly the smallest size.
    sides = (pieces["clip/caffe"][:, 2:] - pieces["clip/caffe"][:, :2] + 1).min(axis=1)
    np.testing.assert_array_equal(original != milvlg, sides == smallest)
    assert (original != milvlg).any()


@pytest.mark.parity
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_suppression(dtype, pieces):
    for name in ("nms_a", "nms_b", "nms_int", "nms_exact"):
        found, scores = (tensor(pieces[f"{name}/{part}"], dtype) for part in ("boxes", "scores"))
        threshold = float(pieces[f"{name}/threshold"])
        np.testing.assert_array_equal(boxes.nms(found, scores, threshold), pieces[f"{name}/keep_plain"])
        inclusive = boxes.nms(found, scores, threshold, inclusive=True)
        np.testing.assert_array_equal(inclusive, pieces[f"{name}/keep_plus1_ge"])
    assert len(pieces["nms_exact/keep_plus1_ge"]) < len(pieces["nms_exact/keep_plain"])


@pytest.mark.parity
def test_the_original_rule_on_hand_made_scores(pieces):
    names = [key.removesuffix("/scores") for key in pieces if key.startswith("select/") and key.endswith("/scores")]
    assert names
    for name in names:
        found, scores = pieces[f"{name}/boxes"], pieces[f"{name}/scores"]
        np.testing.assert_array_equal(confidence(found, scores), pieces[f"{name}/max_conf"], err_msg=name)
        selected = [key for key in pieces if key.startswith(f"{name}/keep_")]
        assert selected, name
        for key in selected:
            least, most = map(int, key.split("_")[-2:])
            np.testing.assert_array_equal(select_per_class(found, scores, least, most), pieces[key], err_msg=key)


@pytest.mark.parity
def test_sizes_of_resized_images(pieces):
    for row, scale in zip(pieces["resize/hw_caffehw_d2hw"].tolist(), pieces["resize/caffe_scale"], strict=True):
        height, width, *expected = row
        ours = resizing.opencv_scale(height, width, 600, 1000)
        assert ours == scale
        _, *other = resizing.detectron_size(height, width, 600, 1000)
        assert [round(height * ours), round(width * ours), *other] == expected


@pytest.mark.parity
@pytest.mark.parametrize("rule", RULES)
def test_pixels_of_resized_images(rule, pieces, pixel_rounding):
    for direction, short, long in (("up", 20, 40), ("down", 8, 12)):
        ours = resizing.resize(pieces["resize_values/raw_bgr"], rule, short, long).pixels
        assert ours.dtype == np.float32
        expected = pieces[f"resize_values/{direction}/{RULES[rule]}"]
        limit = 0 if rule == "pillow" else pixel_rounding(expected)  # Pillow's pixels are bytes
        np.testing.assert_allclose(ours, expected, rtol=0, atol=limit)


@pytest.mark.parity
def test_decoded_files_are_opencvs_but_for_transparency_and_rounding(pieces):
    names = [key.removesuffix("/file") for key in pieces if key.endswith("/file")]
    assert names
    for name in names:
        ours = np.asarray(decode(pieces[f"{name}/file"].tobytes(), name))[..., ::-1].astype(int)
        theirs = pieces[f"{name}/bgr"].astype(int)
        assert ours.shape == theirs.shape, name
        if "rgba" in name or "alpha" in name:
            continue  # OpenCV drops the transparency; here the image is put on white, as everywhere in this package
        rounding = 1 if "grey16" in name or "cmyk" in name else 0
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=rounding, err_msg=name)


def test_the_rule_of_the_conversions_raises_its_threshold_until_enough_stay():
    # Overlaps of the first box with the others: 0.9, 0.6, 0.35, 0.
    found = np.array([[0, 0, 10, 10], [0, 0, 9, 10], [0, 0, 6, 10], [0, 0, 3.5, 10], [20, 0, 30, 10]], np.float32)
    scores = np.array([0.5, 0.9, 0.4, 0.3, 0.2], np.float32)
    for least, expected in ((1, [1, 4]), (3, [1, 3, 4]), (4, [1, 2, 3, 4])):
        keep = select_class_agnostic(found, scores, least, 10, (0.3, 0.5, 0.8, 0.85))
        np.testing.assert_array_equal(keep, expected)
    # Too few at every threshold: what the last one leaves; and never more than the most.
    np.testing.assert_array_equal(select_class_agnostic(found, scores, 5, 10, (0.3, 0.5)), [1, 3, 4])
    np.testing.assert_array_equal(select_class_agnostic(found, scores, 1, 2, (0.95,)), [1, 0])


@pytest.mark.parity
def test_boxes_of_the_original_extraction_end_where_ours_are_cut(pieces):
    """Regions of ten photographs by the Caffe program touch every border, which shows its resizing and last pixel."""
    for found, (height, width) in zip(pieces["sample/boxes"], pieces["sample/image_hw"].tolist(), strict=True):
        scale = resizing.opencv_scale(height, width, 600, 1000)
        new = (round(height * scale), round(width * scale))
        whole = boxes.clip(torch.tensor([[-1e4, -1e4, 1e4, 1e4]]), *new, inclusive=True)[0].numpy() / scale
        # Theirs and ours each round a corner to float32 twice, as it is cut and as it is divided by the scale.
        limit = 2 * np.finfo(np.float32).eps * whole.max()
        np.testing.assert_allclose([*found.min(axis=0)[:2], *found.max(axis=0)[2:]], whole, rtol=0, atol=limit)
