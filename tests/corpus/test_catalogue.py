"""Which files of the catalogue a dataset is read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivesentences.config import Catalogue, read
from fivesentences.corpus.catalogue import files_to_read
from fivesentences.errors import InputError

CATALOGUE = read(Catalogue, Path(__file__).parents[2] / "config" / "datasets.yaml")
WHOLE, EXCERPT = "coco/caption_datasets.zip", "coco/coco_test5k.zip"


@pytest.mark.parametrize(
    ("present", "splits", "expected"),
    [
        ([EXCERPT], ["test"], EXCERPT),
        ([EXCERPT], ["dev", "test"], WHOLE),
        ([EXCERPT], None, WHOLE),
        ([EXCERPT, WHOLE], ["test"], WHOLE),
        ([], ["test"], WHOLE),
    ],
)
def test_an_excerpt_stands_in_only_for_splits_that_it_holds_and_where_the_whole_file_is_absent(
    tmp_path, present, splits, expected
):
    for name in present:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert files_to_read(CATALOGUE, "coco", "captions", splits, [tmp_path]) == [expected]


def test_a_kind_picks_files_by_the_beginning_of_their_names():
    assert files_to_read(CATALOGUE, "coco", "photographs") == ["coco/train2014.zip", "coco/val2014.zip"]
    assert files_to_read(CATALOGUE, "flickr8k", "text") == ["flickr8k/Flickr8k_text.zip"]
    with pytest.raises(InputError, match=r"datasets\.mine is not in"):
        files_to_read(CATALOGUE, "mine", "text")
