"""Photographs: looked up by name in zip archives and folders, decoded completely or refused."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import pickle
import struct
import zipfile
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fivesentences.corpus import Photographs, decode
from fivesentences.errors import InputError


def encoded(seed, size=(40, 30), kind="JPEG", mode="RGB"):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, kind)
    return file.getvalue()


NAMES = [f"{number:03d}.jpg" for number in range(12)]


@pytest.fixture
def archive(zipped):
    members = {f"Flicker8k_Dataset/{name}": encoded(seed) for seed, name in enumerate(NAMES)}
    members |= {f"__MACOSX/Flicker8k_Dataset/._{name}": b"junk" for name in NAMES}
    members |= {"__MACOSX/Flicker8k_Dataset/000.jpg": b"junk", "readme.txt": b"hello"}
    return zipped("photographs.zip", members)


@pytest.fixture
def folder(archive, tmp_path):
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "folder")
    return tmp_path / "folder"


def test_a_zip_and_a_folder_give_the_same_bytes(archive, folder):
    zipped, unpacked = Photographs(archive), Photographs(folder)
    assert zipped.names() == unpacked.names() == [f"Flicker8k_Dataset/{name}" for name in NAMES]
    for seed, name in enumerate(NAMES):
        assert zipped.read(name) == unpacked.read(name) == encoded(seed)
        assert zipped.read(f"Flicker8k_Dataset/{name}") == encoded(seed)


def test_names_are_found_by_their_end_and_ambiguous_ones_are_refused(zipped):
    train = zipped("train.zip", {"train2014/1.jpg": encoded(1), "train2014/3.jpg": encoded(3)})
    val = zipped("val.zip", {"val2014/1.jpg": encoded(2)})
    both = Photographs(train, val)
    assert both.read("val2014/1.jpg") == encoded(2)
    assert both.read("3.jpg") == encoded(3)
    assert "3.jpg" in both and "1.jpg" not in both and "4.jpg" not in both
    with pytest.raises(InputError, match=r"'1.jpg' could be 'train2014/1.jpg' or 'val2014/1.jpg'"):
        both.read("1.jpg")


@pytest.mark.parametrize(
    "pool", [partial(ProcessPoolExecutor, 2, multiprocessing.get_context("fork")), partial(ThreadPoolExecutor, 8)]
)
@pytest.mark.parametrize("pickled", [False, True])
def test_processes_and_threads_read_the_same_bytes_and_a_pickle_holds_only_paths(archive, pool, pickled):
    photographs, names = Photographs(archive), NAMES * 20
    photographs.read(NAMES[0])  # open, so that a forked child inherits the file
    if pickled:
        data = pickle.dumps(photographs)
        assert len(data) < 500
        photographs = pickle.loads(data)
    with pool() as workers:
        assert list(workers.map(photographs.read, names)) == [encoded(NAMES.index(name)) for name in names]


@pytest.mark.parametrize("name", ["999.jpg", "../secret.jpg", "/etc/passwd", "Flicker8k_Dataset/../../secret.jpg", ""])
def test_a_missing_photograph_is_one_sentence_and_a_name_never_leads_out_of_a_folder(archive, folder, name):
    (folder.parent / "secret.jpg").write_bytes(b"secret")
    for place in (archive, folder):
        with pytest.raises(
            InputError, match=rf"{place.name}: there is no photograph '{name}'; add it, or remove its captions\.$"
        ):
            Photographs(place).read(name)


@pytest.mark.parametrize("entry", ["../../etc/passwd", "/etc/passwd", "a/../../b.jpg", "..\\b.jpg", "C:\\b.jpg"])
def test_an_archive_with_an_entry_that_leaves_the_folder_is_refused(zipped, refused, entry):
    with refused(f"bad.zip: entry '{entry}' would leave the folder; the archive is refused."):
        Photographs(zipped("bad.zip", {"good.jpg": encoded(0), entry: b"x"}))


def test_a_truncated_archive_is_one_sentence_at_every_length(archive, tmp_path):
    data = archive.read_bytes()
    short = tmp_path / "short.zip"
    for length in [0, 1, 22, len(data) // 2, len(data) - 30, len(data) - 1]:
        short.write_bytes(data[:length])
        with pytest.raises(InputError, match="is not a complete zip archive"):
            Photographs(short)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_archive_with_a_changed_byte_is_refused_or_unchanged(archive, tmp_path, data):
    """Whatever byte is wrong: it ends in an InputError, and no wrong bytes come out."""
    flipped = bytearray(archive.read_bytes())
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(flipped)
    with contextlib.suppress(InputError):
        photographs = Photographs(tmp_path / "flipped.zip")
        assert [photographs.read(name) for name in NAMES] == [encoded(seed) for seed in range(len(NAMES))]


def test_an_empty_place_and_a_missing_place_are_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no photographs"):
        Photographs(tmp_path / "empty")
    with pytest.raises(InputError, match="there is no such file"):
        Photographs(tmp_path / "absent.zip")


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "P"), ("PNG", "RGBA"), ("WEBP", "RGB"), ("GIF", "L")],
)
def test_every_kind_decodes_to_rgb_as_pillow_does(kind, mode):
    data = encoded(3, kind=kind, mode=mode)
    image = decode(data, "x")
    assert image.mode == "RGB" and image.size == (40, 30)
    np.testing.assert_array_equal(np.asarray(image), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_truncated_image_and_what_is_no_photograph_are_one_sentence(kind):
    data = encoded(4, size=(64, 64), kind=kind)
    for length in [0, 3, 20, len(data) // 2, len(data) - 100]:
        with pytest.raises(InputError, match=r"^photographs.zip: x.jpg: cannot be decoded"):
            decode(data[:length], "photographs.zip: x.jpg")
    for data in (b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n", b"\x00" * 1000):
        with pytest.raises(InputError, match="not one of JPEG"):
            decode(data, "x.jpg")


@pytest.mark.parametrize("side", [12_000, 40_000])
def test_a_decompression_bomb_is_refused(side):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    with pytest.raises(InputError, match="the image is refused"):
        decode(data, "bomb.png")


@pytest.mark.data
def test_flickr8k_photographs_read_and_decode(mirror):
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    assert len(photographs) == 8091
    for name in photographs.names()[::500]:
        assert decode(photographs.read(name.split("/")[-1]), name).mode == "RGB"
