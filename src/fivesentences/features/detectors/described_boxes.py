"""Regions from any convolutional network of timm: boxes of no detector, described by the network's last map."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torchvision.ops import roi_align

from fivesentences.config.types import ProposalRule
from fivesentences.errors import InputError
from fivesentences.features.detectors.proposals import selective_search, tiles, version_of
from fivesentences.features.exactness import exact, on_one_thread
from fivesentences.features.networks import facts_of_weights, load
from fivesentences.features.regions import Regions

SAMPLES = 3  # a side of a box, whose features are a mean over so many bins, each of 2 x 2 bilinear samples


@dataclass(frozen=True)
class DescribedBoxesSettings:
    """How regions are made of an image.

    Attributes:
        proposals: Where regions are.
        most: Regions per image.
        short: Pixels of the shorter side.
        long: Most pixels of the longer side.
    """

    proposals: ProposalRule = "selective_search"
    most: int = 36
    short: int = 320
    long: int = 640

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            InputError: If one is out of range.
        """
        for name in ("most", "short", "long"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1.")


class DescribedBoxes:
    """A timm network as a detector that recognises nothing; see ``Detector``.

    The whole image goes through the network once, at a size of its own; each box is described by the mean of the last
    map inside it (RoIAlign).
    """

    class_count = 0
    attribute_count = 0

    def __init__(
        self, network: str, weights: Path | None, settings: DescribedBoxesSettings | None = None, device: str = "cpu"
    ):
        """Build the network and load its weights.

        Args:
            network: A name of timm's.
            weights: As of ``networks.Network``.
            settings: Default: 36 boxes of selective search.
            device: ``cpu`` or ``cuda``.

        Raises:
            InputError: As raised by ``networks.Network``, or if the network's last map has no rows and columns.
        """
        self.settings = settings or DescribedBoxesSettings()
        self.most = self.settings.most
        module, preprocessing = load(network, weights)
        self.module, self._device = module.to(device), device
        self.dim = int(module.num_features)
        mean, std = (torch.tensor(preprocessing[key], device=device) * 255 for key in ("mean", "std"))
        self._mean, self._std = mean[:, None, None], std[:, None, None]
        self.source: dict[str, Any] = {
            "extractor": network,
            "weights": facts_of_weights(module, weights),
            **version_of(self.settings.proposals),
            "most": self.most,
            "short": self.settings.short,
            "long": self.settings.long,
            "pooling": f"RoIAlign, {SAMPLES} x {SAMPLES} bins, their mean",
            "mean": list(preprocessing["mean"]),
            "std": list(preprocessing["std"]),
            "dim": self.dim,
            "versions": {name: importlib.metadata.version(name) for name in ("timm", "torch", "torchvision")},
        }

    def regions(self, image: Image.Image) -> Regions:
        """The regions of an RGB image that stands upright."""
        find = selective_search if self.settings.proposals == "selective_search" else tiles
        boxes = find(image, self.most)
        scale = self.settings.short / min(image.size)
        scale = min(scale, self.settings.long / max(image.size))
        width, height = (max(1, round(side * scale)) for side in image.size)
        small = image.resize((width, height), Image.Resampling.BILINEAR)
        pixels = torch.from_numpy(np.array(small)).to(self._device).permute(2, 0, 1).float()
        with on_one_thread(), exact():
            last = self.module.forward_features(((pixels - self._mean) / self._std)[None])
            features = describe(self._rows_and_columns(last), boxes, image.size)
        return Regions(features.cpu().numpy(), boxes, image.width, image.height)

    def _rows_and_columns(self, last: Tensor) -> Tensor:
        if last.ndim != 4:
            raise InputError(
                f"the last map of '{self.source['extractor']}' has {last.ndim} axes, so that it has no boxes; give a "
                "convolutional network such as mobilenetv2_100."
            )
        if getattr(self.module, "output_fmt", "NCHW") == "NHWC":
            return last.permute(0, 3, 1, 2)
        return last


def describe(last: Tensor, boxes: NDArray[np.float32], size: tuple[int, int]) -> Tensor:
    """The mean of a map inside each box.

    Args:
        last: ``[1, dim, rows, columns]``, over the whole image.
        boxes: ``[n, 4]`` in pixels of the image.
        size: Width and height of the image.

    Returns:
        ``[n, dim]``.
    """
    rows, columns = last.shape[-2:]
    scale = np.array([columns / size[0], rows / size[1]] * 2, dtype=np.float32)
    within = torch.from_numpy(boxes * scale).to(last.device)
    # Half a cell is taken off, since the value of a cell is that of its middle (aligned).
    bins: Tensor = roi_align(last, [within], SAMPLES, spatial_scale=1.0, sampling_ratio=2, aligned=True)
    return bins.mean(dim=(2, 3))
