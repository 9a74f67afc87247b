"""The precomp layout of the released code."""

from __future__ import annotations

import pytest

from fivesentences.corpus import load_precomp
from fivesentences.errors import InputError


def write_split(folder, split, ids, repeat=False, captions=None):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{split} image {i} caption {k}" for i in ids for k in range(5)] if captions is None else captions
    (folder / f"{split}_caps.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    listed = [i for i in ids for _ in range(5 if repeat else 1)]
    (folder / f"{split}_ids.txt").write_text("".join(f"{i}\n" for i in listed))
    return lines


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "f30k_precomp"
    write_split(folder, "train", [7, 3, 9])
    write_split(folder, "dev", [1, 2], repeat=True)
    write_split(folder, "test", [5], repeat=True)
    return folder


def test_ids_repeated_or_not_give_images_of_five_captions_in_file_order(folder):
    corpus = load_precomp(folder.parent, "f30k")
    assert corpus.name == "f30k"
    assert corpus.images["image_id"].tolist() == ["7", "3", "9", "1", "2", "5"]
    assert corpus.images["split"].tolist() == ["train"] * 3 + ["dev"] * 2 + ["test"]
    assert corpus.image_of_caption.tolist() == [i for i in range(6) for _ in range(5)]
    assert corpus.split("dev").captions[5] == "dev image 2 caption 0"
    assert load_precomp(folder).table.equals(corpus.table)
    assert load_precomp(folder).name == "f30k"


def test_testall_is_the_test_split_when_asked_and_without_ids_images_are_numbered(folder):
    write_split(folder, "testall", [5, 6, 8])
    assert load_precomp(folder).split("test").n_images == 1
    assert load_precomp(folder, testall=True).split("test").images["image_id"].tolist() == ["5", "6", "8"]
    (folder / "test_ids.txt").unlink()
    assert load_precomp(folder).split("test").images["image_id"].tolist() == ["test-0"]


def test_a_line_separator_inside_a_caption_moves_no_caption(folder):
    lines = write_split(folder, "test", [5])
    lines[1] = "one\u2028two\x85three\x0bfour"
    write_split(folder, "test", [5], captions=lines)
    assert load_precomp(folder).split("test").captions == [lines[0], "one two three four", *lines[2:]]


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("train_caps.txt", b"x\n" * 14, "14 lines are not 5 captions per image"),
        ("train_ids.txt", b"7\n" * 4, "its 4 lines"),
        ("train_ids.txt", b"7\n\n9\n", "its 3 lines"),
        ("dev_ids.txt", b"1\n" * 4 + b"2\n" * 6, "its 10 lines"),
        ("dev_caps.txt", b"x\n" * 6 + b"  \n" + b"x\n" * 3, "line 7: the caption of image '2' is empty"),
        ("dev_caps.txt", b"a\nb\xff\n", r"byte 3 \(line 2\) is not UTF-8"),
    ],
)
def test_a_damaged_file_is_one_sentence(folder, file, content, sentence):
    (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=f"{file}.*{sentence}"):
        load_precomp(folder)


def test_a_folder_without_captions_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="there is no such folder"):
        load_precomp(tmp_path / "coco_precomp")
    with pytest.raises(InputError, match=r"contains no train_caps.txt"):
        load_precomp(tmp_path)
    with pytest.raises(InputError, match=r"testall_caps.txt: there is no such file"):
        load_precomp(tmp_path, testall=True)
