"""Documents of category retrieval: the table, and the loaders of a corpus, a user's own vectors and blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from fivesentences.corpus import COLUMNS as CORPUS_COLUMNS
from fivesentences.corpus import Corpus
from fivesentences.reproduction.categories.config import AnyDocuments
from fivesentences.reproduction.categories.corpus.documents import COLUMNS, Documents, read_documents, write_documents
from fivesentences.reproduction.categories.corpus.loading import documents_of_corpus, load_documents, load_own_documents

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
    assert tuple(pd.read_parquet(tmp_path / "one.parquet").columns) == COLUMNS


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
    ],
)
def test_what_is_wrong_with_documents_is_said(refused, changes, words):
    with refused(words):
        documents(**changes)


def test_files_of_others_are_refused(tmp_path, refused):
    write_documents(documents(), tmp_path / "d.parquet")
    stored = pq.read_table(tmp_path / "d.parquet")
    label = {key: value for key, value in stored.schema.metadata.items() if b"sha256" not in key}
    stored = stored.replace_schema_metadata(label)  # of a program that knows the label alone
    pd.DataFrame({name: ["a", "b"] for name in COLUMNS}).to_parquet(tmp_path / "foreign.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    pq.write_table(stored.drop_columns(["text"]), tmp_path / "less.parquet")
    pq.write_table(stored.set_column(0, "document", stored.column("category")), tmp_path / "twice.parquet")
    for name, words in (("foreign", "format"), ("cut", "readable"), ("less", "no column 'text'"), ("twice", "'sport'")):
        with refused(f"{name}.parquet", words):
            read_documents(tmp_path / f"{name}.parquet")


# --- a user's own -------------------------------------------------------------------------------------------

TABLE = 'Document,category,text,note\nx,art,"a dog, a cat",1\n,,,\ny,sport, two,\nz,art,,\n'


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes the table and image vectors; paths are relative to the working directory."""
    monkeypatch.chdir(tmp_path)

    def own(table=TABLE, images=None):
        (tmp_path / "t.csv").write_text(table)
        np.save("i.npy", np.arange(6.0).reshape(3, 2) if images is None else images)
        return "t.csv", "i.npy"

    return own


def test_texts_are_words_or_vectors(own):
    loaded = load_own_documents(*own())
    assert isinstance(loaded.images, np.memmap) and loaded.texts is None
    assert loaded.documents.ids == ("x", "y", "z") == loaded.documents.articles
    assert loaded.documents.texts == ("a dog, a cat", "two", "")
    assert loaded.documents.parts == (None,) * 3
    np.save("t.npy", np.ones((3, 7), dtype=np.int32))
    loaded = load_own_documents(*own("category,document\na,x\nb,y\na,z\n"), "t.npy")
    assert loaded.texts.shape == (3, 7) and loaded.texts.dtype == np.float64


def test_parts_articles_and_images_may_be_given(own):
    table = "document,category,text,part,article,image\nx,a,t,Train,A,1.jpg\ny,b,t,test,,\nz,b,t,test,A,\n"
    documents = load_own_documents(*own(table)).documents
    assert documents.parts == ("train", "test", "test")
    assert documents.articles == ("A", "y", "A") and documents.images == ("1.jpg", "", "")


def test_what_was_loaded_is_written_as_float32(own, tmp_path, refused):
    loaded = load_own_documents(*own())
    loaded.write(tmp_path / "d.parquet", tmp_path / "image.npy")
    assert read_documents(tmp_path / "d.parquet") == loaded.documents
    written = np.load(tmp_path / "image.npy")
    assert written.dtype == np.float32 and written.tolist() == [[0, 1], [2, 3], [4, 5]]
    with refused("texts of these documents are words"):
        loaded.write(tmp_path / "d.parquet", tmp_path / "image.npy", tmp_path / "text.npy")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"table": "document,categry,text\nx,a,b\n"}, "did you mean 'categry'?"),
        ({"table": "document,category\nx,a\n"}, "'text'"),
        ({"table": TABLE.replace("y,sport", "y,")}, "line 4: category is empty"),
        ({"table": TABLE.replace("y,sport", "x,sport")}, "line 4: document 'x'"),
        ({"table": TABLE.replace("y,sport, two,", "y,sport")}, "line 4: 2 values for 4 columns"),
        ({"table": TABLE.replace("sport", "art")}, "two categories"),
        ({"table": "document,category,text,part\nx,a,t,train\ny,b,t,val\n"}, "line 3: the part is 'val'"),
        ({"table": "document,category,text,part\nx,a,t,train\ny,b,t,\n"}, "line 3: the part is ''"),
        ({"table": "document,category,text\n"}, "no documents"),
        ({"table": 'document,category,text\nx,a,"b\n'}, "not CSV"),
        ({"table": "document,category,text\nx,a,\ny,b,\nz,b,\n"}, "no document has a text"),
        ({"images": np.ones((4, 2))}, "i.npy: it is float64 [4, 2]"),
        ({"images": np.ones((3, 2)) * 1j}, "complex128"),
        ({"images": np.array([[1, 2], [3, np.inf], [1, 1]])}, "document 'y'"),
        ({"images": np.array([[1, 2], [3, 1e200], [1, 1]])}, "document 'y'"),
    ],
)
def test_mistakes_in_the_table_and_the_vectors_are_named(own, refused, given, words):
    with refused(words):
        load_own_documents(*own(**given))


