"""COCO's instance annotations, from made files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fivesentences.corpus.instances import read_instances
from fivesentences.errors import InputError

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
    with pytest.raises(InputError, match=r"instances_val2014.json: image 9 \(number 1 of 2\) is not in it"):
        read_instances(written(tmp_path), [42, 9])


@pytest.mark.parametrize("image_id", ["", "a.jpg", "4²", "9" * 30, 1.0, True, None, "-1"])
def test_an_id_that_is_no_whole_number_is_refused(tmp_path, image_id):
    with pytest.raises(InputError, match=r"image_ids\[1\] is .*; a COCO image id"):
        read_instances(written(tmp_path), [42, image_id])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"images": None}, "there is no list 'images'"),
        ({"annotations": {"0": 1}}, "there is no list 'annotations'"),
        ({"images": [3]}, r"images\[0\] is int; it must be an object"),
        ({"annotations": [None]}, r"annotations\[0\] is NoneType"),
        ({"images": [{"id": "42"}]}, r"images\[0\]: id is '42'; it must be a whole number"),
        ({"annotations": [ANNOTATIONS[0], {"image_id": 42}]}, r"annotations\[1\]: category_id is 'None'"),
        ({"annotations": [{"image_id": 42, "category_id": True}]}, "category_id is 'True'"),
        ({"annotations": [{"image_id": 42, "category_id": 1.5}]}, "category_id is '1.5'"),
        ({"annotations": [{"image_id": [42], "category_id": 1}]}, r"image_id is '\[42\]'"),
        ({"annotations": [{"image_id": 42, "category_id": 0}]}, "category_id is 0; COCO's run from 1 to 90"),
        ({"annotations": [{"image_id": 5, "category_id": 10**30}]}, "run from 1 to 90"),
        (b'{"images": [', "line 1, column 13 is not JSON"),
        (b"\xff\xfe", "byte 0 .* is not UTF-8"),
        (b"[" * 200_000, "nested more than 100 levels"),
        (b'{"images": [{"id": ' + b"1" * 5000 + b"}]}", "more than 308 digits"),
        (b"[]", "there is no list 'images'"),
        (None, "there is no such file"),
    ],
)
def test_a_damaged_hostile_or_missing_file_is_refused_in_a_sentence(tmp_path, content, message):
    path = written(tmp_path, **content) if isinstance(content, dict) else tmp_path / "instances.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_instances(path, [42])
