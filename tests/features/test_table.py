"""Reading features: rows by image, bad values located."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.features import FeatureTable


def stored(folder: Path, array: np.ndarray, ids: list[str] | None = None) -> Path:
    path = folder / "net-global.npy"
    np.save(path, array)
    ids = [f"image{row}" for row in range(len(array))] if ids is None else ids
    pd.DataFrame({"image_id": ids, "filename": ids}).to_parquet(folder / "net-global.images.parquet")
    return path


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(9, 4), (9, 3, 4)])
def test_rows_come_in_the_order_asked_for_as_float32(tmp_path, dtype, shape):
    array = np.random.default_rng(0).normal(size=shape).astype(dtype)
    table = FeatureTable.open(stored(tmp_path, array))
    assert isinstance(table.array, np.memmap)
    assert table.image_ids == [f"image{row}" for row in range(9)]
    rows = table.rows(["image7", "image0", "image7"])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, array[[7, 0, 7]].astype(np.float32))


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_a_feature_that_is_not_finite_is_located(tmp_path, bad):
    array = np.zeros((5, 2, 3), np.float32)
    array[3, 1, 2] = bad
    table = FeatureTable.open(stored(tmp_path, array))
    assert table.rows(["image0", "image4"]).shape == (2, 2, 3)  # only rows that are used must be good
    with pytest.raises(InputError, match=r"net-global\.npy: row 3 \(image 'image3'\) holds -?(nan|inf) at \[1, 2\]"):
        table.rows(["image4", "image3"])
    with pytest.raises(InputError, match=r"'cat'.*1.*2"):
        table.rows(["image1", "cat"])


GOOD = np.zeros((5, 2), np.float32)


@pytest.mark.parametrize(
    ("array", "ids", "damage", "sentence"),
    [
        (GOOD, None, lambda path: path.unlink(), "no such file"),
        (GOOD, None, lambda path: (path.parent / "net-global.images.parquet").unlink(), r"images\.parquet"),
        (GOOD, None, lambda path: path.write_bytes(path.read_bytes()[:-4]), "not a complete .npy"),
        (np.array([{"pickled": 1}], dtype=object), None, None, "complete"),
        (GOOD.astype(np.int64), None, None, r"float16.*float32"),
        (GOOD, ["a", "b"], None, r"5.*net-global\.images\.parquet.*2"),
        (GOOD[:2], ["a", "a"], None, "twice"),
    ],
)
def test_files_that_are_no_features_end_in_one_sentence(tmp_path, array, ids, damage, sentence):
    path = stored(tmp_path, array, ids)
    if damage is not None:
        damage(path)
    with pytest.raises(InputError, match=sentence):
        FeatureTable.open(path)
