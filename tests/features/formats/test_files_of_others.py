"""Files as the released programs write them, made here by the libraries that those programs use, not by our writers."""

from __future__ import annotations

import base64
import csv
import pickle
from contextlib import closing

import h5py
import numpy as np
import pandas as pd
import pytest

from drawn_features import assert_equal, drawn, read, write
from fivesentences.features import FeatureTable
from fivesentences.features.formats import convert
from fivesentences.features.formats.folders import INFO
from fivesentences.features.formats.known import FORMATS

BOXED = ("boxes", "sizes")
ALL = (*BOXED, "scores", "classes", "attributes", "attribute_scores", "counts")
SIX = ["image_id", "image_w", "image_h", "num_boxes", "boxes", "features"]
TEN = ["img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf", "num_boxes", "boxes"]
TEN += ["features"]


@pytest.fixture
def sample(mirror):
    """LXMERT's TSV of ten photographs of COCO, from AIRSPLAY's repository."""
    return mirror / "butd_sample" / "train2014_obj36.tsv"


# --- TSV ----------------------------------------------------------------------------------------------------


def encoded(array):
    return base64.b64encode(array).decode()


def rows_of(records, names):
    for record in records:
        yield {
            "image_id": record.image_id,
            "img_id": record.image_id,
            **{f"{image}_{side}": getattr(record, whole) for image in ("image", "img") for side, whole in SIDES},
            "num_boxes": record.regions,
            "boxes": encoded(record.boxes),
            "features": encoded(record.features),
            **({name: encoded(getattr(record, ours)) for name, ours in INFO.items()} if names is TEN else {}),
        }


SIDES = (("w", "width"), ("h", "height"))


def write_csv(path, records, names, **dialect):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter="\t", extrasaction="ignore", **dialect)
        writer.writerows(rows_of(records, names))
    return path


@pytest.mark.parametrize(("names", "facts"), [(SIX, BOXED), (TEN, ALL)])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_tsv_of_pythons_csv_module_is_read(names, facts, end, tmp_path):
    records = drawn(20, facts, regions=(10, 30))
    assert_equal(read(write_csv(tmp_path / "a.tsv", records, names, lineterminator=end)), records)


@pytest.mark.parametrize(("names", "facts"), [(SIX, BOXED), (TEN, ALL)])
def test_our_tsv_is_that_of_pythons_csv_module(names, facts, tmp_path):
    records = drawn(20, facts, regions=(10, 30))
    expected = write_csv(tmp_path / "theirs.tsv", records, names)
    ours = write(records, tmp_path / "ours.tsv", "tsv" if names is SIX else "lxmert")
    assert ours.read_bytes() == expected.read_bytes()


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


@pytest.mark.data
def test_the_real_tsv_comes_back_to_the_last_byte_through_every_format_that_can_hold_it(sample, tmp_path):
    convert([sample], tmp_path / "a.npy")
    convert([tmp_path / "a.npy"], tmp_path / "folder")
    assert sorted(tmp_path.glob("folder/*"))[0].name == "COCO_train2014_000000084002.npz"
    pd.Series([line.split(b"\t")[0].decode() for line in sample.read_bytes().splitlines()]).to_csv(
        tmp_path / "ids.txt", index=False, header=False
    )
    convert([tmp_path / "folder"], tmp_path / "b.tsv", ids=tmp_path / "ids.txt")
    assert (tmp_path / "b.tsv").read_bytes() == sample.read_bytes()


@pytest.mark.data
@pytest.mark.parity
def test_the_real_tsv_holds_the_numbers_of_the_parity_file(sample, parity):
    expected = parity("butd_pieces")
    with closing(FORMATS["tsv"].read(sample)) as source:
        assert source.outline.ids == [str(name) for name in expected["sample/ids"]]
        found = [source.read(row) for row in range(len(source.outline.ids))]
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


# --- arrays of precomp folders ------------------------------------------------------------------------------


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


def test_rows_five_times_are_written_as_the_releases_have_them(tmp_path):
    records = drawn(6, ids=str)
    convert([write(records, tmp_path / "a.npy", "table")], tmp_path / "dev_ims.npy", repeat=5)
    np.testing.assert_array_equal(
        np.load(tmp_path / "dev_ims.npy"), np.repeat([one.features for one in records], 5, axis=0)
    )
    assert (tmp_path / "dev_ids.txt").read_text() == "".join(f"{image}\n" * 5 for image in range(6))


# --- folders ------------------------------------------------------------------------------------------------


def milvlg(path, record, compressed=True, **extra):
    """As MILVLG's extract_features.py saves an image."""
    info = {
        "image_id": record.image_id,
        "image_h": np.int64(record.height),
        "image_w": record.width,
        "num_boxes": record.regions,
        **{name: getattr(record, ours) for name, ours in INFO.items() if getattr(record, ours) is not None},
    }
    save = np.savez_compressed if compressed else np.savez
    sizes = {"image_h": record.height, "image_w": record.width}
    save(path / record.image_id, **{"x": record.features, "bbox": record.boxes, "info": info, **sizes, **extra})


