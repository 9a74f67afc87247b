"""SPICE's parser in its child process; first against the authors' program, then with children that misbehave."""

from __future__ import annotations

import gzip
import json
import re
import signal
import sys
import time
from itertools import chain

import pytest

from fivesentences.errors import InputError
from fivesentences.semantics.java import parse_captions, parse_scene_graphs, scene_graph_parser
from fivesentences.semantics.java.parser_worker import CHUNK, LONGEST_BESIDE_OTHERS, chunks_of
from fivesentences.semantics.java.ptb_tokenizer import longest_sentence
from fivesentences.storage import locked
from kill import Program

# The tuples of each, or None where only its place matters; found by hand, with the program that made the fixture.
ODD = {
    "": [],
    " \t\n": [],
    ".": [],
    "a dog\u2028runs\r\non\x85grass": [("dog", "grass", "run on"), ("grass",), ("dog",)],
    "a \U0001f600 dog \U0001f415 runs": [("dog", "run"), ("dog",)],
    "||| a \"dog\\' \0 {[": None,
    "日本語 の 猫": None,
}
PARSE = """
import sys, json
from pathlib import Path
from fivesentences.semantics.java import parse_captions
parse_captions(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])
"""


@pytest.fixture(scope="module")
def fixture(parity_folder):
    return json.loads((parity_folder / "spice_flickr8k_small.json").read_text())


@pytest.fixture(scope="module")
def captions(fixture):
    """More than a chunk, some twice, and at the end a sentence that keeps the parser busy for seconds."""
    words = " and ".join(caption.rstrip(" .") for caption in fixture["captions"]).split()
    long = " ".join(words[: LONGEST_BESIDE_OTHERS + 10])
    assert longest_sentence(long) > LONGEST_BESIDE_OTHERS
    return [*fixture["captions"], *ODD, *fixture["captions"][:7], long]


@pytest.fixture(scope="module")
def parsed(java_jars, captions, tmp_path_factory):
    """The file of one undisturbed run."""
    out = tmp_path_factory.mktemp("parsed") / "tuples.jsonl.gz"
    parse_captions(captions, out)
    return out


@pytest.fixture
def run_of(tmp_path):
    """``parse_captions`` in a program of its own."""

    def run(captions, out):
        given = tmp_path / "captions.json"
        given.write_text(json.dumps(captions))
        return Program(PARSE, given, out)

    return run


def lines_of(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def journal_of(out):
    return out.with_name(f"{out.name}.journal")


# --- with the Java classes -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parity
def test_tuples_equal_those_of_the_original_program_in_their_order(parsed, fixture, captions):
    head, *lines = lines_of(parsed)
    assert head["captions"] == len(lines)
    assert [line["caption"] for line in lines] == list(dict.fromkeys(captions))
    tuples = {line["caption"]: line["tuples"] for line in lines}
    assert [tuples[caption] for caption in fixture["captions"]] == fixture["raw_tuples"]
    for caption, expected in ODD.items():
        assert expected is None or [tuple(one) for one in tuples[caption]] == expected, repr(caption)
    assert not journal_of(parsed).exists()


@pytest.mark.slow
@pytest.mark.java
def test_after_kill_9_nothing_is_parsed_again_and_the_file_is_the_same(parsed, captions, run_of, tmp_path, monkeypatch):
    out = tmp_path / "tuples.jsonl.gz"
    journal = journal_of(out)
    with run_of(captions, out) as run:
        run.wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 5)
        run.send(signal.SIGKILL)
        assert run.end().status == -signal.SIGKILL
    assert not out.exists()
    kept = {json.loads(line)["caption"] for line in journal.read_bytes().split(b"\n")[1:] if line.endswith(b"}")}
    with journal.open("ab") as file:
        file.write(b'{"caption": "a half-written li')
    asked, parse = [], scene_graph_parser._parsed
    monkeypatch.setattr(scene_graph_parser, "_parsed", lambda some, *more: (asked.extend(some), parse(some, *more))[1])
    parse_captions(captions, out)
    assert kept and sorted([*kept, *asked]) == sorted(set(captions))
    assert out.read_bytes() == parsed.read_bytes()
    assert not journal.exists()


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("end", ["ctrl-c", "kill"])
def test_a_child_does_not_outlive_its_caller(java_jars, captions, run_of, tmp_path, end):
    with run_of(captions, tmp_path / "tuples.jsonl.gz") as run:
        child = run.wait_for(lambda: run.child(b"parser_worker"))
        if end == "kill":
            run.kill_alone()
        else:
            run.send(signal.SIGINT)
            status, _, said = run.end()
            assert status == -signal.SIGINT and said.rstrip().endswith("KeyboardInterrupt")
        while not run.gone(child):  # in milliseconds
            time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize(("memory_mb", "why"), [(16, r"16.*MB"), (10**9, "Could not reserve")])
def test_too_little_memory_and_too_much_are_one_sentence(java_jars, memory_mb, why):
    with pytest.raises(InputError, match=why):
        parse_scene_graphs(["a dog"], memory_mb=memory_mb)


