"""SVCL's Wikipedia, its features and its own archive: on small files of its layout, and on the real ones."""

from __future__ import annotations

import contextlib
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter
from xml.sax.saxutils import escape

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.wikipedia import CATEGORIES, load_wikipedia_articles
from fivesentences.corpus.wikipedia import LISTS as PARTS_LISTS
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import DivisionSpec, WikipediaDocuments
from fivesentences.reproduction.categories.corpus.divisions import divide
from fivesentences.reproduction.categories.corpus.loading import load_documents
from fivesentences.reproduction.categories.corpus.wikipedia import FEATURES

TRAIN, TEST = "a1-1\timg1\t2\na1-2.3\timg2\t1\nb2-1\timg1\t2\n", "a1-1\timg3\t1\nc3\timg4\t2\n"
SIZES = {"I_tr": (3, 4), "T_tr": (3, 2), "I_te": (2, 4), "T_te": (2, 2)}
LIST_NAMES = (*PARTS_LISTS, CATEGORIES)
SPEC = WikipediaDocuments(loader="wikipedia", divisions={"printed": {"validation": 1, "test": 1}})


@pytest.fixture
def load(tmp_path):
    """Writes the four files, with other matrices or texts, and reads them."""

    def load(train=TRAIN, test=TEST, raw=None, **changes):
        rng = np.random.default_rng(0)
        matrices = {name: rng.random(size) for name, size in SIZES.items()} | changes
        savemat(tmp_path / "raw.mat", {name: value for name, value in matrices.items() if value is not None})
        if raw is not None:
            (tmp_path / "raw.mat").write_bytes(raw)
        for name, text in (("train_list", train), ("test_list", test), ("categories", "art\nbiology\n")):
            (tmp_path / name).write_text(text)
        files = {name: tmp_path / name for name in ("train_list", "test_list", "categories")}
        return load_documents(SPEC, files | {"features": tmp_path / "raw.mat"}), matrices

    return load


def test_rows_of_lists_and_matrices_belong_together(load):
    loaded, matrices = load()
    documents = loaded.documents
    assert documents.ids == ("a1-1", "a1-2.3", "b2-1", "a1-1#2", "c3")
    assert documents.articles == ("a1", "a1", "b2", "a1", "c3")
    assert documents.categories == ("biology", "art", "biology", "art", "biology")
    assert documents.images == ("img1", "img2", "img1", "img3", "img4")
    assert documents.parts == ("train",) * 3 + ("test",) * 2
    np.testing.assert_array_equal(loaded.images, np.vstack([matrices["I_tr"], matrices["I_te"]]))
    np.testing.assert_array_equal(loaded.texts, np.vstack([matrices["T_tr"], matrices["T_te"]]))


