"""The identity of photographs changes with their names and bytes alone, and unchanged ones are not read again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile

import pytest

from fivesentences.corpus import photograph_digests
from fivesentences.corpus.photograph_digests import digest_of, identify
from fivesentences.errors import InputError

LONG_AGO = 1_000_000_000_000_000_000


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "photographs" / "more").mkdir(parents=True)
    for name in ("a.jpg", "b.PNG", "more/c.jpg"):
        (tmp_path / "photographs" / name).write_bytes(name.encode() * 10)
    (tmp_path / "photographs" / "notes.txt").write_text("no photograph")
    return tmp_path / "photographs"


@pytest.fixture
def hashed(monkeypatch):
    """The names of the files whose bytes are read; every file looks as if it had been written long before."""
    names, real = [], photograph_digests.sha256_of
    monkeypatch.setattr(photograph_digests, "sha256_of", lambda path: names.append(path.name) or real(path))
    monkeypatch.setattr(photograph_digests, "SETTLED", -3_600_000_000_000)
    return names


def test_touched_recopied_and_other_files_change_nothing(folder, tmp_path):
    before = identify(folder)
    for path in folder.rglob("*"):
        os.utime(path, ns=(LONG_AGO, LONG_AGO))
    (folder / "notes.txt").write_text("other notes")
    shutil.move(folder, tmp_path / "old")
    shutil.copytree(tmp_path / "old", folder)
    assert identify(folder) == before


def test_an_edit_changes_the_content_and_a_name_changes_both(folder):
    before = identify(folder)
    (folder / "a.jpg").write_bytes(b"edited")
    edited = identify(folder)
    assert edited.names == before.names and edited.content != before.content
    (folder / "d.jpg").write_bytes(b"new")
    added = identify(folder)
    assert added.names != before.names and added.content != edited.content


def test_unchanged_photographs_are_not_read_again(folder, tmp_path, hashed):
    memory = tmp_path / "results" / "memory.json"
    before = identify(folder, memory)
    assert sorted(hashed) == ["a.jpg", "b.PNG", "c.jpg"]
    hashed.clear()
    assert identify(folder, memory) == before and not hashed
    # Bytes of the same size, and the old time: only the time of the change tells.
    status = (folder / "a.jpg").stat()
    (folder / "a.jpg").write_bytes(b"gpj.a" * 10)
    os.utime(folder / "a.jpg", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert identify(folder, memory).content != before.content and hashed == ["a.jpg"]


def test_a_file_that_is_younger_than_the_clocks_tick_is_read_again(folder, tmp_path, hashed, monkeypatch):
    monkeypatch.setattr(photograph_digests, "SETTLED", 2_000_000_000)
    for _ in range(2):
        identify(folder, tmp_path / "memory.json")
    assert len(hashed) == 6


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 0, "files": {}}', '{"format": 1, "files": {"a.jpg": 3}}'])
def test_a_damaged_memory_is_forgotten(folder, tmp_path, hashed, content):
    (tmp_path / "memory.json").write_text(content)
    assert identify(folder, tmp_path / "memory.json") == identify(folder)
    assert len(json.loads((tmp_path / "memory.json").read_text())["files"]) == 3


def test_an_archive_is_known_by_the_checksums_inside(folder, tmp_path):
    def packed(name, method):
        with zipfile.ZipFile(tmp_path / name, "w", method) as archive:
            for file in sorted(folder.rglob("*.*")):
                archive.write(file, file.relative_to(folder))
        return identify(tmp_path / name)

    stored = packed("one.zip", zipfile.ZIP_STORED)
    assert packed("two.zip", zipfile.ZIP_DEFLATED) == stored
    (folder / "a.jpg").write_bytes(b"edited")
    edited = packed("three.zip", zipfile.ZIP_STORED)
    assert edited.names == stored.names and edited.content != stored.content
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="contains no photographs"):
        identify(tmp_path / "none")


def test_other_files_are_known_by_bytes_and_an_archive_by_its_directory(folder, tmp_path, monkeypatch):
    memory, file, archive = tmp_path / "memory.json", tmp_path / "a.csv", tmp_path / "a.zip"
    file.write_bytes(b"a" * 5000)
    assert digest_of(file, memory) == hashlib.sha256(b"a" * 5000).hexdigest()
    assert digest_of(tmp_path / "none", memory) is None
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(archive, "w", compression) as made:
            made.writestr("a.txt", "text" * 100)
        if compression == zipfile.ZIP_STORED:
            packed = digest_of(archive, memory)
    assert digest_of(archive, memory) == packed
    before = digest_of(folder, memory)
    (folder / "notes.txt").write_text("other notes")
    assert digest_of(folder, memory) != before
    monkeypatch.setattr(photograph_digests, "WHOLE", 100)
    monkeypatch.setattr(photograph_digests, "BLOCK", 10)
    large = digest_of(file.rename(tmp_path / "large"), memory)
    (tmp_path / "large").write_bytes(b"a" * 4999 + b"b")
    assert digest_of(tmp_path / "large", memory) != large
