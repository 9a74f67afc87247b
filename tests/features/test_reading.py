"""Reading features: rows by image, bad values located, preparation from training statistics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, Preparation


def stored(folder: Path, array: np.ndarray, ids: list[str] | None = None) -> Path:
    path = folder / "net-global.npy"
    np.save(path, array)
    ids = [f"image{row}" for row in range(len(array))] if ids is None else ids
    pd.DataFrame({"image_id": ids, "filename": ids}).to_parquet(folder / "net-global.images.parquet")
    return path


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(9, 4), (9, 3, 4)])
def test_rows_come_in_the_order_asked_for_as_float32(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).normal(size=shape).astype(dtype)
    table = FeatureTable.open(stored(tmp_path, array))
    assert isinstance(table.array, np.memmap)
    assert table.image_ids == [f"image{row}" for row in range(9)]
    rows = table.rows(["image7", "image0", "image7"])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, array[[7, 0, 7]].astype(np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_feature_that_is_not_finite_is_located(tmp_path: Path, bad: float) -> None:
    array = np.zeros((5, 2, 3), np.float32)
    array[3, 1, 2] = bad
    table = FeatureTable.open(stored(tmp_path, array))
    assert table.rows(["image0", "image4"]).shape == (2, 2, 3)  # only rows that are used must be good
    with pytest.raises(InputError, match=r"net-global\.npy: row 3 \(image 'image3'\) holds -?(nan|inf) at \[1, 2\]"):
        table.rows(["image4", "image3"])


def test_an_unknown_image_is_named(tmp_path: Path) -> None:
    table = FeatureTable.open(stored(tmp_path, np.zeros((5, 2), np.float32)))
    with pytest.raises(InputError, match=r"no features of image 'cat' \(1 of 2 images"):
        table.rows(["image1", "cat"])


def test_files_that_are_no_features_end_in_one_sentence(tmp_path: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(InputError) as caught:
            FeatureTable.open(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such file" in message(tmp_path / "net-global.npy")
    path = stored(tmp_path, np.zeros((5, 2), np.float32))
    (tmp_path / "other.npy").write_bytes(path.read_bytes())
    assert "other.images.parquet: there is no such file" in message(tmp_path / "other.npy")
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    assert "not a whole .npy" in message(path)
    path.write_bytes(b"")
    assert "not a whole .npy" in message(path)
    np.save(path, np.array([{"pickled": 1}], dtype=object), allow_pickle=True)
    assert "not a whole .npy" in message(path)
    assert "features are float16 or float32" in message(stored(tmp_path, np.zeros((5, 2), np.int64)))
    assert "of shape [5]" in message(stored(tmp_path, np.zeros(5, np.float32)))
    assert "5 rows, but net-global.images.parquet names 2" in message(
        stored(tmp_path, np.zeros((5, 2), np.float32), ["a", "b"])
    )
    assert "twice" in message(stored(tmp_path, np.zeros((2, 2), np.float32), ["a", "a"]))
    (tmp_path / "net-global.images.parquet").write_bytes(b"PAR1 cut")
    assert "not a parquet table" in message(path)


@pytest.mark.parametrize("shape", [(2500, 6), (1500, 3, 6)])
def test_standardised_training_rows_have_mean_0_and_deviation_1(shape: tuple[int, ...]) -> None:
    # A mean of a thousand deviations: where sums of squares in float32 would have lost the deviation.
    rows = (np.random.default_rng(1).normal(size=shape) * [1, 2, 3, 0.1, 0.01, 5] + 1000 * np.arange(6)).astype("f4")
    preparation = Preparation.fit(rows, "standardise")
    flat = rows.reshape(-1, 6).astype(np.float64)
    np.testing.assert_allclose(preparation.mean, flat.mean(axis=0), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(preparation.deviation, flat.std(axis=0), rtol=1e-6)
    expected = (rows[:7] - flat.mean(axis=0)) / flat.std(axis=0)
    moves = 2e-7 * np.abs(flat).max(axis=0) / flat.std(axis=0)  # float32 rounding of the mean, in deviations
    assert (np.abs(preparation.apply(rows[:7]) - expected) <= 1e-5 + moves).all()


def test_a_dimension_that_never_changes_becomes_zero_and_not_infinite() -> None:
    rows = np.random.default_rng(2).normal(size=(100, 4)).astype(np.float32)
    rows[:, 1], rows[:, 2], rows[:, 3] = 0, 0.1, 1e-30
    preparation = Preparation.fit(rows, "standardise")
    np.testing.assert_array_equal(preparation.apply(rows)[:, 1:], 0)
    other = rows[:1] + np.float32(1)
    assert np.isfinite(preparation.apply(other)).all()


def test_normalised_rows_have_length_1_and_a_zero_row_stays_zero() -> None:
    rows = np.random.default_rng(3).normal(size=(5, 3, 4)).astype(np.float16)
    rows[2, 1] = 0
    prepared = Preparation.fit(rows, "normalise").apply(rows)
    length = np.sqrt((prepared.astype(np.float64) ** 2).sum(axis=-1))
    expected = np.ones((5, 3))
    expected[2, 1] = 0
    np.testing.assert_allclose(length, expected, atol=1e-6)


def test_as_stored_changes_nothing_and_apply_never_changes_what_it_is_given() -> None:
    rows = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32)
    kept = rows.copy()
    np.testing.assert_array_equal(Preparation.fit(rows, "as_stored").apply(rows), kept)
    for how in ("as_stored", "standardise", "normalise"):
        prepared = Preparation.fit(rows, how).apply(rows)
        prepared += 1
        np.testing.assert_array_equal(rows, kept)


@pytest.mark.parametrize("how", ["as_stored", "standardise", "normalise"])
def test_a_preparation_survives_a_safetensors_file(tmp_path: Path, how: str) -> None:
    from safetensors.numpy import load_file, save_file

    rows = np.random.default_rng(5).normal(size=(50, 3)).astype(np.float32)
    preparation = Preparation.fit(rows, how)
    save_file(preparation.to_arrays(), tmp_path / "preparation.safetensors")
    again = Preparation.from_arrays(load_file(tmp_path / "preparation.safetensors"))
    assert again.how == how
    np.testing.assert_array_equal(again.apply(rows), preparation.apply(rows))


def test_wrong_preparations_end_in_one_sentence() -> None:
    rows = np.zeros((4, 3), np.float32)
    with pytest.raises(InputError, match="'whiten'; it is one of as_stored"):
        Preparation.fit(rows, "whiten")
    with pytest.raises(InputError, match="training split is empty"):
        Preparation.fit(rows[:0], "standardise")
    with pytest.raises(InputError, match="NaN or infinite"):
        Preparation.fit(np.full((4, 3), np.nan, np.float32), "standardise")
    with pytest.raises(InputError, match="2 dimensions, but those of training had 3"):
        Preparation.fit(rows, "standardise").apply(rows[:, :2])
    with pytest.raises(InputError, match="not one this version knows"):
        Preparation.from_arrays({"how": np.frombuffer(b"standardise", np.uint8)})
    with pytest.raises(InputError, match="not one this version knows"):
        Preparation.from_arrays({})