@pytest.mark.parametrize("facts", [ALL, (*BOXED, "scores", "classes")])
@pytest.mark.parametrize("compressed", [True, False])
def test_npz_files_of_milvlg_are_read_with_what_was_recognised(facts, compressed, tmp_path):
    records = drawn(12, facts, regions=(10, 30), ids=lambda image: f"COCO_{image:012d}")
    for record in records:
        milvlg(tmp_path, record, compressed, num_bbox=record.regions)
    assert_equal(read(tmp_path), records)
    convert([tmp_path], tmp_path / "table" / "a.npy")
    assert_equal(read(tmp_path / "table" / "a.npy"), records)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", ["x", "feat", "features"])
def test_features_under_other_names_and_with_regions_in_columns_are_read(name, transposed, tmp_path):
    records = drawn(4, ("boxes",), regions=(7, 9))
    for record in records:
        features = record.features.T if transposed else record.features
        np.savez(tmp_path / f"{record.image_id}.npz", **{name: features, "bbox": record.boxes})
    assert_equal(read(tmp_path), records)


def test_a_folder_of_numbered_arrays_is_in_the_order_of_the_numbers(tmp_path):
    records = drawn(12, regions=(1, 4), ids=str)
    for record in records:
        np.save(tmp_path / f"{record.image_id}.npy", record.features)
    assert_equal(read(tmp_path), records)


def test_our_npz_is_read_by_numpy_without_pickles(tmp_path):
    records = drawn(3, ALL)
    write(records, tmp_path / "a", "npz")
    with np.load(tmp_path / "a" / "image_1.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["x"], records[1].features)
        np.testing.assert_array_equal(file["bbox"], records[1].boxes)
        assert (int(file["image_w"]), int(file["image_h"])) == (records[1].width, records[1].height)
        np.testing.assert_array_equal(file["objects_id"], records[1].classes)
        np.testing.assert_array_equal(file["attrs_conf"], records[1].attribute_scores)


# --- HDF5 of VQA models -------------------------------------------------------------------------------------


def shares(record):
    """As the released converters compute spatial_features, column by column."""
    x1, y1, x2, y2 = record.boxes.T
    width, height = float(record.width), float(record.height)
    w, h = (x2 - x1) / width, (y2 - y1) / height
    return np.stack([x1 / width, y1 / height, x1 / width + w, y1 / height + h, w, h], axis=1)


def write_vqa(path, records, flat, protocol, order):
    row_of = {int(records[place].image_id): row for row, place in enumerate(order)}
    rows = [records[place] for place in order]
    join = np.concatenate if flat else np.stack
    with h5py.File(path, "w") as file:
        file["image_features"] = join([one.features for one in rows])
        file["image_bb"] = join([one.boxes for one in rows])
        file["spatial_features"] = join([shares(one) for one in rows]).astype(np.float32)
        if flat:
            ends = np.cumsum([one.regions for one in rows])
            file["pos_boxes"] = np.stack([ends - [one.regions for one in rows], ends], axis=1).astype(np.int32)
    path.with_name(f"{path.stem}_imgid2idx.pkl").write_bytes(pickle.dumps(row_of, protocol))


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_hdf5_of_vqa_models_is_read_with_the_sizes_of_images(flat, protocol, tmp_path):
    records = drawn(15, BOXED, regions=(10, 30) if flat else (6, 6), ids=lambda image: str(393225 + image))
    order = np.random.default_rng(4).permutation(15)
    write_vqa(tmp_path / "train36.hdf5", records, flat, protocol, order)
    assert_equal(read(tmp_path / "train36.hdf5"), [records[place] for place in order])


@pytest.mark.parametrize("flat", [False, True])
def test_our_hdf5_is_what_a_vqa_model_reads(flat, tmp_path):
    records = drawn(15, BOXED, regions=(10, 30) if flat else (6, 6), ids=lambda image: str(393225 + image))
    write(records, tmp_path / "train.hdf5", "vqa")
    row_of = pickle.loads((tmp_path / "train_imgid2idx.pkl").read_bytes())
    with h5py.File(tmp_path / "train.hdf5") as file:
        for record in records:
            row = row_of[int(record.image_id)]
            rows = slice(*file["pos_boxes"][row]) if flat else row
            np.testing.assert_array_equal(file["image_features"][rows], record.features)
            np.testing.assert_array_equal(file["image_bb"][rows], record.boxes)
            np.testing.assert_allclose(file["spatial_features"][rows], shares(record), rtol=1e-6, atol=1e-6)
