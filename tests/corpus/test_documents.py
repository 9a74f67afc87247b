"""The table of documents."""

from __future__ import annotations

import pandas as pd
import pyarrow.parquet as pq
import pytest

from fivesentences.corpus.documents import COLUMNS, Documents, read_documents, write_documents

DOCUMENTS = {
    "ids": ("a-1", "a-2", "b", "ü,\n"),
    "categories": ("sport", "art", "sport", "music"),
    "images": ("1.jpg", "", "2.jpg", "x/3.jpg"),
    "texts": ("a dog\u2028runs", "", "two\nlines", "é"),
    "parts": ("train", "test", "train", "test"),
    "articles": ("a", "a", "b", "c"),
}


def documents(**changes):
    return Documents(**(DOCUMENTS | changes))


@pytest.mark.parametrize("parts", [DOCUMENTS["parts"], (None,) * 4])
def test_what_was_written_is_read_again_and_equal_documents_give_equal_bytes(tmp_path, parts):
    given = documents(parts=parts)
    for name in ("one.parquet", "two.parquet"):
        write_documents(given, tmp_path / name)
    assert read_documents(tmp_path / "one.parquet") == given
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_others_read_it_as_a_plain_table(tmp_path):
    write_documents(documents(), tmp_path / "d.parquet")
    table = pd.read_parquet(tmp_path / "d.parquet")
    assert tuple(table.columns) == COLUMNS
    assert table["category"].tolist() == ["sport", "art", "sport", "music"]


def test_codes_follow_the_sorted_names():
    assert documents().category_names == ("art", "music", "sport")
    assert documents().codes.tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"images": ("1.jpg",)}, "4 ids but 1 images"),
        ({"ids": ("a", "b", "a", "c")}, "'a'"),
        ({"ids": ("a", " ", "b", "c")}, "document 1"),
        ({"categories": ("a", None, "b", "c")}, "document 1: its categories is None"),
        ({"categories": ("art",) * 4}, "two categories"),
        ({"parts": ("train", "dev", "train", "test")}, "'dev'"),
        ({"parts": ("train", None, "train", "test")}, "'a-2' is in no part"),
        ({"texts": ("a", "b", "c", "\ud800")}, "document 3, texts"),
        (dict.fromkeys(DOCUMENTS, ()), "two categories"),
    ],
)
def test_what_is_wrong_is_said(refused, changes, words):
    with refused(words):
        documents(**changes)


def test_files_of_others_are_refused(tmp_path, refused):
    frame = pd.DataFrame({name: ["a", "b"] for name in COLUMNS})
    frame.to_parquet(tmp_path / "foreign.parquet")
    with refused("foreign.parquet", "format", "none"):
        read_documents(tmp_path / "foreign.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    with refused("cut.parquet", "not a readable parquet file"):
        read_documents(tmp_path / "cut.parquet")
    write_documents(documents(), tmp_path / "d.parquet")
    stored = pq.read_table(tmp_path / "d.parquet")
    pq.write_table(stored.drop_columns(["text"]), tmp_path / "less.parquet")
    with refused("less.parquet", "no column 'text'"):
        read_documents(tmp_path / "less.parquet")
    places = stored.set_column(0, "document", stored.column("category"))
    pq.write_table(places, tmp_path / "twice.parquet")
    with refused("twice.parquet", "'sport'"):
        read_documents(tmp_path / "twice.parquet")
