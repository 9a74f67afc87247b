"""Regions of two sets of features, paired and compared."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from drawn_features import Records, drawn, write
from fivesentences.errors import InputError
from fivesentences.features.comparison import COSINE, OVERLAP, SAME_CLASSES, Comparison, compare_features, overlaps
from fivesentences.features.formats import open_features

BOXED = ("boxes", "sizes", "scores", "classes")


def compared(tmp_path: Path, ours: Records, theirs: Records, form: str = "table") -> Comparison:
    names = {"table": "{}.npy", "precomp": "{}_ims.npy"}
    paths = [write(some, tmp_path / names[form].format(name), form) for name, some in (("a", ours), ("b", theirs))]
    with open_features(paths[0]) as one, open_features(paths[1]) as other:
        return compare_features(one, other)


def regions(n: int = 4, **how: object) -> Records:
    """Images of regions whose features look like a network's: not negative, some of them zero."""
    rng = np.random.default_rng(5)
    settings = {"regions": (6, 6), "dim": 40} | how
    return [
        replace(one, features=np.maximum(rng.normal(size=one.features.shape), 0).astype(np.float32))
        for one in drawn(n, BOXED, **settings)
    ]


def test_overlaps_are_those_of_counted_pixels():
    rng = np.random.default_rng(0)
    boxes = np.sort(rng.integers(0, 12, (2, 8, 2, 2)), axis=2).reshape(2, 8, 4)
    painted = np.zeros((2, 8, 12, 12), dtype=bool)
    for side in range(2):
        for at, (x1, y1, x2, y2) in enumerate(boxes[side]):
            painted[side, at, y1:y2, x1:x2] = True
    expected = np.zeros((8, 8))
    for a in range(8):
        for b in range(8):
            either = (painted[0, a] | painted[1, b]).sum()
            expected[a, b] = (painted[0, a] & painted[1, b]).sum() / either if either else 0.0
    np.testing.assert_allclose(overlaps(*boxes.astype(np.float32)), expected, atol=1e-12)
    assert (expected > 0).any()


def test_regions_are_paired_so_that_their_overlaps_have_the_largest_sum(tmp_path):
    ours, theirs = drawn(5, BOXED, regions=(4, 4), seed=1), drawn(5, BOXED, regions=(5, 5), seed=2)
    theirs = [replace(one, width=mine.width, height=mine.height) for one, mine in zip(theirs, ours, strict=True)]
    found = compared(tmp_path, ours, theirs)
    for a, b in zip(ours, theirs, strict=True):
        table = overlaps(a.boxes, b.boxes)
        best = max(sum(table[row, column] for row, column in enumerate(some)) for some in permutations(range(5), 4))
        own = found.pairs[found.pairs["image_id"] == b.image_id]
        assert own["overlap"].sum() == pytest.approx(best, abs=1e-5)
        assert own["ours"].is_unique and own["theirs"].is_unique and (own["overlap"] > 0).all()
        for mine, its, cosine, same in own[["ours", "theirs", "cosine", "same_class"]].to_numpy():
            u, v = a.features[int(mine)].astype(float), b.features[int(its)].astype(float)
            assert cosine == pytest.approx(u @ v / np.linalg.norm(u) / np.linalg.norm(v), abs=1e-9)
            assert same == (a.classes[int(mine)] == b.classes[int(its)])
    assert found.overall["overlap"] == pytest.approx(found.pairs["overlap"].sum() / 25)


def test_features_in_another_order_of_regions_and_images_are_as_released(tmp_path):
    theirs, rng = regions(), np.random.default_rng(3)
    ours = []
    for one in theirs[::-1]:
        order = rng.permutation(len(one))
        parts = {key: getattr(one, key)[order] for key in ("features", "boxes", "scores", "classes")}
        ours.append(replace(one, image_id=f"folder/{one.image_id}.jpg", **parts))
    found = compared(tmp_path, ours, theirs)
    assert found.shortfalls() == [] and found.only_theirs == 0
    assert found.overall["same_regions"] == found.overall["same_classes"] == 1
    assert found.overall["cosine"] == pytest.approx(1) and found.overall["overlap"] == pytest.approx(1)
    assert list(found.images["image_id"]) == [one.image_id for one in theirs]


