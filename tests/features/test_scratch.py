"""Features are read from a copy on another disk, and the copy goes."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.features.scratch import staged
from fivesentences.features.table import FeatureTable


@pytest.fixture(params=["float32", "float16"])
def features(request, tmp_path) -> Path:
    path = tmp_path / "made" / "a.npy"
    path.parent.mkdir()
    np.save(path, np.random.default_rng(0).normal(size=(130, 4, 6)).astype(request.param))
    names = [f"{number}.jpg" for number in range(130)]
    pd.DataFrame({"image_id": names, "filename": names}).to_parquet(path.with_suffix(".images.parquet"))
    return path


def test_a_copy_has_the_same_bits_and_is_removed(features, tmp_path, monkeypatch):
    scratch = tmp_path / "disk"
    scratch.mkdir()
    monkeypatch.setenv("MY_DISK", str(scratch))
    with staged(features, "MY_DISK") as copy:
        assert copy.is_relative_to(scratch)
        ours, theirs = FeatureTable.open(copy), FeatureTable.open(features)
        assert ours.image_ids == theirs.image_ids and ours.array.dtype == theirs.array.dtype
        assert np.asarray(ours.array).tobytes() == np.asarray(theirs.array).tobytes()
    assert not list(scratch.iterdir())
    with staged(features, None) as same:
        assert same == features


def test_a_variable_that_names_no_folder_and_a_full_disk_are_said_before_anything_is_copied(
    features, tmp_path, monkeypatch
):
    monkeypatch.delenv("MY_DISK", raising=False)
    with pytest.raises(InputError, match="MY_DISK"), staged(features, "MY_DISK"):
        pass
    monkeypatch.setenv("MY_DISK", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="nowhere"), staged(features, "MY_DISK"):
        pass
    monkeypatch.setenv("MY_DISK", str(tmp_path))
    usage = namedtuple("usage", ("total", "used", "free"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 0))
    with pytest.raises(InputError, match="are free"), staged(features, "MY_DISK"):
        pass
