"""Features as a configuration asks for them: by a network, a detector, or a network that is told where to look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fivesentences.config import FeatureSpec
from fivesentences.config.features import REGIONS, RULES
from fivesentences.corpus.photographs import Photographs
from fivesentences.errors import InputError
from fivesentences.features.extract import extract_features
from fivesentences.machine import device_named


def extract_as_configured(
    spec: FeatureSpec,
    photographs: Photographs,
    images: pd.DataFrame,
    out: Path,
    *,
    workers: int,
    weights: Path | None = None,
) -> None:
    """Write the features of every image, see ``extract_features`` and ``detectors.extraction.extract_regions``.

    Args:
        spec: What is asked for.
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        out: The ``.npy``.
        workers: Processes, of a network.
        weights: A file; None: what timm or torchvision downloads.

    Raises:
        InputError: As they do, or if ``bottom_up`` has no weights, which no library offers.
    """
    if spec.layout != "regions":
        options: dict[str, Any] = {"weights": weights, "crops": spec.crops, "precision": spec.precision}
        extract_features(photographs, images, spec.extractor, spec.layout, out, workers=workers, **options)
        return
    from fivesentences.features.detectors.extraction import extract_regions

    extract_regions(photographs, images, _detector(spec, weights), out)


def part_of(images: pd.DataFrame, number: int, parts: int) -> pd.DataFrame:
    """One of so many parts of a table, from 1, which differ by at most one row in length.

    Raises:
        InputError: If there are fewer images than parts.
    """
    if parts > len(images):
        raise InputError(f"{parts} parts of {len(images):,} images are too many; give fewer parts.")
    return images.iloc[len(images) * (number - 1) // parts : len(images) * number // parts]


def _detector(spec: FeatureSpec, weights: Path | None) -> Any:
    count = spec.regions or REGIONS
    sizes = {key: value for key, value in (("short", spec.short), ("long", spec.long)) if value is not None}
    device = device_named("auto")
    if spec.proposals is not None:
        from fivesentences.features.detectors.described_boxes import DescribedBoxes, DescribedBoxesSettings

        asked = DescribedBoxesSettings(spec.proposals, count, **sizes)
        return DescribedBoxes(spec.extractor, weights, asked, device)
    settings: dict[str, Any] = {"least": count, "most": count, **sizes}
    if spec.extractor == "faster_rcnn":
        from fivesentences.features.detectors.faster_rcnn import FasterRCNN, FasterRCNNSettings

        return FasterRCNN(weights, FasterRCNNSettings(**settings), device)
    if weights is None:
        raise InputError(
            "bottom_up needs a file of weights, which no library offers for download; name it as weights beside the "
            "extractor (docs/detectors.md says where to find one)."
        )
    from fivesentences.features.detectors.bottom_up import BottomUpAttention, Settings

    settings |= {key: getattr(spec, key) or RULES[key] for key in ("selection", "resize")}
    return BottomUpAttention(weights, spec.flavour or RULES["flavour"], Settings(**settings), device)
