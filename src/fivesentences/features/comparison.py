"""Two sets of features of the same images, compared region by region: are ours those that were released?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.features.formats import FeatureSource, ImageFeatures

# Where features count as released. Released regions of one image never overlap by more than 0.7, the threshold of the
# proposals' suppression, and those that overlap by 0.6 to 0.7 have a median cosine of 0.93 (the ten photographs of
# py-bottom-up-attention), so that only the same region, described by the same network, is above all of these.
OVERLAP, SAME_REGIONS, COSINE, SAME_CLASSES, LENGTHS = 0.7, 0.9, 0.95, 0.8, (0.9, 1.1)
PAIRS = ["image_id", "ours", "theirs", "overlap", "cosine", "length", "same_class"]
IMAGES = ["image_id", "ours", "theirs", "same_regions", "overlap", "cosine", "length", "same_classes"]


@dataclass(frozen=True)
class Comparison:
    """Features of ours beside those of others.

    Attributes:
        pairs: One row per pair of regions: their rows in the image, overlap (NaN without boxes), cosine, ratio of
            lengths (ours by theirs), and whether their classes are equal (NaN where one is unknown).
        images: One row per image: numbers of regions; share that has a partner of an overlap of ``OVERLAP``; mean
            overlap; medians of cosine and length, and the share of equal classes, of these partners.
        overall: The same numbers over all images, and how many images there are.
        boxed: Whether regions were paired by their boxes; if not, by their features.
        only_theirs: Images of theirs that ours lack.
        rows: Id in theirs, row in ours and row in theirs of each image.
    """

    pairs: pd.DataFrame
    images: pd.DataFrame
    overall: dict[str, float]
    boxed: bool
    only_theirs: int
    rows: list[tuple[str, int, int]]

    def shortfalls(self) -> list[str]:
        """Say what is not as released, one clause per number; empty where all is."""
        low, high = LENGTHS
        found, asked = self.overall, list[tuple[bool, str]]()
        if self.boxed:
            share = f"{found['same_regions']:.0%} of the regions have a partner of an overlap of {OVERLAP:g}"
            asked.append((found["same_regions"] >= SAME_REGIONS, f"{share}, not {SAME_REGIONS:.0%}"))
        else:
            counts = f"{found['ours']:,.0f} regions are compared with {found['theirs']:,.0f}"
            asked.append((found["ours"] == found["theirs"], counts))
        cosine = f"the median cosine of partners is {found['cosine']:.3f}, not {COSINE:g}"
        asked.append((not found["cosine"] < COSINE, cosine))
        length = f"the median length of ours is {found['length']:.2f} times theirs, not {low:g} to {high:g}"
        asked.append((not (found["length"] < low or found["length"] > high), length))
        classes = f"{found['same_classes']:.0%} of the classes of partners are equal, not {SAME_CLASSES:.0%}"
        asked.append((not found["same_classes"] < SAME_CLASSES, classes))
        return [clause for fine, clause in asked if not fine]


def compare_features(ours: FeatureSource, theirs: FeatureSource) -> Comparison:
    """Pair the regions of each image that both have, one to one, and compare the partners.

    Regions are paired so that their overlaps have the largest sum; where a side has no boxes, so that their cosines
    do, which flatters. Images have equal ids, or ids that are equal without their suffix; those of different sizes are
    compared as if they were equally large. Memory holds one image at a time.

    Args:
        ours: Open for reading.
        theirs: Open for reading.

    Raises:
        InputError: If vectors have different lengths, no image is in both, or one is damaged.
    """
    one, other = ours.outline, theirs.outline
    if one.dim != other.dim:
        raise InputError(
            f"{ours.path} has {one.dim:,} numbers per region, but {theirs.path} has {other.dim:,}: they are of "
            "different networks; give features of the same one."
        )
    rows = _rows(ours, theirs)
    boxed = "boxes" in one.facts and "boxes" in other.facts
    pairs, images = [], []
    with Bar("compare features", len(rows)) as bar:
        for mine, its in rows:
            a, b = ours.read(mine), theirs.read(its)
            paired = _paired(a, b, boxed)
            pairs.append(paired)
            sizes = {"image_id": b.image_id, "ours": _count(a), "theirs": _count(b)}
            images.append(sizes | _summary(paired, max(_count(a), _count(b)), boxed))
            bar.advance()
    every, of_images = pd.concat(pairs, ignore_index=True), pd.DataFrame(images, columns=IMAGES)
    regions = int(of_images[["ours", "theirs"]].max(axis=1).sum())
    totals = {"images": len(rows), "ours": float(of_images["ours"].sum()), "theirs": float(of_images["theirs"].sum())}
    overall = totals | _summary(every, regions, boxed)
    named = [(other.ids[its], mine, its) for mine, its in rows]
    return Comparison(every, of_images, overall, boxed, len(other) - len(rows), named)


def overlaps(ours: NDArray[np.floating], theirs: NDArray[np.floating]) -> NDArray[np.float64]:
    """Compute the intersection over union of boxes, ``[ours, theirs]``; 0 of boxes without an area.

    Args:
        ours: ``[ours, 4]``, x1, y1, x2, y2.
        theirs: ``[theirs, 4]``.
    """
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    corners = np.maximum(a[:, None, :2], b[:, :2]), np.minimum(a[:, None, 2:], b[:, 2:])
    common = np.clip(corners[1] - corners[0], 0, None).prod(axis=-1)
    areas = [np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=-1) for boxes in (a, b)]
    union = areas[0][:, None] + areas[1] - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=union > 0))


def _rows(ours: FeatureSource, theirs: FeatureSource) -> list[tuple[int, int]]:
    """Return the rows of the images that both have, in the order of theirs."""
    by_id = {image_id: row for row, image_id in enumerate(ours.outline.ids)}
    by_stem: dict[str, list[int]] = {}
    for image_id, row in by_id.items():
        by_stem.setdefault(_stem(image_id), []).append(row)
    found = []
    for row, image_id in enumerate(theirs.outline.ids):
        known = [by_id[image_id]] if image_id in by_id else by_stem.get(_stem(image_id), [])
        if len(known) == 1:
            found.append((known[0], row))
    if not found:
        raise InputError(
            f"no image is in both: ids of {ours.path} look like '{ours.outline.ids[0]}', those of {theirs.path} like "
            f"'{theirs.outline.ids[0]}'; give features of the same photographs."
        )
    return found


def _stem(image_id: str) -> str:
    return PurePosixPath(image_id).stem


def _count(record: ImageFeatures) -> int:
    return len(record.features) if record.features.ndim == 2 else 1


def _paired(ours: ImageFeatures, theirs: ImageFeatures, boxed: bool) -> pd.DataFrame:
    a, b = (np.atleast_2d(one.features).astype(np.float64) for one in (ours, theirs))
    lengths = [np.linalg.norm(rows, axis=1) for rows in (a, b)]
    units = [rows / np.where(size > 0, size, 1)[:, None] for rows, size in zip((a, b), lengths, strict=True)]
    cosines = units[0] @ units[1].T
    overlap = overlaps(*_boxes(ours, theirs)) if boxed else None
    mine, its = linear_sum_assignment(cosines if overlap is None else overlap, maximize=True)
    if overlap is not None:  # what has nothing in common is no pair
        mine, its = (rows[overlap[mine, its] > 0] for rows in (mine, its))
    same = np.full(len(mine), np.nan)
    if ours.classes is not None and theirs.classes is not None:
        same = (ours.classes[mine] == theirs.classes[its]).astype(np.float64)
    length = lengths[0][mine] / np.where(lengths[1][its] > 0, lengths[1][its], np.nan)
    shared = np.full(len(mine), np.nan) if overlap is None else overlap[mine, its]
    columns = (theirs.image_id, mine, its, shared, cosines[mine, its], length, same)
    return pd.DataFrame(dict(zip(PAIRS, columns, strict=True)))


def _boxes(*records: ImageFeatures) -> Iterator[NDArray[np.float64]]:
    """Yield boxes as shares of the photograph if all sizes are known, else in pixels."""
    shares = all(record.width and record.height for record in records)
    for record in records:
        boxes = np.asarray(record.boxes, dtype=np.float64).reshape(-1, 4)
        yield boxes / (2 * [record.width or 1, record.height or 1]) if shares else boxes


def _summary(pairs: pd.DataFrame, regions: int, boxed: bool) -> dict[str, float]:
    """Sum up pairs: of so many regions, on the side that has more."""
    partners = pairs[pairs["overlap"] >= OVERLAP] if boxed else pairs
    known = partners["same_class"].dropna()
    return {
        "same_regions": len(partners) / regions if boxed else float("nan"),
        "overlap": float(pairs["overlap"].sum()) / regions if boxed else float("nan"),
        "cosine": float(partners["cosine"].median()),
        "length": float(partners["length"].median()),
        "same_classes": float(known.mean()) if len(known) else float("nan"),
    }
