"""Files as the released programs write them, made here by the libraries that those programs use, not by our writers."""

from __future__ import annotations

import base64
import csv

import h5py
import numpy as np
import pytest

from drawn_features import assert_equal, drawn, read, write
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.features.formats import convert, open_features
from fivesentences.features.formats.tsv import RECOGNISED

BOXED = ("boxes", "sizes")
ALL = (*BOXED, *RECOGNISED, "counts")
SIX = ["image_id", "image_w", "image_h", "num_boxes", "boxes", "features"]
TEN = ["img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf", "num_boxes", "boxes"]
TEN += ["features"]


@pytest.fixture
def sample(mirror):
    """LXMERT's TSV of ten photographs of COCO, from AIRSPLAY's repository."""
    return mirror / "butd_sample" / "train2014_obj36.tsv"


def encoded(array):
    return base64.b64encode(array).decode()


def write_csv(path, records, names, **dialect):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter="\t", extrasaction="ignore", **dialect)
        for record in records:
            row = {"image_id": record.image_id, "num_boxes": len(record.boxes)}
            row |= {"image_w": record.width, "image_h": record.height}
            row |= {key.replace("image", "img"): value for key, value in row.items()}
            row |= {"boxes": encoded(record.boxes), "features": encoded(record.features)}
            if names is TEN:
                row |= {column: encoded(getattr(record, ours)) for ours, (column, _) in RECOGNISED.items()}
            writer.writerow(row)
    return path


@pytest.mark.parametrize(("names", "facts"), [(SIX, BOXED), (TEN, ALL)])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_tsv_of_pythons_csv_module_is_read(names, facts, end, tmp_path):
    records = drawn(20, facts, regions=(10, 30))
    assert_equal(read(write_csv(tmp_path / "a.tsv", records, names, lineterminator=end)), records)


def test_our_tsv_is_that_of_pythons_csv_module(tmp_path):
    records = drawn(20, BOXED, regions=(10, 30))
    expected = write_csv(tmp_path / "theirs.tsv", records, SIX)
    assert write(records, tmp_path / "ours.tsv", "tsv").read_bytes() == expected.read_bytes()


def test_a_header_and_bytes_printed_by_python_3_are_read(tmp_path):
    records = drawn(3, BOXED)
    path = write_csv(tmp_path / "a.tsv", records, SIX)
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    quoted = ["\t".join([*cells[:4], *(f"b'{cell}'" for cell in cells[4:])]) for cells in lines]
    path.write_text("\n".join(["\t".join(SIX), *quoted]))
    assert_equal(read(path), records)


def test_parts_of_a_tsv_are_joined_and_brought_into_the_order_of_a_list(tmp_path):
    records = drawn(30, BOXED, regions=(1, 4), ids=lambda image: str(1000 + image))
    for part, (start, end) in enumerate([(0, 7), (7, 29), (29, 30)]):
        write_csv(tmp_path / f"a.tsv.{part}", records[start:end], SIX)
    order = np.random.default_rng(3).permutation(30)[:20]
    (tmp_path / "ids.txt").write_text("".join(f"{records[row].image_id}\n" * 5 for row in order))
    sources = [tmp_path / f"a.tsv.{part}" for part in range(3)]
    convert(sources, tmp_path / "a.npy", ids=tmp_path / "ids.txt")
    assert_equal(read(tmp_path / "a.npy"), [records[row] for row in order])


def _of_kinds(path, source, boxes, features, change=lambda values: values):
    """Another TSV of the same images, whose numbers are of other types; returns the features as float32."""
    rows, expected = [], []
    for line in source.read_text().splitlines():
        *cells, of_boxes, of_features = line.split("\t")
        values = change(np.frombuffer(base64.b64decode(of_features), "<f4").astype(np.float64)).astype(features)
        written = [encoded(np.frombuffer(base64.b64decode(of_boxes), "<f4").astype(boxes)), encoded(values)]
        rows.append("\t".join([*cells, *written]))
        expected.append(values.astype(np.float32).reshape(int(cells[-1]), -1))
    path.write_text("".join(f"{row}\n" for row in rows))
    return expected


KINDS = [("<f8", "<f8"), ("<f4", "<f8"), ("<f8", "<f4"), ("<f2", "<f2"), ("<f4", "<f2"), (">f4", ">f4"), (">f8", ">f8")]


@pytest.mark.parametrize(("boxes", "features"), KINDS)
@pytest.mark.parametrize("change", [lambda x: np.maximum(x, 0), lambda x: np.maximum(x, 0) / 3, lambda x: x, np.sqrt])
def test_numbers_of_other_types_are_those_of_numpy(boxes, features, change, tmp_path, capfd):
    write_csv(tmp_path / "a.tsv", [*drawn(4, BOXED, dim=64)], SIX)
    with np.errstate(invalid="ignore"):
        expected = _of_kinds(tmp_path / "b.tsv", tmp_path / "a.tsv", boxes, features, lambda x: change(np.abs(x)))
    with open_features(tmp_path / "b.tsv") as source:
        assert source.outline.dim == expected[0].shape[1] == 64
        for row, values in enumerate(expected):
            np.testing.assert_array_equal(source.read(row).features, values)
    assert ("b.tsv" in capfd.readouterr().err) == ((boxes, features) != ("<f4", "<f4"))


