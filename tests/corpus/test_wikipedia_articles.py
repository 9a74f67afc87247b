"""Wikipedia's own archive, on small archives of its layout that are written here."""

from __future__ import annotations

import contextlib
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from xml.sax.saxutils import escape

import pytest

from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.wikipedia import load_wikipedia_articles
from fivesentences.errors import InputError

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
def test_each_line_of_the_lists_is_an_image_with_its_article(archive, folder):
    path = archive(folder=folder)
    table = load_wikipedia_articles(path).table
    assert list(table["image_id"]) == ["a1-1", "a1-2.3", "b2-1"]
    assert list(table["split"]) == ["train", "train", "test"]
    assert list(table["category"]) == ["biology", "art", "art"]
    photographs = Photographs(path)
    assert [photographs.read(name) for name in table["filename"]] == [name.encode() for name in IMAGES]


def test_a_text_is_what_an_xml_parser_reads_on_one_line(archive):
    table = load_wikipedia_articles(archive()).table.set_index("image_id")
    for name, words in WORDS.items():
        read = ElementTree.fromstring(article(escape(words))).findtext("text")
        assert table.loc[name, "caption"] == " ".join(read.split()) == " ".join(words.split())


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
        ({"texts/b2-1.xml": b"<document></document>"}, "b2-1.xml' has no <text>"),
        ({"texts/b2-1.xml": b"</text><text>"}, "b2-1.xml' has no <text>"),
        ({"texts/b2-1.xml": article(" \n ")}, "b2-1.xml': <text> is empty"),
        ({"texts/b2-1.xml": None}, "testset_txt_img_cat.list names 'texts/b2-1.xml', which the archive lacks"),
        ({"images/art/f01.jpg": None}, "trainset_txt_img_cat.list names 'images/art/f01.jpg', which the archive lacks"),
        ({"categories.list": None}, "has 0 files named categories.list"),
        ({"more/categories.list": b"art\n"}, "has 2 files named categories.list"),
        ({"testset_txt_img_cat.list": b"b2-1\tf02\t3\n"}, "line 1 is 'b2-1\\tf02\\t3'"),
        ({"testset_txt_img_cat.list": b"b2-1 f02 1\n"}, "line 1 is 'b2-1 f02 1'"),
        ({"testset_txt_img_cat.list": b"../../b2-1\tf02\t1\n"}, "which the archive lacks"),
        ({"texts/../../../b2-1.xml": b""}, "would leave the folder; the archive is refused"),
    ],
)
def test_what_is_wrong_is_named(archive, changes, words):
    with pytest.raises(InputError) as caught:
        load_wikipedia_articles(archive(changes))
    assert words in str(caught.value)


@pytest.mark.parametrize("part", ["<text", "<", "<text>", "&amp;", "</text>"])
def test_the_largest_article_of_one_sign_takes_no_long_time(archive, part):
    hostile = article(part * ((4 << 20) // len(part) - 100))
    begun = time.perf_counter()
    with contextlib.suppress(InputError):
        load_wikipedia_articles(archive({"texts/b2-1.xml": hostile}))
    assert time.perf_counter() - begun < 20  # quadratic time would be hours
