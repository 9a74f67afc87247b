"""Random sets of features, in every layout that a format may hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fivesentences.features.formats import FORMATS, ImageFeatures, Outline, open_features
from fivesentences.features.formats.record import RECOGNISED

Records = list[ImageFeatures]


def drawn(
    n: int = 12,
    facts: Sequence[str] = (),
    *,
    regions: tuple[int, int] | None = (3, 3),
    dim: int = 5,
    dtype: type = np.float32,
    seed: int = 0,
    ids: Callable[[int], str] = lambda image: f"image_{image}",
) -> Records:
    """``n`` images with random bits, also those of tiny numbers and of -0.0."""
    rng = np.random.default_rng(seed)
    records = []
    for image in range(n):
        count = None if regions is None else int(rng.integers(regions[0], regions[1] + 1))
        shape = (dim,) if count is None else (count, dim)
        features = (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 4, shape)).astype(dtype)
        features[rng.random(shape) < 0.2] = -0.0
        width, height = (int(side) for side in rng.integers(20, 2000, 2))
        known: dict[str, object] = {}
        if "sizes" in facts:
            known |= {"width": width, "height": height}
        if "boxes" in facts:
            corners = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4)
            known["boxes"] = (corners * [width, height, width, height]).astype(np.float32)
        for name in RECOGNISED:
            if name in facts:
                scores = rng.random(count).astype(np.float32)
                known[name] = scores if name.endswith("scores") else rng.integers(0, 1600, count)
        if "filenames" in facts:
            known["filename"] = f"photograph {image}.jpg"
        records.append(ImageFeatures(ids(image), features, **known))
    return records


def outline_of(records: Records) -> Outline:
    """What is known of them, found out in another way than readers do."""
    first = records[0]
    facts = {name for name in ("boxes", *RECOGNISED) if getattr(first, name) is not None}
    facts |= {"sizes"} if first.width is not None else set()
    facts |= {"filenames"} if first.filename is not None else set()
    counts = None if first.features.ndim == 1 else np.array([len(record.features) for record in records])
    dim = first.features.shape[-1]
    return Outline([record.image_id for record in records], counts, dim, first.features.dtype, frozenset(facts))


def write(records: Records, path: Path, name: str, repeat: int = 1) -> Path:
    with FORMATS[name].write(path, outline_of(records), {"made_by": "a test"}, repeat) as add:
        for record in records:
            add(record)
    return path


def read(path: Path) -> Records:
    with open_features(path) as source:
        return [source.read(row) for row in range(len(source.outline))]


def assert_equal(ours: Records, theirs: Records) -> None:
    """The same images in the same order, to the last bit."""
    assert [record.image_id for record in ours] == [record.image_id for record in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert (one.width, one.height) == (other.width, other.height)
        assert (one.filename or one.image_id) == (other.filename or other.image_id)
        for name in ("features", "boxes", *RECOGNISED):
            first, second = getattr(one, name), getattr(other, name)
            assert (first is None) == (second is None), name
            if first is not None:
                assert (first.dtype, first.shape) == (second.dtype, second.shape)
                assert np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes(), name
