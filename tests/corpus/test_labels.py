"""Labels of images come in the requested order, and tables that do not fit are refused."""

from __future__ import annotations

import pandas as pd
import pytest

from fivesentences.corpus.labels import read_labels, write_coco_labels
from fivesentences.errors import InputError

TABLE = pd.DataFrame({"image_id": ["a", "b", "c"], "dog": [True, False, True], "cat": [False, False, True]})


def test_rows_follow_the_images_asked_for(tmp_path):
    TABLE.to_parquet(tmp_path / "labels.parquet")
    assert read_labels(tmp_path / "labels.parquet", ["c", "a"]).tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (TABLE.drop(columns="image_id"), "has the column 'image_id'"),
        (TABLE[["image_id"]], "one column per label"),
        (TABLE.assign(dog=1), "must be true or false"),
        (pd.concat([TABLE, TABLE]), "the image 'a' occurs twice"),
        (TABLE.iloc[1:], "the image 'a' has no row"),
        (b"nothing", "not a readable parquet file"),
        (None, "no such file"),
    ],
)
def test_a_table_that_does_not_fit_or_is_none_is_refused(tmp_path, content, sentence):
    path = tmp_path / "labels.parquet"
    if isinstance(content, pd.DataFrame):
        content.to_parquet(path)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_labels(path, ["a"])


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
