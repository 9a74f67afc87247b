"""A kill at any step in the file system leaves the old result, the new one or none, and the same command starts again.

Here every step of some quick commands; tests/workflow/kill_campaign.py has all that write.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.commands.phi import _tuples_of
from fivesentences.config.datasets import CatalogueEntry
from fivesentences.corpus import Corpus
from fivesentences.corpus.download import fetch
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_similarity
from fivesentences.features.unfinished import FinishedParts
from fivesentences.reproduction.evaluation.run import write_mean_similarity
from fivesentences.storage import remove, replacing, scratch, together
from kill import Program, killed_after
from killed_commands import Command, Killer, write_small

pytestmark = pytest.mark.slow

NAMES = "--image-of-caption of.txt --image-names n.txt"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed") / "base"
    write_small(folder)
    return folder


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    started = Killer(tmp_path_factory.mktemp("killer") / "work")
    yield started
    started.close()


@pytest.mark.parametrize(
    "command",
    [
        Command(f"captions b.jsonl -o c.txt {NAMES}", f"captions a.jsonl -o c.txt {NAMES}"),
        Command("captions b.jsonl -o /dev/stdout --image-of-caption of.txt"),
        Command("phi cider b.txt -o best --top-k 3"),
    ],
    ids=str,
)
def test_a_kill_at_any_step_leaves_no_mixed_result_and_the_command_starts_again(killer, base, command):
    tried = list(killer.try_all(command, base, rooms=(None, 0), twice=False))
    assert len(tried) > 10
    assert [fault for _, found in tried for fault in found] == []


def test_a_kill_leaves_a_page_whole_or_without_its_first_file(killer, base):
    command = Command("look b.sims.npy --captions b.txt --images b", "look a.sims.npy --captions a.txt --images a")
    tried = list(killer.try_all(command, base, rooms=(None, 0), twice=False, most=12))
    assert len(tried) > 6
    assert [fault for _, found in tried for fault in found] == []


@pytest.mark.parametrize(
    "command",
    [
        Command("phi cider b.txt -o best --top-k 3", "phi cider a.txt -o best --top-k 2"),
        Command(f"captions b.jsonl -o c.txt {NAMES}", f"captions a.jsonl -o c.txt {NAMES}"),
    ],
    ids=str,
)
def test_after_a_kill_at_any_step_the_same_command_alone_succeeds(killer, base, command):
    assert list(killer.try_straight(command, base, rooms=(None, 0))) == []


def test_files_of_one_result_get_their_names_together(tmp_path):
    names = [tmp_path / name for name in "abc"]

    def write(text: str) -> None:
        with together():
            for path in names:
                with replacing(path) as temporary:
                    temporary.write_text(text)
            remove(tmp_path / "d")

    for name in ("unlink", "replace"):
        for calls in range(3):
            write("old")
            (tmp_path / "d").write_text("old")
            with killed_after(calls, Path, name):
                write("new")
            assert len({path.read_text() for path in tmp_path.glob("[abcd]")}) <= 1, (name, calls)
    write("new")
    for partial in tmp_path.glob(".*"):  # the process lives
        partial.unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    assert all(path.read_text() == "new" for path in names)
    (tmp_path / "d").touch()
    with together():
        remove(tmp_path / "d")
    (tmp_path / "e").mkdir()
    with pytest.raises(InputError) as error, together():
        for path in (names[0], tmp_path / "e"):
            with replacing(path) as temporary:
                temporary.write_text("newer")
    assert str(tmp_path / "e") in str(error.value)
    (tmp_path / "e").rmdir()
    with pytest.raises(ZeroDivisionError), together():
        with replacing(names[0]) as temporary:
            temporary.write_text(str(1))
        1 / 0  # noqa: B018
    assert names[0].read_text() == "new" and len(list(tmp_path.iterdir())) == 3


def test_a_kill_between_files_leaves_no_mean_beside_the_record_of_another(tmp_path):
    table = {"image_id": ["i"], "filename": ["i"], "caption_id": ["c"], "caption": ["a dog"], "split": ["test"]}
    corpus, out = Corpus("c", pd.DataFrame(table | {"category": [None]})), tmp_path / "mean" / "similarity_test.npy"
    out.parent.mkdir()
    values = []
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.full((1, 1), number, np.float32))
    write_mean_similarity([tmp_path / "0.npy"], out)
    for calls in range(3):
        with killed_after(calls, Path, "replace") if calls < 2 else together():
            write_mean_similarity([tmp_path / f"{min(calls, 1) + 1}.npy"], out)
        if out.exists():
            values.append(float(read_similarity(out, corpus)[0, 0]))
    assert set(values) <= {0.0, 1.0, 2.0}


def test_what_processes_killed_at_their_very_end_have_left_goes_at_the_next_start(tmp_path):
    # Of a download, which is complete.
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("x")
    (tmp_path / "d" / ".x.txt.lock").touch()
    file = {
        "path": "d/x.txt",
        "version": "v",
        "licence": "l",
        "sha256": None,
        "size": None,
        "url": "http://h.invalid/x",
    }
    fetch(CatalogueEntry(title="D", files={"x": file}), "d", "x", tmp_path, None)
    assert not (tmp_path / "d" / ".x.txt.lock").exists()
    # Of parsed captions.
    tuples, journal = tmp_path / "c.tuples.jsonl.gz", tmp_path / "c.tuples.jsonl.gz.journal"
    lines = [{"made_by": "a parser", "captions": 1}, {"caption": "a dog", "tuples": [["dog"]]}]
    tuples.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    journal.write_text("parsed")
    _tuples_of(["a dog"], tuples, None)
    assert not journal.exists()
    # Of embeddings; parts that a process works with stay.
    with FinishedParts(tmp_path / "images.npy", {}) as parts:
        parts.save("0", vectors=np.ones(3))
        FinishedParts.clear(tmp_path / "images.npy")
        assert "0" in parts
    FinishedParts.clear(tmp_path / "images.npy")
    assert not (tmp_path / ".images.unfinished").exists()


def test_a_folder_for_temporary_files_goes_with_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = "from fivesentences.storage import scratch\nimport sys, tempfile, time\ntempfile.tempdir = sys.argv[1]\n"
    with Program(f"{code}with scratch() as at:\n (at / 'x').touch(); time.sleep(100)", tmp_path) as program:
        (left,) = program.wait_for(lambda: list(tmp_path.glob(".*/x")))
    assert left.exists()
    with scratch() as other:
        assert list(tmp_path.iterdir()) == [other] and other.stat().st_mode & 0o77 == 0
    assert not list(tmp_path.iterdir())
