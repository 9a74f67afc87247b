"""Positives of COCO's test split by the ids of a gallery: Crisscrossed Captions, ECCV Caption, and the split itself.

The ids of the split (Karpathy and Li) are in ``coco_test_ids.npz`` beside this module: those of the split's public
file, as in the package eccv_caption, whose lists are read at run time (extra ``eccv``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from fivesentences.corpus.cxc import CXC_COLUMNS, CXC_ORIGINAL, cxc_ratings
from fivesentences.documents import read_json
from fivesentences.errors import Cure, InputError, counted, install, say_left_out
from fivesentences.machine import package_folder
from fivesentences.metrics.positives import Positives, find_hits
from fivesentences.retrieval.arguments import DIRECTIONS, checked_cutoffs
from fivesentences.retrieval.gallery import Gallery, Similarity

CXC_THRESHOLD = 3.0  # the mean rating, 0 to 5, from which on Parekh et al. count a pair as a match
CAPTIONS_PER_IMAGE = 5
_FILE = Path(__file__).with_name("coco_test_ids.npz")
# SHA-256 of the letters and digits of the 25,000 captions in lower case, one caption per line: in the order of the ids,
# and sorted. Released files of the split differ in case, spaces and punctuation only.
_CAPTIONS_IN_ORDER = "ef2c967434bc87b11033a879cd0b81eae5d8a39329a1c46a6f604087eeeb00d4"
_CAPTIONS_SORTED = "daa65f72b67330cce160a35fba2c2c81285034003e7208006461b4e266adfef7"

Ids = Sequence[int | str] | NDArray
Lists = Literal["eccv", "cxc", "original"]


def cxc_positives(
    sits_csv: Path | str, caption_ids: Ids, image_ids: Ids, threshold: float = CXC_THRESHOLD
) -> Positives:
    """Read the positives of Crisscrossed Captions (Parekh et al. 2021): pairs rated ``threshold`` or more.

    At 3.0 there are 35,585 pairs of COCO's 5,000 test images and 25,000 captions, the same as in eccv_caption's files;
    28 captions have none, which leaves 24,972 captions as queries. Pairs outside the gallery are left out.

    Every caption was rated with its own image, 29 of them below 3.0. The column ``sampling_method`` says which rating
    that is, for the check of whose caption each one is; without it, the own image must be among the rated ones.

    Args:
        sits_csv: ``sits_test.csv`` (or ``sits_val.csv``) with the columns ``caption``, ``image`` and ``agg_score``.
        caption_ids: ``[captions]`` COCO annotation ids in the order of the similarity's columns, as numbers or text.
        image_ids: ``[images]`` COCO image ids in the order of its rows.
        threshold: Lowest rating of a match, 0 to 5.

    Raises:
        InputError: If the file is missing or is no such table, a line is malformed, ids are not numbers or are
            repeated, or no positive pair is of this gallery.
    """
    column_of, row_of = places_of(caption_ids, "caption_ids"), places_of(image_ids, "image_ids")
    matches, own, seen, inside = [], [], set(), 0  # own: pairs among which each caption's own image is
    for rated in cxc_ratings(sits_csv, CXC_COLUMNS[:3]):
        pair = rated.image, rated.caption
        if pair in seen:
            raise InputError(f"{rated.where}: caption {pair[1]} and image {pair[0]} are rated a second time.")
        seen.add(pair)
        if rated.image in row_of and rated.caption in column_of:
            cell = row_of[rated.image], column_of[rated.caption]
            inside += 1
            own += [cell] if rated.method in ("", CXC_ORIGINAL) else []
            matches += [cell] if rated.score >= threshold else []
    if not matches:
        image, caption = (next(iter(places), "none") for places in (row_of, column_of))
        raise InputError(
            f"{sits_csv}: no pair rated {threshold:g} or more is of these {len(row_of)} images (the first is {image}) "
            f"and {len(column_of)} captions (the first is {caption}); are the ids those of COCO?"
        )
    outside = {"of images or captions that are not scored": len(seen) - inside}
    say_left_out(sits_csv, counted(inside, "rated pair"), outside)
    positive = _at(matches, (len(row_of), len(column_of)))
    return Positives(positive, positive, own=_at(own, positive.shape))


def eccv(
    similarity: Similarity, image_ids: Ids | None = None, caption_ids: Ids | None = None, ks: Sequence[int] = (1, 5, 10)
) -> dict[str, dict[str, float]]:
    """Compute ECCV Caption's mAP@R, R-precision and recall, and CxC recall, of COCO's whole 5K test split.

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


