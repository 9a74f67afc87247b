"""DSCMR's six .mat files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from fivesentences.corpus.dscmr import load_dscmr


@pytest.fixture
def folder(tmp_path):
    def folder(**changes):
        rng = np.random.default_rng(1)
        matrices = {
            "train_img": rng.random((12, 5)).astype(np.float32),
            "train_txt": rng.random((12, 3)),
            "train_img_lab": np.arange(12).reshape(-1, 1) % 11 + 1,
            "test_img": rng.random((4, 5)),
            "test_txt": rng.random((4, 3)),
            "test_img_lab": np.array([[2, 10, 1, 2]]),
        } | changes
        for name, value in matrices.items():
            if value is not None:
                savemat(tmp_path / f"{name}.mat", {name: value})
        return tmp_path, matrices

    return folder


def test_pairs_labels_and_parts(folder):
    path, matrices = folder()
    loaded = load_dscmr(path)
    assert loaded.documents.ids[0] == "train-01" and loaded.documents.ids[-1] == "test-4"
    assert loaded.documents.parts == ("train",) * 12 + ("test",) * 4
    assert loaded.documents.categories[-4:] == ("category 02", "category 10", "category 01", "category 02")
    # the codes follow the numbers
    assert loaded.documents.codes.tolist() == [*(np.arange(12) % 11), 1, 9, 0, 1]
    np.testing.assert_array_equal(loaded.images, np.vstack([matrices["train_img"], matrices["test_img"]]))
    np.testing.assert_array_equal(loaded.texts, np.vstack([matrices["train_txt"], matrices["test_txt"]]))


def test_one_hot_labels_say_the_same(folder):
    path, matrices = folder()
    numbers = load_dscmr(path).documents.categories
    eye = np.eye(11)
    again, _ = folder(
        train_img_lab=eye[matrices["train_img_lab"].ravel() - 1], test_img_lab=eye[matrices["test_img_lab"].ravel() - 1]
    )
    assert load_dscmr(again).documents.categories == numbers


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train_txt": np.ones((11, 3))}, ("train_img has 12 rows", "train_txt 11")),
        ({"test_img": np.ones((4, 6))}, ("train_img has 5 columns", "test_img 6")),
        ({"test_img_lab": np.ones((5, 1))}, ("test_img_lab is [5, 1] for 4 documents",)),
        ({"test_img_lab": np.ones((4, 3))}, ("[4, 3]", "one 1 per row")),
        ({"test_img_lab": np.array([1, 2, 2.5, 1])}, ("row 2 is 2.5",)),
        ({"test_img_lab": np.array([1, -2, 2, 1])}, ("row 1 is -2",)),
    ],
)
def test_matrices_that_do_not_fit_are_refused(folder, refused, changes, words):
    path, _ = folder(**changes)
    with refused(*words):
        load_dscmr(path)


def test_missing_files_and_matrices_are_named(folder, refused, tmp_path):
    path, _ = folder(test_txt=None)
    with refused("test_txt.mat"):
        load_dscmr(path)
    savemat(path / "test_txt.mat", {"test_text": np.ones((4, 3))})
    with refused("test_txt.mat", "test_txt is missing"):
        load_dscmr(path)
