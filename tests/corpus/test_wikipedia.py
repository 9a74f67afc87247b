"""SVCL's Wikipedia, on small files of its layout and on the real ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from fivesentences.config.documents import DivisionSpec
from fivesentences.corpus.divisions import divide
from fivesentences.corpus.wikipedia import load_wikipedia

LISTS = {
    "train": "a1-1\timg1\t2\na1-2.3\timg2\t1\nb2-1\timg1\t2\n",
    "test": "a1-1\timg3\t1\nc3\timg4\t2\n",
}
CATEGORIES = "art\nbiology\n"


@pytest.fixture
def files(tmp_path):
    """The four files, with other matrices or texts."""

    def files(train=LISTS["train"], test=LISTS["test"], categories=CATEGORIES, **changes):
        rng = np.random.default_rng(0)
        sizes = {"I_tr": (3, 4), "T_tr": (3, 2), "I_te": (2, 4), "T_te": (2, 2)}
        matrices = {name: rng.random(size) for name, size in sizes.items()} | changes
        savemat(tmp_path / "raw.mat", {name: value for name, value in matrices.items() if value is not None})
        for name, text in (("train", train), ("test", test), ("categories", categories)):
            (tmp_path / name).write_text(text)
        return [tmp_path / name for name in ("raw.mat", "train", "test", "categories")], matrices

    return files


def test_rows_of_lists_and_matrices_belong_together(files):
    paths, matrices = files()
    loaded = load_wikipedia(*paths)
    documents = loaded.documents
    assert documents.ids == ("a1-1", "a1-2.3", "b2-1", "a1-1#2", "c3")
    assert documents.articles == ("a1", "a1", "b2", "a1", "c3")
    assert documents.categories == ("biology", "art", "biology", "art", "biology")
    assert documents.images == ("img1", "img2", "img1", "img3", "img4")
    assert documents.parts == ("train",) * 3 + ("test",) * 2
    np.testing.assert_array_equal(loaded.images, np.vstack([matrices["I_tr"], matrices["I_te"]]))
    np.testing.assert_array_equal(loaded.texts, np.vstack([matrices["T_tr"], matrices["T_te"]]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"I_tr": np.ones((2, 4))}, "I_tr has 2 rows"),
        ({"T_te": np.ones((2, 3))}, "training has 2 dimensions, test 3"),
        ({"T_te": None}, "T_te is missing"),
        ({"I_te": np.array([[1, 2, 3, np.nan], [1, 2, 3, 4]])}, "I_te holds nan in row 0, column 3"),
        ({"I_te": {"a": 1}}, "I_te is"),
        ({"I_te": np.ones((2, 4)) * 1j}, "complex128"),
        ({"I_te": csc_matrix((200_000, 200_000))}, "I_te is too large"),  # 298 GB if it were filled
        ({"train": LISTS["train"].replace("\t", " ")}, "line 1"),
        ({"test": LISTS["test"].replace("\t2", "\t3")}, "line 2"),
        ({"train": LISTS["train"].replace("b2-1", "-1")}, "line 3"),
    ],
)
def test_files_that_do_not_fit_are_refused(files, refused, changes, words):
    paths, _ = files(**changes)
    with refused(words):
        load_wikipedia(*paths)


def test_damaged_files_are_refused(files, refused):
    paths, _ = files()
    for content, words in ((b"no matlab", "complete .mat"), (b"", "complete .mat"), (b"\x89HDF" * 99, ".mat")):
        (paths[0]).write_bytes(content)
        with refused("raw.mat", words):
            load_wikipedia(*paths)
    header = b"MATLAB 7.3 MAT-file".ljust(124) + bytes([0, 2]) + b"IM"
    paths[0].write_bytes(header + bytes(500))
    with refused("raw.mat", "7.3", "-v7"):
        load_wikipedia(*paths)


@pytest.mark.data
def test_the_real_files(mirror):
    names = ("raw_features.mat", "trainset_txt_img_cat.list", "testset_txt_img_cat.list", "categories.list")
    loaded = load_wikipedia(*(mirror / "wikipedia" / name for name in names))
    documents = loaded.documents
    assert loaded.images.shape == (2866, 128) and loaded.texts.shape == (2866, 10)
    np.testing.assert_allclose(loaded.images.sum(axis=1), 1, atol=1e-6)
    counts = Counter(zip(documents.parts, documents.categories, strict=True))
    # Table 1 of Rasiwasia et al. 2010.
    names = documents.category_names
    assert [counts["train", name] for name in names] == [138, 272, 244, 248, 202, 178, 186, 144, 214, 347]
    assert [counts["test", name] for name in names] == [34, 88, 96, 85, 65, 58, 51, 41, 71, 104]
    assert len(set(documents.articles)) == 1168
    shared = set(documents.articles[:2173])
    assert sum(article in shared for article in documents.articles[2173:]) == 552
    printed = divide(documents, DivisionSpec(validation=231, validation_from="test", test=462), 0)
    assert [len(rows) for rows in vars(printed).values()] == [2173, 231, 462]
    whole = divide(documents, DivisionSpec(validation=231, validation_from="train", whole_articles=True), 0)
    assert [len(rows) for rows in vars(whole).values()] == [1942, 231, 693]
