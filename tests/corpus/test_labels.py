"""Labels of images come in the requested order, and tables that do not fit are refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fivesentences.corpus.labels import read_labels, write_coco_labels
from fivesentences.errors import InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table = pd.DataFrame({"image_id": ["a", "b", "c"], "dog": [True, False, True], "cat": [False, False, True]})
    table.to_parquet(tmp_path / "labels.parquet")
    return tmp_path / "labels.parquet"


def test_rows_follow_the_images_asked_for(path):
    assert read_labels(path, ["c", "a"]).tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.drop(columns="image_id"), "has the column 'image_id'"),
        (lambda table: table[["image_id"]], "one column per label"),
        (lambda table: table.assign(dog=1), "must be true or false"),
        (lambda table: pd.concat([table, table]), "the image 'a' occurs twice"),
        (lambda table: table.iloc[1:], "the image 'a' has no row"),
    ],
)
def test_tables_that_do_not_fit_are_refused(path, change, sentence):
    change(pd.read_parquet(path)).to_parquet(path)
    with pytest.raises(InputError, match=sentence):
        read_labels(path, ["a"])


def test_a_file_that_is_missing_or_no_table_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_labels(tmp_path / "none.parquet", ["a"])
    (tmp_path / "x.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a table of labels"):
        read_labels(tmp_path / "x.parquet", ["a"])


def test_labels_of_coco_are_the_categories_of_the_archive(tmp_path, zipped):
    content = {
        "images": [{"id": number} for number in (9, 42, 7)],
        "annotations": [{"image_id": 42, "category_id": 90}, {"image_id": 7, "category_id": 1}],
    }
    members = {"annotations/instances_train2014.json": {}, "annotations/instances_val2014.json": content}
    write_coco_labels(zipped("a.zip", members), ["42", "9"], tmp_path / "labels.parquet")
    labels = read_labels(tmp_path / "labels.parquet", ["9", "42"])
    assert labels.shape == (2, 90)
    assert [where.tolist() for where in labels.nonzero()] == [[1], [89]]


def test_an_archive_without_the_instances_is_named(tmp_path, zipped):
    with pytest.raises(InputError, match=r"a\.zip: 0 entries are named instances_val2014\.json; one is expected"):
        write_coco_labels(zipped("a.zip", {"captions_val2014.json": {}}), ["1"], tmp_path / "labels.parquet")