# --- images of a corpus -------------------------------------------------------------------------------------

DIVISIONS = {"printed": {"validation": 1, "test": 1}}
ROWS = [
    ("i1", "1.jpg", "c1", "A dog .", "train", "animal"),
    ("i1", "1.jpg", "c2", "It runs .", "train", "animal"),
    ("i2", "2.jpg", "c3", "A car .", "dev", "vehicle"),
    ("i3", "3.jpg", "c4", "A bus .", "test", "vehicle"),
]


def spec(loader, **settings):
    return TypeAdapter(AnyDocuments).validate_python({"loader": loader, "divisions": DIVISIONS} | settings)


def corpus(rows=ROWS):
    return Corpus("mine", pd.DataFrame(rows, columns=list(CORPUS_COLUMNS), dtype=object))


@pytest.fixture
def features(tmp_path):
    def features(array, ids=("i1", "i2", "i3")):
        np.save(tmp_path / "f.npy", array)
        pd.DataFrame({"image_id": ids, "filename": ids}).to_parquet(tmp_path / "f.images.parquet")
        return tmp_path / "f.npy"

    return features


def test_images_of_a_corpus_are_documents_with_all_their_captions(features, tmp_path):
    corpus().write(tmp_path / "c.parquet")
    path = features(np.array([[3.0], [9.0], [1.0], [2.0]], dtype=np.float16), ["i3", "unused", "i1", "i2"])
    loaded = load_documents(spec("corpus", corpus="mine"), {"corpus": tmp_path / "c.parquet", "features": path})
    assert loaded.documents.ids == ("i1", "i2", "i3") == loaded.documents.articles
    assert loaded.documents.categories == ("animal", "vehicle", "vehicle")
    assert loaded.documents.texts == ("A dog . It runs .", "A car .", "A bus .")
    assert loaded.documents.images == ("1.jpg", "2.jpg", "3.jpg")
    assert loaded.documents.parts == ("train", "train", "test")
    assert loaded.images.tolist() == [[1], [2], [3]] and loaded.texts is None


def test_ids_name_articles_where_the_block_says_so_and_other_splits_publish_nothing(features):
    rows = [(f"{name}-{number}", *row[1:]) for (name, number), row in zip(["a1", "a2", "b1"], ROWS[1:], strict=True)]
    named = documents_of_corpus(corpus(rows), features(np.ones((3, 1)), ["a-1", "a-2", "b-1"]), "-").documents
    assert named.articles == ("a", "a", "b") and named.ids == ("a-1", "a-2", "b-1")
    given = corpus([(*row[:4], "all", row[5]) for row in ROWS])
    assert documents_of_corpus(given, features(np.ones((3, 1)))).documents.parts == (None,) * 3


def test_images_without_category_and_features_that_do_not_fit_are_refused(features, refused):
    given = corpus([*ROWS[:2], (*ROWS[2][:5], None), (*ROWS[3][:5], None)])
    with refused("image 'i2' of 'mine' has no category (2 of 3", "add a column `category`"):
        documents_of_corpus(given, features(np.ones((3, 1))))
    for array, ids, words in (
        (np.ones((2, 1)), ("i1", "i2"), "no features of image 'i3' (1 of 3"),
        (np.ones((3, 9, 4)), ("i1", "i2", "i3"), "layout: global"),
        (np.ones((2, 4)), ("i1", "i2", "i3"), "[2, 4] for 3 images"),
        (np.array([[1], [np.nan], [2]]), ("i1", "i2", "i3"), "image vector of document 'i2'"),
    ):
        with refused(words):
            documents_of_corpus(corpus(), features(array, ids))
