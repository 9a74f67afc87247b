"""Files are whole or absent, and names stay inside their folder."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import check_writable, inside, locked, replacing, sha256_of, write_json


def test_an_error_while_writing_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_file_keeps_the_suffix_and_the_folder(tmp_path: Path) -> None:
    with replacing(tmp_path / "new" / "array.npy") as temporary:
        assert temporary.suffix == ".npy"
        assert temporary.parent == tmp_path / "new"
        temporary.write_bytes(b"whole")
    assert (tmp_path / "new" / "array.npy").read_bytes() == b"whole"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "..", "", "C:/x", "..\\x"])
def test_a_name_that_would_leave_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="refused"):
        inside(tmp_path, name)


def test_a_name_inside_is_joined(tmp_path: Path) -> None:
    assert inside(tmp_path, "a/b.jpg") == tmp_path / "a" / "b.jpg"


def test_sha256_is_that_of_hashlib(tmp_path: Path) -> None:
    data = bytes(range(256)) * 9000
    (tmp_path / "f").write_bytes(data)
    assert sha256_of(tmp_path / "f") == hashlib.sha256(data).hexdigest()


def test_json_goes_round_and_refuses_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1, 2.5, "é"]})
    assert read_json(tmp_path / "a.json") == {"b": [1, 2.5, "é"]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", float("nan"))
    assert read_json(tmp_path / "a.json") == {"b": [1, 2.5, "é"]}


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n"a": }')
    with pytest.raises(InputError, match=r"a\.json: line 2 is not JSON"):
        read_json(tmp_path / "a.json")


def test_a_lock_is_refused_while_another_holds_it_and_had_when_it_is_closed(tmp_path):
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert locked(first)
        assert not locked(second)
        first.close()
        assert locked(second)


def test_without_the_systems_locks_nothing_is_locked(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert locked(first)
        assert locked(second)


def test_what_cannot_be_written_is_said_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "file").write_text("")
    for path, why in ((tmp_path / "folder.npy", "folder"), (tmp_path / "file" / "x.npy", "not a folder")):
        with pytest.raises(InputError, match=f"cannot be written .*{why}.*; name another file"):
            check_writable(path)
        with pytest.raises(InputError, match="cannot be written"), replacing(path) as temporary:
            temporary.write_text("x")
    check_writable(tmp_path / "new" / "deeper" / "x.npy")
    assert not (tmp_path / "new").exists()


def test_an_error_of_another_file_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "x.txt"):
        (tmp_path / "nowhere.txt").read_text()
