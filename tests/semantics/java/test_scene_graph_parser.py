"""SPICE's parser in its child process: correct tuples, no caption lost or shifted, every failure one sentence."""

from __future__ import annotations

import fcntl
import gzip
import itertools
import json
import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fivesentences.errors import InputError
from fivesentences.semantics.java import parse_captions, parse_scene_graphs, parser_worker, scene_graph_parser
from fivesentences.semantics.java.caption_lines import longest_sentence
from fivesentences.semantics.java.jvm import OUT_OF_MEMORY
from fivesentences.semantics.java.parser_worker import LONGEST_BESIDE_OTHERS, chunks_of
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
from fivesentences.semantics.java import parse_captions, scene_graph_parser
scene_graph_parser.CHUNK = 5
scene_graph_parser.LEAST_MEMORY_MB = 1
parse_captions(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])
"""


@pytest.fixture(scope="module")
def fixture(parity_folder):
    return json.loads((parity_folder / "spice_flickr8k_small.json").read_text())


@pytest.fixture(scope="module")
def captions(fixture):
    """More than a chunk, some twice, and at the end a sentence that keeps the parser busy for seconds."""
    joined = itertools.accumulate((caption.rstrip(" .") for caption in fixture["captions"]), "{} and {}".format)
    long = next(text for text in joined if longest_sentence(text) > LONGEST_BESIDE_OTHERS)
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
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]


# --- with the Java classes -----------------------------------------------------------------------------------


@pytest.mark.java
@pytest.mark.parity
def test_tuples_equal_those_of_the_original_program_in_their_order(parsed, fixture, captions):
    head, *lines = lines_of(parsed)
    unique = list(dict.fromkeys(captions))
    assert head["captions"] == len(lines) == len(unique)
    assert "CoreNLP 3.6.0" in head["made_by"]
    assert [line["caption"] for line in lines] == unique
    tuples = {line["caption"]: line["tuples"] for line in lines}
    assert [tuples[caption] for caption in fixture["captions"]] == fixture["raw_tuples"]
    assert not parsed.with_name(f"{parsed.name}.journal").exists()


@pytest.mark.java
def test_odd_captions_keep_their_place(parsed, captions, fixture, tmp_path):
    tuples = {line["caption"]: [tuple(item) for item in line["tuples"]] for line in lines_of(parsed)[1:]}
    for caption, expected in ODD.items():
        assert expected is None or tuples[caption] == expected, repr(caption)
    # The journal of a finished run answers in the order asked, equal captions included, and no Java is started.
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(scene_graph_parser.JOURNAL_HEAD + gzip.decompress(parsed.read_bytes()).split(b"\n", 1)[1])
    found = parse_scene_graphs(captions[::-1], journal=journal)
    assert found == [tuples[caption] for caption in captions[::-1]]
    assert len(found) == len(captions)


@pytest.mark.java
def test_after_kill_9_nothing_is_parsed_again_and_the_file_is_the_same(parsed, captions, run_of, tmp_path, monkeypatch):
    captions = [*captions[-3:], *captions[:10]]  # the long sentence is still to come when the first chunk is done
    captions.append(captions.pop(2))
    out = tmp_path / "tuples.jsonl.gz"
    journal = tmp_path / "tuples.jsonl.gz.journal"
    size_of_head = len(scene_graph_parser.JOURNAL_HEAD)
    with run_of(captions, out) as run:
        run.wait_for(lambda: journal.exists() and journal.stat().st_size > size_of_head)
        run.send(signal.SIGKILL)
        assert run.end().status == -signal.SIGKILL
    assert not out.exists()
    with journal.open("ab") as file:
        file.write(b'{"caption": "a half-written li')
    kept = [json.loads(line)["caption"] for line in journal.read_bytes().split(b"\n")[1:-1]]
    assert len(kept) == 5
    jobs, run_child = [], scene_graph_parser._run
    monkeypatch.setattr(scene_graph_parser, "_run", lambda job, *more: (jobs.append(job), run_child(job, *more)))
    parse_captions(captions, out)
    (job,) = jobs
    assert sorted(kept + job["captions"]) == sorted(set(captions))
    undisturbed = {line["caption"]: line["tuples"] for line in lines_of(parsed)[1:]}
    head, *lines = lines_of(out)
    assert head["captions"] == len(set(captions))
    assert lines == [{"caption": text, "tuples": undisturbed[text]} for text in dict.fromkeys(captions)]
    assert not journal.exists()
    # Written again from a journal of the same captions in another order, the file has the same bytes.
    again = tmp_path / "again.jsonl.gz"
    unpacked = [json.dumps(line).encode() + b"\n" for line in lines[::-1]]
    again.with_name("again.jsonl.gz.journal").write_bytes(scene_graph_parser.JOURNAL_HEAD + b"".join(unpacked))
    parse_captions(captions, again)
    assert len(jobs) == 1
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.java
def test_ctrl_c_ends_the_child_and_is_a_plain_keyboard_interrupt(java_jars, captions, run_of, tmp_path):
    with run_of(captions, tmp_path / "tuples.jsonl.gz") as run:
        child = run.wait_for(lambda: run.child(b"parser_worker"))
        run.send(signal.SIGINT)
        status, _, said = run.end()
    assert status == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert "InputError" not in said
    assert run.gone(child)


@pytest.mark.java
def test_a_child_does_not_outlive_its_caller(java_jars, captions, run_of, tmp_path):
    with run_of(captions, tmp_path / "tuples.jsonl.gz") as run:
        child = run.wait_for(lambda: run.child(b"parser_worker"))
        run.kill_alone()
        until = time.monotonic() + 60
        while not run.gone(child):
            assert time.monotonic() < until
            time.sleep(0.01)


@pytest.mark.java
@pytest.mark.parametrize(
    ("memory_mb", "sentence"),
    [(16, "ran out of memory: 16 MB of Java heap were not enough"), (10**9, "Java does not start with 1000000000 MB")],
)
def test_too_little_memory_and_too_much_are_one_sentence(java_jars, monkeypatch, memory_mb, sentence):
    monkeypatch.setattr(scene_graph_parser, "LEAST_MEMORY_MB", 1)
    with pytest.raises(InputError, match=sentence) as error:
        parse_scene_graphs(["a dog"], memory_mb=memory_mb)
    assert "memory_mb" in str(error.value)
    assert re.fullmatch(r"[^\n]*\.", str(error.value))


# --- without them --------------------------------------------------------------------------------------------


@pytest.fixture
def no_jars(monkeypatch):
    monkeypatch.setattr(scene_graph_parser.jars, "class_path", lambda mirror: [])
    monkeypatch.setattr(scene_graph_parser.jars, "check_java", lambda: None)


def child_that(monkeypatch, code):
    begin = "import sys, json, os, signal; job = json.loads(sys.stdin.readline())\n"
    monkeypatch.setattr(scene_graph_parser, "WORKER", [sys.executable, "-c", begin + code])


PARSES_ONE = """
line = json.dumps({"caption": job["captions"][0], "tuples": [["dog"]]})
os.write(job["journal"], line.encode() + b"\\n")
print(json.dumps({"done": 1}), flush=True)
"""


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        ("os.kill(os.getpid(), 9)", "ended by the signal SIGKILL; if nobody .* pass a memory_mb below 2048"),
        ("sys.exit(3)", r"ran out of memory: 2048 MB of Java heap were not enough; pass a larger memory_mb"),
        ("sys.exit('no such file')", r"ended with status 1 \(no such file\)"),
        ("os._exit(0)", r"ended with status 0 \(no message\)"),
        ("print(json.dumps({'error': 'Java failed: x'}), flush=True)", r"^Java failed: x; what"),
    ],
)
def test_a_child_that_ends_early_is_one_sentence_and_its_work_is_kept(no_jars, monkeypatch, tmp_path, end, sentence):
    child_that(monkeypatch, PARSES_ONE + end)
    out = tmp_path / "tuples.jsonl.gz"
    with pytest.raises(InputError, match=sentence) as error:
        parse_captions(["a dog", "a cat"], out)
    assert str(error.value).endswith(
        "what was parsed is kept in tuples.jsonl.gz.journal: run again to continue from there."
    )
    assert "\n" not in str(error.value)
    child_that(monkeypatch, "assert job['captions'] == ['a cat']" + PARSES_ONE)
    parse_captions(["a dog", "a cat"], out)
    assert [line["tuples"] for line in lines_of(out)[1:]] == [[["dog"]], [["dog"]]]


def test_only_what_no_earlier_file_has_is_parsed_and_the_file_is_the_same(no_jars, monkeypatch, tmp_path):
    child_that(monkeypatch, PARSES_ONE)
    parse_captions(["a cat"], tmp_path / "first.jsonl.gz")
    child_that(monkeypatch, "assert job['captions'] == ['a dog']" + PARSES_ONE)
    parse_captions(["a dog", "a cat"], tmp_path / "more.jsonl.gz", parsed_before=[tmp_path / "first.jsonl.gz"])
    monkeypatch.setattr(scene_graph_parser, "_run", None)  # all is known: no Java is started
    parse_captions(["a cat"], tmp_path / "again.jsonl.gz", parsed_before=[tmp_path / "more.jsonl.gz"])
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "first.jsonl.gz").read_bytes()
    assert [line["caption"] for line in lines_of(tmp_path / "more.jsonl.gz")[1:]] == ["a dog", "a cat"]
    assert not list(tmp_path.glob("*.journal"))


@pytest.mark.parametrize("text", ["a dog and " * 167, ". ".join(["a dog runs"] * 125), "a,b" * 250, "a dog " * 1000])
def test_a_caption_of_hundreds_of_words_is_refused_before_anything_is_parsed(monkeypatch, text):
    monkeypatch.setattr(scene_graph_parser.jars, "class_path", None)
    with pytest.raises(
        InputError, match=r"^the caption '.{57}\.\.\.' has \d+ words .*at most 200 .*: shorten it"
    ) as error:
        parse_scene_graphs(["a dog", text])
    assert int(re.search(r"has (\d+)", str(error.value))[1]) >= 499


def test_white_space_and_one_endless_word_are_not_long():
    scene_graph_parser._check_lengths([" " * 10_000, "a" * 10_000, "a dog " * 100])


def test_a_file_that_is_not_a_journal_is_left_unchanged(no_jars, tmp_path):
    mine = tmp_path / "notes.txt"
    mine.write_text("my notes\n")
    with pytest.raises(InputError, match=r"notes.txt is not a journal"):
        parse_scene_graphs(["a dog"], journal=mine)
    assert mine.read_text() == "my notes\n"


@pytest.mark.parametrize(
    "tail", [b"", b'{"caption": "a c', b"\0" * 30 + b"\n", b'{"caption": "a cat"}\n', b'{"tuples": 3, "caption": 1}\n']
)
def test_a_journal_is_taken_up_to_its_first_broken_line(no_jars, monkeypatch, tmp_path, tail):
    journal = tmp_path / "journal"
    journal.write_bytes(scene_graph_parser.JOURNAL_HEAD + b'{"caption": "a dog", "tuples": [["old"]]}\n' + tail)
    child_that(monkeypatch, "assert job['captions'] == ['a cat']" + PARSES_ONE)
    assert parse_scene_graphs(["a cat", "a dog", "a cat"], journal=journal) == [[("dog",)], [("old",)], [("dog",)]]
    assert journal.read_bytes().count(b"\n") == 3


def test_a_journal_cut_within_its_first_line_starts_again(no_jars, monkeypatch, tmp_path):
    journal = tmp_path / "journal"
    journal.write_bytes(scene_graph_parser.JOURNAL_HEAD[:10])
    child_that(monkeypatch, PARSES_ONE)
    assert parse_scene_graphs(["a cat"], journal=journal) == [[("dog",)]]
    assert journal.read_bytes().startswith(scene_graph_parser.JOURNAL_HEAD)


def test_two_runs_do_not_share_a_journal(no_jars, monkeypatch, tmp_path):
    monkeypatch.setattr(scene_graph_parser, "SECONDS_TO_WAIT_FOR_JOURNAL", 0.0)
    with (tmp_path / "journal").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is parsing into this journal"):
            parse_scene_graphs(["a dog"], journal=tmp_path / "journal")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"captions": []}, "the list of captions is empty"),
        ({"captions": "a dog"}, "captions is one string"),
        ({"captions": ["a"], "threads": 0}, "threads is 0"),
        ({"captions": ["a"], "memory_mb": 10}, "memory_mb is 10; give at least 512"),
        ({"captions": ["a"], "journal": Path("/proc/none/journal")}, "cannot be opened for writing"),
        ({"captions": ["a"], "out": Path("tuples.json")}, r"must end in \.jsonl\.gz"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        (parse_captions if "out" in arguments else parse_scene_graphs)(**arguments)


def test_chunks_hold_every_caption_once_with_long_sentences_first():
    captions = [f"{index} " + "a dog " * (index % 7) for index in range(43)]
    chunks = list(chunks_of(captions, 20))
    assert [len(chunk) for chunk in chunks] == [20, 20, 3]
    assert sorted(chunks[0]) == sorted(captions[:20])
    lengths = [len(caption.split()) for caption in chunks[0]]
    assert lengths == sorted(lengths, reverse=True)


def test_a_heap_that_java_collects_without_end_ends_the_process_as_one_that_is_full(monkeypatch):
    class Clock:
        """A machine that spends ``share`` of its time on collecting; the process ends by an exception."""

        def __init__(self, shares):
            self.now, self.collecting, self.shares = 0.0, 0.0, iter(shares)

        def sleep(self, seconds):
            self.now += seconds
            self.collecting += seconds * next(self.shares)

        def monotonic(self):
            return self.now

        def getCollectionTime(self):
            return 1000 * self.collecting

    def end(status):
        raise SystemExit(status)

    clock = Clock([0.1, 0.8, 0.95, 0.1])
    beans = SimpleNamespace(getGarbageCollectorMXBeans=lambda: [clock])
    management = SimpleNamespace(ManagementFactory=beans)
    java = SimpleNamespace(lang=SimpleNamespace(management=management))
    monkeypatch.setitem(sys.modules, "jpype", SimpleNamespace(java=java))
    monkeypatch.setattr(parser_worker, "time", clock)
    monkeypatch.setattr(parser_worker.os, "_exit", end)
    with pytest.raises(SystemExit) as ended:
        parser_worker._end_when_heap_is_full()
    assert ended.value.code == OUT_OF_MEMORY
    assert clock.now == 3 * parser_worker.SECONDS_BETWEEN_CHECKS
