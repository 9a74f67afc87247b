"""The images of a rehearsal: drawn scenes under the names, numbers and splits of Flickr30K and MS-COCO."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fivesentences.scenes import DescribedScene, compose
from fivesentences.scenes.drawing import draw_scene
from fivesentences.scenes.world import KINDS
from fivesentences.storage import replacing

JPEG_QUALITY = 85
FOLDER = {"train": "train2014", "restval": "val2014", "val": "val2014", "test": "val2014"}  # of COCO


@dataclass(frozen=True)
class UpstreamImage:
    """One image as a dataset has it.

    Attributes:
        described: What it shows, and its five captions.
        number: ``imgid``: its place in Karpathy's file.
        split: train, restval, val or test.
        filename: Without its folder.
        folder: ``filepath`` of COCO; empty for Flickr30K.
        coco_id: COCO's number of the image; None for Flickr30K.
        first_sentence: ``sentid`` of its first caption; the others follow.
    """

    described: DescribedScene
    number: int
    split: str
    filename: str
    folder: str
    coco_id: int | None
    first_sentence: int

    @property
    def captions(self) -> list[str]:
        """Its captions, as people wrote them."""
        return [caption.text for caption in self.described.captions]

    @property
    def kinds(self) -> list[int]:
        """Numbers of the kinds of things that are drawn, from 1, each once."""
        return sorted({KINDS.index(thing.kind) + 1 for thing in self.described.scene.things})

    @property
    def precomp_id(self) -> int:
        """What a precomp folder calls it: COCO's number, or the place in Karpathy's file."""
        return self.number if self.coco_id is None else self.coco_id


def flickr30k_images(seed: int, sizes: Mapping[str, int]) -> list[UpstreamImage]:
    """Images named like Flickr30K's, ``1000092795.jpg``; splits take turns, as in the original file."""
    splits = _interleaved(sizes)
    return [
        UpstreamImage(one, number, split, f"{1_000_092_795 + 7_919 * number}.jpg", "", None, 5 * number)
        for number, (one, split) in enumerate(zip(compose(seed, len(splits)), splits, strict=True))
    ]


def coco_images(seed: int, sizes: Mapping[str, int]) -> list[UpstreamImage]:
    """Images named like COCO's, ``COCO_val2014_000000000042.jpg``, in ``train2014`` and ``val2014``."""
    splits = _interleaved(sizes)
    images = []
    for number, (one, split) in enumerate(zip(compose(seed, len(splits)), splits, strict=True)):
        coco_id, folder = 42 + 53 * number, FOLDER[split]
        filename = f"COCO_{folder}_{coco_id:012d}.jpg"
        images.append(UpstreamImage(one, number, split, filename, folder, coco_id, 5 * number))
    return images


def write_photographs(path: Path, folder: str, images: Iterable[UpstreamImage]) -> None:
    """A zip archive of photographs below a folder; the same images give the same bytes."""
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for image in images:
            add_entry(archive, f"{folder}/{image.filename}", jpeg_of(image.described))


def jpeg_of(described: DescribedScene) -> bytes:
    """A scene as a JPEG."""
    picture = io.BytesIO()
    draw_scene(described.scene).save(picture, "JPEG", quality=JPEG_QUALITY)
    return picture.getvalue()


def add_entry(archive: zipfile.ZipFile, name: str, data: bytes | str) -> None:
    """Add a file without the time of day, so that equal content gives equal archives."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    entry.compress_type = archive.compression
    archive.writestr(entry, data)


def _interleaved(sizes: Mapping[str, int]) -> list[str]:
    """Names of splits, so many of each, spread evenly over the file."""
    places = [((place + 0.5) / size, split) for split, size in sizes.items() for place in range(size)]
    return [split for _, split in sorted(places)]
