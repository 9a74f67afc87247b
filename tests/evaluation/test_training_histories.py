"""The epochs of many runs in one table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus.parquet import write_frame
from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.tidy import collect_histories
from fivesentences.storage import write_json

RECORD = {"made_from": {"the device": "cuda x86_64", "the version of torch": "2.15.0"}, "outputs": {}}


def folder_of(path, text, record=None):
    path.mkdir(parents=True)
    (path / "history.csv").write_text(text)
    if record is not None:
        write_json(path / "finished.json", record)
    return path


@pytest.fixture
def folders(tmp_path):
    first = "epoch,learning_rate,loss,dev_Rsum,best\n1,0.1,3.5,,0\n2,0.01,2.5,40.5,1\n"
    second = "epoch,learning_rate,loss,temperature,dev_Rsum,dev_Nsum,best\n1,0.1,9,0.07,33,44,1\n"
    return {"b/seed=0": folder_of(tmp_path / "b", first, RECORD), "a/seed=0": folder_of(tmp_path / "a", second)}


def test_every_epoch_of_every_run_is_a_row_with_what_was_recorded_and_where_it_was_trained(folders, tmp_path):
    write_frame(collect_histories(folders), tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["run"].tolist() == ["b/seed=0", "b/seed=0", "a/seed=0"]
    assert found["epoch"].tolist() == [1, 2, 1] and found["best"].tolist() == [0, 1, 1]
    assert found["loss"].tolist() == [3.5, 2.5, 9.0]
    np.testing.assert_array_equal(found["dev_Rsum"], [np.nan, 40.5, 33.0])
    np.testing.assert_array_equal(found["temperature"], [np.nan, np.nan, 0.07])
    np.testing.assert_array_equal(found["dev_Nsum"], [np.nan, np.nan, 44.0])
    assert found["device"].tolist() == ["cuda x86_64"] * 2 + [""] and found["torch"].tolist() == ["2.15.0"] * 2 + [""]


def test_a_damaged_history_is_named(tmp_path):
    with pytest.raises(InputError, match=r"history\.csv"):
        collect_histories({"run": folder_of(tmp_path / "run", "")})