@pytest.mark.parametrize("folder", ["", "wikipedia_dataset/"])
def test_the_archive_holds_the_same_as_the_files_that_were_taken_out_of_it(load, tmp_path, folder):
    loaded, _ = load()
    files = dict(zip(("raw.mat", "train_list", "test_list", "categories"), (FEATURES, *LIST_NAMES), strict=True))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, inside in files.items():
            archive.write(tmp_path / name, f"{folder}{inside}")
    packed = load_documents(SPEC, {"archive": tmp_path / "all.zip"})
    assert packed.documents == loaded.documents
    np.testing.assert_array_equal(packed.images, loaded.images)
    np.testing.assert_array_equal(packed.texts, loaded.texts)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has 0 files named trainset_txt_img_cat.list"),
        (dict.fromkeys(("trainset_txt_img_cat.list", "testset_txt_img_cat.list", "categories.list"), b"x"),
         "has 0 files named raw_features.mat"),
        (dict.fromkeys(("trainset_txt_img_cat.list", "testset_txt_img_cat.list", "categories.list", "raw_features.mat"),
                       b"x"), "all.zip: raw_features.mat: this is not a complete .mat file"),
    ],
)  # fmt: skip
def test_an_archive_with_other_names_or_content_is_one_sentence(tmp_path, refused, files, words):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    with refused(words):
        load_documents(SPEC, {"archive": tmp_path / "all.zip"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"I_tr": np.ones((2, 4))}, "I_tr has 2 rows"),
        ({"T_te": np.ones((2, 3))}, "training has 2 dimensions, test 3"),
        ({"T_te": None}, "T_te is missing"),
        ({"I_te": np.array([[1, 2, 3, np.nan], [1, 2, 3, 4]])}, "I_te holds nan in row 0, column 3"),
        ({"I_te": {"a": 1}}, "I_te is"),
        ({"I_te": np.ones((2, 4)) * 1j}, "complex128"),
        ({"I_te": csc_matrix((200_000, 200_000))}, "I_te is too large"),  # 298 GB if it were filled
        ({"train": TRAIN.replace("\t", " ")}, "line 1"),
        ({"test": TEST.replace("\t2", "\t3")}, "line 2"),
        ({"train": TRAIN.replace("b2-1", "-1")}, "line 3"),
        ({"raw": b"no matlab"}, "complete .mat"),
        ({"raw": b""}, "complete .mat"),
        ({"raw": b"MATLAB 7.3 MAT-file".ljust(124) + bytes([0, 2]) + b"IM" + bytes(500)}, "-v7"),
    ],
)
def test_files_that_do_not_fit_are_refused(load, refused, changes, words):
    with refused(words):
        load(**changes)


@pytest.mark.data
def test_the_real_files(mirror):
    names = {"features": "raw_features.mat", "categories": "categories.list"}
    names |= {f"{part}_list": f"{part}set_txt_img_cat.list" for part in ("train", "test")}
    loaded = load_documents(SPEC, {key: mirror / "wikipedia" / name for key, name in names.items()})
    documents = loaded.documents
    assert loaded.images.shape == (2866, 128) and loaded.texts.shape == (2866, 10)
    np.testing.assert_allclose(loaded.images.sum(axis=1), 1, atol=1e-6)
    counts = Counter(zip(documents.parts, documents.categories, strict=True))
    # Table 1 of Rasiwasia et al. 2010.
    names = documents.category_names
    assert [counts["train", name] for name in names] == [138, 272, 244, 248, 202, 178, 186, 144, 214, 347]
    assert [counts["test", name] for name in names] == [34, 88, 96, 85, 65, 58, 51, 41, 71, 104]
    assert len(set(documents.articles)) == 1168
    shared = set(documents.articles[:2173])
    assert sum(article in shared for article in documents.articles[2173:]) == 552
    printed = divide(documents, DivisionSpec(validation=231, validation_from="test", test=462), 0)
    assert [len(rows) for rows in vars(printed).values()] == [2173, 231, 462]
    whole = divide(documents, DivisionSpec(validation=231, validation_from="train", whole_articles=True), 0)
    assert [len(rows) for rows in vars(whole).values()] == [1942, 231, 693]


# --- the archive --------------------------------------------------------------------------------------------

LISTS = {
    "trainset_txt_img_cat.list": "a1-1\tf00\t2\na1-2.3\tf01\t1\n",
    "testset_txt_img_cat.list": "b2-1\tf02\t1\n",
    "categories.list": "art\nbiology\n",
}
WORDS = {"a1-1": "Cells & <walls> divide.\n\nThey grow.", "a1-2.3": "A painting of Zürich.", "b2-1": "“Blue” pots."}
IMAGES = ("biology/f00", "art/f01", "art/f02")


def article(words: str, encoding: str = "utf-8") -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8" ?>\n<document name="x">\n<text>\n{words}\n</text>\n'
        '<imageset><image id="f"></image></imageset></document>\n'
    ).encode(encoding)


