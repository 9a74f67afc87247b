"""Nearest images, compared with scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.features import neighbours
from fivesentences.features.formats.table import NpyTable
from fivesentences.features.neighbours import nearest_images, rows_of


def table(folder, array) -> NpyTable:
    path = folder / "f.npy"
    np.save(path, array.astype(np.float32))
    ids = [f"image{row}" for row in range(len(array))]
    pd.DataFrame({"image_id": ids, "filename": ids}).to_parquet(path.with_suffix(".images.parquet"))
    return NpyTable(path)


@pytest.mark.parametrize("regions", [None, 4])
def test_they_are_those_of_scikit_learn(regions, tmp_path, monkeypatch):
    from sklearn.neighbors import NearestNeighbors

    monkeypatch.setattr(neighbours, "BLOCK", 7)
    rng = np.random.default_rng(0)
    array = rng.normal(size=(50, 6) if regions is None else (50, regions, 6)).astype(np.float32)
    flat = array if regions is None else array.mean(axis=1)
    queries = [3, 49, 0]
    with table(tmp_path, array) as features:
        found = nearest_images(features, queries, 5)
    distance, expected = NearestNeighbors(n_neighbors=6, metric="cosine").fit(flat).kneighbors(flat[queries])
    assert expected[:, 0].tolist() == queries  # itself
    np.testing.assert_array_equal(found.nearest, expected[:, 1:])
    np.testing.assert_allclose(found.cosine, 1 - distance[:, 1:], atol=1e-6)


def test_neighbours_may_be_sought_among_some_images_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK", 3)
    array = np.random.default_rng(1).normal(size=(30, 4))
    among = [1, 4, 8, 9, 17, 22, 29]
    with table(tmp_path, array) as features:
        found = nearest_images(features, [4, 5], 3, among)
    with table(tmp_path, array[among]) as features:
        alone = nearest_images(features, [among.index(4)], 3)
    np.testing.assert_array_equal(found.nearest[0], np.array(among)[alone.nearest[0]])
    assert set(found.nearest[1]) <= set(among)


def test_equal_vectors_are_in_file_order_and_zeros_are_near_nothing(tmp_path):
    array = np.array([[1, 0], [0, 0], [2, 0], [-1, 0], [1, 0]])
    with table(tmp_path, array) as features:
        found = nearest_images(features, [0, 1], 10)
    assert found.nearest.tolist() == [[2, 4, 1, 3], [0, 2, 3, 4]]
    assert found.cosine.tolist() == [[1, 1, 0, -1], [0, 0, 0, 0]]


def test_images_are_chosen_by_id_or_evenly(tmp_path):
    with table(tmp_path, np.ones((10, 2))) as features:
        assert rows_of(features, [], 4) == [0, 2, 5, 7]
        assert rows_of(features, [], 40) == list(range(10))
        assert rows_of(features, ["image7", "image0"], 4) == [7, 0]
        with pytest.raises(InputError, match=r"'7'.*'image0'"):
            rows_of(features, ["7"], 4)
    with table(tmp_path, np.ones((1, 2))) as features, pytest.raises(InputError, match="no neighbours"):
        nearest_images(features, [0], 3)