def packaged_positives(name: Lists, image_ids: Ids | None = None, caption_ids: Ids | None = None) -> Positives:
    """Read a pair of lists that eccv_caption ships, as rows and columns of a similarity.

    Args:
        name: ``"eccv"``, ``"cxc"`` or ``"original"`` (each caption with its own image).
        image_ids: ``[5000]`` COCO image ids in the order of the rows, as numbers or text; default that of
            ``coco_test_ids``.
        caption_ids: ``[25000]`` COCO annotation ids in the order of the columns; default that of ``coco_test_ids``.

    Raises:
        InputError: If eccv_caption is not installed, or the ids are not exactly those of the
            test split.
    """
    test_images, test_captions = coco_test_ids()
    rows = places_of(test_images if image_ids is None else image_ids, "image_ids")
    columns = places_of(test_captions if caption_ids is None else caption_ids, "caption_ids")
    for what, given, wanted in (("image", rows, test_images), ("caption", columns, test_captions)):
        defined = f"ECCV Caption and CxC are defined on all {len(wanted)} {what}s of COCO's test split (Karpathy)."
        if unknown := given.keys() - set(wanted.tolist()):
            first = min(unknown, key=given.__getitem__)
            raise InputError(f"{what}_ids[{given[first]}] is {first}, which is no {what} of that split; {defined}")
        if len(given) != len(wanted):
            raise InputError(f"{what}_ids has {len(given)} ids; {defined}")
    i2t, outside_i2t = _listed(_lists(f"{name}_image_to_caption"), rows, columns)
    t2i, outside_t2i = _listed(_lists(f"{name}_caption_to_image"), columns, rows)
    return Positives(i2t, t2i.T.tocsr(), outside_i2t, outside_t2i, own_pairs(list(rows), list(columns)))


@lru_cache(maxsize=8)
def _lists(name: str) -> dict[int, list[int]]:
    """Read lists of the installed package, found without importing it."""
    folder = package_folder("eccv_caption")
    if folder is None:
        what = "the lists of ECCV Caption and CxC come with the package eccv_caption, which is not installed"
        raise InputError(what, cure=install("eccv"))
    content = read_json(folder / "data" / f"{name}.json", "install eccv_caption again")
    return {int(query): [int(item) for item in items] for query, items in content.items()}