@pytest.mark.data
@pytest.mark.parametrize(("boxes", "features"), KINDS)
def test_the_real_tsv_in_other_types_is_that_of_numpy(sample, boxes, features, tmp_path):
    expected = _of_kinds(tmp_path / "b.tsv", sample, boxes, features)
    with open_features(tmp_path / "b.tsv") as source:
        assert source.outline.dim == 2048
        for row, values in enumerate(expected):
            np.testing.assert_array_equal(source.read(row).features, values)


@pytest.mark.parametrize(("boxes", "features"), [("<i4", "<f4"), ("<i8", "<f4"), ("<f4", "<u4")])
def test_numbers_of_no_type_of_features_are_refused(boxes, features, tmp_path):
    write_csv(tmp_path / "a.tsv", [*drawn(4, BOXED, dim=64)], SIX)
    _of_kinds(tmp_path / "b.tsv", tmp_path / "a.tsv", boxes, features, lambda x: 4e9 * np.abs(np.sin(x)))
    with pytest.raises(InputError) as error:
        open_features(tmp_path / "b.tsv")
    assert "line 1" in str(error.value.where)


@pytest.mark.data
@pytest.mark.parity
def test_the_real_tsv_holds_the_numbers_of_the_parity_file(sample, parity, tmp_path):
    expected = parity("butd_pieces")
    with open_features(sample) as source:
        assert source.outline.ids == [str(name) for name in expected["sample/ids"]]
        found = [source.read(row) for row in range(len(source.outline.ids))]
    convert([sample], tmp_path / "a.npy")
    assert_equal(read(tmp_path / "a.npy"), found)
    names = {"boxes": "boxes", "classes": "objects_id", "scores": "objects_conf", "attributes": "attrs_id"}
    names |= {"attribute_scores": "attrs_conf"}
    for ours, theirs in names.items():
        np.testing.assert_array_equal(np.stack([getattr(one, ours) for one in found]), expected[f"sample/{theirs}"])
    np.testing.assert_array_equal([(one.height, one.width) for one in found], expected["sample/image_hw"])
    features = np.stack([one.features for one in found])
    assert features.shape[:2] == expected["sample/boxes"].shape[:2]
    numbers = features.astype(np.float64)
    for key, ours in (
        ("mean", numbers.mean(axis=(1, 2))),
        ("zero_share", (numbers == 0).mean(axis=(1, 2))),
        ("row_norm", np.linalg.norm(numbers, axis=2)),
        ("max", numbers.max(axis=(1, 2))),
    ):
        np.testing.assert_allclose(ours, expected[f"sample/features_{key}"], rtol=1e-9, err_msg=key)
    start = int(expected["sample/features_column_start"])
    (columns,) = [key for key in expected if key.startswith("sample/features_column") and not key.endswith("start")]
    np.testing.assert_array_equal(features[..., start::256], expected[columns])


@pytest.mark.parametrize("repeat", [1, 5])
@pytest.mark.parametrize("beside", ["ids", "repeated ids", "captions", "nothing"])
@pytest.mark.parametrize("suffix", [".npy", ".h5"])
def test_an_array_of_rows_once_or_five_times_is_read(repeat, beside, suffix, tmp_path):
    records = drawn(20, ids=lambda image: f"dev-{image}" if beside in ("captions", "nothing") else str(7 * image))
    rows = np.repeat(np.stack([record.features for record in records]), repeat, axis=0)
    path = tmp_path / ("dev_ims.npy" if suffix == ".npy" else "dev.h5")
    if suffix == ".npy":
        np.save(path, rows)
    else:
        with h5py.File(path, "w") as file:
            file["feat"] = rows
    if "ids" in beside:
        times = 5 if beside == "repeated ids" else 1
        (tmp_path / "dev_ids.txt").write_text("".join(f"{record.image_id}\n" * times for record in records))
    elif beside == "captions":
        (tmp_path / "dev_caps.txt").write_text("a caption\n" * 100)
    assert_equal(read(path), records)


def test_splits_of_a_precomp_folder_become_one_table(tmp_path):
    records = drawn(30, regions=None, dtype=np.float16, ids=str)
    bounds = {"train": (0, 20), "dev": (20, 25), "test": (25, 30)}
    for split, (start, end) in bounds.items():
        repeat = 1 if split == "train" else 5
        np.save(tmp_path / f"{split}_ims.npy", np.repeat([one.features for one in records[start:end]], repeat, axis=0))
        (tmp_path / f"{split}_ids.txt").write_text("".join(f"{one.image_id}\n" * repeat for one in records[start:end]))
    convert([tmp_path / f"{split}_ims.npy" for split in bounds], tmp_path / "a.npy")
    table = FeatureTable.open(tmp_path / "a.npy")
    assert table.image_ids == [one.image_id for one in records]
    np.testing.assert_array_equal(table.array, [one.features for one in records])


@pytest.mark.parametrize("name", ["dev_ims.npy", "dev.h5"])
def test_rows_five_times_are_written_as_the_releases_have_them(name, tmp_path):
    records = drawn(6, ids=str)
    convert([write(records, tmp_path / "a.npy", "table")], tmp_path / name, repeat=5)
    if name.endswith("npy"):
        rows = np.load(tmp_path / name)
    else:
        with h5py.File(tmp_path / name) as file:
            rows = file["feat"][:]
    np.testing.assert_array_equal(rows, np.repeat([one.features for one in records], 5, axis=0))
    assert (tmp_path / "dev_ids.txt").read_text() == "".join(f"{image}\n" * 5 for image in range(6))