# --- without them --------------------------------------------------------------------------------------------


@pytest.fixture
def child_that(monkeypatch):
    """Replaces the child by a program that has read its job."""
    monkeypatch.setattr(scene_graph_parser.jars, "class_path", lambda mirror: [])

    def replace(code):
        begin = "import sys, json, os; job = json.loads(sys.stdin.readline()); todo = job['captions']\n"
        monkeypatch.setattr(scene_graph_parser, "WORKER", [sys.executable, "-c", begin + code])

    return replace


PARSES_ONE = 'print(json.dumps({"caption": todo[0], "tuples": [["dog"]]}), flush=True)\n'


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os.kill(os.getpid(), 9)", "ended by SIGKILL"),
        ("sys.exit(3)", r"2048.*MB"),
        ("sys.exit('no such file')", "1"),
        ("os._exit(0)", r"status 0 \(no message\)"),
        ("print(json.dumps({'error': 'Java failed: x'}), flush=True)", "Java failed: x"),
    ],
)
def test_a_child_that_ends_early_is_one_sentence_and_its_work_is_kept(child_that, tmp_path, end, why):
    child_that(PARSES_ONE + end)
    out = tmp_path / "tuples.jsonl.gz"
    with pytest.raises(InputError, match=why):
        parse_captions(["a dog", "a cat"], out)
    child_that("assert todo == ['a cat']\n" + PARSES_ONE)
    parse_captions(["a dog", "a cat"], out)
    assert [line["tuples"] for line in lines_of(out)[1:]] == [[["dog"]], [["dog"]]]


def test_only_what_no_earlier_file_has_is_parsed_and_the_file_is_the_same(child_that, tmp_path):
    first, more, again = (tmp_path / f"{name}.jsonl.gz" for name in ("first", "more", "again"))
    child_that(PARSES_ONE)
    parse_captions(["a cat"], first)
    child_that("assert todo == ['a dog']\n" + PARSES_ONE)
    parse_captions(["a dog", "a cat"], more, parsed_before=[first])
    child_that("raise AssertionError")  # all is known
    parse_captions(["a cat"], again, parsed_before=[more])
    assert again.read_bytes() == first.read_bytes()
    assert [line["caption"] for line in lines_of(more)[1:]] == ["a dog", "a cat"]
    assert not list(tmp_path.glob("*.journal"))


@pytest.mark.parametrize("tail", [b"", b'{"caption": "a c', b"\0" * 30 + b"\n", b'{"tuples": 3, "caption": 1}\n'])
@pytest.mark.parametrize("made_by", ["the same parser", "another parser"])
def test_of_a_journal_whole_lines_of_the_same_parser_are_taken(child_that, tmp_path, tail, made_by):
    out = tmp_path / "tuples.jsonl.gz"
    head = {"made_by": scene_graph_parser.made_by() if made_by == "the same parser" else made_by}
    journal_of(out).write_bytes(json.dumps(head).encode() + b'\n{"caption": "a dog", "tuples": [["old"]]}\n' + tail)
    child_that("for text in todo: print(json.dumps({'caption': text, 'tuples': [['new']]}))")
    parse_captions(["a cat", "a dog"], out)
    old = "old" if made_by == "the same parser" else "new"
    assert [line["tuples"] for line in lines_of(out)[1:]] == [[["new"]], [[old]]]


def test_two_runs_do_not_share_a_journal(child_that, tmp_path):
    out = tmp_path / "tuples.jsonl.gz"
    with journal_of(out).open("w") as other:
        assert locked(other)
        with pytest.raises(InputError, match="another"):
            parse_captions(["a dog"], out)


@pytest.mark.parametrize("text", ["a dog and " * 167, ". ".join(["a dog runs"] * 125), "a,b" * 250])
def test_a_caption_of_hundreds_of_words_is_refused_before_anything_is_parsed(child_that, text):
    child_that("raise AssertionError")
    with pytest.raises(InputError, match=r"has \d+ words .*at most 200") as error:
        parse_scene_graphs(["a dog", text])
    assert int(re.search(r"has (\d+)", str(error.value))[1]) >= 499


def test_long_sentences_are_announced_and_come_last_one_by_one(child_that, capfd):
    long = {words: " ".join(["dog"] * words) for words in (150, 60, 199)}
    some = [long[199], *(f"a dog {number}" for number in range(60)), long[60], long[150], "a cat"]
    child_that("for text in todo: print(json.dumps({'caption': text, 'tuples': []}))")
    parse_scene_graphs(some[1:-3])
    assert "minutes" not in capfd.readouterr().err
    parse_scene_graphs(some)
    said = capfd.readouterr().err
    assert "2 of 64 captions" in said and "199" in said and "minutes" in said
    chunks = [*chunks_of(some)]
    assert chunks[-3:] == [[long[60]], [long[150]], [long[199]]] and sorted(chain(*chunks)) == sorted(some)
    assert max(map(len, chunks)) == CHUNK
