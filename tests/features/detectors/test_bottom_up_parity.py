"""The network, its proposals and its regions, against what two released conversions made of the same weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

from fivesentences.features.detectors.bottom_up import BottomUpAttention, Found, Settings
from fivesentences.features.detectors.boxes import cell_anchors
from fivesentences.features.detectors.network import FLAVOURS, BottomUpNetwork, pool
from fivesentences.features.detectors.resizing import MEANS, Resized
from fivesentences.features.detectors.selection import confidence, select_per_class
from fivesentences.features.formats import ImageFeatures

pytestmark = pytest.mark.parity

FLAVOUR_NAMES = ("d2", "caffe")
# The published network takes seconds per image and precision, of which one each is enough: the small one has the rest.
WHOLE = [pytest.param(flavour, "full", marks=pytest.mark.slow) for flavour in FLAVOUR_NAMES]
CASES = [*((flavour, "small") for flavour in FLAVOUR_NAMES), *WHOLE]
PUBLISHED = {"d2": (536, 65_545_214), "caffe": (536, 65_559_566)}
# Relative to the largest entry of an array; probabilities in float32 absolute.
TOLERANCE = {"out": 2e-5, "out64": 1e-9}
PROBABILITIES = {"out": 4e-4, "out64": 1e-9}
EPS = float(np.finfo(np.float32).eps)


class Released:
    """The numbers of one image of one case, each of which must be asked for."""

    def __init__(self, file: dict[str, Any], prefix: str, precision: str):
        start = f"{prefix}/"
        self.numbers = {key.removeprefix(start): value for key, value in file.items() if key.startswith(start)}
        self.precision, self.left = precision, set(self.numbers)

    def __contains__(self, key: str) -> bool:
        return key in self.numbers

    def take(self, key: str) -> np.ndarray:
        self.left.discard(key)
        return self.numbers[key]

    def close(self, key: str, ours: Any, tolerance: float | None = None) -> None:
        if key not in self.numbers:
            return
        theirs, ours = self.take(key), np.asarray(ours)
        assert ours.shape == theirs.shape, key
        scale = float(np.abs(theirs).max()) if theirs.size else 1.0
        limit = scale * (tolerance or TOLERANCE[self.precision])
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=limit, err_msg=key)

    def probable(self, key: str, ours: Any) -> None:
        if key in self.numbers:
            np.testing.assert_allclose(ours, self.take(key), rtol=0, atol=PROBABILITIES[self.precision], err_msg=key)

    def equal(self, key: str, ours: Any) -> None:
        if key in self.numbers:
            np.testing.assert_array_equal(ours, self.take(key), err_msg=key)


@pytest.mark.parametrize(("flavour", "size"), CASES)
def test_keys_and_shapes_are_those_of_the_published_weights(flavour, size, case):
    one = case(flavour, size)
    with torch.device("meta"):
        ours = BottomUpNetwork(FLAVOURS[flavour], one.widths).state_dict()
    assert {key: tuple(value.shape) for key, value in ours.items()} == one.shapes
    count = (len(ours), sum(value.numel() for value in ours.values()))
    assert count == (one.hparams["num_tensors"], one.hparams["num_values"])
    if size == "full":
        with torch.device("meta"):
            default = BottomUpNetwork(FLAVOURS[flavour]).state_dict()
        assert {key: value.shape for key, value in default.items()} == {key: value.shape for key, value in ours.items()}
        assert count == PUBLISHED[flavour]


@pytest.mark.parametrize(("flavour", "size"), CASES)
def test_generated_weights_are_those_of_the_file(flavour, size, case, detector):
    one, state = case(flavour, size), detector(flavour, size).network.state_dict()
    keys, sums, firsts = (one.file[f"{size}/rule/{name}"] for name in ("keys", "sum", "first"))
    for key, total, first in zip(keys, sums, firsts, strict=True):
        values = state[str(key)].double().flatten()
        if f"{size}/param/{key}" not in one.file:
            assert float(values[0]) == first, key
            np.testing.assert_allclose(float(values.sum()), total, rtol=1e-9, atol=1e-9, err_msg=str(key))


@pytest.mark.parametrize("flavour", FLAVOUR_NAMES)
def test_resized_images_are_the_released_ones(flavour, case, detector, pixel_rounding):
    one = case(flavour, "small")
    for image in one.hparams["images"]:
        ours = detector(flavour, "small").resize(one.file[f"in/{image}/raw"])
        theirs = one.file[f"out/{image}/resized"]
        np.testing.assert_allclose(ours.pixels, theirs, rtol=0, atol=pixel_rounding(theirs))


def images_of(one: Any) -> list[str]:
    return one.hparams["images"][: 1 if one.size == "full" else None]


@pytest.fixture(scope="module")
def find(case: Callable[..., Any], detector: Callable[..., Any]) -> Callable[..., tuple[Resized, Found]]:
    """What a network in a precision finds in an image, from the stored input, as the float64 numbers are."""

    @lru_cache
    def found(flavour: str, size: str, precision: str, image: str) -> tuple[Resized, Found]:
        one, used = case(flavour, size), detector(flavour, size)
        resized = replace(used.resize(one.file[f"in/{image}/raw"]), pixels=one.file[f"out/{image}/resized"])
        with in_precision(used, precision):
            return resized, used.find([resized])[0]

    return found


@pytest.mark.parametrize("precision", ["out", "out64"])
@pytest.mark.parametrize(("flavour", "size"), CASES)
def test_every_number_is_the_released_one(flavour, size, precision, case, detector, find):
    one = case(flavour, size)
    for image in images_of(one):
        resized, found = find(flavour, size, precision, image)
        released = Released(one.file, f"{size}/{precision}/{image}", precision)
        with in_precision(detector(flavour, size), precision) as used:
            check_maps(released, used, resized, found)
            check_heads(released, used, found)
            check_selections(released, used, one, image, found, resized, one.file[f"in/{image}/raw"].shape[:2])
        assert not released.left, f"{image}: not compared: {sorted(released.left)}"


class in_precision:
    """The detector, for a while in float64 for the keys that were made in it."""

    def __init__(self, detector: BottomUpAttention, precision: str):
        self.detector, self.precision = detector, precision

    def __enter__(self) -> BottomUpAttention:
        if self.precision == "out64":
            self.detector.network.double()
        return self.detector

    def __exit__(self, *_: object) -> None:
        self.detector.network.float()  # exact: the weights came from float32


def check_maps(released: Released, used: BottomUpAttention, resized: Resized, found: Found) -> None:
    network = used.network
    weight = network.backbone.stem.conv1.weight
    with torch.inference_mode():
        maps = network.backbone(torch.from_numpy(resized.pixels)[None].to(weight.dtype))
        objectness, deltas = network.proposal_generator.rpn_head(maps)
        pooled = pool(maps, found.proposals.boxes[:3])
    step = maps.shape[1] // 8
    released.close("res4_slice", maps[0, ::step])
    released.close("res4_channel_mean", maps[0].mean(dim=(1, 2)))
    released.close("objectness", objectness[0])
    released.close("deltas", deltas[0])
    released.close("proposals", found.proposals.boxes)
    released.close("proposal_logits", found.proposals.scores)
    released.probable("proposal_probs", found.proposals.scores)
    released.close("pooled_slice", pooled[:, ::step])
    if "sizes" in released:
        released.equal("sizes", resized.pixels.shape[1:])
        released.close("scale_yx", 1 / np.array(resized.scale_xy[::-1]), EPS)  # the file has float32
    if "im_scale" in released:
        released.close("im_scale", resized.scale, 1e-12)


def check_heads(released: Released, used: BottomUpAttention, found: Found) -> None:
    predictor, features = used.network.roi_heads.box_predictor, found.features
    with torch.inference_mode():
        logits = predictor.cls_score(features)
        deltas = predictor.bbox_pred(features)
        probabilities = logits.softmax(dim=1)
        attribute_logits = predictor.attribute_logits(features, logits.argmax(dim=1))
    released.close("features", features)
    released.close("features_row_norm", features.norm(dim=1))
    released.close("features_column_slice", features[:, ::128])
    for key, ours in (
        ("features_head", features),
        ("class_logits_head", logits),
        ("attr_logits_head", attribute_logits),
    ):
        if key in released:
            released.close(key, ours[: len(released.numbers[key])])
    if "attr_probs_head" in released:
        released.probable(
            "attr_probs_head", attribute_logits.softmax(dim=1)[: len(released.numbers["attr_probs_head"])]
        )
    released.close("class_logits", logits)
    released.probable("class_probs", probabilities)
    released.close("attr_logits", attribute_logits)
    released.probable("attr_all_probs", attribute_logits.softmax(dim=1))
    released.close("box_deltas", deltas)
    released.equal("argmax_with_background", logits.argmax(dim=1))
    released.equal("best_class", found.recognised.classes.argmax(dim=1))
    first = used.flavour.background_first
    top = (found.recognised.classes if first else probabilities).topk(5, dim=1)
    released.equal("class_top5_ids", top.indices)
    released.probable("class_top5_probs", top.values)
    released.probable("background_prob", probabilities[:, 0 if first else -1])
    attribute = found.recognised.attributes.max(dim=1)
    released.equal("attr_ids", attribute.indices)
    released.probable("attr_probs", attribute.values)


def check_selections(
    released: Released,
    used: BottomUpAttention,
    one: Any,
    image: str,
    found: Found,
    resized: Resized,
    size: tuple[int, int],
) -> None:
    if one.flavour == "d2":
        released.close("best_class_box_unclipped", used.regressed(found))
    else:
        original = found.proposals.boxes / resized.scale
        raw = found._replace(proposals=found.proposals._replace(boxes=original))
        released.close("best_class_box_raw_unclipped", used.regressed(raw))
    for name, settings in selections(one):
        chosen = BottomUpAttention.of(used.network, replace(used.settings, **settings))
        regions = chosen.select(found, resized, *size)
        check_regions(released, f"select/{name}", regions, found)
        if name == "min10_max100_nms0.5":
            released.close("forward_nms0.5/boxes", regions.boxes, box_tolerance(released))
            normalised = regions.boxes / np.array([size[1], size[0], size[1], size[0]])
            released.close("forward_nms0.5/normalized_boxes", normalised, box_tolerance(released))
            released.equal("forward_nms0.5/obj_ids", regions.classes)


def selections(one: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if one.flavour == "caffe":
        for least, most in one.hparams["select"]:
            yield f"min{least}_max{most}", {"selection": "per_class", "least": least, "most": most}
        return
    for name, rule in one.hparams["select"].items():
        limits = {"least": rule["min_detections"], "most": rule["max_detections"]}
        yield name, {"selection": "class_agnostic", "thresholds": tuple(rule["nms_thresholds"]), **limits}


def check_regions(released: Released, name: str, regions: ImageFeatures, found: Found) -> None:
    keep = released.take(f"{name}/keep")
    # Which proposals were taken shows in the features, which no two proposals share.
    np.testing.assert_array_equal(regions.features, found.features.float().numpy()[keep], err_msg=name)
    released.close(f"{name}/boxes", regions.boxes, box_tolerance(released))
    for theirs, ours in (
        ("obj_ids", regions.classes),
        ("objects_id", regions.classes),
        ("attr_ids", regions.attributes),
        ("attrs_id", regions.attributes),
    ):
        released.equal(f"{name}/{theirs}", ours)
    for theirs, ours in (
        ("obj_probs", regions.scores),
        ("objects_conf", regions.scores),
        ("attr_probs", regions.attribute_scores),
        ("attrs_conf", regions.attribute_scores),
    ):
        if f"{name}/{theirs}" in released:  # Regions are float32 whatever the network computes in
            np.testing.assert_allclose(
                ours, released.take(f"{name}/{theirs}"), rtol=0, atol=max(PROBABILITIES[released.precision], EPS)
            )


def box_tolerance(released: Released) -> float:
    """Boxes of regions are float32."""
    return max(TOLERANCE[released.precision], 1e-6)


@pytest.mark.parametrize("size", ["small", pytest.param("full", marks=pytest.mark.slow)])
def test_proposals_are_those_of_the_original_caffe_functions(size, case, find):
    one = case("caffe", size)
    for image in images_of(one):
        proposals = find("caffe", size, "out64", image)[1].proposals
        released = Released(one.file, f"{size}/caffe64/{image}", "out64")
        released.close("proposals", proposals.boxes, 1e-6)
        released.close("proposal_probs", proposals.scores, 1e-6)
        assert not released.left


@pytest.mark.parametrize(("flavour", "size"), CASES)
def test_the_original_rule_selects_what_a_brute_force_selects(flavour, size, case, find):
    one = case(flavour, size)
    for image in images_of(one):
        found = find(flavour, size, "out" if flavour == "d2" else "out64", image)[1]
        check_own(one, image, found.proposals.boxes.numpy(), found.recognised.classes.numpy())


def check_own(one: Any, image: str, proposals: Any, classes: Any) -> None:
    start = f"{one.size}/own/{image}/"
    expected = {key.removeprefix(start): value for key, value in one.file.items() if key.startswith(start)}
    if one.flavour == "d2":
        scale = one.file[f"{one.size}/out/{image}/scale_yx"]
        original = proposals * np.array([scale[1], scale[0], scale[1], scale[0]])
        theirs = expected["caffe_rule/boxes"]
        np.testing.assert_allclose(original, theirs, rtol=0, atol=TOLERANCE["out"] * theirs.max())
        original = theirs
        geometries = {"caffe_rule/plus1/": True, "caffe_rule/plain/": False}
    else:
        original, geometries = proposals / one.file[f"{one.size}/out/{image}/im_scale"], {"": True}
    for prefix, inclusive in geometries.items():
        best = confidence(original, classes, inclusive=inclusive)
        np.testing.assert_allclose(best, expected[f"{prefix}max_conf"], rtol=0, atol=4e-4)
        selected = [key for key in expected if key.startswith(f"{prefix}keep_")]
        assert selected
        for key in selected:
            least, most = map(int, key.split("_")[-2:])
            keep = select_per_class(original, classes, least, most, inclusive=inclusive)
            np.testing.assert_array_equal(keep, expected[key], err_msg=key)


@pytest.mark.parametrize("flavour", FLAVOUR_NAMES)
def test_flavours_say_what_the_released_settings_say(flavour, case):
    one, kind = case(flavour, "full"), FLAVOURS[flavour]
    assert tuple(one.hparams["bbox_weights"]) == kind.box_weights
    assert one.hparams["min_size"] == kind.smallest_side
    stored = one.file["full/param/proposal_generator.anchor_generator.cell_anchors.0"]
    np.testing.assert_allclose(cell_anchors(flavour), stored, rtol=1e-6)
    np.testing.assert_array_equal(MEANS, one.hparams["pixel_mean"])
    defaults = Settings()
    assert (defaults.candidates, defaults.overlap) == (one.hparams["pre_nms_topk"], one.hparams["rpn_nms"])
