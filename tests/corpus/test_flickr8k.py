"""Flickr8k's text archive."""

from __future__ import annotations

import zipfile

import pytest

from fivesentences.corpus import Photographs, load_flickr8k

LISTS = {
    "Flickr_8k.trainImages.txt": ["c.jpg", "a.jpg"],
    "Flickr_8k.devImages.txt": ["d.jpg"],
    "Flickr_8k.testImages.txt": ["b.jpg"],
}
TOKENS = [f"{image}#{k}\tA {image[0]} number {k} ." for image in ("a.jpg", "b.jpg", "c.jpg", "d.jpg") for k in range(5)]
UNUSED = [f"lost.jpg.1#{k}\tNo photograph {k} ." for k in range(5)]


@pytest.fixture
def archive(zipped):
    """The archive with other tokens (lines or bytes), other lists, or one more entry."""

    def archive(tokens=TOKENS + UNUSED, lists=None, extra="readme.txt"):
        members = {"__MACOSX/Flickr8k.token.txt": b"\xff junk", extra: b"x"}
        members["Flickr8k.token.txt"] = tokens if isinstance(tokens, bytes) else "\n".join(tokens)
        lists = {name: images for name, images in (LISTS | (lists or {})).items() if images is not None}
        return zipped("text.zip", members | {name: "\n".join(images) + "\n" for name, images in lists.items()})

    return archive


def test_images_come_in_the_order_of_the_lists_and_captions_by_number(archive):
    corpus = load_flickr8k(archive(TOKENS[::-1] + UNUSED))
    assert corpus.name == "flickr8k"
    assert corpus.images["image_id"].tolist() == ["c", "a", "d", "b"]
    assert corpus.images["filename"].tolist() == ["c.jpg", "a.jpg", "d.jpg", "b.jpg"]
    assert corpus.images["split"].tolist() == ["train", "train", "dev", "test"]
    assert corpus.split("test").captions == [f"A b number {k} ." for k in range(5)]
    assert corpus.table["category"].isna().all()


def test_a_line_separator_inside_a_caption_moves_no_caption(archive):
    tokens = replaced("a.jpg#1", "a.jpg#1\tone\u2028two\x85three\x0cfour\rfive")
    corpus = load_flickr8k(archive(tokens))
    captions = dict(zip(corpus.caption_ids, corpus.captions, strict=True))
    assert captions["a.jpg#1"] == "one two three four five"
    assert captions["a.jpg#2"] == "A a number 2 ."


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(archive):
    plain = load_flickr8k(archive())
    data = b"\xef\xbb\xbf" + "\r\n".join(TOKENS).encode() + b"\r\n"
    lists = {name: [f"{image}\r" for image in images] for name, images in LISTS.items()}
    assert load_flickr8k(archive(data, lists)).table.equals(plain.table)


def without(line):
    return [token for token in TOKENS if not token.startswith(line)]


def replaced(line, by):
    return [by if token.startswith(line) else token for token in TOKENS]


NOT_UTF8 = "\n".join(TOKENS).encode().replace(b"A b number 1", b"A caf\xe9")
TEST, DEV = "Flickr_8k.testImages.txt", "Flickr_8k.devImages.txt"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"tokens": without("d.jpg#3")}, "lacks caption #3 of 'd.jpg'"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#2\t ")}, "token.txt, line 8: caption #2 of 'b.jpg' is empty"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#2 no tab")}, "token.txt, line 8 is 'b.jpg#2 no tab'"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#1\tagain")}, "line 8: caption #1 of 'b.jpg' appears a second time"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#x\tno number")}, "token.txt, line 8 is 'b.jpg#x"),
        ({"tokens": NOT_UTF8}, f"Flickr8k.token.txt: byte {NOT_UTF8.index(0xE9)} (line 7) is not UTF-8"),
        ({"lists": {TEST: ["b.jpg", "a.jpg"]}}, f"{TEST}, line 2: 'a.jpg' is listed a second time"),
        ({"lists": {DEV: ["", "d.jpg"]}}, f"{DEV}, line 1"),
        ({"lists": {DEV: None}}, f"there is no '{DEV}' in it"),
        ({"extra": "../../etc/passwd"}, "entry '../../etc/passwd' would leave the folder; the archive"),
    ],
)
def test_a_damaged_archive_is_one_sentence(archive, refused, changed, sentence):
    with refused(sentence, "text.zip: "):
        load_flickr8k(archive(**changed))


@pytest.mark.data
def test_the_released_archive_has_6000_1000_1000_images_and_40000_captions(mirror):
    corpus = load_flickr8k(mirror / "flickr8k" / "Flickr8k_text.zip")
    assert corpus.images["split"].value_counts().to_dict() == {"train": 6000, "dev": 1000, "test": 1000}
    assert corpus.n_captions == 40_000
    with zipfile.ZipFile(mirror / "flickr8k" / "Flickr8k_text.zip") as file:
        listed = file.read("Flickr_8k.trainImages.txt").decode().split()
    assert corpus.split("train").images["filename"].tolist() == listed
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    assert all(filename in photographs for filename in corpus.images["filename"])
