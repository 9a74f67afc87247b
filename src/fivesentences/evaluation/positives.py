"""Lists of positives by the ids of a gallery: Crisscrossed Captions from its own CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from fivesentences.corpus.judgements import CXC_COLUMNS, CXC_ORIGINAL, cxc_ratings
from fivesentences.errors import InputError
from fivesentences.metrics.positives import Positives

CXC_THRESHOLD = 3.0  # the mean rating, 0 to 5, from which on Parekh et al. count a pair as a match

Ids = Sequence[int | str] | NDArray


def cxc_positives(
    sits_csv: Path | str, caption_ids: Ids, image_ids: Ids, threshold: float = CXC_THRESHOLD
) -> Positives:
    """The positives of Crisscrossed Captions (Parekh et al. 2021): pairs that people rated ``threshold`` or more.

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
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 5:
        raise InputError(f"threshold is {threshold!r}; ratings lie in 0 to 5.")
    column_of, row_of = places_of(caption_ids, "caption_ids"), places_of(image_ids, "image_ids")
    images, captions, seen = [], [], set()
    own: list[tuple[int, int]] = []  # pairs among which each caption's own image is
    for rated in cxc_ratings(sits_csv, CXC_COLUMNS[:3]):
        pair = rated.image, rated.caption
        if pair in seen:
            raise InputError(f"{rated.where}: caption {pair[1]} and image {pair[0]} are rated a second time.")
        seen.add(pair)
        if rated.image not in row_of or rated.caption not in column_of:
            continue
        if rated.method in ("", CXC_ORIGINAL):
            own.append((row_of[rated.image], column_of[rated.caption]))
        if rated.score >= threshold:
            images.append(row_of[rated.image])
            captions.append(column_of[rated.caption])
    if not images:
        raise InputError(
            f"{sits_csv}: no pair rated {threshold:g} or more is of these {len(row_of)} images and {len(column_of)} "
            "captions; are the ids those of COCO?"
        )
    shape = len(row_of), len(column_of)
    matches = pairs(images, captions, shape)
    return Positives(matches, matches, own=pairs((row for row, _ in own), (column for _, column in own), shape))


def places_of(ids: Ids, name: str) -> dict[int, int]:
    """The position of each id.

    Args:
        ids: Numbers, or text that is a number.
        name: What to call them in an error.

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


def pairs(rows: Iterable[int], columns: Iterable[int], shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """A sparse bool matrix that is true at the given cells."""
    row, column = np.fromiter(rows, dtype=np.int64), np.fromiter(columns, dtype=np.int64)
    return scipy.sparse.csr_array((np.ones(len(row), dtype=bool), (row, column)), shape=shape)


def listed(
    lists: Mapping[int, Sequence[int]], query_places: Mapping[int, int], gallery_places: Mapping[int, int]
) -> tuple[list[int], list[int], NDArray[np.int64]]:
    """Lists of positives by id, as positions in a gallery.

    Args:
        lists: Positives of each query.
        query_places: The position of each query, of all that are in ``lists``.
        gallery_places: The position of each item; items without one are counted.

    Returns:
        Query and item of each pair, and ``[queries]`` the number of positives that are not in the gallery.
    """
    queries, items = [], []
    outside = np.zeros(len(query_places), dtype=np.int64)
    for query, positives in lists.items():
        place = query_places[query]
        for item in set(positives):
            if item in gallery_places:
                queries.append(place)
                items.append(gallery_places[item])
            else:
                outside[place] += 1
    return queries, items, outside
