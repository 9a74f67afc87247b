"""The block of documents decides the loader; images of a corpus as documents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter
from scipy.io import savemat

from fivesentences.config.documents import AnyDocuments
from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.corpus.loading_documents import documents_of_corpus, load_documents

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
    return Corpus("mine", pd.DataFrame(rows, columns=list(COLUMNS), dtype=object))


@pytest.fixture
def features(tmp_path):
    def features(array, ids, beside=True):
        np.save(tmp_path / "f.npy", array)
        if beside:
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


def test_ids_name_articles_where_the_block_says_so(features, tmp_path):
    rows = [(f"{name}-{number}", *row[1:]) for (name, number), row in zip(["a1", "a2", "b1"], ROWS[1:], strict=True)]
    corpus(rows).write(tmp_path / "c.parquet")
    files = {"corpus": tmp_path / "c.parquet", "features": features(np.ones((3, 1)), ["a-1", "a-2", "b-1"])}
    documents = load_documents(spec("corpus", corpus="mine", article_ends_at="-"), files).documents
    assert documents.articles == ("a", "a", "b") and documents.ids == ("a-1", "a-2", "b-1")


def test_other_splits_publish_nothing(features):
    given = corpus([(*row[:4], "all", row[5]) for row in ROWS])
    assert documents_of_corpus(given, features(np.ones((3, 1)), ["i1", "i2", "i3"])).documents.parts == (None,) * 3


def test_images_without_category_are_refused_with_what_to_do(features, refused):
    given = corpus([*ROWS[:2], (*ROWS[2][:5], None), (*ROWS[3][:5], None)])
    with refused("image 'i2' of 'mine' has no category (2 of 3", "add a column `category`"):
        documents_of_corpus(given, features(np.ones((3, 1)), ["i1", "i2", "i3"]))


def test_features_that_do_not_fit_are_refused(features, refused):
    with refused("no features of image 'i3' (1 of 3", "extract the features again"):
        documents_of_corpus(corpus(), features(np.ones((2, 1)), ["i1", "i2"]))
    with refused("f.npy", "[3, 9, 4]", "layout: global"):
        documents_of_corpus(corpus(), features(np.ones((3, 9, 4)), ["i1", "i2", "i3"]))
    with refused("[2, 4] for 3 images"):
        documents_of_corpus(corpus(), features(np.ones((2, 4)), ["i1", "i2", "i3"]))
    with refused("image vector of document 'i2'"):
        documents_of_corpus(corpus(), features(np.array([[1], [np.nan], [2]]), ["i1", "i2", "i3"]))


def test_each_block_is_read_by_its_loader(tmp_path, refused):
    (tmp_path / "t.csv").write_text("document,category,text\na,x,dog\nb,y,cat\n")
    np.save(tmp_path / "i.npy", np.ones((2, 3)))
    own = load_documents(spec("descriptors", table=tmp_path / "t.csv", images=tmp_path / "i.npy"), {})
    assert own.documents.texts == ("dog", "cat")
    for part in ("train", "test"):
        for kind, value in (("img", np.ones((2, 3))), ("txt", np.ones((2, 4))), ("img_lab", [[1], [2]])):
            savemat(tmp_path / f"{part}_{kind}.mat", {f"{part}_{kind}": value})
    assert load_documents(spec("dscmr", folder=tmp_path), {}).texts.shape == (4, 4)
    with refused("Imagelist.txt"):
        load_documents(spec("nus_wide", folder=tmp_path), {})
    (tmp_path / "train").write_text("a-1\ti\t1\nb-1\ti\t2\n")
    (tmp_path / "test").write_text("c-1\ti\t1\n")
    (tmp_path / "categories").write_text("art\nsport\n")
    sizes = {"I_tr": (2, 3), "T_tr": (2, 2), "I_te": (1, 3), "T_te": (1, 2)}
    savemat(tmp_path / "raw.mat", {name: np.ones(size) for name, size in sizes.items()})
    files = {"features": "raw.mat", "train_list": "train", "test_list": "test", "categories": "categories"}
    wikipedia = load_documents(spec("wikipedia"), {name: tmp_path / file for name, file in files.items()})
    assert wikipedia.documents.categories == ("art", "sport", "art")