def test_a_photograph_of_another_size_has_the_same_regions(tmp_path):
    theirs = regions()
    ours = [replace(one, width=2 * one.width, height=3 * one.height, boxes=one.boxes * [2, 3, 2, 3]) for one in theirs]
    ours = [replace(one, boxes=one.boxes.astype(np.float32)) for one in ours]
    assert compared(tmp_path, ours, theirs).overall["overlap"] == pytest.approx(1, abs=1e-5)


def shifted(one, rng):
    return replace(one, classes=one.classes + 1)  # the background counts as a class


def mixed(one, rng):
    return replace(one, features=one.features[:, np.random.default_rng(0).permutation(one.features.shape[1])])


def louder(one, rng):
    return replace(one, features=one.features * np.float32(1.5))


def elsewhere(one, rng):
    corners = np.sort(rng.random((len(one), 2, 2)), axis=1).reshape(-1, 4) * (2 * [one.width, one.height])
    return replace(one, boxes=corners.astype(np.float32))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (shifted, "0% of the classes of partners are equal, not 80%"),
        (mixed, "the median cosine of partners is 0.[0-8].*not 0.95"),
        (louder, "the median length of ours is 1.50 times theirs, not 0.9 to 1.1"),
        (elsewhere, "[0-9]% of the regions have a partner of an overlap of 0.7, not 90%"),
    ],
)
def test_wrong_weights_are_noticed_by_what_is_wrong_with_them(tmp_path, wrong, said):
    theirs, rng = regions(), np.random.default_rng(7)
    found = compared(tmp_path, [wrong(one, rng) for one in theirs], theirs).shortfalls()
    assert re.search(said, found[0]) and (wrong is elsewhere or len(found) == 1)


def test_without_boxes_regions_are_paired_by_their_features(tmp_path):
    theirs = [one.without(["boxes", "sizes", "scores", "classes"]) for one in regions()]
    ours = [replace(one, features=one.features[::-1]) for one in theirs]
    found = compared(tmp_path, ours, theirs, "precomp")
    assert not found.boxed and found.shortfalls() == []
    assert np.isnan(found.overall["same_regions"]) and found.overall["cosine"] == pytest.approx(1)
    assert (found.pairs["ours"] + found.pairs["theirs"] == 5).all()
    fewer = [replace(one, features=one.features[:5]) for one in ours]
    assert compared(tmp_path, fewer, theirs, "precomp").shortfalls() == ["20 regions are compared with 24"]


def test_what_cannot_be_compared_is_refused(tmp_path):
    theirs = regions()
    others = [replace(one, features=one.features[:, :39]) for one in theirs]
    with pytest.raises(InputError, match=r"a\.npy has 39 numbers per region, but .*b\.npy has 40"):
        compared(tmp_path, others, theirs)
    strangers = [replace(one, image_id=f"other_{one.image_id}") for one in theirs]
    with pytest.raises(InputError, match=r"no image is in both: .*'other_image_0'.*'image_0'"):
        compared(tmp_path, strangers, theirs)
    assert compared(tmp_path, theirs[1:], theirs).only_theirs == 1


@pytest.mark.slow
@pytest.mark.data
def test_thresholds_lie_above_everything_that_is_not_the_same_region(mirror):
    """The numbers of docs/detectors.md, of the released regions of ten photographs."""
    with open_features(mirror / "butd_sample" / "train2014_obj36.tsv") as source:
        records = [source.read(row) for row in range(len(source.outline))]
    units = [one.features / np.linalg.norm(one.features.astype(float), axis=1, keepdims=True) for one in records]
    upper = np.triu_indices(36, 1)
    overlap = np.concatenate([overlaps(one.boxes, one.boxes)[upper] for one in records])
    cosine = np.concatenate([(unit @ unit.T)[upper] for unit in units])
    same = np.concatenate([(one.classes[:, None] == one.classes)[upper] for one in records])
    near = (overlap >= 0.6) & (overlap < OVERLAP)
    others = [(a @ b.T).ravel() for at, a in enumerate(units) for b in units[:at]]
    assert overlap.max() < OVERLAP
    assert np.median(cosine[near]) == pytest.approx(0.93, abs=0.005) and np.median(cosine[near]) < COSINE
    assert same[near].mean() == pytest.approx(0.51, abs=0.005) and same[near].mean() < SAME_CLASSES
    assert np.median(np.concatenate(others)) == pytest.approx(0.17, abs=0.005)
