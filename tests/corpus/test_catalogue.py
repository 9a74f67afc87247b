from __future__ import annotations

from pathlib import Path

import pytest

from fivesentences.config import Catalogue, read
from fivesentences.corpus.catalogue import files_to_read
from fivesentences.errors import InputError

CATALOGUE = read(Catalogue, Path(__file__).parents[2] / "config" / "datasets.yaml")
WHOLE, EXCERPT = "coco/caption_datasets.zip", "coco/coco_test5k.zip"


def put(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return [folder]


def test_an_excerpt_stands_in_only_for_the_splits_that_it_holds(tmp_path):
    folders = put(tmp_path, EXCERPT)
    assert files_to_read(CATALOGUE, "coco", "captions", ["test"], folders) == [EXCERPT]
    assert files_to_read(CATALOGUE, "coco", "captions", ["dev", "test"], folders) == [WHOLE]
    assert files_to_read(CATALOGUE, "coco", "captions", None, folders) == [WHOLE]


def test_the_whole_file_is_read_where_it_lies(tmp_path):
    assert files_to_read(CATALOGUE, "coco", "captions", ["test"], put(tmp_path, EXCERPT, WHOLE)) == [WHOLE]
    assert files_to_read(CATALOGUE, "coco", "captions", ["test"], []) == [WHOLE]


def test_a_kind_picks_files_by_the_beginning_of_their_names():
    assert files_to_read(CATALOGUE, "coco", "photographs") == ["coco/train2014.zip", "coco/val2014.zip"]
    assert files_to_read(CATALOGUE, "flickr8k", "text") == ["flickr8k/Flickr8k_text.zip"]


def test_an_unknown_dataset_is_named():
    with pytest.raises(InputError, match=r"datasets\.mine is not in"):
        files_to_read(CATALOGUE, "mine", "text")
