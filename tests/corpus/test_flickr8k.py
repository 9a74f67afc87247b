"""Flickr8k's text archive."""

from __future__ import annotations

import zipfile

import pytest

from fivesentences.corpus import Photographs, load_flickr8k
from fivesentences.errors import InputError

LISTS = {
    "Flickr_8k.trainImages.txt": ["c.jpg", "a.jpg"],
    "Flickr_8k.devImages.txt": ["d.jpg"],
    "Flickr_8k.testImages.txt": ["b.jpg"],
}
TOKENS = [f"{image}#{k}\tA {image[0]} number {k} ." for image in ("a.jpg", "b.jpg", "c.jpg", "d.jpg") for k in range(5)]
UNUSED = [f"lost.jpg.1#{k}\tNo photograph {k} ." for k in range(5)]


def archive(path, tokens=None, lists=LISTS, extra=()):
    tokens = (
        "\n".join(TOKENS + UNUSED if tokens is None else tokens).encode() if not isinstance(tokens, bytes) else tokens
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("__MACOSX/Flickr8k.token.txt", b"\xff junk")
        file.writestr("Flickr8k.token.txt", tokens)
        for name, images in lists.items():
            file.writestr(name, "\n".join(images) + "\n")
        for name, data in extra:
            file.writestr(name, data)
    return path


def test_images_come_in_the_order_of_the_lists_and_captions_by_number(tmp_path):
    shuffled = TOKENS[::-1] + UNUSED
    corpus = load_flickr8k(archive(tmp_path / "text.zip", shuffled))
    assert corpus.name == "flickr8k"
    assert corpus.images["filename"].tolist() == ["c.jpg", "a.jpg", "d.jpg", "b.jpg"]
    assert corpus.images["image_id"].tolist() == ["c", "a", "d", "b"]
    assert corpus.images["split"].tolist() == ["train", "train", "dev", "test"]
    assert corpus.split("test").captions == [f"A b number {k} ." for k in range(5)]
    assert corpus.table["category"].isna().all()


def test_a_line_separator_inside_a_caption_moves_no_caption(tmp_path):
    tokens = list(TOKENS)
    tokens[1] = "a.jpg#1\tone\u2028two\x85three\x0cfour\rfive"
    corpus = load_flickr8k(archive(tmp_path / "text.zip", tokens))
    captions = dict(zip(corpus.table["caption_id"], corpus.captions, strict=True))
    assert captions["a.jpg#1"] == "one two three four five"
    assert captions["a.jpg#2"] == "A a number 2 ."


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path):
    plain = load_flickr8k(archive(tmp_path / "plain.zip"))
    data = b"\xef\xbb\xbf" + "\r\n".join(TOKENS).encode() + b"\r\n"
    lists = {name: [f"{image}\r" for image in images] for name, images in LISTS.items()}
    assert load_flickr8k(archive(tmp_path / "windows.zip", data, lists)).table.equals(plain.table)


def without(line):
    return [token for token in TOKENS if not token.startswith(line)]


def replaced(line, by):
    return [by if token.startswith(line) else token for token in TOKENS]


NOT_UTF8 = "\n".join(TOKENS).encode().replace(b"A b number 1", b"A caf\xe9")


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (without("d.jpg#3"), "lacks caption #3 of 'd.jpg' (split 'dev'); each image has five lines"),
        (without("a.jpg"), "lacks caption #0 and #1 and #2 and #3 and #4 of 'a.jpg'"),
        (replaced("b.jpg#2", "b.jpg#2\t "), "line 8: caption #2 of 'b.jpg' is empty"),
        (replaced("b.jpg#2", "b.jpg#2 no tab"), "line 8 is 'b.jpg#2 no tab'; expected"),
        (replaced("b.jpg#2", ""), "line 8 is ''; expected"),
        (replaced("b.jpg#2", "b.jpg#1\tagain"), "line 8: caption #1 of 'b.jpg' appears a second time"),
        (replaced("b.jpg#2", "b.jpg#x\tno number"), "line 8 is 'b.jpg#x"),
        (NOT_UTF8, f"byte {NOT_UTF8.index(0xE9)} (line 7) is not UTF-8"),
    ],
)
def test_a_damaged_caption_file_is_one_sentence(tmp_path, tokens, sentence):
    with pytest.raises(InputError) as error:
        load_flickr8k(archive(tmp_path / "text.zip", tokens))
    assert sentence in str(error.value)
    assert str(error.value).startswith("text.zip: Flickr8k.token.txt")
    assert "\n" not in str(error.value)


def test_an_image_in_two_lists_or_an_empty_line_or_a_missing_list_is_refused(tmp_path):
    twice = LISTS | {"Flickr_8k.testImages.txt": ["b.jpg", "a.jpg"]}
    with pytest.raises(InputError, match=r"testImages.txt, line 2: 'a.jpg' is listed a second time"):
        load_flickr8k(archive(tmp_path / "twice.zip", lists=twice))
    with pytest.raises(InputError, match=r"devImages.txt, line 1 is empty"):
        load_flickr8k(archive(tmp_path / "empty.zip", lists=LISTS | {"Flickr_8k.devImages.txt": ["", "d.jpg"]}))
    lists = {name: images for name, images in LISTS.items() if "dev" not in name}
    with pytest.raises(InputError, match=r"there is no 'Flickr_8k.devImages.txt' in it"):
        load_flickr8k(archive(tmp_path / "missing.zip", lists=lists))


def test_an_unsafe_or_truncated_archive_is_one_sentence(tmp_path):
    unsafe = archive(tmp_path / "text.zip", extra=[("../../etc/passwd", b"x")])
    with pytest.raises(InputError, match=r"^text.zip: entry '../../etc/passwd' would leave the folder; the archive"):
        load_flickr8k(unsafe)
    short = archive(tmp_path / "short.zip")
    short.write_bytes(short.read_bytes()[:-50])
    with pytest.raises(InputError, match="is not a complete zip archive"):
        load_flickr8k(short)


@pytest.mark.data
def test_the_released_archive_has_6000_1000_1000_images_and_40000_captions(mirror):
    corpus = load_flickr8k(mirror / "flickr8k" / "Flickr8k_text.zip")
    assert {split: corpus.split(split).n_images for split in corpus.splits} == {
        "train": 6000,
        "dev": 1000,
        "test": 1000,
    }
    assert corpus.n_captions == 40_000
    assert (corpus.table["caption"].str.len() > 0).all()
    with zipfile.ZipFile(mirror / "flickr8k" / "Flickr8k_text.zip") as file:
        listed = file.read("Flickr_8k.trainImages.txt").decode().split()
    assert corpus.split("train").images["filename"].tolist() == listed
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    assert all(filename in photographs for filename in corpus.images["filename"])
