"""What a plan costs: sizes of its datasets, and the time that jobs take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fivesentences.config.datasets import ScenesData

if TYPE_CHECKING:
    from fivesentences.plan.plan import Plan

LEAST_TO_EXTRACT, MOST_TO_EXTRACT = 4 * 60, 24 * 60  # minutes of a job
# Seconds per photograph, with reserve: bottom-up attention takes 18 on a processor core (docs/detectors.md), ResNet-152
# 0.3 (docs/extraction.md). On a GPU neither was measured.
SECONDS_TO_DETECT, SECONDS_TO_DESCRIBE, SECONDS_ON_GPU = 20.0, 0.5, 1.0


def sizes_of(plan: Plan, dataset: str) -> dict[str, tuple[int, int]]:
    """Return images and captions of each split, as the scale or the catalogue says."""
    data, entry = plan.scale.datasets[dataset], plan.catalogue.datasets.get(dataset)
    images: dict[Any, int] = (entry.images if entry else None) or {}
    if isinstance(data, ScenesData):
        images = {"train": data.train, "dev": data.dev, "test": data.test}
    each = getattr(data, "captions_per_image", None) or (entry.captions_per_image if entry else 5)
    splits = getattr(data, "splits", None) or images
    return {split: (images[split], images[split] * each) for split in images if split in splits}


def extracts_on_gpu(plan: Plan, extracted: str) -> bool:
    """Tell whether features must be extracted on a GPU: by a network, at a scale that has one."""
    return plan.scale.training.gpu and plan.features.extracted_features[extracted].extractor != "grid_descriptors"


def minutes_to_extract(plan: Plan, dataset: str, extracted: str) -> int:
    """Return the time that a scheduler should grant a first attempt to extract features, or a part of them.

    A job that meets its limit loses no finished image, so that none needs to have more than a day.
    """
    spec, images = plan.features.extracted_features[extracted], sum(n for n, _ in sizes_of(plan, dataset).values())
    on_processor = SECONDS_TO_DETECT if spec.layout == "regions" else SECONDS_TO_DESCRIBE
    seconds = (SECONDS_ON_GPU if extracts_on_gpu(plan, extracted) else on_processor) * images / spec.parts
    return min(max(LEAST_TO_EXTRACT, math.ceil(60 + seconds / 60)), MOST_TO_EXTRACT)
