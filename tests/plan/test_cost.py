"""What a plan costs: the time that extraction is granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivesentences.config.scales import Scale
from fivesentences.plan.cost import extracts_on_gpu, minutes_to_extract
from fivesentences.plan.plan import Plan, plan_of

CONFIG = Path(__file__).parents[2] / "config"

DETECTOR = {"extractor": "bottom_up", "layout": "regions", "weights": "mine.pkl"}
VGG19 = {"extractor": "vgg19", "layout": "global"}


def plan_with(*, gpu: bool = True, **features: object) -> Plan:
    """A plan without runs for MS-COCO's 123,287 images and Flickr8k's 8,000."""
    content = {
        "scale": "one",
        "title": "One",
        "datasets": {"coco": {"loader": "karpathy"}, "flickr8k": {"loader": "flickr8k"}},
        "studies": ["metric_agreement"],
        "features": features,
        "training": {"gpu": gpu},
    }
    return plan_of(Scale.model_validate(content), CONFIG)


@pytest.mark.parametrize(
    ("dataset", "gpu", "features", "minutes"),
    [
        ("flickr8k", True, VGG19, 240),  # the least: start, reading, a busy machine
        ("coco", True, DETECTOR | {"parts": 8}, 317),  # an hour, and 15,411 seconds
        ("coco", True, DETECTOR | {"parts": 32}, 240),
        ("coco", False, VGG19 | {"parts": 2}, 574),
        ("coco", False, DETECTOR | {"parts": 8}, 1440),  # 86 hours: it goes on at the next attempt
    ],
)
def test_the_time_of_an_extraction_grows_with_its_photographs(dataset, gpu, features, minutes) -> None:
    plan = plan_with(gpu=gpu, **features)
    (extracted,) = plan.features.extracted_features
    assert minutes_to_extract(plan, dataset, extracted) == minutes


def test_drawn_features_need_no_gpu() -> None:
    for extractor, needed in (("grid_descriptors", False), ("vgg19", True)):
        plan = plan_with(extractor=extractor)
        (extracted,) = plan.features.extracted_features
        assert extracts_on_gpu(plan, extracted) == needed
