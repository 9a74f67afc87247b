"""Bottom-up attention with the generated weights of the fixtures."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

from fivesentences.features.detectors.bottom_up import BottomUpAttention, Settings
from fivesentences.features.detectors.network import FLAVOURS, BottomUpNetwork, Widths


def drawn(key: str, shape: tuple[int, ...], seed: int, gains: dict[str, float]) -> np.ndarray:
    """The fixtures' rule for a tensor of this name."""
    raw = np.random.PCG64(zlib.crc32(key.encode()) + (seed << 32)).random_raw(math.prod(shape))
    x = 2.0 * ((raw >> np.uint64(11)) * 2.0**-53) - 1.0
    if ".norm." in key:
        gain = gains["norm3"] if key.endswith(".conv3.norm.weight") else 1.0
        values = {"weight": gain * (1 + 0.2 * x), "bias": 0.1 * x, "running_mean": 0.1 * x, "running_var": 1 + 0.5 * x}
        x = values[key.rsplit(".", 1)[1]]
    elif key.endswith(".bias"):
        x = 0.1 * x
    else:
        x = gains.get(key, 1.0) * math.sqrt(6.0 / np.prod(shape[1:])) * x
    return x.reshape(shape).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """One size of one flavour in a file of released numbers."""

    flavour: str
    size: str
    file: dict[str, Any]
    hparams: dict[str, Any]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        keys, shapes = self.file[f"{self.size}/rule/keys"], self.file[f"{self.size}/rule/shapes"]
        return {str(key): tuple(json.loads(str(shape))) for key, shape in zip(keys, shapes, strict=True)}

    @property
    def widths(self) -> Widths:
        from_file, kind = self.hparams, FLAVOURS[self.flavour]
        heads = "roi_heads.box_predictor"
        return Widths(
            stem=from_file["stem"],
            bottleneck=from_file["width_per_group"],
            out=from_file["res2_out"],
            proposals=from_file["rpn_hidden"],
            classes=from_file["classes"],
            attributes=from_file["attributes"],
            embedding=self.shapes[f"{heads}.{kind.embedding}.weight"][1],
            attribute_hidden=self.shapes[f"{heads}.{kind.attribute_hidden}.weight"][0],
        )

    @property
    def settings(self) -> Settings:
        return Settings(
            resize="torch" if self.flavour == "d2" else "opencv",
            short=self.hparams["short"],
            long=self.hparams["long"],
            candidates=self.hparams["pre_nms_topk"],
            proposals=self.hparams["post_nms_topk"],
            overlap=self.hparams["rpn_nms"],
        )

    def state(self) -> dict[str, torch.Tensor]:
        """All tensors, drawn or stored."""
        stored = {key: self.file.get(f"{self.size}/param/{key}") for key in self.shapes}
        seed, gains = self.hparams["weight_seed"], self.hparams["gains"]
        return {
            key: torch.from_numpy(drawn(key, shape, seed, gains) if stored[key] is None else stored[key])
            for key, shape in self.shapes.items()
        }

    def network(self) -> BottomUpNetwork:
        with torch.device("meta"):
            network = BottomUpNetwork(FLAVOURS[self.flavour], self.widths)
        network.load_state_dict(self.state(), assign=True)
        return network.requires_grad_(False).eval()


@pytest.fixture(scope="session")
def pixel_rounding() -> Callable[[np.ndarray], float]:
    """By how much pixels may differ from those of another code that resizes by the same bilinear rule.

    A pixel is interpolated along one side, then along the other, and rounded to float32 after each: half a unit in the
    last place, twice, in both codes. That unit is at most the largest value times the float32 epsilon, so together
    twice their product. torch also rounds the position that it interpolates at, up to the length of a side, and
    depending on the processor's kernel before or after an addition: one unit in the last place, times the largest
    difference of two neighbours. A position that is wrong by a thousandth of a pixel differs by more.
    """
    return lambda pixels: (
        float(np.finfo(np.float32).eps) * (2 * float(np.abs(pixels).max()) + max(pixels.shape) * float(np.ptp(pixels)))
    )


@pytest.fixture(scope="session")
def case(parity: Callable[[str], dict[str, Any]]) -> Callable[[str, str], Case]:
    """A case by flavour and size."""

    @lru_cache
    def file_of(flavour: str) -> dict[str, Any]:
        return parity(f"butd_{flavour}")

    def read(flavour: str, size: str) -> Case:
        file = file_of(flavour)
        return Case(flavour, size, file, json.loads(str(file[f"{size}/hparams"])))

    return read


@pytest.fixture(scope="session")
def detector(case: Callable[[str, str], Case]) -> Callable[..., BottomUpAttention]:
    """A detector with the settings of the file, by flavour and size; each is made once."""

    @lru_cache
    def made(flavour: str, size: str) -> BottomUpAttention:
        one = case(flavour, size)
        return BottomUpAttention.of(one.network(), one.settings)

    return made
