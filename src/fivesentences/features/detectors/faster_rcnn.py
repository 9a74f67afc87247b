"""Regions from torchvision's Faster R-CNN (ResNet-50 FPN, version 2, COCO), whose weights anyone can download."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torchvision.models.detection import FasterRCNN_ResNet50_FPN_V2_Weights, fasterrcnn_resnet50_fpn_v2
from torchvision.ops import clip_boxes_to_image, remove_small_boxes

from fivesentences.errors import InputError, reason_of
from fivesentences.features.detectors.selection import select_class_agnostic
from fivesentences.features.detectors.weights import fill
from fivesentences.features.exactness import exact
from fivesentences.features.formats.record import ImageFeatures
from fivesentences.storage import sha256_of

NAME = "fasterrcnn_resnet50_fpn_v2"
SMALLEST = 1e-2  # side of a region in pixels of the resized image, as in torchvision's own detections
PUBLISHED = FasterRCNN_ResNet50_FPN_V2_Weights.COCO_V1


@dataclass(frozen=True)
class FasterRCNNSettings:
    """How regions are made of an image; sizes and proposals are torchvision's defaults.

    Attributes:
        short: Pixels of the shorter side.
        long: Most pixels of the longer side.
        proposals: Regions among which is selected.
        least: Regions per image; fewer only where fewer are proposed, or overlap by more than the last threshold.
        most: Regions per image.
        thresholds: Overlaps above which the less probable region is dropped, rising; the first that leaves enough
            counts.
    """

    short: int = 800
    long: int = 1333
    proposals: int = 1000
    least: int = 36
    most: int = 36
    thresholds: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9)


DEFAULTS = FasterRCNNSettings()


class FasterRCNN:
    """The network with its weights as a detector; see ``Detector``.

    Every proposal is a region of its most probable class, at the box that is regressed for this class; of regions that
    overlap the less probable are dropped, whatever their classes. Unlike torchvision's own detections no score is too
    low, and no proposal comes twice under two classes. The features are the 1,024 numbers before the classifier, pooled
    from the returned box itself, so that box and feature match.
    """

    def __init__(self, weights: Path | str | None = None, settings: FasterRCNNSettings = DEFAULTS, device: str = "cpu"):
        """Build the network and load its weights.

        Args:
            weights: A safetensors file or one of ``torch.save``; default torchvision's own, downloaded once.
            settings: Sizes and numbers of regions; default 36 regions.
            device: ``cpu`` or ``cuda``.

        Raises:
            InputError: If the weights cannot be read or downloaded, or are not those of the network.
        """
        self.settings = settings
        path = download(PUBLISHED.url) if weights is None else Path(weights)
        # Loaded completely from the file; the backbone's own weights would be downloaded in vain.
        model = fasterrcnn_resnet50_fpn_v2(
            weights=None,
            weights_backbone=None,
            min_size=self.settings.short,
            max_size=self.settings.long,
            rpn_post_nms_top_n_test=self.settings.proposals,
        )
        fill(model, path, f"torchvision's {NAME}")
        self.model = model.to(device)
        predictor = self.model.roi_heads.box_predictor
        self.dim, self.class_count = int(predictor.cls_score.in_features), int(predictor.cls_score.out_features) - 1
        self.class_names: tuple[str, ...] = tuple(PUBLISHED.meta["categories"][1:])
        self.source: dict[str, Any] = {
            "extractor": NAME,
            "weights_sha256": sha256_of(path),
            **asdict(self.settings),
            "thresholds": list(self.settings.thresholds),
            "selection": "class_agnostic",
            "boxes": "regressed",
            "normalisation": "none",
            "dim": self.dim,
            "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__},
        }

    def regions(self, image: Image.Image) -> ImageFeatures:
        """Find and describe the regions of an RGB image that stands upright."""
        device = self.model.roi_heads.box_predictor.cls_score.weight.device
        pixels = torch.from_numpy(np.array(image)).to(device).permute(2, 0, 1).float() / 255
        heads, settings = self.model.roi_heads, self.settings
        with exact():
            resized, _ = self.model.transform([pixels])
            maps = self.model.backbone(resized.tensors)
            proposals, _ = self.model.rpn(resized, maps)
            logits, deltas = heads.box_predictor(self._described(maps, proposals[0], resized.image_sizes))
            probabilities = logits.softmax(dim=1)[:, 1:]  # the background comes first
            scores, classes = probabilities.max(dim=1)
            each = heads.box_coder.decode(deltas, proposals)[torch.arange(len(classes), device=device), classes + 1]
            boxes = clip_boxes_to_image(each, resized.image_sizes[0])
            solid = remove_small_boxes(boxes, SMALLEST)
            boxes, scores, classes = boxes[solid], scores[solid], classes[solid]
            limits = (settings.least, settings.most, settings.thresholds)
            keep = torch.from_numpy(select_class_agnostic(_numpy(boxes), _numpy(scores), *limits)).to(device)
            features = self._described(maps, boxes[keep], resized.image_sizes)
        height, width = resized.image_sizes[0]
        scale = np.array((image.width / width, image.height / height) * 2)
        original = _numpy(boxes[keep]) * scale
        inside = np.minimum(original, (image.width, image.height) * 2)  # rounding may put a border a billionth outside
        return ImageFeatures(
            image_id="",
            features=_numpy(features),
            boxes=inside.astype(np.float32),
            width=image.width,
            height=image.height,
            scores=_numpy(scores[keep]),
            classes=_numpy(classes[keep]),
        )

    def _described(self, maps: Any, boxes: Tensor, sizes: Sequence[tuple[int, int]]) -> Tensor:
        """Return ``[n, 1024]`` of boxes ``[n, 4]`` in pixels of the resized image."""
        heads = self.model.roi_heads
        described: Tensor = heads.box_head(heads.box_roi_pool(maps, [boxes], sizes))
        return described


def download(url: str) -> Path:
    """Fetch a file of weights into torch's cache, unless it is there, and check the hash in its name.

    Raises:
        InputError: If it cannot be fetched, or is not what its name says.
    """
    name = url.rsplit("/", 1)[-1]
    path = Path(torch.hub.get_dir()) / "checkpoints" / name
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # "name-0123abcd.pth": the first digits of the SHA-256
        torch.hub.download_url_to_file(url, str(path), hash_prefix=path.stem.rsplit("-", 1)[-1], progress=False)
    except Exception as error:  # of urllib, ssl or torch
        what = f"the weights {name} could not be downloaded ({reason_of(error)})"
        raise InputError(what, cure="connect to the internet once, or give the file") from None
    return path


def _numpy(tensor: Tensor) -> NDArray[Any]:
    return tensor.cpu().numpy()  # type: ignore[no-any-return]
