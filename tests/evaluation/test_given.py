"""Matrices of others as similarities of runs: taken as they are, or refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_similarity
from fivesentences.reproduction.evaluation.given import ROWS, take_similarity

N = 6


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A corpus with two or three captions an image, and a similarity of its test split."""
    words = ["red dog runs", "cat sleeps here", "boat on water", "green old tree", "house by night", "ball in grass"]
    rows = [
        (f"{split}{i}", f"{split}{i}.png", f"{split}{i}.{n}", f"The {words[i]}, {n}.", split, None)
        for split in ("train", "dev", "test")
        for i in range(N)
        for n in range(2 + i % 2)
    ]
    corpus = Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))
    corpus.write(tmp_path / "made.parquet")
    test = corpus.split("test")
    similarity = np.random.default_rng(0).normal(size=(test.n_images, test.n_captions))
    similarity += 2 * (test.image_of_caption == np.arange(N)[:, None])
    return tmp_path / "made.parquet", similarity


def taken(files: tuple[Path, np.ndarray], matrix: np.ndarray, suffix: str = "npy", **options: object) -> np.ndarray:
    corpus, _ = files
    given = corpus.with_name(f"given.{suffix}")
    np.save(given, matrix) if suffix == "npy" else np.savetxt(given, matrix, delimiter=",", fmt="%.17g")
    out = corpus.with_name("run") / "similarity_test.npy"
    take_similarity(given, corpus, out, **options)
    return np.array(read_similarity(out, Corpus.read(corpus).split("test")))


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_a_matrix_is_kept_as_it_is_with_a_checksum_that_readers_compare(files, suffix):
    np.testing.assert_array_equal(taken(files, files[1], suffix), files[1].astype(np.float32))
    np.testing.assert_array_equal(taken(files, files[1].T, suffix, transposed=True), files[1].astype(np.float32))
    out = files[0].with_name("run") / "similarity_test.npy"
    np.save(out, files[1][::-1].astype(np.float32))
    with pytest.raises(InputError, match=r"similarity_test\.npy"):
        read_similarity(out, Corpus.read(files[0]).split("test"))


def test_captions_may_be_tokenised_in_another_way(files, tmp_path):
    captions = list(Corpus.read(files[0]).split("test").captions)
    (tmp_path / "c.txt").write_text("".join(f"{caption.lower().replace(',', ' ,')}\n" for caption in captions))
    # With the captions, a model that is no better than chance is taken too.
    np.testing.assert_array_equal(taken(files, -files[1], captions=tmp_path / "c.txt"), -files[1].astype(np.float32))


def with_value(matrix: np.ndarray, value: float) -> np.ndarray:
    changed = matrix.copy()
    changed[4, 7] = value
    return changed


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda m: m[:, :-1], {}, r"it is 6x14, but the test split of made has 6 images and 15 captions"),
        (lambda m: m.T, {}, r"it is 15x6, .*its rows are captions: write transposed: true"),
        (lambda m: m, {"transposed": True}, r"it is 6x15, .*remove transposed: true"),
        (lambda m: np.repeat(m, [2, 3] * 3, axis=0), {}, r"it is 15x15, .*repeated once per caption"),
        (lambda m: with_value(m, np.nan), {}, r"row 4, column 7 is nan"),
        (lambda m: with_value(m, 1e300), {}, r"row 4, column 7 is inf"),
        (lambda m: with_value(m, -np.inf).T, {"transposed": True}, r"row 7, column 4 is -inf"),
        (lambda m: m[::-1], {}, r"no more similar to their own captions .*another order than the test split of made"),
        (lambda m: -m, {}, r"or smaller meant more similar.*captions: FILE"),
    ],
)
def test_a_matrix_of_other_data_is_refused_in_one_sentence_with_its_file(files, change, options, said):
    with pytest.raises(InputError, match=rf"given\.npy: .*{said}"):
        taken(files, change(files[1]), **options)
    assert not (files[0].with_name("run") / "similarity_test.npy").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c[:-1], "it has 14 captions, but the test split of made has 15"),
        (
            lambda c: [*c[:3], c[5], c[4], c[3], *c[6:]],
            r"caption 3 \(from 0\) is 'The boat .*', but that of made is 'The cat",
        ),
    ],
)
def test_captions_in_other_numbers_or_another_order_are_named(files, tmp_path, change, said):
    captions = change(list(Corpus.read(files[0]).split("test").captions))
    (tmp_path / "c.txt").write_text("".join(f"{caption}\n" for caption in captions))
    with pytest.raises(InputError, match=rf"c\.txt: .*{said}"):
        taken(files, files[1], captions=tmp_path / "c.txt")


def test_matrices_of_more_rows_than_are_read_at_a_time_are_whole(tmp_path):
    n = ROWS + 3
    rows = [(f"t{i}", f"t{i}.png", f"t{i}.0", f"caption {i}", "test", None) for i in range(n)]
    Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS))).write(tmp_path / "made.parquet")
    matrix = np.random.default_rng(1).normal(size=(n, n)) + 3 * np.eye(n)
    np.testing.assert_array_equal(taken((tmp_path / "made.parquet", matrix), matrix), matrix.astype(np.float32))
