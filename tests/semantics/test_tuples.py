"""Files of scene-graph tuples: aligned with the captions or refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fivesentences.errors import InputError
from fivesentences.reproduction.scenes import generate
from fivesentences.semantics.tuples import GENERATOR, read_tuples, tuples_parsed_before
from fivesentences.storage import sha256_of

PARSED = [
    {"made_by": "a parser", "captions": 3},
    {"caption": "A red dog.", "tuples": [["dog"], ["dog", "red"]]},
    {"caption": "A dog\u2028on grass.", "tuples": [["dog", "grass", "on"]]},
    {"caption": "", "tuples": []},
]


def packed(lines: list[Any]) -> bytes:
    return gzip.compress("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode(), mtime=0)


def written(path: Path, lines: list[Any]) -> Path:
    path.write_bytes(packed(lines))
    return path


WHOLE = packed(PARSED)


def test_captions_get_their_own_tuples_in_any_order_and_number(tmp_path: Path) -> None:
    path = written(tmp_path / "tuples.jsonl.gz", PARSED)
    tuples = read_tuples(path, ["A dog\u2028on grass.", "", "A red dog.", "A dog\u2028on grass."])
    assert tuples.of_caption == [[("dog", "grass", "on")], [], [("dog",), ("dog", "red")], [("dog", "grass", "on")]]
    assert (tuples.source, tuples.sha256) == ("a parser", sha256_of(path))


def test_the_drawn_scenes_tuples_follow_their_caption_ids(tmp_path: Path) -> None:
    corpus = generate(tmp_path, seed=0, train=2, dev=1, test=1)
    with gzip.open(tmp_path / "tuples.jsonl.gz", "rt") as file:
        expected = [[tuple(one) for one in json.loads(line)["tuples"]] for line in file]
    ids = list(corpus.table["caption_id"])
    tuples = read_tuples(tmp_path / "tuples.jsonl.gz", corpus.captions[::-1], ids[::-1])
    assert tuples.of_caption == expected[::-1]
    assert tuples.source == GENERATOR


def by_id(*lines: Any) -> list[Any]:
    return [{"caption_id": "a#0", "tuples": []}, *lines]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such file"),
        (WHOLE[: len(WHOLE) // 2], "truncated"),
        (b"not gzip", "not a gzip"),
        (gzip.compress(b'{"made_by": \n', mtime=0), "line 1: .* is not JSON"),
        (gzip.compress(b"[" * 100_000, mtime=0), r"1.*100"),
        ([], "empty"),
        (PARSED[:3], r"3.*2"),
        ([*PARSED, PARSED[1]], "second time"),
        ([{"made_by": "a parser", "captions": True}, PARSED[1]], "whole number"),
        (by_id(3), r"2.*JSON"),
        (by_id({"caption_id": 3, "tuples": []}), r"2.*'caption_id'"),
        (by_id({"caption_id": "b#0"}), r"2.*'caption_id'.*'tuples'"),
        (by_id({"caption_id": "b#0", "tuples": "dog"}), r"2.*'dog'"),
        (by_id({"caption_id": "b#0", "tuples": [[]]}), "is not a tuple"),
        (by_id({"caption_id": "b#0", "tuples": [["a", "b", "c", "d"]]}), "is not a tuple"),
    ],
)
def test_what_is_not_a_file_of_tuples_is_refused(tmp_path: Path, content: Any, says: str) -> None:
    path = tmp_path / "tuples.jsonl.gz"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else packed(content))
    with pytest.raises(InputError, match=says):
        read_tuples(path, ["A red dog."], ["a#0"])


def test_captions_that_a_file_lacks_or_names_otherwise_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "tuples.jsonl.gz", by_id())
    other = written(tmp_path / "other.jsonl.gz", PARSED)
    for file, captions, ids, says in (
        (path, ["A red dog."], None, "pass caption_ids"),
        (path, ["A red dog."], ["a#0", "a#1"], "2 caption ids for 1 captions"),
        (other, ["A red dog.", "A cat."], None, r"no tuples for caption 'A cat\.' \(caption 1 of 2\)"),
        (tmp_path, [], None, "this is a folder"),
    ):
        with pytest.raises(InputError, match=says):
            read_tuples(file, captions, ids)


def test_what_the_same_parser_found_before_is_taken_over_from_whole_files_only(tmp_path: Path) -> None:
    whole = written(tmp_path / "a.jsonl.gz", PARSED)
    more = [{"made_by": "a parser", "captions": 1}, {"caption": "A cat.", "tuples": [["cat"]]}]
    other = written(tmp_path / "b.jsonl.gz", more)
    wanted = ["A cat.", "", "A red dog.", "A boat."]
    known = {"": [], "A red dog.": [("dog",), ("dog", "red")]}
    assert tuples_parsed_before([whole, other], wanted, "a parser") == known | {"A cat.": [("cat",)]}
    assert tuples_parsed_before([other], ["A boat."], "a parser") == {}
    assert tuples_parsed_before([whole], wanted, "a later parser") == {}
    broken = tmp_path / "broken.jsonl.gz"
    for content in (WHOLE[:-20], b"", b"rubbish", packed(PARSED[:-1]), packed([*PARSED, {"caption": 3}]), packed([[]])):
        broken.write_bytes(content)
        assert tuples_parsed_before([broken, tmp_path / "none.gz", whole], wanted, "a parser") == known
