"""A user's own vectors and table."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.corpus.documents import read_documents
from fivesentences.corpus.own_documents import load_own_documents

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


def test_parts_and_articles_may_be_given(own):
    table = "document,category,text,part,article,image\nx,a,t,Train,A,1.jpg\ny,b,t,test,,\nz,b,t,test,A,\n"
    documents = load_own_documents(*own(table)).documents
    assert documents.parts == ("train", "test", "test")
    assert documents.articles == ("A", "y", "A")
    assert documents.images == ("1.jpg", "", "")


def test_what_was_loaded_is_written_as_float32(own, tmp_path, refused):
    loaded = load_own_documents(*own())
    loaded.write(tmp_path / "d.parquet", tmp_path / "image.npy")
    assert read_documents(tmp_path / "d.parquet") == loaded.documents
    written = np.load(tmp_path / "image.npy")
    assert written.dtype == np.float32 and written.tolist() == [[0, 1], [2, 3], [4, 5]]
    with refused("texts of these documents are words"):
        loaded.write(tmp_path / "d.parquet", tmp_path / "image.npy", tmp_path / "text.npy")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("document,categry,text\nx,a,b\n", "did you mean 'categry'?"),
        ("document,category\nx,a\n", "'text'"),
        ("document,category,text,text\nx,a,b,c\n", "'text' once"),
        (TABLE.replace("y,sport", "y,"), "line 4: category is empty"),
        (TABLE.replace("y,sport", "x,sport"), "line 4: document 'x'"),
        (TABLE.replace("y,sport, two,", "y,sport"), "line 4: 2 values for 4 columns"),
        (TABLE.replace("sport", "art"), "two categories"),
        ("document,category,text,part\nx,a,t,train\ny,b,t,val\n", "line 3: the part is 'val'"),
        ("document,category,text,part\nx,a,t,train\ny,b,t,\n", "line 3: the part is ''"),
        ("document,category,text\n", "no documents"),
        ("", "'document'"),
        ('document,category,text\nx,a,"b\n', "not CSV"),
    ],
)
def test_mistakes_in_the_table_are_named_with_their_line(own, refused, table, words):
    with refused(words):
        load_own_documents(*own(table))


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.ones((4, 2)), "i.npy: it is float64 [4, 2]"),
        (np.ones((3, 2)) * 1j, "complex128"),
        (np.array([[1, 2], [3, np.inf], [1, 1]]), "document 'y'"),
        (np.array([[1, 2], [3, 1e200], [1, 1]]), "document 'y'"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(own, refused, images, words):
    with refused(words):
        load_own_documents(*own(images=images))


def test_documents_without_any_text_are_refused(own, refused):
    with refused("no document has a text"):
        load_own_documents(*own("document,category,text\nx,a,\ny,b,\nz,b,\n"))
