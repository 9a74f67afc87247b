"""JSON and YAML are read as the standard readers do, within limits; what is beyond them is one sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.documents import DEEPEST, check_file, parse_json, read_json, read_yaml
from fivesentences.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30)
)
MERGED_BOMB = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}\n" for level in range(1, 30)
)


@given(PLAIN)
def test_json_is_read_as_the_standard_reader_does(content):
    for text in (json.dumps(content), json.dumps(content, ensure_ascii=False, indent=1)):
        assert parse_json(text.encode(), "x") == json.loads(text)


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[1].glob("config/**/*.yaml")), ids=lambda path: path.stem)
def test_our_own_yaml_is_read_as_the_standard_reader_does(path):
    assert read_yaml(path) == yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "line 7 is not YAML .*more than 1,000,000 values"),
        (MERGED_BOMB, "more than 1,000,000 values"),
        ("a: &a [*a]", "100"),
        ("a: 1\nb: 2\na: 3", "line 3 .*the key 'a' is given twice"),
        ("a: {0.1: 1, 0.10: 2}", r"'0\.1'"),
        ("- " * 5000 + "a", "100"),
        ("a: 0x" + "f" * 5000, "308"),
        ("a: 2020-99-99", "a value is not YAML .*; write it in quotes"),
        ("? [a]\n: 1", r"1.*YAML"),
        ("a: !!python/object/apply:os.system [ls]", "constructor"),
        ('x: "\\ud800"', r"U\+D800"),
        ("x" * (6 << 20), r"5.*242.*880"),
    ],
)
def test_yaml_beyond_the_limits_is_one_sentence(tmp_path, text, says):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        read_yaml(tmp_path / "x.yaml")
    assert "\n" not in str(caught.value)


def test_aliases_and_merge_keys_within_the_limits_are_read(tmp_path):
    (tmp_path / "x.yaml").write_text("base: &base {a: 1, b: [1]}\nmine: {<<: *base, a: 2}\nagain: *base\n")
    base = {"a": 1, "b": [1]}
    assert read_yaml(tmp_path / "x.yaml") == {"base": base, "mine": {"a": 2, "b": [1]}, "again": base}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "100"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "100"),
        ('{"a": 1, "b": 0, "a": 2}', "'a'"),
        ("[1, " + "1" * 5000 + "]", "308"),
        ("[1" + "1" * 400 + "]", "308"),
        ('{"x": ["\\ud800 dog"]}', r"U\+D800"),
        ("", "it is empty"),
        ('{"a": [1, 2}', r"1.*12.*JSON"),
    ],
)
def test_json_beyond_the_limits_is_one_sentence(tmp_path, text, says):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        read_json(tmp_path / "x.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * DEEPEST + "]" * DEEPEST, '["' + "[" * 300 + '"]', '"\\ud83d\\ude00"'])
def test_json_just_within_the_limits_is_read(text):
    assert parse_json(text, "x") == json.loads(text)


def test_what_is_no_file_is_named_for_what_it_is(tmp_path):
    (tmp_path / "photo.JPG").write_bytes(b"x")
    (tmp_path / "caf\N{LATIN SMALL LETTER E WITH ACUTE}.txt").write_bytes(b"x")
    (tmp_path / "gone").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    for name, says in {
        "": "this is a folder; name a file in it.",
        "pipe": "this is a pipe",
        "gone": "it is a link to nowhere, which is missing",
        "photo.jpg": "there is no such file; did you mean 'photo.JPG'?",
        "cafe\N{COMBINING ACUTE ACCENT}.txt": "whose accents are composed otherwise",
        "phoot.JPG": "did you mean 'photo.JPG'?",
        "else/where.npy": "there is no such file.",
        "photo.JPG/inside": "there is no such file",
        "x" * 300: "cannot be read",
    }.items():
        with pytest.raises(InputError) as caught:
            check_file(tmp_path / name)
        assert says in str(caught.value)
    check_file(tmp_path / "photo.JPG")
    with pytest.raises(InputError, match=r"no such file; name the photograph \(did you mean 'photo\.JPG'\?\)\.$"):
        check_file(tmp_path / "photo.jpg", "name the photograph")
