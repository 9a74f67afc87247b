"""Damaged and hostile files end in one sentence that names the file and the place, and leave nothing behind."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_features import drawn, write
from fivesentences.errors import InputError
from fivesentences.features.formats import convert
from fivesentences.features.formats.record import FACTS

BOXED = ("boxes", "sizes")


@pytest.fixture
def refused(tmp_path):
    """Checks the sentence about a file that cannot be converted, and that nothing is written."""

    def check(source: Path, words: str, **options) -> None:
        (tmp_path / "out").mkdir()
        with pytest.raises(InputError, match=words) as error:
            convert([source], tmp_path / "out" / "a.npy", **options)
        assert str(source.with_suffix("")) in str(error.value) and "\n" not in str(error.value)
        assert not list((tmp_path / "out").iterdir())

    return check


def tsv(tmp_path, **changed):
    """Three lines, of which the second is changed: a cell by its number, or the whole line."""
    lines = [line.split(b"\t") for line in write(drawn(3, BOXED), tmp_path / "a.tsv", "tsv").read_bytes().splitlines()]
    for cell, value in changed.items():
        lines[1][int(cell.removeprefix("c"))] = value
    (tmp_path / "a.tsv").write_bytes(b"".join(b"\t".join(cells) + b"\n" for cells in lines))
    return tmp_path / "a.tsv"


FEATURES = base64.b64encode(np.arange(15, dtype="<f4").tobytes())
NAN = base64.b64encode(np.array([*range(14), np.nan], dtype="<f4").tobytes())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"c5": FEATURES[:-4]}, "line 2.* features has 76 characters"),
        ({"c5": b"*" * 80}, "line 2.* features is not base64"),
        ({"c5": NAN}, r"'image_1'.*2.*4"),
        ({"c4": b""}, "line 2.* boxes has 0 characters"),
        ({"c3": b"2"}, "line 2.* 2 regions need"),
        ({"c3": b"0"}, "num_boxes is '0'"),
        ({"c3": b"999999999"}, "999,999,999 regions"),
        ({"c3": b"9" * 5000}, "num_boxes is '9999"),
        ({"c3": "٣".encode()}, "num_boxes is "),
        ({"c2": b"1e3"}, "image_h is '1e3'"),
        ({"c0": b"image_2"}, "'image_2'"),
        ({"c0": b"  "}, "'  '"),
        ({"c0": b"../../etc/passwd"}, "leaves its folder"),
        ({"c0": b"a\x00b"}, "holds a control character"),
        ({"c0": b"\xff"}, "xff.* is not UTF-8"),
        ({"c0": b"x" * 2000}, "has 2,000 characters"),
        ({"c0": b"a\tb"}, "7 of 6 columns"),
    ],
)
def test_a_damaged_line_of_a_tsv_is_named(changed, words, tmp_path, refused):
    refused(tsv(tmp_path, **changed), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda whole: b"", "it has 0 images"),
        (lambda whole: b"image\tcaption\n1\ta dog\n", "line 1: 2 columns"),
        (lambda whole: b"%PDF-1.4\n\x00\xff", "line 1: 1 columns"),
        (lambda whole: b"image_id\timage_w\timage_h\tnum_boxes\tboxes\tfeatures\r\n", "it has 0 images"),
        (lambda whole: whole[: whole.rindex(b"\t") - 3], r"3.*5.*6"),
        (lambda whole: whole + b"\n", "4"),
        (lambda whole: whole[:-50], "3"),
        (lambda whole: b"a\tb\tc\td\te\t" + b"x" * 5000, r"1.*1.*000"),
    ],
)
def test_what_is_no_tsv_or_was_cut_is_said_so(change, words, tmp_path, refused, monkeypatch):
    monkeypatch.setattr("fivesentences.features.formats.tsv.LONGEST_LINE", 1000)
    path = tsv(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    refused(path, words)


@given(data=st.data())
@settings(max_examples=100)
def test_any_changed_byte_of_a_tsv_gives_features_or_one_sentence(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("x")
    path = write(drawn(3, BOXED), folder / "a.tsv", "tsv")
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        convert([path], folder / "b.npy")
    except InputError as error:
        assert str(path) in str(error)
        assert not list(folder.glob("*b.*"))


def huge_npy(shape: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros((1, 1, 1), np.float32))
    return file.getvalue().replace(b"(1, 1, 1), }" + b" " * (len(shape) - 9), shape.encode() + b", }")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 2, 4), np.float64), "is float64"),
        (np.zeros((3,), np.float32), r"float32.*\[3\]"),
        (np.zeros((0, 2, 4), np.float32), r"its shape is \[0, 2, 4\]"),
        (np.zeros((3, 0, 4), np.float32), r"its shape is \[3, 0, 4\]"),
        (np.array([{}, None], object), "Python objects"),
        (np.full((3, 2, 4), np.nan, np.float32), r"'x-0'.*0.*0"),
        (None, "it is cut"),
    ],
)
def test_arrays_that_hold_no_features_are_refused(array, words, tmp_path, refused):
    path = tmp_path / "x_ims.npy"
    path.write_bytes(huge_npy("(999999999, 36, 2048)")) if array is None else np.save(path, array)
    refused(path, words)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("a\nb\n", r"15.*x_ids\.txt.*2"),
        ("a\nb\na\n", "'a'"),
        ("a\n\nb\n", "'' is empty"),
        ("a\n../b\nc\n", "leaves its folder"),
        ("a\nb\nc\n", r"10.*14.*'c'"),
    ],
)
def test_a_list_of_ids_that_does_not_fit_is_refused(ids, words, tmp_path, refused):
    rows = np.repeat(np.arange(3, dtype=np.float32), 5)[:, None] + np.zeros((15, 4), np.float32)
    rows[12] += 1
    np.save(tmp_path / "x_ims.npy", rows)
    (tmp_path / "x_ids.txt").write_text(ids)
    with pytest.raises(InputError, match=words):
        convert([tmp_path / "x_ims.npy"], tmp_path / "a.npy")


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((2, 3), "f4")
    layout[:] = h5py.VirtualSource("secret.h5", "feat", (2, 3))
    file.create_virtual_dataset("feat", layout)


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        (lambda file: file.update(feat=h5py.ExternalLink("secret.h5", "feat")), "in other files"),
        (lambda file: file.create_dataset("feat", (2, 3), "f4", external=[("bytes", 0, 24)]), "in other files"),
        (virtual, "in other files"),
        (lambda file: None, "no dataset 'feat'"),
        (lambda file: file.update({"feat/inside": np.zeros(3)}), "no dataset 'feat'"),
        (lambda file: file.update(feat=np.zeros((3, 2))), "feat is float64"),
        (lambda file: file.update(feat=np.array([b"abc"])), "feat is |S3"),
        (lambda file: file.create_dataset("feat", (2**40, 36), "f4", chunks=(1, 36)), "features"),
        (lambda file: file.create_dataset("feat", (2, 2**31), "f4", chunks=(1, 2**20)), "features"),
    ],
)
def test_hdf5_files_without_features_or_that_lead_elsewhere_are_refused(fill, words, tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bytes").write_bytes(bytes(24))
    with h5py.File("secret.h5", "w") as file:
        file["feat"] = np.zeros((2, 3), np.float32)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        fill(file)
    refused(tmp_path / "x.h5", words)


def test_a_file_that_is_no_hdf5_is_refused(tmp_path, refused):
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    refused(tmp_path / "x.h5", "not a readable HDF5 file")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.slice(0, t.num_rows - 1), r"its \d+ rows are not the \d+ regions"),
        (lambda t: t.take(list(reversed(range(t.num_rows)))), r"its \d+ rows are not the"),
        (lambda t: t.drop_columns(["y2"]), "'y2'"),
        (lambda t: t.set_column(1, "x1", pa.array(["1"] * t.num_rows)), "'x1'"),
        (lambda t: t.set_column(1, "x1", pa.array([None] * t.num_rows, pa.float32())), "'image_0'"),
    ],
)
def test_a_damaged_table_of_regions_is_named(change, words, tmp_path, refused):
    path = write(drawn(5, FACTS, regions=(1, 3)), tmp_path / "a.npy", "table")
    beside = tmp_path / "a.regions.parquet"
    pq.write_table(change(pq.read_table(beside)).replace_schema_metadata(), beside)  # of a program without checksums
    refused(path, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(image_id="a"), "'a'"),
        (lambda f: f.assign(image_id=[f"../{n}" for n in range(5)]), "leaves its folder"),
        (lambda f: f.iloc[:4], r"5.*a\.images\.parquet.*4"),
        (lambda f: f.assign(regions=10**12), "'regions' runs from 1000000000000"),
        (lambda f: f.assign(regions=1.5), "'regions'"),
        (lambda f: f.assign(width=[1, 2, 3, 4, None]), "'width'"),
        (lambda f: f.assign(height=-1), "pixels"),
        (lambda f: f.drop(columns="image_id"), "'image_id'"),
    ],
)
def test_a_damaged_table_of_images_is_named(change, words, tmp_path, refused):
    path = write(drawn(5, FACTS, regions=(3, 3)), tmp_path / "a.npy", "table")
    change(pd.read_parquet(tmp_path / "a.images.parquet")).to_parquet(tmp_path / "a.images.parquet", index=False)
    refused(path, words)


def test_a_damaged_note_on_the_source_is_named(tmp_path, refused):
    path = write(drawn(5), tmp_path / "a.npy", "table")
    (tmp_path / "a.source.json").write_text(json.dumps({"format": "other"}))
    refused(path, r"a\.source\.json: it does not say where features come from")
