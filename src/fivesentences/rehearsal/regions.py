"""Precomp folders of a rehearsal: 36 regions of 2,048 numbers per image, as SCAN, VSRN, CVSE, SGRAF, DAA read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.rehearsal.images import UpstreamImage
from fivesentences.scenes.world import KINDS
from fivesentences.storage import replacing, write_lines

REGIONS, DIM = 36, 2048
SPLITS = {"train": ("train", "restval"), "dev": ("val",), "test": ("test",)}
NOISE = 0.5  # beside a direction of length about 1 per number


def write_precomp(
    folder: Path, images: Sequence[UpstreamImage], dev: int | None = None, test: int | None = None
) -> None:
    """Write ``{train,dev,test}_{ims.npy,caps.txt,ids.txt}``.

    As in the releases, train has one row per image, the other splits repeat each row five times, ids are COCO's or the
    places in Karpathy's file and stand once per caption, and numbers are at least 0.

    Args:
        folder: Such as ``coco_precomp``.
        images: All images of the dataset.
        dev: ``dev`` has so many first images; None: all. That of COCO has 1,000 of 5,000.
        test: ``test`` has so many first test images, and ``testall`` all of them; None: ``test`` has all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = {split: [image for image in images if image.split in names] for split, names in SPLITS.items()}
    parts["dev"] = parts["dev"][:dev]
    if test is not None:
        parts = parts | {"test": parts["test"][:test], "testall": parts["test"]}
    directions = np.random.default_rng(0).normal(size=(len(KINDS) + 1, DIM)).astype(np.float32)
    for split, part in parts.items():
        features = np.stack([_regions(image, directions) for image in part])
        with replacing(folder / f"{split}_ims.npy") as temporary, temporary.open("wb") as out:
            np.save(out, features if split == "train" else features.repeat(5, axis=0))
        write_lines(folder / f"{split}_caps.txt", [caption for image in part for caption in image.captions])
        ids = [image.precomp_id for image in part for _ in range(5 if split != "train" else 1)]
        write_lines(folder / f"{split}_ids.txt", ids)


def _regions(image: UpstreamImage, directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """``[36, 2048]``: the things of the scene take turns, with noise of their own."""
    kinds = image.kinds or [0]
    rng = np.random.default_rng(image.number)
    noise = rng.normal(scale=NOISE, size=(REGIONS, DIM)).astype(np.float32)
    rows = directions[[kinds[number % len(kinds)] for number in range(REGIONS)]] + noise
    return np.asarray(np.maximum(rows, 0), dtype=np.float32)
