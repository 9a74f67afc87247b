"""ECCV Caption (Chun et al. 2022) and CxC recall on COCO's 5,000 test images, with the lists that eccv_caption ships.

The lists are read at run time from the installed package (extra ``eccv``); the arithmetic is ours.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from fivesentences.documents import check_file, read_json
from fivesentences.errors import InputError, install
from fivesentences.evaluation.coco_ids import coco_test_ids, own_pairs
from fivesentences.evaluation.positives import Ids, listed, pairs, places_of
from fivesentences.metrics.positives import Positives, find_hits
from fivesentences.retrieval.arguments import DIRECTIONS, checked_cutoffs
from fivesentences.retrieval.gallery import Gallery, Similarity

Lists = Literal["eccv", "cxc", "original"]


def eccv(
    similarity: Similarity,
    image_ids: Ids | None = None,
    caption_ids: Ids | None = None,
    ks: Sequence[int] = (1, 5, 10),
) -> dict[str, dict[str, float]]:
    """ECCV Caption's mAP@R, R-precision and recall, and CxC recall, of COCO's whole 5K test split.

    ECCV Caption has 1,261 images and 1,332 captions as queries, CxC 5,000 and 24,972; the gallery is always the whole
    split. Two captions that ECCV Caption names as positives are not among the 25,000, so that a perfect mAP@R from
    images to captions stays slightly below 1. Equal scores are ordered by index, lower first.

    Without ids, rows and columns are taken to be in Karpathy's order: a similarity says nothing about it.

    Args:
        similarity: ``[5000, 25000]``, larger is more similar; any real dtype, finite. Or a ``Gallery``; of a matrix,
            captions are taken to belong to images in equal, image-major blocks.
        image_ids: ``[5000]`` COCO image ids of the rows; default the order of ``coco_test_ids``.
        caption_ids: ``[25000]`` COCO annotation ids of the columns; default the order of ``coco_test_ids``.
        ks: Cut-offs of recall.

    Returns:
        ``{"ECCV mAP@R": {"i2t": ..., "t2i": ...}, "ECCV R-P": ..., "ECCV R@1": ..., "CxC R@1": ...}``: recall in
        percent, mAP@R and R-precision as fractions.

    Raises:
        InputError: If eccv_caption is not installed, the ids are not those of the test split, they name another own
            image of a caption than the gallery, or the similarity does not fit them or is not finite.
    """
    cutoffs = checked_cutoffs(ks)
    gallery = Gallery.of(similarity)
    values: dict[str, dict[str, float]] = {}
    for title, name in (("ECCV", "eccv"), ("CxC", "cxc")):
        positives = packaged_positives(name, image_ids, caption_ids)  # type: ignore[arg-type]
        for direction in DIRECTIONS:
            hits = find_hits(gallery, positives, direction, max(cutoffs), to_r=name == "eccv")
            if name == "eccv":
                values.setdefault("ECCV mAP@R", {})[direction] = float(hits.average_precision_at_r().mean())
                values.setdefault("ECCV R-P", {})[direction] = float(hits.r_precision().mean())
            for k in cutoffs:
                values.setdefault(f"{title} R@{k}", {})[direction] = 100.0 * float(hits.recall(k).mean())
    return values


def eccv_positives(image_ids: Ids | None = None, caption_ids: Ids | None = None) -> Positives:
    """The positives of ECCV Caption; arguments and errors as ``packaged_positives``."""
    return packaged_positives("eccv", image_ids, caption_ids)


def packaged_positives(name: Lists, image_ids: Ids | None = None, caption_ids: Ids | None = None) -> Positives:
    """A pair of lists that eccv_caption ships, as rows and columns of a similarity.

    Args:
        name: ``"eccv"``, ``"cxc"`` or ``"original"`` (each caption with its own image).
        image_ids: ``[5000]`` COCO image ids in the order of the rows, as numbers or text; default that of
            ``coco_test_ids``.
        caption_ids: ``[25000]`` COCO annotation ids in the order of the columns; default that of ``coco_test_ids``.

    Raises:
        InputError: If there are no such lists, eccv_caption is not installed, or the ids are not exactly those of the
            test split.
    """
    if name not in ("eccv", "cxc", "original"):
        raise InputError(f"the lists are {name!r}; expected 'eccv', 'cxc' or 'original'.")
    test_images, test_captions = coco_test_ids()
    rows = places_of(test_images if image_ids is None else image_ids, "image_ids")
    columns = places_of(test_captions if caption_ids is None else caption_ids, "caption_ids")
    for what, given, wanted in (("image", rows, test_images), ("caption", columns, test_captions)):
        defined = f"ECCV Caption and CxC are defined on all {len(wanted)} {what}s of COCO's test split (Karpathy)."
        unknown = given.keys() - set(wanted.tolist())
        if unknown:
            first = min(unknown, key=given.__getitem__)
            raise InputError(f"{what}_ids[{given[first]}] is {first}, which is no {what} of that split; {defined}")
        if len(given) != len(wanted):
            raise InputError(f"{what}_ids has {len(given)} ids; {defined}")
    images, captions, outside_i2t = listed(_lists(f"{name}_image_to_caption"), rows, columns)
    i2t = pairs(images, captions, (len(rows), len(columns)))
    captions, images, outside_t2i = listed(_lists(f"{name}_caption_to_image"), columns, rows)
    t2i = pairs(images, captions, (len(rows), len(columns)))
    return Positives(i2t, t2i, outside_i2t, outside_t2i, own_pairs(list(rows), list(columns)))


@lru_cache(maxsize=8)
def _lists(name: str) -> dict[int, list[int]]:
    content = read_json(_file(f"{name}.json"))
    return {int(query): [int(item) for item in items] for query, items in content.items()}


def _file(name: str) -> Path:
    """A data file of the installed package, found without importing it."""
    found = importlib.util.find_spec("eccv_caption")
    if found is None or not found.submodule_search_locations:
        raise InputError(
            "the lists of ECCV Caption and CxC come with the package eccv_caption, which is not installed",
            cure=install("eccv"),
        )
    path = Path(found.submodule_search_locations[0]) / "data" / name
    check_file(path, "install eccv_caption again")
    return path