@pytest.fixture
def archive(tmp_path):
    """The archive, with some files changed, or left out where they are None."""

    def write(changes=None, folder="wikipedia_dataset/"):
        files = {name: text.encode() for name, text in LISTS.items()}
        files |= {f"texts/{name}.xml": article(escape(words)) for name, words in WORDS.items()}
        files |= {f"images/{name}.jpg": name.encode() for name in IMAGES}
        path = tmp_path / "wikipedia_dataset.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
            for name, data in (files | (changes or {})).items():
                if data is not None:
                    opened.writestr(folder + name, data)
        return path

    return write


@pytest.mark.parametrize("folder", ["wikipedia_dataset/", "", "wiki_top10cats/wikipedia_dataset/"])
def test_each_line_of_the_lists_is_an_image_with_its_article_as_an_xml_parser_reads_it(archive, folder):
    path = archive(folder=folder)
    table = load_wikipedia_articles(path).table
    assert list(table["image_id"]) == ["a1-1", "a1-2.3", "b2-1"]
    assert list(table["split"]) == ["train", "train", "test"]
    assert list(table["category"]) == ["biology", "art", "art"]
    assert [Photographs(path).read(name) for name in table["filename"]] == [name.encode() for name in IMAGES]
    for name, caption in zip(table["image_id"], table["caption"], strict=True):
        read = ElementTree.fromstring(article(escape(WORDS[name]))).findtext("text")
        assert caption == " ".join(read.split())


def test_what_no_xml_parser_would_read_is_read_all_the_same(archive):
    # The archive is old: releases read it with forgiving parsers. Tags are no words, bare ampersands stay, a byte of
    # Latin-1 costs one letter.
    odd = article("Salt & <b>pepper</b> caf\xe9 &#8211; &nosuch;", "latin-1")
    caption = load_wikipedia_articles(archive({"texts/b2-1.xml": odd})).table["caption"].iloc[-1]
    assert caption == "Salt & pepper caf\ufffd – &nosuch;"


BOMB = b"""<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<document><text>&b;</text></document>"""
FILE = b"""<!doctype d [<!ENTITY a SYSTEM "file:///etc/passwd">]><document><text>&a;</text></document>"""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"texts/b2-1.xml": BOMB}, "b2-1.xml' declares a document type or entities"),
        ({"texts/b2-1.xml": FILE}, "b2-1.xml' declares a document type or entities"),
        ({"texts/b2-1.xml": b" " * ((4 << 20) + 1)}, "unpacks to 4,194,305 bytes; at most 4,194,304"),
        ({"texts/b2-1.xml": b"</text><text>"}, "b2-1.xml' has no <text>"),
        ({"texts/b2-1.xml": article(" \n ")}, "b2-1.xml': <text> is empty"),
        ({"texts/b2-1.xml": None}, "testset_txt_img_cat.list names 'texts/b2-1.xml', which the archive lacks"),
        ({"images/art/f01.jpg": None}, "trainset_txt_img_cat.list names 'images/art/f01.jpg', which the archive lacks"),
        ({"categories.list": None}, "has 0 files named categories.list"),
        ({"more/categories.list": b"art\n"}, "has 2 files named categories.list"),
        ({"testset_txt_img_cat.list": b"b2-1\tf02\t3\n"}, "line 1 is 'b2-1\\tf02\\t3'"),
        ({"testset_txt_img_cat.list": b"../../b2-1\tf02\t1\n"}, "which the archive lacks"),
        ({"texts/../../../b2-1.xml": b""}, "would leave the folder; the archive is refused"),
    ],
)
def test_what_is_wrong_with_an_archive_is_named(archive, changes, words):
    with pytest.raises(InputError) as caught:
        load_wikipedia_articles(archive(changes))
    assert words in str(caught.value)


@pytest.mark.parametrize("part", ["<text", "<", "&amp;"])
def test_the_largest_article_of_one_sign_takes_no_long_time(archive, part):
    hostile = article(part * ((4 << 20) // len(part) - 100))
    begun = time.process_time()
    with contextlib.suppress(InputError):
        load_wikipedia_articles(archive({"texts/b2-1.xml": hostile}))
    assert time.process_time() - begun < 20  # quadratic time would be hours
