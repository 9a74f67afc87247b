"""Which image features a model reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from fivesentences.config.types import Count, Crops, FlavourName, Name, Precision, ResizeRule, SelectionRule, Strict

DETECTORS = ("bottom_up", "faster_rcnn")
REGIONS = 36  # per image, as the papers have them
# Files of SCAN's folders, and patterns of what the network and the rule that made them make of photographs.
RELEASED, AS_RELEASED = "bottom_up-grid", (f"bottom_up*-regions{REGIONS}", f"bottom_up*-regions{REGIONS}-caffe")
# What bottom_up alone has, and what null means.
RULES = {"flavour": "d2", "selection": "per_class", "resize": "opencv"}
# Endings of files of weights; what has none of them, and no folder, is a name of the catalogue.
ENDINGS = (".safetensors", ".pth", ".pt", ".bin", ".pkl", ".npz")


def of_kind(stem: str, kinds: Iterable[str]) -> bool:
    """Tell whether features, by the name of their file, are of a kind: a name, or a pattern such as ``vgg*-global``.

    Regions of our own by bottom-up attention's network and rule are of the kind of those released with SCAN.
    """
    patterns = [one for kind in kinds for one in (kind, *(AS_RELEASED if kind == RELEASED else ()))]
    return any(fnmatchcase(stem, pattern) for pattern in patterns)


class FeatureSpec(Strict):
    """Which image features a model reads, and how they are prepared from training statistics."""

    extractor: Name
    """A timm network, or a detector: bottom_up or faster_rcnn."""
    layout: Literal["global", "grid", "regions"] = "global"
    """One vector per image, one per cell of a grid, or one per region."""
    prepare: Literal["as_stored", "standardise", "normalise"] = "standardise"
    regions: Count | None = None
    """Of a grid: its cells are pooled to so many regions, a square number; null: the cells themselves. With layout:
    regions, how many per image; null: 36."""
    dimensions: Count | None = None
    """Principal components of the training images' features; null: all dimensions."""
    half: bool = False
    """Stored as float16, half of the disk and of what training reads; reduced dimensions always are."""
    weights: Path | None = None
    """A name under weights in config/datasets.yaml, such as mobilenetv2_100.ra_in1k-55ea4fb3, or a file of your own;
    null: what timm or torchvision downloads."""
    crops: Crops = "centre"
    """ten: the mean over corners, centre and their mirror images."""
    precision: Precision = "float32"
    """What a network computes in."""
    flavour: FlavourName | None = None
    """Whose conversion of bottom_up; null: d2."""
    selection: SelectionRule | None = None
    """Which regions bottom_up keeps; null: per_class, the original rule."""
    resize: ResizeRule | None = None
    """Whose resizing bottom_up follows; null: opencv, as the original."""
    proposals: None = None
    """No longer offered; settings of earlier runs contain it."""
    short: Count | None = None
    """Of regions: pixels of the shorter side; null: as usual."""
    long: Count | None = None
    """Of regions: most pixels of the longer side."""
    parts: Count = 1
    """Jobs that share the images, for several GPUs or machines."""

    @property
    def weights_name(self) -> str | None:
        """Name of the weights in file names: that in the catalogue, or that of a file; None: a library's own."""
        if self.weights is None:
            return None
        name = self.weights.name
        ending = next((ending for ending in ENDINGS if name.endswith(ending)), "")
        return re.sub(r"[^A-Za-z0-9_.-]", "_", name.removesuffix(ending))

    @property
    def from_catalogue(self) -> bool:
        """Whether ``weights`` is a name of the catalogue, and not a file."""
        return self.weights is not None and len(self.weights.parts) == 1 and self.weights.suffix not in ENDINGS

    @property
    def network(self) -> str:
        """The extractor with its weights, such as ``mobilenetv2_100.ra_in1k-55ea4fb3`` or ``vgg19@mine``."""
        weights = self.weights_name
        if weights is None:
            return self.extractor
        of_this = weights.startswith(f"{self.extractor}.") or ("." in self.extractor and weights == self.extractor)
        return weights if of_this else f"{self.extractor}@{weights}"

    @property
    def source(self) -> str:
        """File name, without its suffix, of the features before reduction, such as ``vgg19.tv_in1k-global``."""
        kind = f"regions{self.regions or REGIONS}" if self.layout == "regions" else self.layout
        rules = [getattr(self, key) for key, usual in RULES.items() if getattr(self, key) != usual]
        sizes = "x".join(str(size) for size in (self.short, self.long) if size is not None)
        crops = "ten_crops" if self.crops == "ten" else None
        precision = self.precision if self.precision != "float32" else None
        return "-".join(filter(None, (self.network, kind, *rules, sizes, crops, precision)))

    @property
    def extraction(self) -> FeatureSpec:
        """Settings on which the features before reduction and preparation depend, and no others."""
        whole: dict[str, Any] = {"dimensions": None, "half": False}
        whole |= {} if self.layout == "regions" else {"regions": None}
        return self.model_copy(update={"prepare": "standardise", **whole})

    @property
    def as_read(self) -> FeatureSpec:
        """Settings on which a run that reads them depends: not the folder of the weights or the number of jobs."""
        name = self.weights_name
        return self.model_copy(update={"weights": None if name is None else Path(name), "parts": 1})

    @property
    def stem(self) -> str:
        """File name of the features without its suffix, such as ``vgg19.tv_in1k-grid-36regions-110d``."""
        pooled = self.regions is not None and self.layout == "grid"
        regions = f"-{self.regions}regions" if pooled else ""
        half = "-half" if self.half and self.dimensions is None and not regions else ""
        return self.source + regions + ("" if self.dimensions is None else f"-{self.dimensions}d") + half

    @model_validator(mode="after")
    def _regions_of_a_grid(self) -> FeatureSpec:
        pooled = self.regions is not None and self.layout != "regions"
        if pooled and (self.layout != "grid" or math.isqrt(self.regions or 0) ** 2 != self.regions):
            raise ValueError(
                f"regions is {self.regions}; only a grid has regions, a square number such as 36, and a detector "
                "(layout: regions)"
            )
        return self

    @model_validator(mode="after")
    def _of_a_detector(self) -> FeatureSpec:
        if self.layout == "regions":
            if self.extractor not in DETECTORS:
                raise ValueError(f"extractor is '{self.extractor}', but only {' and '.join(DETECTORS)} find regions")
            others = {"crops": self.crops != "centre", "precision": self.precision != "float32"}
        else:
            others = {key: getattr(self, key) is not None for key in (*RULES, "short", "long")}
        for key, given in others.items():
            if given:
                of = "a detector" if self.layout == "regions" else f"layout: {self.layout}"
                raise ValueError(f"{key} is '{getattr(self, key)}', which {of} does not have; remove it")
        for key in RULES:
            if getattr(self, key) is not None and self.extractor != "bottom_up":
                raise ValueError(f"{key} is '{getattr(self, key)}', which only bottom_up has; remove it")
        if self.crops == "ten" and self.layout != "global":
            raise ValueError("crops is 'ten', which only layout: global has; remove it")
        return self
