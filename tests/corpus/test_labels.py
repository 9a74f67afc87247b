"""Labels of images come in the requested order, and tables that do not fit are refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus.labels import read_instances, read_labels, write_coco_labels
from fivesentences.errors import InputError

TABLE = pd.DataFrame({"image_id": ["a", "b", "c"], "dog": [True, False, True], "cat": [False, False, True]})


def test_rows_follow_the_images_asked_for(tmp_path):
    TABLE.to_parquet(tmp_path / "labels.parquet")
    assert read_labels(tmp_path / "labels.parquet", ["c", "a"]).tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (TABLE.drop(columns="image_id"), "'image_id' is missing"),
        (TABLE[["image_id"]], "must be true or false"),
        (TABLE.assign(dog=1), "must be true or false"),
        (pd.concat([TABLE, TABLE]), "the image 'a' occurs twice"),
        (TABLE.iloc[1:], "the image 'a' has no row"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, content, sentence):
    content.to_parquet(tmp_path / "labels.parquet")
    with pytest.raises(InputError, match=f"labels.parquet: .*{sentence}"):
        read_labels(tmp_path / "labels.parquet", ["a"])


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
    with pytest.raises(InputError, match=r"a\.zip.*0.*instances_val2014"):
        write_coco_labels(zipped("a.zip", {"captions_val2014.json": {}}), ["1"], tmp_path / "labels.parquet")


IMAGES = [{"id": 42, "file_name": "a.jpg"}, {"id": 391895}, {"id": 7}]
ANNOTATIONS = [
    {"image_id": 42, "category_id": 1, "bbox": [0.5, 1, 2, 3], "iscrowd": 0},
    {"image_id": 42, "category_id": 90, "iscrowd": 1},
    {"image_id": 42, "category_id": 1, "iscrowd": 0},
    {"image_id": 391895, "category_id": 18},
]


def written(tmp_path, **content):
    path = tmp_path / "instances_val2014.json"
    path.write_text(json.dumps({"images": IMAGES, "annotations": ANNOTATIONS, **content}), encoding="utf-8")
    return path


def test_an_image_has_the_categories_of_its_annotations_crowds_too(tmp_path):
    labels = read_instances(written(tmp_path), ["391895", "42", "000000000042"])
    assert labels.shape == (3, 90)
    assert labels.dtype == np.uint8
    assert [np.flatnonzero(row).tolist() for row in labels] == [[17], [0, 89], [0, 89]]
    np.testing.assert_array_equal(read_instances(written(tmp_path), np.array([391895, 42, 42])), labels)


def test_an_image_without_annotation_has_no_label_and_one_of_another_file_is_named(tmp_path):
    assert not read_instances(written(tmp_path), [7]).any()
    assert not read_instances(written(tmp_path, annotations=[]), [7, 42]).any()
    assert read_instances(written(tmp_path), []).shape == (0, 90)
    with pytest.raises(InputError, match=r"instances_val2014.json: image '9' .* is not in it"):
        read_instances(written(tmp_path), [42, 9])


@pytest.mark.parametrize("image_id", ["", "a.jpg", "4²", "9" * 30, 1.0, True, None, "-1"])
def test_an_id_that_is_not_a_whole_number_is_refused(tmp_path, image_id):
    with pytest.raises(InputError, match="not"):
        read_instances(written(tmp_path), [42, image_id])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"images": None}, "'images'"),
        ({"images": [3]}, r"images\[0\] is 3"),
        ({"annotations": [ANNOTATIONS[0], {"image_id": 42}]}, r"annotations\[1\]"),
        ({"annotations": [{"image_id": 42, "category_id": True}]}, "True"),
        ({"annotations": [{"image_id": 42, "category_id": 0}]}, "run from 1 to 90"),
        (b"\xff\xfe", "byte 0 .* is not UTF-8"),
    ],
)
def test_damaged_or_hostile_instances_are_refused(tmp_path, content, message):
    path = written(tmp_path, **content) if isinstance(content, dict) else tmp_path / "instances.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"instances.*{message}"):
        read_instances(path, [42])
