"""Grids pooled as torch pools them, principal components as scikit-learn finds them, from training images alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.decomposition import PCA

from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.features.reduce import reduce_features

SIZES = {"train": 40, "dev": 5, "test": 9}


@pytest.fixture
def corpus():
    rows = [
        (f"{split}{image}", f"{split}{image}.jpg", f"{split}{image}-{number}", "A dog runs.", split, None)
        for split, count in SIZES.items()
        for image in range(count)
        for number in range(2)
    ]
    return Corpus("c", pd.DataFrame(rows, columns=list(COLUMNS)))


def stored(folder, corpus, *cells):
    """The path of features in twelve dimensions, the first ones the widest."""
    features = np.random.default_rng(0).normal(size=(corpus.n_images, *cells, 12)) * np.linspace(5, 0.2, 12) + 3
    np.save(folder / "stored.npy", features.astype(np.float16 if cells else np.float32))
    corpus.images[["image_id", "filename"]].to_parquet(folder / "stored.images.parquet")
    return folder / "stored.npy"


@pytest.fixture
def grid(corpus, tmp_path):
    return stored(tmp_path, corpus, 49)


def test_regions_are_those_of_adaptive_average_pooling(corpus, grid, tmp_path):
    reduce_features(grid, corpus, tmp_path / "out.npy", regions=36)
    ours = FeatureTable.open(tmp_path / "out.npy")
    cells = torch.from_numpy(np.load(grid).astype(np.float32)).transpose(1, 2).reshape(-1, 12, 7, 7)
    theirs = torch.nn.functional.adaptive_avg_pool2d(cells, 6).flatten(2).transpose(1, 2)
    assert ours.array.dtype == np.float16
    assert ours.image_ids == corpus.images["image_id"].tolist()
    np.testing.assert_allclose(ours.array, theirs, atol=0.01)


@pytest.mark.parametrize("cells", [(49,), ()], ids=["grid", "global"])
def test_dimensions_are_principal_components_of_the_training_images_up_to_sign_and_one_factor(corpus, tmp_path, cells):
    features = stored(tmp_path, corpus, *cells)
    reduce_features(features, corpus, tmp_path / "out.npy", dimensions=4)
    ours = np.load(tmp_path / "out.npy").astype(np.float64)
    rows = np.load(features).astype(np.float64)
    theirs = PCA(4).fit(rows[: SIZES["train"]].reshape(-1, 12)).transform(rows.reshape(-1, 12)).reshape(ours.shape)
    factor = np.abs(ours).sum() / np.abs(theirs).sum()
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs) * factor, atol=0.01)
    training = ours[: SIZES["train"]]
    assert np.mean(training.reshape(-1, 4).var(axis=0)) == pytest.approx(1, abs=0.01)
    assert np.all(np.diff(training.reshape(-1, 4).var(axis=0)) < 0)


def test_other_images_have_no_part_in_the_components(corpus, grid, tmp_path):
    reduce_features(grid, corpus, tmp_path / "one.npy", regions=9, dimensions=3)
    features = np.load(grid)
    features[SIZES["train"] :] *= 7
    np.save(grid, features)
    reduce_features(grid, corpus, tmp_path / "two.npy", regions=9, dimensions=3)
    one, two = np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy")
    np.testing.assert_array_equal(one[: SIZES["train"]], two[: SIZES["train"]])


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"regions": 64}, "49 cells"), ({"regions": 35}, "35 regions"), ({"dimensions": 13}, "has 12 dimensions")],
)
def test_what_cannot_be_had_ends_in_one_sentence(corpus, grid, tmp_path, asked, said):
    with pytest.raises(InputError, match=said):
        reduce_features(grid, corpus, tmp_path / "out.npy", **asked)


def test_halves_are_the_nearest_float16_and_too_large_numbers_are_refused(corpus, grid, tmp_path):
    reduce_features(grid, corpus, tmp_path / "half.npy")
    half, whole = np.load(tmp_path / "half.npy"), np.load(grid)
    assert half.dtype == np.float16 and np.array_equal(half, whole.astype(np.float16))
    np.save(grid, np.where(whole == whole.max(), np.float32(7e4), whole.astype(np.float32)))
    with pytest.raises(InputError, match="70000"):
        reduce_features(grid, corpus, tmp_path / "large.npy")
