"""Files are whole or absent, and names stay inside their folder."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fivesentences.errors import InputError
from fivesentences.storage import (
    alone,
    check_outputs,
    check_writable,
    inside,
    remove_leftovers,
    replacing,
    work_folder,
    write_lines,
)
from kill import Program


def test_an_error_while_writing_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "..", "", "C:/x", "..\\x"])
def test_a_name_that_would_leave_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="refused"):
        inside(tmp_path, name)
    assert inside(tmp_path, "a/b.jpg") == tmp_path / "a" / "b.jpg"


def test_what_cannot_be_written_is_said_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "file").write_text("")
    for path, why in ((tmp_path / "folder.npy", "folder"), (tmp_path / "file" / "x.npy", "not a folder")):
        with pytest.raises(InputError, match=f"cannot be written .*{why}.*; name another file"):
            check_writable(path)
        with pytest.raises(InputError, match="cannot be written"), replacing(path) as temporary:
            temporary.write_text("x")
    with pytest.raises(InputError, match=r"the folder .*deeper does not exist"):
        check_writable(tmp_path / "new" / "deeper" / "x.npy")
    check_writable(tmp_path / "new" / "deeper" / "x.npy", new_folder=True)
    folder = tmp_path / "new"
    check_outputs({"in --out": folder / "deeper" / "x.npy"}, (), folder)
    with pytest.raises(InputError, match="does not exist"):
        check_outputs({"in --out": folder / "x.npy", "--csv": tmp_path / "other" / "x.csv"}, (), folder)
    assert not folder.exists()


def write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    for folder in ("there", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "there" / "file.txt").write_text("old")
    (tmp_path / "here" / "second").symlink_to("../there/file.txt")
    (tmp_path / "here" / "first.txt").symlink_to("second")
    (tmp_path / "here" / "new.txt").symlink_to("../there/new.txt")
    for name in ("first.txt", "new.txt"):
        check_writable(tmp_path / "here" / name)
        write(tmp_path / "here" / name, "whole")
        assert (tmp_path / "here" / name).is_symlink()
    assert {path.name: path.read_text() for path in (tmp_path / "there").iterdir()} == {
        "file.txt": "whole",
        "new.txt": "whole",
    }
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "a", "x")


def test_a_link_planted_under_the_name_of_a_temporary_file_is_not_followed(tmp_path: Path, monkeypatch) -> None:
    victim, path = tmp_path / "victim", tmp_path / "out.txt"
    victim.write_text("kept")
    (tmp_path / f".out.{os.getpid()}.partial.txt").symlink_to(victim)  # a name that anybody can guess
    write(path, "whole")
    assert (victim.read_text(), path.read_text()) == ("kept", "whole")
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)  # as if it had been guessed
    with replacing(path) as temporary:
        name = temporary
    name.symlink_to(victim)
    with pytest.raises(InputError):
        write(path, "more")
    assert victim.read_text() == "kept"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_who_may_read_an_output_stays_as_it_was(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as temporary:
        assert temporary.stat().st_mode & 0o077 == 0  # private until it is whole
        temporary.write_text("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
def test_an_output_that_is_read_only_is_refused_before_and_after(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out.txt"
    path.write_text("kept")
    path.chmod(mode)
    for attempt in (check_writable, lambda path: write(path, "new")):
        with pytest.raises(InputError) as error:
            attempt(path)
        assert str(path) in str(error.value)
    assert path.read_text() == "kept" and list(tmp_path.iterdir()) == [path]


def test_unfinished_work_is_kept_in_no_link_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name, make in (("link", lambda path: path.symlink_to("elsewhere")), ("file", lambda path: path.touch())):
        make(tmp_path / name)
        with pytest.raises(InputError) as error:
            work_folder(tmp_path / name)
        assert error.value.where == tmp_path / name
    (tmp_path / "lock").symlink_to("elsewhere/new")
    with pytest.raises(InputError), alone(tmp_path / "lock"):
        pass
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    check_writable(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe, "x" * 300_000)
    reader.join()
    assert read == [b"x" * 300_000]
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    before = Path("/dev/null").stat()
    check_writable("/dev/null")
    write(Path("/dev/null"), "away")
    after = Path("/dev/null").stat()
    assert (after.st_mode, after.st_rdev, after.st_ino) == (before.st_mode, before.st_rdev, before.st_ino)
    with pytest.raises(InputError, match="/dev/full"):
        write(Path("/dev/full"), "x")
    # A file that the shell opened for us keeps what it holds already.
    program = (
        "from fivesentences.storage import replacing\nwith replacing('/dev/stdout') as path: path.write_text('in')"
    )
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, check=True)
        subprocess.run(["echo", "on"], stdout=log, check=True)
    assert "on" in (tmp_path / "log").read_text()


def test_an_output_that_is_an_input_or_another_output_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.npy").write_text("s")
    Path("link.npy").symlink_to("s.npy")
    os.link("s.npy", "hard.npy")
    Path("sub").mkdir()
    for output in ("s.npy", "link.npy", "hard.npy", "sub/../s.npy", str(tmp_path / "s.npy"), Path("./s.npy")):
        with pytest.raises(InputError, match=r"s\.npy"):
            check_outputs({"--csv": None, "--json": output}, [None, "s.npy"])
    with pytest.raises(InputError, match="overwrite"):
        check_outputs({"--csv": "new.txt", "--json": "sub/../new.txt"}, ["s.npy"])
    check_outputs({"--csv": None, "--json": "/dev/null", "--latex": "/dev/null"}, ["s.npy", "/dev/null"])


WRITER = """
import sys, time
from fivesentences.storage import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    time.sleep(100)
"""


def test_what_a_killed_process_was_writing_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er"
    for name in ("kept.csv", ".kept.partial", ".a.x.partial.csv", ".a.0.partial.csv", ".1.partial.csv"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("no temporary file of ours")
    before = set(folder.iterdir())
    with Program(WRITER, folder / "a.b.csv") as program:
        program.wait_for(lambda: set(folder.iterdir()) - before)
        assert remove_leftovers(tmp_path) == []
        (partial,) = set(folder.iterdir()) - before
        program.kill_alone()
    assert not (folder / "a.b.csv").exists()
    assert remove_leftovers(tmp_path) == [partial]
    assert set(folder.iterdir()) == before
    assert remove_leftovers(tmp_path / "nowhere") == []


def test_the_next_command_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    with Program(WRITER, tmp_path / "a.csv") as program:
        program.wait_for(lambda: any(path.stat().st_size for path in tmp_path.iterdir()))
        program.kill_alone()
    (left,) = tmp_path.iterdir()
    elsewhere = left.with_name(left.name.replace(left.name.split(".")[2][-8:], "0" * 8))
    elsewhere.touch()  # of another machine, where that process may live
    reused = re.sub(r"\.\d+-\d+\.partial", f".{os.getpid()}-1.partial", left.name)
    left.with_name(reused).touch()  # its number is another's now, as in a container that was started again
    write(tmp_path / "b.csv", "whole")
    assert set(tmp_path.iterdir()) == {elsewhere, tmp_path / "b.csv"}


ALONE = """
import sys, time
from pathlib import Path
from fivesentences.storage import alone
with alone(Path(sys.argv[1]), "waiting for another process") as waited:
    Path(sys.argv[2]).write_text(str(waited))
    while not Path(sys.argv[3]).exists():
        time.sleep(0.01)
