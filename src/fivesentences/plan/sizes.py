"""How many images and captions a dataset has, before it is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fivesentences.config import ScenesData
from fivesentences.corpus import CorpusSizes
from fivesentences.plan.resolved import Resolved

SPLITS: tuple[str, ...] = ("train", "dev", "test")
DRAWN = 5  # captions of a drawn scene


@dataclass(frozen=True)
class Size:
    """Images and captions of a split."""

    images: int
    captions: int

    @property
    def pairs(self) -> int:
        """Of an image and a caption."""
        return self.images * self.captions


def sizes_of(plan: Resolved, dataset: str) -> Mapping[str, Size] | None:
    """Sizes of the splits of a dataset: of its corpus if that is made, otherwise as the scale or the catalogue says.

    Returns:
        None if nothing tells.
    """
    made = plan.places.corpus(dataset)
    if made.is_file():
        counted = CorpusSizes.read(made)
        return {split: Size(images, counted.captions[split]) for split, images in counted.images.items()}
    data = plan.scale.datasets[dataset]
    if isinstance(data, ScenesData):
        return {split: Size(count, count * DRAWN) for split in SPLITS for count in [getattr(data, split)]}
    entry = plan.catalogue.datasets.get(dataset)
    if entry is None or entry.images is None:
        return None
    read = getattr(data, "splits", None) or list(entry.images)
    each = getattr(data, "captions_per_image", None) or entry.captions_per_image
    return {str(split): Size(count, count * each) for split, count in entry.images.items() if split in read}
