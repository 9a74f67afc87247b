"""Bottom-up attention as a detector: from an image to regions, and what must not change them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from fivesentences.errors import InputError
from fivesentences.features.detectors import detect
from fivesentences.features.detectors.bottom_up import BottomUpAttention
from fivesentences.features.detectors.network import FLAVOURS, BoxPredictor, Widths

pytestmark = pytest.mark.parity  # the weights are made as those of the fixtures

FLAVOUR_NAMES = ["d2", "caffe"]


@pytest.fixture(params=FLAVOUR_NAMES)
def small(request: pytest.FixtureRequest, detector: Callable[..., BottomUpAttention]) -> BottomUpAttention:
    return detector(request.param, "small")


def photograph(seed: int, width: int = 150, height: int = 112) -> Image.Image:
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    return coarse.resize((width, height), Image.Resampling.BICUBIC)


def changed(detector: BottomUpAttention, **settings: Any) -> BottomUpAttention:
    return BottomUpAttention.of(detector.network, replace(detector.settings, **settings))


@pytest.mark.parametrize("image", ["noise", "photo"])
def test_an_image_becomes_the_released_regions(image, case, small):
    one = case(small.flavour.name, "small")
    rgb = Image.fromarray(one.file[f"in/{image}/raw"][..., ::-1].copy())
    if small.flavour.name == "d2":
        rules = {
            name: (rule["min_detections"], rule["max_detections"], {"thresholds": tuple(rule["nms_thresholds"])})
            for name, rule in one.hparams["select"].items()
        }
        small, classes = changed(small, selection="class_agnostic"), "obj_ids"
    else:
        rules = {f"min{least}_max{most}": (least, most, {}) for least, most in one.hparams["select"]}
        classes = "objects_id"
    # A rule that always gives the same number of regions, as the last comparison needs.
    name, (least, most, further) = next((name, rule) for name, rule in rules.items() if rule[0] == rule[1])
    small = changed(small, least=least, most=most, **further)
    start = f"small/out/{image}/select/{name}"
    regions = detect(rgb, small)
    expected = one.file[f"{start}/boxes"]
    np.testing.assert_allclose(regions.boxes, expected, rtol=0, atol=2e-5 * expected.max())
    np.testing.assert_array_equal(regions.classes, one.file[f"{start}/{classes}"])
    features = one.file[f"small/out/{image}/features"][one.file[f"{start}/keep"]]
    np.testing.assert_allclose(regions.features, features, rtol=0, atol=2e-5 * features.max())
    # With the colours in the other order, a mistake that other conversions made, the features are others.
    swapped = detect(Image.fromarray(np.asarray(rgb)[..., ::-1].copy()), small)
    assert np.abs(swapped.features - regions.features).max() > 0.01 * features.max()


@pytest.mark.parametrize(
    ("selection", "rule", "width", "height"),
    [("per_class", "opencv", 61, 200), ("class_agnostic", "pillow", 333, 90), ("class_agnostic", "torch", 150, 112)],
)
def test_boxes_lie_inside_the_image(width, height, rule, selection, small):
    used = changed(small, resize=rule, selection=selection, least=10, most=30, thresholds=(0.6,))
    regions = detect(photograph(1, width, height), used)
    assert 1 <= len(regions) <= 30
    assert (regions.boxes >= 0).all()
    assert (regions.boxes <= [width, height, width, height]).all()
    assert (regions.boxes[:, 2:] >= regions.boxes[:, :2]).all()
    assert (regions.features >= 0).all()
    assert np.isfinite(regions.features).all()
    for scores in (regions.scores, regions.attribute_scores):
        assert ((scores >= 0) & (scores <= 1)).all()
    assert (regions.width, regions.height) == (width, height)


def test_images_in_a_batch_and_regions_in_chunks_change_nothing(small):
    images = [np.asarray(photograph(seed))[..., ::-1] for seed in range(3)]
    resized = [small.resize(image) for image in images]
    together = small.find(resized)
    in_ones = changed(small, chunk=1)
    for number, each in enumerate(resized):
        (alone,) = in_ones.find([each])
        for ours, theirs in (
            (alone.proposals, together[number].proposals),
            (alone.recognised, together[number].recognised),
        ):
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(alone.features, together[number].features, rtol=1e-4, atol=1e-4)


def test_mirrored_regions_of_a_mirrored_image_have_the_same_features(small):
    """If kernels are symmetric and the grid is: 101 pixels are 51, 25, 25, 13 and 7 cells, whose centres mirror."""
    network = copy.deepcopy(small.network)
    for part in network.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.weight.data = (part.weight + part.weight.flip(-1)) / 2
    square = changed(small, short=101, long=101).resize(np.asarray(photograph(4, 200, 200)))
    pixels = torch.from_numpy(square.pixels)[None]
    with torch.inference_mode():
        maps, mirrored = network.backbone(pixels), network.backbone(pixels.flip(-1))
        assert maps.shape[-1] == 7
        torch.testing.assert_close(mirrored.flip(-1), maps, rtol=0, atol=2e-5 * float(maps.max()))
        cells = torch.tensor([[0, 0, 2, 3], [1, 2, 6, 6], [3, 0, 3, 1], [0, 0, 6, 6]])
        boxes = 16.0 * cells
        opposite = 16.0 * torch.stack((6 - cells[:, 2], cells[:, 1], 6 - cells[:, 0], cells[:, 3]), dim=1)
        one, other = network.roi_heads(maps, boxes), network.roi_heads(mirrored, opposite)
        torch.testing.assert_close(other, one, rtol=0, atol=2e-5 * float(one.max()))
        assert float((network.roi_heads(mirrored, boxes) - one).abs().max()) > 1e-3 * float(one.max())


@pytest.mark.slow
def test_boxes_that_are_too_small_count_as_candidates_in_one_flavour_only(case, small):
    """The conversion cuts first and filters then; Caffe does it the other way round."""
    raw = case(small.flavour.name, "small").file["in/photo/raw"]
    every = changed(small, candidates=10_000, proposals=10_000, overlap=1.01)  # nothing is cut or suppressed
    resized = every.resize(raw)

    def boxes_of(used: BottomUpAttention) -> torch.Tensor:
        return used.find([resized])[0].proposals.boxes

    # Whatever the weights, half of the boxes are too small if the smallest side is that of the middle one.
    boxes = boxes_of(every)
    network = copy.deepcopy(small.network)
    middle = float((boxes[:, 2:] - boxes[:, :2]).amin(dim=1).median())
    network.proposal_generator.flavour = replace(small.flavour, smallest_side=middle / resized.scale)
    every = BottomUpAttention.of(network, every.settings)
    large = len(boxes_of(every))
    assert len(boxes) / 3 < large < len(boxes)
    found = len(boxes_of(changed(every, candidates=large)))
    assert found == large if small.flavour.pixels_inclusive else 0 < found < large


@pytest.mark.parametrize("selection", ["per_class", "class_agnostic"])
def test_odd_images_have_regions_or_end_in_a_sentence(selection, small):
    used = changed(small, selection=selection, short=60, long=100)
    for size in ((1, 1), (3, 50), (700, 40)):
        found = len(detect(Image.new("RGB", size, (9, 200, 30)), used))
        # Caffe drops proposals of less than 16 pixels of the original.
        assert found == 0 if min(size) < small.flavour.smallest_side else 1 <= found <= 36
    with pytest.raises(InputError, match=r"an image is 100 x [01] when resized; the network needs 5 pixels per side"):
        detect(Image.new("RGB", (200, 1)), used)


@pytest.mark.parametrize("selection", ["per_class", "class_agnostic"])
def test_an_image_without_a_proposal_has_no_region(selection, small):
    network = copy.deepcopy(small.network)
    network.proposal_generator.rpn_head.anchor_deltas.bias[0::4] = 1e6  # every box lies far to the right
    regions = detect(photograph(8), BottomUpAttention.of(network, replace(small.settings, selection=selection)))
    assert regions.features.shape == (0, small.dim)


def test_heads_of_both_flavours_agree_when_background_moves():
    torch.manual_seed(0)
    widths = Widths(classes=7, attributes=5, embedding=4, attribute_hidden=6)
    d2, caffe = (BoxPredictor(FLAVOURS[name], 12, widths) for name in FLAVOUR_NAMES)
    first = lambda values: torch.cat((values[-1:], values[:-1]))  # noqa: E731
    weights = torch.tensor(FLAVOURS["d2"].box_weights)
    state = d2.state_dict()
    by_box = state["bbox_pred.weight"].reshape(7, 4, 12) / weights[:, None]
    caffe.load_state_dict(
        {
            **{f"cls_score.{part}": first(state[f"cls_score.{part}"]) for part in ("weight", "bias")},
            "bbox_pred.weight": torch.cat((torch.zeros(4, 12), by_box.reshape(28, 12))),
            "bbox_pred.bias": torch.cat((torch.zeros(4), (state["bbox_pred.bias"].reshape(7, 4) / weights).flatten())),
            "cls_embed.weight": first(state["cls_embedding.weight"]),
            **{f"attr_linear1.{part}": state[f"fc_attr.{part}"] for part in ("weight", "bias")},
            **{f"attr_linear2.{part}": first(state[f"attr_score.{part}"]) for part in ("weight", "bias")},
        }
    )
    features = torch.rand(50, 12)
    with torch.no_grad():
        one, other = d2(features), caffe(features)
    torch.testing.assert_close(one.classes, other.classes)
    torch.testing.assert_close(one.deltas.reshape(50, 7, 4) / weights, other.deltas.reshape(50, 7, 4))
    # Of attributes only the scale differs: one softmax is without "no attribute", the other with it.
    torch.testing.assert_close(one.attributes, other.attributes / other.attributes.sum(dim=1, keepdim=True))
    assert float((one.attributes - other.attributes).abs().max()) > 0.01


def test_the_source_tells_every_rule_apart(small):
    sources = [
        changed(small, **settings).source
        for settings in (
            {},
            {"resize": "pillow"},
            {"short": small.settings.short + 1},
            {"least": 10, "most": 100},
            {"selection": "class_agnostic"},
            {"selection": "class_agnostic", "thresholds": (0.5,)},
            {"proposals": small.settings.proposals + 1},
        )
    ]
    assert all(one != other for number, one in enumerate(sources) for other in sources[:number])
    assert changed(small, chunk=3).source == sources[0]
    assert sources[0]["flavour"] == small.flavour.name
    assert sources[0]["anchors"] != "as published"  # the small networks have others
