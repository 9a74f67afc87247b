"""The catalogue of files: each can be had, and which of them a dataset is read from."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import Catalogue, CatalogueEntry, CatalogueFile
from fivesentences.config.features import FeatureSpec
from fivesentences.config.reading import read
from fivesentences.corpus import fetch
from fivesentences.corpus.catalogue import files_to_read
from fivesentences.storage import sha256_of

CATALOGUE = read(Catalogue, Path(__file__).parents[2] / "config" / "datasets.yaml")
FILES = [file for entry in CATALOGUE.datasets.values() for file in entry.files.values()]
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


def test_every_file_has_a_path_of_its_own_and_a_way_to_get_it():
    assert len({file.path for file in FILES}) == len(FILES)
    for file in FILES:
        assert file.url is None or file.url.startswith("http")
        ways = [file.url, file.fetch_by_hand, file.made_of, file.member_of]
        assert len([way for way in ways if way is not None]) == 1, file.path
        assert file.version and file.licence


def test_names_of_weights_end_in_the_beginning_of_their_checksum_where_it_is_known():
    for name, file in CATALOGUE.datasets["weights"].files.items():
        begin = re.search(r"-([0-9a-f]{8})$", name)
        assert (begin is None) == (file.sha256 is None), name
        assert begin is None or file.sha256.startswith(begin[1]), name
        extractor = name.partition(".")[0]
        layout = "regions" if extractor == "bottom_up" else "global"
        source = FeatureSpec(extractor=extractor, weights=name, layout=layout).source
        assert source == (f"{name}-regions36" if layout == "regions" else f"{name}-global")


def test_a_copy_without_a_checksum_is_one_of_a_web_archive_of_the_same_address():
    about = {"path": "a/a.zip", "version": "1", "sha256": None, "size": None, "licence": "none"}
    url, copy = "https://a.org/a.zip", "https://web.archive.org/web/2021id_/https://a.org/a.zip"
    assert CatalogueFile(url=url, more_urls=[copy], **about).more_urls == [copy]
    for other in ("https://b.org/a.zip", "ftp://web.archive.org/web/2021id_/https://a.org/a.zip"):
        with pytest.raises(ValidationError, match="only a checksum tells"):
            CatalogueFile(url=url, more_urls=[other], **about)


def test_a_folder_and_a_file_are_made_of_files_of_their_own_entry():
    file = {"path": "a/a.zip", "version": "1", "url": "https://a.org", "sha256": None, "size": None, "licence": "none"}
    for more in ({"folders": {"f": {"archives": ["b"], "holds": ["x"]}}}, {"files": {"a": file | {"made_of": "b"}}}):
        with pytest.raises(ValidationError, match="'b' is not one of its files"):
            CatalogueEntry.model_validate({"title": "T", "files": {"a": file}} | more)


@pytest.mark.data
def test_the_catalogue_knows_every_file_of_the_mirror_and_takes_them_checked(mirror, tmp_path):
    sums = dict(line.split()[::-1] for line in (mirror / "SHA256SUMS").read_text().splitlines())
    # A licence travels with its file, and the bottom-up sample is what an extractor is checked against: no downloads.
    assert {path for path in sums if "LICENSE" not in path and not path.startswith("butd_sample/")} <= {
        file.path for file in FILES
    }
    for name, entry in CATALOGUE.datasets.items():
        for file, item in entry.files.items():
            if item.path in sums and (mirror / item.path).stat().st_size < 20_000_000:
                assert sha256_of(fetch(entry, name, file, tmp_path, mirror)) == sums[item.path]
    shutil.rmtree(tmp_path)
