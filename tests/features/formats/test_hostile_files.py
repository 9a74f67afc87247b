"""Damaged and hostile files end in one sentence that names the file and the place, and leave nothing behind."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import zipfile
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
        assert "\n" not in str(error.value)
        assert not list((tmp_path / "out").iterdir())

    return check


# --- TSV ----------------------------------------------------------------------------------------------------


def tsv(tmp_path, **changed):
    """Three lines, of which the second is changed: a cell by its number, or the whole line."""
    lines = [line.split(b"\t") for line in write(drawn(3, BOXED), tmp_path / "a.tsv", "tsv").read_bytes().splitlines()]
    for cell, value in changed.items():
        lines[1][int(cell.removeprefix("c"))] = value
    (tmp_path / "a.tsv").write_bytes(b"".join(b"\t".join(cells) + b"\n" for cells in lines))
    return tmp_path / "a.tsv"


FEATURES = base64.b64encode(np.arange(15, dtype="<f4").tobytes())
NAN = base64.b64encode(np.array([*range(14), np.nan], dtype="<f4").tobytes())
INFINITE = base64.b64encode(np.array([np.inf, *range(11)], dtype="<f4").tobytes())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"c5": FEATURES[:-4]}, r"a\.tsv, line 2: the column features has 76 characters of base64, but 3 regions of 5"),
        ({"c5": FEATURES + b"AAAA"}, "line 2: the column features has 84 characters"),
        ({"c5": b"*" * 80}, "line 2: the column features is not base64 of float32"),
        ({"c5": NAN}, r"line 2: the features of image 'image_1' hold nan at \(2, 4\)"),
        ({"c4": INFINITE}, r"line 2: the boxes of image 'image_1' hold inf at \(0, 0\)"),
        ({"c4": b""}, "line 2: the column boxes has 0 characters"),
        ({"c3": b"2"}, "line 2: the column boxes has 64 characters of base64, but 2 regions need 44"),
        ({"c3": b"0"}, "num_boxes is '0'; it must be a whole number from 1"),
        ({"c3": b"-3"}, "num_boxes is '-3'"),
        ({"c3": b"999999999"}, "num_boxes is 999,999,999, more than fit here"),
        ({"c3": b"9" * 5000}, "num_boxes is '9999"),
        ({"c3": "٣".encode()}, "num_boxes is "),
        ({"c1": b"0"}, "line 2: image_w is '0'"),
        ({"c2": b"1e3"}, "line 2: image_h is '1e3'"),
        ({"c0": b"image_2"}, "image 'image_2' is in it more than once"),
        ({"c0": b""}, "the image id '' is empty"),
        ({"c0": b"  "}, "the image id '  ' is empty"),
        ({"c0": b"../../etc/passwd"}, r"'\.\./\.\./etc/passwd' is a path that leaves its folder; rename"),
        ({"c0": b"..\\x"}, "leaves its folder"),
        ({"c0": b"/etc/passwd"}, "leaves its folder"),
        ({"c0": b"a\x00b"}, "holds a control character"),
        ({"c0": b"\xff"}, r"line 2: the image id .*xff.* is not UTF-8"),
        ({"c0": b"x" * 2000}, "has 2,000 characters"),
        ({"c0": b"a\tb"}, "line 2 has 7 of 6 columns"),
    ],
)
def test_a_damaged_line_of_a_tsv_is_named(changed, words, tmp_path, refused):
    refused(tsv(tmp_path, **changed), words)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it holds no image"),
        (b"\r\n", r"line 1 has 1 column \("),
        (b"this is a text\nand no table\n", r"line 1 has 1 column \('this is a text"),
        (b"image\tcaption\n1\ta dog\n", r"line 1 has 2 columns .* is it the file that you mean\?"),
        (b"%PDF-1.4\n\x00\xff", "line 1 has 1 column"),
        (b"image_id\timage_w\timage_h\tnum_boxes\tboxes\tfeatures\r\n", "it holds no image"),
    ],
)
def test_what_is_no_tsv_is_said_so(data, words, tmp_path, refused):
    (tmp_path / "a.tsv").write_bytes(data)
    refused(tmp_path / "a.tsv", words)


def test_a_tsv_that_was_cut_or_has_blank_lines_is_refused(tmp_path, refused):
    path = tsv(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\t") - 3])
    refused(path, "line 3 has 5 of 6 columns and no end: the file is cut; fetch it again")
    path.write_bytes(whole + b"\n")
    with pytest.raises(InputError, match="line 4 is blank; delete it"):
        convert([path], tmp_path / "b.npy")
    path.write_bytes(whole[:-50])
    with pytest.raises(InputError, match="line 3: the column features has 31 characters of base64"):
        convert([path], tmp_path / "b.npy")


def test_a_file_without_an_end_of_line_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("fivesentences.features.formats.tsv.LONGEST_LINE", 1000)
    (tmp_path / "a.tsv").write_bytes(b"a\tb\tc\td\te\t" + b"x" * 5000)
    with pytest.raises(InputError, match="line 1 is longer than 1,000 bytes"):
        convert([tmp_path / "a.tsv"], tmp_path / "b.npy")


@given(data=st.data())
@settings(max_examples=200, deadline=None)
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


# --- arrays -------------------------------------------------------------------------------------------------


def huge_npy(shape: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros((1, 1, 1), np.float32))
    return file.getvalue().replace(b"(1, 1, 1), }" + b" " * (len(shape) - 9), shape.encode() + b", }")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 2, 4), np.float64), "x_ims.npy is float64"),
        (np.zeros((3, 2, 4), np.int32), "x_ims.npy is int32"),
        (np.zeros((3,), np.float32), r"x_ims.npy is float32 of shape \[3\]"),
        (np.zeros((0, 2, 4), np.float32), r"its shape is \[0, 2, 4\]"),
        (np.zeros((3, 0, 4), np.float32), r"its shape is \[3, 0, 4\]"),
        (np.asfortranarray(np.zeros((3, 2, 4), np.float32)), "stored column by column"),
        (np.array([{}, None], object), "Python objects, which are never loaded"),
        (np.full((3, 2, 4), np.nan, np.float32), r"the features of image 'x-0' hold nan at \(0, 0\)"),
    ],
)
def test_arrays_that_hold_no_features_are_refused(array, words, tmp_path, refused):
    np.save(tmp_path / "x_ims.npy", array)
    refused(tmp_path / "x_ims.npy", words)


def test_a_header_that_announces_more_than_the_file_holds_is_refused(tmp_path, refused):
    (tmp_path / "x_ims.npy").write_bytes(huge_npy("(999999999, 36, 2048)"))
    refused(tmp_path / "x_ims.npy", r"this is not a complete \.npy file of numbers \(it is cut\)")


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("a\nb\n", "it has 15 rows, but x_ids.txt names 2 images"),
        ("a\nb\na\n", "image 'a' is in it more than once"),
        ("a\n\nb\n", "line 2 is empty"),
        ("a\n../b\nc\n", "leaves its folder"),
    ],
)
def test_a_list_of_ids_that_does_not_fit_is_refused(ids, words, tmp_path, refused):
    np.save(tmp_path / "x_ims.npy", np.zeros((15, 2, 4), np.float32))
    (tmp_path / "x_ids.txt").write_text(ids)
    refused(tmp_path / "x_ims.npy", words)


def test_rows_that_should_be_of_one_image_but_differ_are_refused(tmp_path, refused):
    rows = np.repeat(np.arange(3, dtype=np.float32), 5)[:, None] + np.zeros((15, 4), np.float32)
    rows[12] += 1
    np.save(tmp_path / "x_ims.npy", rows)
    (tmp_path / "x_ids.txt").write_text("a\nb\nc\n")
    refused(tmp_path / "x_ims.npy", r"rows 10 to 14 should all be of image 'c', but differ; is x_ids.txt of the same")


# --- HDF5 ---------------------------------------------------------------------------------------------------


def test_an_hdf5_file_that_leads_elsewhere_is_refused(tmp_path, refused):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["feat"] = np.zeros((2, 3), np.float32)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["feat"] = h5py.ExternalLink(str(secret), "feat")
    refused(tmp_path / "x.h5", "'feat' is a link, which may lead anywhere")
    (tmp_path / "bytes").write_bytes(bytes(24))
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("feat", (2, 3), "f4", external=[(str(tmp_path / "bytes"), 0, 24)])
    with pytest.raises(InputError, match="the numbers of 'feat' are in other files"):
        convert([tmp_path / "y.h5"], tmp_path / "b.npy")
    with h5py.File(tmp_path / "z.h5", "w") as file:
        layout = h5py.VirtualLayout((2, 3), "f4")
        layout[:] = h5py.VirtualSource(str(secret), "feat", (2, 3))
        file.create_virtual_dataset("feat", layout)
    with pytest.raises(InputError, match="the numbers of 'feat' are in other files"):
        convert([tmp_path / "z.h5"], tmp_path / "b.npy")


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({}, "it holds nothing, but neither image_features nor feat"),
        ({"other": np.zeros(3)}, "it holds other, but neither image_features nor feat"),
        ({"feat": np.zeros((3, 2))}, "x.h5: feat is float64"),
        ({"feat": np.array([b"abc"])}, "'feat' is no array of numbers"),
        ({"feat/inside": np.zeros(3)}, "'feat' is no array of numbers"),
        ({"image_features": np.zeros((3, 2), np.float32)}, r"'image_features' is \[3, 2\]; it must be"),
        ({"image_features": np.zeros((3, 2, 4), np.float32)}, "neither x_imgid2idx.pkl nor x_ids.txt beside"),
        (
            {"image_features": np.zeros((3, 2, 4), np.float32), "image_bb": np.zeros((3, 2, 5), np.float32)},
            r"'image_bb' is \[3, 2, 5\]; it must be \[3, 2, 4\]",
        ),
    ],
)
def test_hdf5_files_without_features_are_refused(contents, words, tmp_path, refused):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, array in contents.items():
            file[name] = array
    refused(tmp_path / "x.h5", words)


def test_a_file_that_is_no_hdf5_or_announces_more_than_fits_is_refused(tmp_path, refused):
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    refused(tmp_path / "x.h5", "it is not a readable HDF5 file")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("feat", (2**40, 36), "f4", chunks=(1, 36))
    with pytest.raises(InputError, match="at most 10,000,000 make sense"):
        convert([tmp_path / "y.h5"], tmp_path / "b.npy")
    with h5py.File(tmp_path / "z.h5", "w") as file:
        file.create_dataset("feat", (2, 2**31), "f4", chunks=(1, 2**20))
    with pytest.raises(InputError, match="it holds no features that fit here"):
        convert([tmp_path / "z.h5"], tmp_path / "b.npy")


@pytest.mark.parametrize(
    ("places", "rows"),
    [([[0, 3], [3, 7]], None), ([[0, 3], [3, 3]], None), ([[-1, 3], [3, 6]], None), ([[3, 0], [3, 6]], None)]
    + [([[0, 3], [3, 6]], rows) for rows in ([], {}, {"a": 0, "b": 2}, {"a": 0, "b": 0}, {"a": "0"}, {"../a": 1})]
    + [([[0, 3], [3, 6]], rows) for rows in ({"a": 10**30, "b": 0}, {"a": -(10**30), "b": 0}, {10**5000: 0, "b": 1})],
)
def test_places_and_rows_that_are_not_there_are_refused(places, rows, tmp_path, refused):
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["image_features"], file["pos_boxes"] = np.zeros((6, 4), np.float32), np.array(places, np.int32)
    (tmp_path / "x_imgid2idx.pkl").write_bytes(pickle.dumps({"a": 0, "b": 1} if rows is None else rows))
    refused(tmp_path / "x.hdf5", r"pos_boxes' does not say|x_imgid2idx\.pkl: (it does not say|its rows|the image id)")


def test_places_of_regions_that_do_not_follow_each_other_are_refused(tmp_path, refused):
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["image_features"], file["pos_boxes"] = np.zeros((2, 3, 4), np.float32), np.array([[0, 3], [3, 6]])
    (tmp_path / "x_imgid2idx.pkl").write_bytes(pickle.dumps({"a": 0, "b": 1}))
    refused(tmp_path / "x.hdf5", r"'image_features' is \[2, 3, 4\]; it must be \[regions, dim\]")


class Runs:
    def __reduce__(self):
        return os.system, ("touch ran",)


def test_a_pickle_that_would_run_something_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["image_features"] = np.zeros((2, 3, 4), np.float32)
    (tmp_path / "x_imgid2idx.pkl").write_bytes(pickle.dumps({"a": 0, "b": Runs()}))
    refused(tmp_path / "x.hdf5", r"x_imgid2idx\.pkl: this pickle asks for 'posix\.system'")
    (tmp_path / "folder").mkdir()
    np.savez(tmp_path / "folder" / "a.npz", x=np.zeros((2, 3), np.float32), info=np.array({"a": Runs()}))
    with pytest.raises(InputError, match=r"a\.npz: info: this pickle asks for 'posix\.system'"):
        convert([tmp_path / "folder"], tmp_path / "b.npy")
    assert not (tmp_path / "ran").exists()


def test_recognised_objects_in_rows_of_several_lengths_are_refused(tmp_path, refused):
    (tmp_path / "folder").mkdir()
    info = np.array({"objects_id": [[1], [2, 3]]})
    np.savez(tmp_path / "folder" / "a.npz", x=np.zeros((2, 3), np.float32), info=info)
    refused(tmp_path / "folder", r"a\.npz: 'objects_id' is list whose rows differ in length")


# --- folders ------------------------------------------------------------------------------------------------


def npz(tmp_path, **changed):
    folder = tmp_path / "folder"
    write(drawn(3, BOXED), folder, "npz")
    with np.load(folder / "image_1.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays = {name: value for name, value in (arrays | changed).items() if value is not None}
    np.savez(folder / "image_1.npz", **arrays)
    return folder


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"x": None}, "image_1.npz: it holds no array called x, feat or features"),
        ({"x": np.zeros((2, 5), np.float32)}, r"image_1\.npz: num_bbox is 3, but there are 2 vectors"),
        ({"x": np.zeros((3, 5))}, "image_1.npz: x is float64"),
        ({"x": np.zeros((3, 6), np.float32)}, "image_1.npz: it holds float32"),
        ({"x": np.full((3, 5), np.nan, np.float32)}, "image_1.npz: the features of image 'image_1' hold nan"),
        (
            {"x": np.zeros((2, 5), np.float32), "num_bbox": None},
            r"the boxes of image 'image_1' are \[3, 4\]; 2 regions need \[2, 4\]",
        ),
        ({"bbox": None}, "with sizes, but image_0.npz .* with boxes, sizes"),
        ({"bbox": np.zeros((3, 5), np.float32)}, r"'bbox' is \[3, 5\]; it must be \[regions, 4\]"),
        ({"num_bbox": np.array(7)}, "num_bbox is 7, but there are 3 vectors"),
        ({"image_w": np.array(-1)}, "image 'image_1' is -1 x"),
        ({"image_w": np.array([1, 2])}, "'image_w' is int64"),
        ({"image_w": np.array("x")}, "'image_w' is <U1"),
        ({"objects_id": np.zeros(3)}, "'objects_id' is float64"),
        ({"objects_id": np.zeros(4, np.int64)}, "with boxes, classes, sizes, but"),
    ],
)
def test_a_damaged_npz_is_named(changed, words, tmp_path, refused):
    refused(npz(tmp_path, **changed), words)


def test_npz_files_that_are_cut_or_announce_more_than_they_hold_are_refused(tmp_path, refused):
    folder = npz(tmp_path)
    path = folder / "image_1.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    refused(folder, "image_1.npz: this is not a complete .npz file")
    path.write_bytes(whole.replace(b"(3, 5)", b"(9, 5)"))
    with pytest.raises(InputError, match=r"image_1\.npz"):
        convert([folder], tmp_path / "b.npy")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", huge_npy("(99999999, 2048, 1)"))
    with pytest.raises(InputError, match=r"image_1\.npz"):
        convert([folder], tmp_path / "b.npy")


def test_folders_of_two_kinds_or_of_nothing_are_refused(tmp_path, refused):
    folder = npz(tmp_path)
    np.save(folder / "image_9.npy", np.zeros((3, 5), np.float32))
    refused(folder, "it holds both .npy and .npz files")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"it holds neither \.npy nor \.npz files"):
        convert([tmp_path / "empty"], tmp_path / "b.npy")


def test_a_precomp_folder_is_not_taken_for_a_folder_of_images(tmp_path, refused):
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "train_ims.npy", np.zeros((3, 5), np.float32))
    refused(tmp_path / "folder", r"train_ims\.npy in it holds the features of many images, not of one; name that file")
    write(drawn(3), tmp_path / "other" / "a.npy", "table")
    with pytest.raises(InputError, match=r"a\.npy in it holds the features of many images"):
        convert([tmp_path / "other"], tmp_path / "b.npy")


# --- our own ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda t: t.slice(0, t.num_rows - 1),
            r"a\.regions\.parquet: it has \d+ rows, but the images have \d+ regions",
        ),
        (lambda t: t.take(list(reversed(range(t.num_rows)))), "are not those of image 'image_0'"),
        (lambda t: t.drop_columns(["y2"]), "it has no column 'y2'"),
        (lambda t: t.set_column(1, "x1", pa.array([None] * t.num_rows, pa.float32())), "its column 'x1' is float with"),
        (lambda t: t.set_column(1, "x1", pa.array(["1"] * t.num_rows)), "its column 'x1' is string"),
        (
            lambda t: t.set_column(1, "x1", pa.array([np.nan] * t.num_rows, pa.float32())),
            "boxes of image 'image_0' hold",
        ),
    ],
)
def test_a_damaged_table_of_regions_is_named(change, words, tmp_path, refused):
    path = write(drawn(5, FACTS, regions=(1, 3)), tmp_path / "a.npy", "table")
    beside = tmp_path / "a.regions.parquet"
    pq.write_table(change(pq.read_table(beside)), beside)
    refused(path, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(image_id="a"), "image 'a' is in it more than once"),
        (lambda f: f.assign(image_id=[f"../{n}" for n in range(5)]), "leaves its folder"),
        (lambda f: f.iloc[:4], "has 5 rows, but a.images.parquet names 4 images"),
        (lambda f: f.assign(regions=0), "'regions' runs from 0 to 0, but a.npy has 3 rows per image"),
        (lambda f: f.assign(regions=10**12), "'regions' runs from 1000000000000"),
        (lambda f: f.assign(regions=1.5), "column 'regions' lacks whole numbers"),
        (lambda f: f.assign(width=[1, 2, 3, 4, None]), "column 'width' lacks whole numbers"),
        (lambda f: f.assign(height=-1), "an image has pixels"),
        (lambda f: f.drop(columns="image_id"), "has no column 'image_id'"),
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
