"""`fivesentences features convert` on files of every kind."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from drawn_features import drawn, write
from fivesentences.commands.features import FormatName
from fivesentences.features.formats import FORMATS

BOXED = ("boxes", "sizes")


@pytest.fixture
def tsv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = drawn(30, BOXED, regions=(4, 4), ids=lambda image: str(100 + image))
    return write(records, tmp_path / "trainval.tsv", "tsv"), records


def test_the_dev_split_of_a_precomp_folder_is_made_from_a_tsv(tsv, run, tmp_path):
    rows = [17, 3, 20]
    (tmp_path / "dev_order.txt").write_text("".join(f"{100 + row}\n" for row in rows))
    arguments = ["features", "convert", "trainval.tsv", "dev_ims.npy", "--ids", "dev_order.txt", "--repeat", "5"]
    said = run(*arguments)
    assert said.code == 1
    assert said.err.splitlines()[-1] == (
        "Error: dev_ims.npy: the format precomp cannot hold boxes and sizes; give --drop boxes,sizes to leave them "
        "out, or choose another format."
    )
    said = run(*arguments, "--drop", "boxes,sizes")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "left out, as asked: boxes, sizes"
    expected = np.repeat([tsv[1][row].features for row in rows], 5, axis=0)
    np.testing.assert_array_equal(np.load("dev_ims.npy"), expected)
    assert (tmp_path / "dev_ids.txt").read_text().split() == [str(100 + row) for row in rows for _ in range(5)]


def test_the_formats_of_the_command_are_all_there_are():
    assert list(get_args(FormatName)) == list(FORMATS)
