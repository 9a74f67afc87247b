"""Archives are unpacked whole or not at all; what they are is their content, and their names leave no folder."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from fivesentences.config.datasets import CatalogueFolder
from fivesentences.corpus import unpacking
from fivesentences.corpus.unpacked import PROGRAMS, is_unpacked_here
from fivesentences.corpus.unpacking import unpack
from fivesentences.errors import InputError
from rar import rar_of

FILES = {
    "data/f_precomp/a.npy": b"\x93NUMPY" + bytes(3000),
    "data/f_precomp/b.txt": b"words\n",
    "data/c_precomp/c.txt": b"x",
}
WANTED = {name.removeprefix("data/f_precomp/"): content for name, content in FILES.items() if "f_precomp" in name}
FOLDER = CatalogueFolder(archives=["a"], within="f_precomp", holds=["a.npy", "b.txt"])
EVERYTHING = CatalogueFolder(archives=["a", "b"], holds=["A.NPY"])


def zip_of(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tar_of(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, but for the record."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


needs_program = pytest.mark.program(*PROGRAMS)
KINDS = {
    "zip": zip_of(FILES),
    "zip within a zip": zip_of(
        {"f_precomp.zip": zip_of(WANTED_IN := {n: c for n, c in FILES.items() if "f_pre" in n})}
    ),
    "tar.gz within a zip": zip_of({"x/f_precomp.tar.gz": tar_of(WANTED_IN), "x/c_precomp.tar.gz": tar_of({})}),
    "tar.gz": tar_of(FILES),
    "tar": tar_of({f"./{name}": content for name, content in FILES.items()}, "w"),
    "rar": rar_of(FILES),
}


@pytest.fixture
def archive(tmp_path):
    def write(content: bytes, name: str = "all.zip") -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=needs_program if kind == "rar" else ()) for kind in KINDS])
def test_the_wanted_folder_of_an_archive_of_any_kind_is_unpacked(archive, tmp_path, kind):
    unpack([archive(KINDS[kind])], tmp_path / "data/f", FOLDER)
    assert content_of(tmp_path / "data/f") == WANTED
    assert is_unpacked_here(tmp_path / "data/f") and names_in(tmp_path / "data") == ["f"]


@needs_program
def test_several_archives_share_a_folder_each_in_its_own_subfolder(archive, tmp_path):
    lists, more = zip_of({"a.npy": b"1", "readme.txt": b"2"}), rar_of({"readme.txt": b"3"})
    unpack([archive(lists, "l.zip"), archive(more, "m.rar")], tmp_path / "f", EVERYTHING)
    assert content_of(tmp_path / "f") == {"l/a.npy": b"1", "l/readme.txt": b"2", "m/readme.txt": b"3"}


@pytest.mark.program("bsdtar")
def test_a_rar_that_one_program_cannot_read_is_given_to_the_next(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "PROGRAMS", {"false": lambda *_: [], "bsdtar": PROGRAMS["bsdtar"]})
    unpack([archive(rar_of(FILES))], tmp_path / "f", FOLDER)
    assert content_of(tmp_path / "f") == WANTED


def test_without_a_program_for_rar_the_sentence_names_those_that_would_do(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = archive(rar_of(FILES), "a.rar")
    with pytest.raises(InputError, match=r"no program here unpacks rar \(bsdtar, unar, 7z\); install one") as error:
        unpack([path], tmp_path / "f", FOLDER)
    assert error.value.where == path and path.exists()


def link() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("f_precomp/a.npy")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    return out.getvalue()


def linked_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("f_precomp/a.npy")
        entry.create_system, entry.external_attr = 3, 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    return out.getvalue()


def flipped(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 0xFF]) + content[201:]


STORED = zip_of(FILES, zipfile.ZIP_STORED)
REFUSED = {
    "a half-fetched zip": (STORED[: len(STORED) // 2], "not a complete zip, tar or rar archive"),
    "a half-fetched tar.gz": (KINDS["tar.gz"][: len(KINDS["tar.gz"]) // 2], "is damaged"),
    "a zip with a flipped byte": (flipped(STORED), "is damaged"),
    "a page": (b"<html>not found</html>", "not a complete zip, tar or rar archive"),
    "nothing": (b"", "not a complete zip, tar or rar archive"),
    "a zip with other names": (zip_of({"new/x": b"1", "other/y": b"2"}), "no folder f_precomp in it, but new, other"),
    "a tar with other names": (tar_of({"new/x.npy": b"1"}), "no folder f_precomp in it, but new"),
    "a zip that lacks a file": (zip_of({"f_precomp/a.npy": b"1"}), "there is no b.txt in it"),
    "a zip of a zip with other names": (zip_of({"f_precomp.zip": zip_of({"x/y": b"1"})}), "no folder f_precomp in it"),
    "a zip that leaves the folder": (zip_of(FILES | {"../../evil": b"1"}), "would leave the folder"),
    "a tar that leaves the folder": (tar_of(FILES | {"../../evil": b"1"}), "would leave the folder"),
    "a tar with an absolute name": (tar_of({"/tmp/f_precomp/a.npy": b"1"}), "would leave the folder"),
    "a tar with a link": (link(), "is a link or a device"),
    "a zip with a link": (linked_zip(), "is a link"),
    "two files of one name": (tar_of({"f_precomp/a.npy": b"1"} | {"x/f_precomp/a.npy": b"2"}), "twice"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_the_archive_is_one_sentence_with_a_cure_and_leaves_nothing(archive, tmp_path, kind):
    content, words = REFUSED[kind]
    path = archive(content)
    with pytest.raises(InputError) as error:
        unpack([path], tmp_path / "f", FOLDER)
    assert words in str(error.value) and path.name in str(error.value) and "\n" not in str(error.value)
    assert names_in(tmp_path) == [path.name] and path.read_bytes() == content


@needs_program
def test_a_half_fetched_rar_is_one_sentence_and_leaves_nothing(archive, tmp_path):
    path = archive(rar_of(FILES)[:1000], "a.rar")
    with pytest.raises(InputError, match=r"a\.rar: it cannot be unpacked \(.*\); delete it and run again"):
        unpack([path], tmp_path / "f", FOLDER)
    assert names_in(tmp_path) == ["a.rar"]


def test_a_full_disk_is_said_before_anything_is_written(archive, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(unpacking.shutil, "disk_usage", lambda _: usage._replace(free=100))
    with pytest.raises(InputError, match=r"a\.npy': it has 0\.0 GB, and 0\.0 GB are free; make room"):
        unpack([archive(KINDS["zip"])], tmp_path / "f", FOLDER)
    assert names_in(tmp_path) == ["all.zip"]


def test_files_that_a_person_put_there_stay(archive, tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f/mine.npy").write_bytes(b"mine")
    assert not is_unpacked_here(tmp_path / "f")
    with pytest.raises(InputError, match="there are files in it already"):
        unpack([archive(KINDS["zip"])], tmp_path / "f", FOLDER)
    assert content_of(tmp_path / "f") == {"mine.npy": b"mine"}


def test_what_a_killed_call_left_goes(archive, tmp_path):
    (tmp_path / ".f.unpacking/whole").mkdir(parents=True)
    (tmp_path / ".f.unpacking/whole/old.npy").write_bytes(b"half")
    unpack([archive(KINDS["zip"])], tmp_path / "f", FOLDER)
    assert content_of(tmp_path / "f") == WANTED and names_in(tmp_path) == ["all.zip", "f"]