"""


@pytest.mark.parametrize("end", ["killed", "finished"])
def test_two_processes_work_one_after_the_other_however_the_first_ends(tmp_path: Path, end: str) -> None:
    lock, go = tmp_path / "new" / "lock", tmp_path / "go"
    with Program(ALONE, lock, tmp_path / "first", tmp_path / "first_may_end") as first:
        first.wait_for((tmp_path / "first").exists)
        with Program(ALONE, lock, tmp_path / "second", go) as second:
            second.wait_for(lambda: any(f"{second.pid}" in line for line in waiting_for_locks()))
            assert not (tmp_path / "second").exists()
            if end == "killed":
                first.kill_alone()
            else:
                (tmp_path / "first_may_end").touch()
            second.wait_for((tmp_path / "second").exists)
            go.touch()
            assert "waiting for another process" in second.end().err
    assert ((tmp_path / "first").read_text(), (tmp_path / "second").read_text()) == ("False", "True")
    assert not lock.exists()


def waiting_for_locks() -> list[str]:
    """Lines of the kernel about processes that wait for a lock."""
    return [line for line in Path("/proc/locks").read_text().splitlines() if "->" in line]


LIMITED = """
import resource, signal, sys
from pathlib import Path
import numpy as np
import pandas as pd
from fivesentences.arrays import new_npy
from fivesentences.errors import InputError
from fivesentences.storage import replacing

array = np.random.default_rng(0).random(50_000)

def fill(path):
    new_npy(path, np.float64, array.shape)[:] = array

WRITERS = {
    "a.npy": lambda path: np.save(path, array), "b.npy": fill,
    "c.parquet": lambda path: pd.DataFrame({"a": array}).to_parquet(path),
    "d.txt": lambda path: path.write_text("x" * 400_000),
}
for name, write in WRITERS.items():
    write(Path(name))  # what is imported is imported now
    Path(name).write_text("old")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for name, write in WRITERS.items():
    try:
        with replacing(name) as temporary:
            write(temporary)
    except InputError as error:
        print(error)
"""


def test_whatever_writes_a_disk_that_is_full_ends_in_one_sentence(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Program(LIMITED) as program:
        end = program.end()
    assert end.status == 0, end.err  # not a traceback, and not a bus error
    names = ["a.npy", "b.npy", "c.parquet", "d.txt"]
    assert [line.partition(" (")[0] for line in end.out.splitlines()] == [f"{name} cannot be written" for name in names]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(names, "old")


@pytest.mark.parametrize("sign", ["\n", "\r", "\r\n"])
def test_an_item_of_several_lines_is_refused_and_the_file_stays(tmp_path, sign):
    path = tmp_path / "names.txt"
    write_lines(path, ["a\u2028b", 3])  # the readers of these files split at ends of lines alone
    with pytest.raises(InputError) as error:
        write_lines(path, ["c", f"d{sign}e"])
    assert error.value.where == path and "item 2" in str(error.value)
    assert path.read_text(encoding="utf-8").split("\n") == ["a\u2028b", "3", ""]
