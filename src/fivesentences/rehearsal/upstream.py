"""Every upstream file of the papers' scale, small, under its own name: a mirror, and the folders a person unpacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fivesentences.rehearsal.captions import write_annotations, write_cxc, write_karpathy, write_vocabulary
from fivesentences.rehearsal.documents import write_nus_wide, write_pascal_sentences, write_wikipedia
from fivesentences.rehearsal.images import coco_images, flickr30k_images, write_photographs
from fivesentences.rehearsal.regions import write_precomp
from fivesentences.rehearsal.weights import write_weights
from fivesentences.storage import sha256_of, write_lines

MIRROR, BY_HAND = "mirror", "data"
WEIGHTS = {"vgg19": "vgg19.tv_in1k", "resnet152": "resnet152.tv_in1k"}  # names of the catalogue
SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Sizes:
    """How many of each; the defaults are enough for every rule, batch and fold.

    Attributes:
        flickr30k: Images of each split.
        coco: Images of each split; ``test`` in folds of a fifth.
        wikipedia: Documents for training and for test.
        nus_wide: Photographs of each of its ten most frequent concepts.
        pascal: Photographs of each of its twenty categories.
    """

    flickr30k: Mapping[str, int] = field(default_factory=lambda: {"train": 40, "val": 8, "test": 12})
    coco: Mapping[str, int] = field(default_factory=lambda: {"train": 60, "restval": 20, "val": 10, "test": 20})
    wikipedia: tuple[int, int] = (120, 60)
    nus_wide: int = 40
    pascal: int = 3


def write_upstream(folder: Path, sizes: Sizes | None = None, seed: int = 2014) -> list[Path]:
    """Write the files; equal arguments give equal bytes, and files that are there are written again.

    Args:
        folder: Gets ``mirror``, with the files of ``config/datasets.yaml`` and their ``SHA256SUMS``, and ``data``, with
            the folders that a person unpacks: ``f30k_precomp``, ``coco_precomp`` and ``nus_wide``.
        sizes: How many of each.
        seed: Of the scenes and the weights.

    Returns:
        The files of the mirror.
    """
    sizes, mirror, by_hand = sizes or Sizes(), Path(folder) / MIRROR, Path(folder) / BY_HAND
    for name in ("flickr30k", "coco", "cxc", "weights"):
        (mirror / name).mkdir(parents=True, exist_ok=True)
    for number, (network, weights) in enumerate(WEIGHTS.items()):
        write_weights(mirror / "weights" / f"{weights}.safetensors", network, seed + number)
    flickr30k, coco = flickr30k_images(seed, sizes.flickr30k), coco_images(seed + 1, sizes.coco)
    both = {"flickr30k": flickr30k, "coco": coco}
    write_karpathy(mirror / "flickr30k" / "flickr30k.zip", both)
    write_karpathy(mirror / "coco" / "caption_datasets.zip", both)
    write_photographs(mirror / "flickr30k" / "flickr30k-images.zip", "flickr30k-images", flickr30k)
    for part in ("train2014", "val2014"):
        write_photographs(mirror / "coco" / f"{part}.zip", part, [image for image in coco if image.folder == part])
    write_annotations(mirror / "coco" / "annotations_trainval2014.zip", coco)
    write_cxc(mirror / "cxc" / "sits_test.csv", coco)
    write_vocabulary(mirror / "flickr30k" / "f30k_precomp_vocab.json", flickr30k)
    write_vocabulary(mirror / "coco" / "coco_precomp_vocab.json", coco)
    write_wikipedia(mirror / "wikipedia", *sizes.wikipedia, seed=seed + 2)
    write_pascal_sentences(mirror / "pascal_sentences", sizes.pascal, seed=seed + 3)
    write_precomp(by_hand / "f30k_precomp", flickr30k)
    write_precomp(by_hand / "coco_precomp", coco, dev=sizes.coco["val"] // 2, test=sizes.coco["test"] // 5)
    write_nus_wide(by_hand / "nus_wide", sizes.nus_wide, seed=seed + 4)
    return _summed(mirror)


def _summed(mirror: Path) -> list[Path]:
    files = sorted(path for path in mirror.rglob("*") if path.is_file() and path.name != SUMS)
    write_lines(mirror / SUMS, [f"{sha256_of(path)}  {path.relative_to(mirror).as_posix()}" for path in files])
    return files
