"""The corpus table: what it accepts, what it keeps, what it answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.corpus import COLUMNS, Corpus, CorpusSizes, clean_caption
from fivesentences.errors import InputError

ROWS = [
    ("b", "b.jpg", "b#0", "a dog runs", "train", "animals"),
    ("b", "b.jpg", "b#1", "a dog", "train", "animals"),
    ("a", "a.jpg", "a#0", "two cats", "test", None),
    ("c", "c.jpg", "c#0", "a red bus", "train", None),
    ("c", "c.jpg", "c#1", "the bus", "train", None),
    ("c", "c.jpg", "c#2", "un café", "train", None),
]


def table(rows=ROWS):
    return pd.DataFrame(rows, columns=list(COLUMNS))


def changed(row, **values):
    frame = table().astype(object)
    for column, value in values.items():
        frame.loc[row, column] = value
    return frame


def test_file_order_is_kept_and_indices_are_relative_to_the_split():
    corpus = Corpus("mine", table())
    assert corpus.images["image_id"].tolist() == ["b", "a", "c"]
    assert corpus.image_of_caption.tolist() == [0, 0, 1, 2, 2, 2]
    assert corpus.image_of_caption.dtype == np.int64
    train = corpus.split("train")
    assert train.images["image_id"].tolist() == ["b", "c"]
    assert train.image_of_caption.tolist() == [0, 0, 1, 1, 1]
    assert train.captions == ["a dog runs", "a dog", "a red bus", "the bus", "un café"]
    assert (train.n_images, train.n_captions, corpus.splits) == (2, 5, ["train", "test"])


@pytest.mark.parametrize("frame", [table(), table().assign(category=None)])
def test_write_then_read_returns_the_same_table_and_name_and_equal_corpora_give_equal_bytes(tmp_path, frame):
    corpus = Corpus("mine", frame)
    # A folder named like a hive partition must not add a column.
    path = tmp_path / "fraction=0.1" / "mine.parquet"
    corpus.write(path)
    again = Corpus.read(path)
    assert again.name == "mine"
    pd.testing.assert_frame_equal(again.table, corpus.table)
    assert again.images["category"].isna().tolist() == frame["category"].isna()[[0, 2, 3]].tolist()
    again.write(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()


def test_sizes_are_those_of_the_splits(tmp_path):
    path = tmp_path / "fraction=0.1" / "mine.parquet"
    corpus = Corpus("mine", table(), {"order": "file"})
    corpus.write(path)
    sizes = CorpusSizes.read(path)
    assert sizes.images == {split: corpus.split(split).n_images for split in corpus.splits} == {"train": 2, "test": 1}
    assert sizes.captions == {"train": 5, "test": 1} and sizes.read_as == {"order": "file"}
    table().to_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="make it again"):
        CorpusSizes.read(tmp_path / "other.parquet")


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (table().drop(columns="split"), "column 'split'"),
        (table().assign(score=1.0), "column 'score'"),
        (table([]), "has no images"),
        (changed(3, caption="  \t"), "row 3 (image 'c'): caption is empty"),
        (changed(3, caption="a\u2028b"), "row 3 (image 'c'): caption contains a line break"),
        (changed(1, caption=None), "row 1 (image 'b'): caption is missing"),
        (changed(1, image_id=7), "row 1 (image '7'): image_id is 7"),
        (changed(4, caption_id="b#0"), "row 4 (image 'c'): caption_id 'b#0' occurs twice"),
        (changed(5, image_id="b", filename="b.jpg"), "row 5 (image 'b'): the captions of an image must be adjacent"),
        (changed(4, split="test"), "row 4 (image 'c'): split is 'test' but 'train'"),
        (changed(1, category=None), "row 1 (image 'b'): category"),
    ],
)
def test_a_wrong_table_is_refused_with_its_row(refused, frame, sentence):
    with refused(sentence, "'mine'"):
        Corpus("mine", frame)


def test_other_split_names_are_allowed_and_a_split_without_images_is_one_sentence():
    assert Corpus("mine", changed(2, split="testB")).split("testB").n_images == 1
    with pytest.raises(InputError, match=r"^split 'dev' of 'mine' has no images; it has only 'train', 'test'\.$"):
        Corpus("mine", table()).split("dev")


def newer(path: Path) -> None:
    metadata = {b"fivesentences.corpus": json.dumps({"format": 99, "name": "x"}).encode()}
    pq.write_table(pa.Table.from_pandas(table()).replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "not a readable parquet file"),
        (newer, "format is 99"),
    ],
)
def test_a_file_that_is_no_corpus_is_refused(tmp_path, damage, sentence):
    path = tmp_path / "mine.parquet"
    Corpus("mine", table()).write(path)
    damage(path)
    with pytest.raises(InputError, match=sentence):
        Corpus.read(path)


@given(st.text())
def test_a_clean_caption_is_one_line_for_every_tool(text):
    clean = clean_caption(text)
    assert clean.splitlines() in ([clean], [])
    assert clean.split() == text.split()