def coco_test_ids() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``[5000]`` image ids and ``[25000]`` caption ids of COCO's test split in Karpathy's order, image-major.

    The five folds of the 1K protocol are consecutive fifths of them.
    """
    with np.load(_FILE, allow_pickle=False) as stored:
        # Of each image the first caption's id, and the four steps from each to the next, which are above 0.
        rows = np.column_stack([stored["captions"], stored["steps"]]).astype(np.int64)
        return stored["images"].astype(np.int64), np.cumsum(rows, axis=1).ravel()


def own_pairs(image_ids: Ids, caption_ids: Ids) -> scipy.sparse.csr_array:
    """Pair each caption of COCO's test split with its own image, as rows and columns of a similarity.

    Args:
        image_ids: ``[images]`` COCO image ids of the rows; others than those of the split are passed over.
        caption_ids: ``[captions]`` COCO annotation ids of the columns.

    Returns:
        Sparse bool ``[images, captions]``.

    Raises:
        InputError: If an id is not a whole number or occurs twice.
    """
    row_of, column_of = places_of(image_ids, "image_ids"), places_of(caption_ids, "caption_ids")
    images, captions = coco_test_ids()
    owned = zip(np.repeat(images, CAPTIONS_PER_IMAGE).tolist(), captions.tolist(), strict=True)
    known = [
        (row_of[image], column_of[caption]) for image, caption in owned if image in row_of and caption in column_of
    ]
    return _at(known, (len(row_of), len(column_of)))


def is_in_order(captions: Sequence[str], caption_ids: Ids | None = None, where: str | Path = "captions") -> bool:
    """Return True if captions are those of COCO's test split in the order of ids, by their letters and digits.

    Args:
        captions: In the order of the columns.
        caption_ids: ``[captions]`` COCO annotation ids of the columns; default the order of ``coco_test_ids``.
        where: Name of the captions in messages.

    Returns:
        True if they are; False if they are other captions, which says nothing about the order.

    Raises:
        InputError: If they are the captions of the split in another order.
    """
    usual = coco_test_ids()[1].tolist()
    column_of = places_of(usual if caption_ids is None else caption_ids, "caption_ids")
    if len(captions) != len(usual) or column_of.keys() != set(usual):
        return False
    words = ["".join(filter(str.isalnum, caption.lower())) for caption in captions]
    in_order = [words[column_of[caption]] for caption in usual]
    digests = [hashlib.sha256("\n".join(lines).encode()).hexdigest() for lines in (in_order, sorted(words))]
    if digests == [_CAPTIONS_IN_ORDER, _CAPTIONS_SORTED]:
        return True
    if digests[1] != _CAPTIONS_SORTED:
        return False
    order = "Karpathy's order" if caption_ids is None else "the order of the caption ids"
    raise InputError(
        f"these are the captions of COCO's test split, but not in {order}",
        where=where,
        cure=Cure(
            "pass image_ids and caption_ids, the COCO ids of the rows and columns in their order",
            "give the COCO ids of rows and columns, in their order, by --image-ids FILE and --caption-ids FILE",
        ),
    )


def places_of(ids: Ids, name: str) -> dict[int, int]:
    """Return the position of each id.

    Args:
        ids: Numbers, or text that is a number.
        name: Name of the ids in messages.

    Raises:
        InputError: If one is not a whole number or occurs twice.
    """
    places: dict[int, int] = {}
    for place, given in enumerate(ids):
        try:
            number = int(given)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is None or isinstance(given, bool) or (not isinstance(given, str) and number != given):
            raise InputError(f"{name}[{place}] is {repr(given)[:40]}; COCO's ids are whole numbers.")
        if places.setdefault(number, place) != place:
            raise InputError(f"{name}[{place}] is {number}, which stands at {places[number]} already; ids are unique.")
    return places


def _at(cells: Sequence[tuple[int, int]], shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """Return a sparse bool matrix that is true at the given cells."""
    places = np.array(cells, dtype=np.int64).reshape(-1, 2)
    return scipy.sparse.csr_array((np.ones(len(places), dtype=bool), (places[:, 0], places[:, 1])), shape=shape)


def _listed(
    lists: Mapping[int, Sequence[int]], query_places: Mapping[int, int], gallery_places: Mapping[int, int]
) -> tuple[scipy.sparse.csr_array, NDArray[np.int64]]:
    """Return ``[queries, gallery]`` positives, and ``[queries]`` the number of those that are not in the gallery."""
    outside = np.zeros(len(query_places), dtype=np.int64)
    cells = []
    for query, positives in lists.items():
        place, items = query_places[query], set(positives)
        cells += [(place, gallery_places[item]) for item in items if item in gallery_places]
        outside[place] = sum(item not in gallery_places for item in items)
    return _at(cells, (len(query_places), len(gallery_places))), outside
