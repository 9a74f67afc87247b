"""Caption files as people have them: each caption in its place, or an error of one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics.caption_file import read_captions, read_pairing


def written(folder, content, name="captions.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "captions"),
    [
        ("a dog\na cat\n", ["a dog", "a cat"]),
        ("a dog\na cat", ["a dog", "a cat"]),
        ("a\u2028dog\na\x0bcat\x85\x0c\n\n\U0001f415\n", ["a\u2028dog", "a\x0bcat\x85\x0c", "", "\U0001f415"]),
        ("a\rdog\na cat\n", ["a\rdog", "a cat"]),
        ("a dog\r\na cat\r\n", ["a dog", "a cat"]),
        ("a dog\r\na\rcat\r\nlast", ["a dog", "a\rcat", "last"]),
        ("a dog\r\na cat\n", ["a dog\r", "a cat"]),
        ("\ufeffa dog\n", ["a dog"]),
        ("\n", [""]),
    ],
)
def test_a_line_is_a_caption_whatever_it_holds(tmp_path, content, captions):
    assert read_captions(written(tmp_path, content)) == captions


def test_a_json_list_may_hold_any_text(tmp_path):
    captions = ["two\nlines", "", "\u2028", "\U0001f415"]
    assert read_captions(written(tmp_path, json.dumps(captions), "captions.json")) == captions


def test_a_pairing_is_read_from_text_json_and_npy(tmp_path):
    np.save(tmp_path / "images.npy", [1, 0, 1])
    for path in (
        written(tmp_path, "1\r\n0\r\n1\r\n"),
        written(tmp_path, "1.000000000000000000e+00\n0.000000000000000000e+00\n1.0\n", "savetxt.txt"),
        written(tmp_path, "[1.0, 0.0, 1]", "floats.json"),
        written(tmp_path, "[1, 0, 1]", "images.json"),
        tmp_path / "images.npy",
    ):
        assert read_pairing(path, 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("captions.txt", b"", "holds no captions"),
        ("captions.txt", b"a dog\n\xff\n", "line 2. is not UTF-8"),
        ("captions.json", b'{"a": 1}', "no column of captions among a"),
        ("captions.json", b'["a", 3]', "item 1 is 3"),
        ("images.txt", b"0\n1.5\n0\n", "line 2 is '1.5'"),
        ("images.txt", "0\n\u0662\n0\n".encode(), "line 2"),
        ("images.txt", b"0\n1\n", "images.txt: image_of_caption has shape .2. but there are 3 captions"),
        ("images.txt", b"0\n2\n0\n", "image 1 has no caption.*without gaps"),
        ("images.txt", b"1\n1\n2\n", "image 0 has no caption.*from 0, not from 1"),
        ("images.txt", b"1\n2\n3\n", "image 3 .*from 0, not from 1"),
        ("images.txt", b"0\n1.5e+00\n0\n", "line 2 is '1.5e.00'"),
        ("images.txt", b"0\nnan\n0\n", "line 2 is 'nan'"),
        ("images.json", b"[0, 1.5, 0]", "item 1 is 1.5"),
        ("images.json", b"[0, true, 0]", "item 1 is True"),
    ],
)
def test_what_is_not_a_list_of_captions_or_does_not_pair_three_of_them_is_refused(tmp_path, name, content, sentence):
    path = written(tmp_path, content, name)
    with pytest.raises(InputError, match=sentence):
        read_pairing(path, 3) if name.startswith("images") else read_captions(path)
