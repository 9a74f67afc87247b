"""Features of precomp folders in every layout that the releases have, against the arrays they were made of."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from fivesentences.corpus import load_precomp
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, describe_precomp, precomp
from fivesentences.features.precomp import read_precomp
from fivesentences.storage import sha256_of

IMAGES = {"train": 6, "dev": 3, "test": 4}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {split: rng.normal(size=(count, 3, 5)).astype(np.float32) for split, count in IMAGES.items()}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "x_precomp"
    folder.mkdir()
    for split, count in IMAGES.items():
        captions = [f"{split} image {image} caption {k}\n" for image in range(count) for k in range(5)]
        (folder / f"{split}_caps.txt").write_text("".join(captions))
    return folder


def write(folder, split, array, layout):
    if layout == "folder":
        (folder / split).mkdir(exist_ok=True)
        for number, image in enumerate(array):
            np.save(folder / split / f"{number}.npy", image)
    elif layout == "hdf5":
        with h5py.File(folder / f"{split}.h5", "w") as file:
            file["feat"] = array
    else:
        np.save(folder / f"{split}_ims.npy", np.repeat(array, 5, axis=0) if layout == "five times" else array)


@pytest.mark.parametrize("train", ["once", "five times", "folder", "hdf5"])
@pytest.mark.parametrize("others", ["once", "five times"])
def test_every_layout_gives_each_images_own_features(folder, arrays, tmp_path, train, others):
    for split, array in arrays.items():
        write(folder, split, array, train if split == "train" else others)
    corpus = load_precomp(folder)
    describe_precomp(folder, corpus, tmp_path / "f.json")
    table = FeatureTable.open(tmp_path / "f.json")
    ids = corpus.images["image_id"].tolist()
    assert table.image_ids == ids
    assert table.array.shape == (13, 3, 5)
    order = np.random.default_rng(1).integers(0, 13, size=40)
    expected = np.concatenate(list(arrays.values()))[order]
    np.testing.assert_array_equal(table.rows([ids[row] for row in order]), expected)
    for where in (order, order[order < len(arrays["train"])]):  # of several splits, and of one
        out = np.full((len(where), 3, 5), np.nan, np.float32)
        assert table.take(where, out) is out
        np.testing.assert_array_equal(out, np.concatenate(list(arrays.values()))[where])


def test_the_prefix_and_testall_are_those_of_the_corpus(folder, arrays, tmp_path):
    for split, array in arrays.items():
        write(folder, split, array, "once")
    np.save(folder / "testall_ims.npy", np.zeros((2, 3, 5), np.float32))
    (folder / "testall_caps.txt").write_text("".join(f"a caption {k}\n" for k in range(10)))
    corpus = load_precomp(folder.parent, "x", testall=True)
    describe_precomp(folder.parent, corpus, tmp_path / "f.json", prefix="x", testall=True)
    test = corpus.split("test").images["image_id"].tolist()
    assert not FeatureTable.open(tmp_path / "f.json").rows(test).any()


def test_a_file_that_changed_after_it_was_described_is_refused(folder, arrays, tmp_path):
    for split, array in arrays.items():
        write(folder, split, array, "once")
    describe_precomp(folder, load_precomp(folder), tmp_path / "f.json")
    np.save(folder / "dev_ims.npy", arrays["dev"][:2])
    with pytest.raises(InputError, match=r"dev_ims\.npy"):
        FeatureTable.open(tmp_path / "f.json")


@pytest.mark.parametrize("layout", ["once", "folder", "hdf5"])
def test_content_is_read_again_only_where_a_file_has_changed(folder, arrays, tmp_path, layout, monkeypatch):
    for split, array in arrays.items():
        write(folder, split, array, layout if split == "train" else "once")
    describe_precomp(folder, load_precomp(folder), tmp_path / "f.json")
    known = [split.content for split in read_precomp(tmp_path / "f.json").splits]
    assert known[1] == sha256_of(folder / "dev_ims.npy") and len(set(known)) == 3
    with monkeypatch.context() as watched:
        watched.setattr(precomp, "sha256_of", lambda path: pytest.fail(f"{path} is read again"))
        assert [split.content for split in read_precomp(tmp_path / "f.json").splits] == known
    write(folder, "train", 2 * arrays["train"], layout)
    now = [split.content for split in read_precomp(tmp_path / "f.json").splits]
    assert now[0] != known[0] and now[1:] == known[1:]
    monkeypatch.setattr(precomp, "sha256_of", lambda path: pytest.fail(f"{path} is read again"))
    assert [split.content for split in read_precomp(tmp_path / "f.json").splits] == now  # for the next run of a job


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: np.save(path, np.zeros((4, 3, 5), np.float32)), "has 4 rows, but"),
        (lambda path: path.unlink(), r"dev_ims\.npy.*dev\.h5"),
        (lambda path: path.write_bytes(b"no array"), "not a complete .npy file of numbers .*; fetch it again"),
        (lambda path: np.save(path, np.zeros((3, 3, 5))), "float64"),
        (lambda path: np.save(path, np.zeros((3, 7, 5), np.float32)), "shape"),
    ],
)
def test_what_does_not_fit_ends_in_one_sentence(folder, arrays, tmp_path, change, said):
    for split, array in arrays.items():
        write(folder, split, array, "once")
    change(folder / "dev_ims.npy")
    with pytest.raises(InputError, match=said):
        describe_precomp(folder, load_precomp(folder), tmp_path / "f.json")
