"""Photographs: looked up by name in zip archives and folders, read whole or refused."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError

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
