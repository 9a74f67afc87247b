"""Photographs: looked up by name in zip archives and folders, read whole or refused."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import multiprocessing
import os
import pickle
import re
import shutil
import struct
import subprocess
import zipfile
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fivesentences.corpus import Photographs, load_folder
from fivesentences.corpus.photographs import note_shared
from fivesentences.errors import InputError
from fivesentences.features.extract import part_of

NAMES = [f"{number:03d}.jpg" for number in range(12)]


def content(number: int) -> bytes:
    return np.random.default_rng(number).bytes(900)


@pytest.fixture
def archive(zipped):
    members = {f"Flicker8k_Dataset/{name}": content(number) for number, name in enumerate(NAMES)}
    members |= {f"__MACOSX/Flicker8k_Dataset/._{name}": b"junk" for name in NAMES}
    members |= {"__MACOSX/Flicker8k_Dataset/000.jpg": b"junk", "readme.txt": b"hello"}
    return zipped("photographs.zip", members)


@pytest.fixture
def folder(archive, tmp_path):
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "folder")
    return tmp_path / "folder"


def test_a_zip_and_a_folder_give_the_same_bytes(archive, folder):
    for photographs in (Photographs(archive), Photographs(folder)):
        assert photographs.names() == [f"Flicker8k_Dataset/{name}" for name in NAMES]
        for number, name in enumerate(NAMES):
            assert photographs.read(name) == photographs.read(f"Flicker8k_Dataset/{name}") == content(number)


def test_names_are_found_by_their_end_and_ambiguous_ones_are_refused(zipped):
    train = zipped("train.zip", {"train2014/1.jpg": content(1), "train2014/3.jpg": content(3)})
    val = zipped("val.zip", {"val2014/1.jpg": content(2)})
    both = Photographs(train, val)
    assert both.read("val2014/1.jpg") == content(2) and both.read("3.jpg") == content(3)
    assert "3.jpg" in both and "1.jpg" not in both and "4.jpg" not in both
    with pytest.raises(InputError, match=r"'1\.jpg'.*'train2014/1\.jpg'.*'val2014/1\.jpg'"):
        both.read("1.jpg")


@pytest.mark.parametrize(
    "pool", [partial(ProcessPoolExecutor, 2, multiprocessing.get_context("fork")), partial(ThreadPoolExecutor, 8)]
)
@pytest.mark.parametrize("pickled", [False, True])
def test_processes_and_threads_read_the_same_bytes_and_a_pickle_holds_only_paths(archive, pool, pickled):
    photographs, names = Photographs(archive), NAMES * 5
    photographs.read(NAMES[0])  # open, so that a forked child inherits the file
    if pickled:
        data = pickle.dumps(photographs)
        assert len(data) < 500
        photographs = pickle.loads(data)
    with pool() as workers:
        assert list(workers.map(photographs.read, names)) == [content(NAMES.index(name)) for name in names]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_photographs_decoded_ahead_come_in_order_and_corrupt_ones_as_errors(tmp_path, count):
    for number in range(4):
        Image.new("RGB", (10 + number, 8)).save(tmp_path / f"{number}.png")
    (tmp_path / "4.png").write_bytes(b"no picture")
    order = (3, 0, 4, 1, 2)[:count]
    found = Photographs(tmp_path).decoded_ahead([f"{number}.png" for number in order], lambda image: image.width)
    assert [one if isinstance(one, int) else type(one) for one in found] == [
        InputError if number == 4 else 10 + number for number in order
    ]


@pytest.mark.parametrize("name", ["999.jpg", "../secret.jpg", "/etc/passwd", "Flicker8k_Dataset/../../secret.jpg", ""])
def test_a_missing_photograph_is_one_sentence_and_a_name_never_leads_out_of_a_folder(archive, folder, name):
    (folder.parent / "secret.jpg").write_bytes(b"secret")
    for place in (archive, folder):
        with pytest.raises(InputError, match=rf"{place.name}: there is no photograph '{name}'; add it, or remove its"):
            Photographs(place).read(name)


@pytest.mark.parametrize("entry", ["../../etc/passwd", "/etc/passwd", "a/../../b.jpg", "..\\b.jpg", "C:\\b.jpg"])
def test_an_archive_with_an_entry_that_leaves_the_folder_is_refused(zipped, refused, entry):
    with refused(f"bad.zip: entry '{entry}' would leave the folder; the archive is refused."):
        Photographs(zipped("bad.zip", {"good.jpg": b"x", entry: b"x"}))


def test_a_truncated_archive_is_one_sentence(archive, tmp_path):
    data = archive.read_bytes()
    for length in [0, 1, 22, len(data) // 2, len(data) - 30, len(data) - 1]:
        (tmp_path / "short.zip").write_bytes(data[:length])
        with pytest.raises(InputError, match="complete"):
            Photographs(tmp_path / "short.zip")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_archive_with_a_changed_byte_is_refused_or_unchanged(archive, tmp_path, data):
    """Whatever byte is wrong: it ends in an InputError, and no wrong bytes come out."""
    flipped = bytearray(archive.read_bytes())
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(flipped)
    with contextlib.suppress(InputError):
        photographs = Photographs(tmp_path / "flipped.zip")
        assert [photographs.read(name) for name in NAMES] == [content(number) for number in range(len(NAMES))]


@pytest.fixture
def linked(tmp_path):
    """A folder of photographs of several kinds, links, thumbnails, and what is not decoded."""
    root = tmp_path / "root"
    read = ["root/a.jpg", "root/sub/b.JFIF", "root/sub/c.Webp", "other/d.jpg", "other/deep/e.TIFF"]
    rest = ["root/f.heic", "root/sub/g.HEIC", "root/h.avif", "root/@eaDir/a.jpg/THUMB_XL.jpg", "root/._a.jpg",
            "root/.Trash-1000/files/x.jpg", "root/.thumbnails/y.png", "root/Thumbs.db", "root/c.csv"]  # fmt: skip
    for number, name in enumerate([*read, *rest]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content(number))
    for link, target in {"linked": "../other", "sub/loop": "..", "gone.jpg": "nowhere", "self.jpg": "self.jpg"}.items():
        (root / link).symlink_to(target)
    return root


def test_photographs_behind_links_are_listed_as_by_find_and_the_rest_is_counted_once(linked, capfd):
    photographs = Photographs(linked)
    find = ["find", "-L", ".", "-type", "f", "-printf", "%P\n"]
    files = subprocess.run(find, cwd=linked, capture_output=True, text=True, check=False).stdout.splitlines()
    listed = [name for name in files if not re.search(r"(^|/)[.@]|\.(heic|avif|db|csv)$", name.lower())]
    assert photographs.names() == sorted(listed) and len(listed) == 5
    assert photographs.read("e.TIFF") == content(4)
    Photographs(linked)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    for part in ("2 .heic (such as f.heic)", "1 .avif", "1 in @eaDir", "1 in .Trash-1000", "2 links that lead nowhere"):
        assert part in said
    assert "._a" not in said and "Thumbs" not in said
    assert "not decoded" in photographs.problem("f.heic")


# Links that are added to the folder, by name: none adds a photograph, wherever it stands in the order of names.
NEIGHBOURS = {
    "a folder, behind": {"again": "sub"},
    "a folder, before": {"zz": "sub"},
    "a folder below, above which all is listed": {"sub/again": "../sub", "deep/again": "../sub"},
    "the same folder elsewhere, twice": {"one": "../other", "two": "../other"},
    "a folder of what another link leads to": {"a_part": "../other/deep", "whole": "../other"},
    "each other": {"x/to_y": "../y", "y/to_x": "../x"},
    "a link": {"first": "second", "second": "sub"},
    "a photograph": {"copy.jpg": "a.jpg", "sub/copy.jpg": "../a.jpg"},
    "a photograph elsewhere, twice": {"m.jpg": "../other/d.jpg", "n.jpg": "../other/d.jpg"},
}


@pytest.mark.parametrize("links", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_photograph_is_listed_once_whatever_links_lead_to_it(linked, links, capfd):
    (linked / "linked").unlink()
    for name, target in links.items():
        (linked / name).parent.mkdir(exist_ok=True)
        (linked / name).symlink_to(target)
    photographs = Photographs(linked)
    find = ["find", "-L", ".", "-type", "f", "-printf", "%P\n"]  # which lists what links lead to again and again
    listed = subprocess.run(find, cwd=linked, capture_output=True, text=True, check=False).stdout.splitlines()
    kept = [name for name in listed if not re.search(r"(^|/)[.@]|\.(heic|avif|db|csv)$", name.lower())]
    found = [(linked / name).resolve() for name in photographs.names()]
    assert sorted(found) == sorted({(linked / name).resolve() for name in kept}), photographs.names()
    assert {"a.jpg", "sub/b.JFIF", "sub/c.Webp"} <= set(photographs.names())
    assert "links to what is listed already" in capfd.readouterr().err
    for name in photographs.names():
        assert photographs.read(name.rpartition("/")[2]) == (linked / name).read_bytes()


def test_a_photograph_is_found_by_every_name_that_links_give_it(linked, tmp_path):
    (linked / "again").symlink_to("sub")
    (linked / "copy.jpg").symlink_to("a.jpg")
    photographs = Photographs(linked)
    assert photographs.names().count("sub/b.JFIF") == 1 and "again/b.JFIF" not in photographs.names()
    for name, number in {"again/b.JFIF": 1, "sub/b.JFIF": 1, "b.JFIF": 1, "copy.jpg": 0, "a.jpg": 0}.items():
        assert name in photographs and photographs.read(name) == content(number)
        assert photographs.state_of(name)[1] == len(content(number))
    for name in ("again/../a.jpg", "/a.jpg", "@eaDir/a.jpg/THUMB_XL.jpg", "f.heic", "again/x.jpg"):
        assert name not in photographs
    again = pickle.loads(pickle.dumps(photographs))
    assert again.read("again/b.JFIF") == content(1)


def test_a_folder_that_is_given_twice_or_with_a_part_of_it_is_listed_once(linked, tmp_path):
    (tmp_path / "link").symlink_to("root")
    names = Photographs(linked).names()
    for more in ([linked], [tmp_path / "link"], [linked / "sub"], [linked, linked / "sub"]):
        assert Photographs(linked, *more).names() == names
    assert len(Photographs(linked / "sub", linked)) == len(names)


def test_folders_full_of_links_to_each_other_end(tmp_path):
    for number in range(12):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / f"{number}.jpg").write_bytes(content(number))
        for other in range(12):
            (tmp_path / str(number) / f"to{other}").symlink_to(f"../{other}")
    photographs = Photographs(tmp_path)
    assert [photographs.read(f"{number}.jpg") for number in range(12)] == [content(number) for number in range(12)]
    assert len(photographs) < 1000


def test_a_folder_that_cannot_be_read_is_refused(linked, monkeypatch):
    scandir = os.scandir

    def closed(path):
        if os.path.basename(path) == "deep":  # noqa: PTH119
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(InputError) as error:
        Photographs(linked)
    assert "deep" in str(error.value.where) and "Permission denied" in str(error.value)


@pytest.mark.parametrize(
    ("encoding", "extra", "name"),
    [("utf-8", False, "größe 犬.jpg"), ("cp850", True, "größe.jpg"), ("cp932", True, "犬.jpg")],
)
def test_names_in_archives_that_do_not_say_their_code_page(tmp_path, encoding, extra, name):
    raw, path = name.encode(encoding), tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("#" * len(raw))
        if extra:  # as Info-ZIP and WinRAR write it
            field = b"\1" + struct.pack("<L", zlib.crc32(raw)) + name.encode()
            info.extra = struct.pack("<HH", 0x7075, len(field)) + field
        archive.writestr(info, content(0))
    path.write_bytes(path.read_bytes().replace(b"#" * len(raw), raw))
    photographs = Photographs(path)
    assert photographs.names() == [name] and photographs.read(name) == content(0)


def test_paths_of_windows_are_found(zipped):
    archive = zipped("windows.zip", {"images\\a.jpg": content(0), "images\\b.jpg": content(1)})
    photographs = Photographs(archive)
    assert (
        photographs.read("a.jpg") == photographs.read("images/a.jpg") == photographs.read("images\\a.jpg") == content(0)
    )


def test_names_of_an_unknown_code_page_are_said(tmp_path, capfd):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("####.jpg", content(0))
    path.write_bytes(path.read_bytes().replace(b"####", "犬猫".encode("cp932")))
    photographs = Photographs(path)
    assert photographs.read(photographs.names()[0]) == content(0)
    assert str(path) in (said := capfd.readouterr().err) and "code page" in said and photographs.names()[0] in said


def _duplicated(folder, zipped):
    """Photographs of which some are equal, some of equal size, and the split of each."""
    contents = {
        "a.jpg": b"1",
        "b.jpg": b"2",
        "c/a.jpg": b"1",
        "d.jpg": b"1",
        "e.jpg": b"22",
        "f.jpg": b"22",
        "g.jpg": b"3",
    }
    splits = dict(zip(contents, ["train", "test", "train", "test", "dev", "train", "dev"], strict=True))
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    if zipped:
        shutil.make_archive(str(folder), "zip", folder)
        shutil.rmtree(folder)
        return folder.with_suffix(".zip"), splits
    return folder, splits


def _brute_force(place, splits):
    """How many different photographs are in each set of splits, by a digest of every file."""
    among = {}
    for name, split in splits.items():
        data = zipfile.ZipFile(place).read(name) if place.is_file() else (place / name).read_bytes()
        among.setdefault(hashlib.sha256(data).digest(), set()).add(split)
    return Counter(" and ".join(sorted(one, key="train dev test".find)) for one in among.values() if len(one) > 1)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_photograph_in_two_splits_is_said_once(tmp_path, zipped, capfd):
    place, splits = _duplicated(tmp_path / "photographs", zipped)
    for _ in range(2):
        note_shared(Photographs(place), list(splits), list(splits.values()))
    said = capfd.readouterr().err
    expected = _brute_force(place, splits)
    assert expected == {"train and test": 1, "train and dev": 1}
    assert said.count("\n") == 1 and str(place) in said
    for among, count in expected.items():
        assert f"{count} in {among} (such as " in said
    alone = {name: split for name, split in splits.items() if name not in ("d.jpg", "f.jpg")}
    note_shared(Photographs(place), list(alone), list(alone.values()))
    assert not _brute_force(place, alone) and capfd.readouterr().err == ""


def test_the_corpus_of_a_folder_says_so(tmp_path, capfd):
    place, splits = _duplicated(tmp_path / "photographs", False)
    rows = "".join(f"{name},a dog,{split}\n" for name, split in splits.items())
    (tmp_path / "c.csv").write_text(f"filename,caption,split\n{rows}")
    corpus = load_folder(place, tmp_path / "c.csv", "mine")
    said = capfd.readouterr().err
    assert "1 in train and test (such as a.jpg and" in said
    part_of(corpus.images, 2, 2, Photographs(place))
    assert capfd.readouterr().err == ""
