"""Cosines in blocks, against those of scipy, and images that stand there five times."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from fivesentences import arrays, evaluate
from fivesentences.errors import InputError
from fivesentences.retrieval import cosine_similarity, csls, products, unique_images
from fivesentences.retrieval.cosine import cosine_of_rows


@pytest.fixture
def embeddings():
    rng = np.random.default_rng(3)
    return rng.standard_normal((23, 8)), rng.standard_normal((71, 8))


@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 2e-3), (np.float32, 1e-6), (np.float64, 1e-15)])
def test_blocks_give_the_cosines_of_scipy(embeddings, dtype, tolerance, monkeypatch):
    from scipy.spatial.distance import cdist

    monkeypatch.setattr(products, "IMAGES_PER_BLOCK", 5)
    monkeypatch.setattr(products, "CAPTIONS_PER_BLOCK", 7)
    images, captions = embeddings
    ours = cosine_similarity(images.astype(dtype), captions.astype(dtype))
    assert ours.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(ours, 1.0 - cdist(images, captions, "cosine"), atol=tolerance, rtol=0)


def test_float64_is_not_halved_where_float32_would_rank_by_index():
    angle = np.linspace(2e-5, 1e-5, 40)  # cosines differ by 1e-11, and the last caption is the nearest
    captions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ours = cosine_similarity(np.array([[1.0, 0.0]]), captions)
    assert np.argsort(-ours[0], kind="stable").tolist() == list(range(39, -1, -1))
    assert np.argsort(-csls(ours, 1)[0], kind="stable").tolist() == list(range(39, -1, -1))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say how much memory is left")
def test_an_array_beyond_half_of_the_memory_lies_on_the_disk_without_a_name(embeddings, monkeypatch, tmp_path, capsys):
    images, captions = (np.repeat(side, 3, axis=1).astype(np.float32) for side in embeddings)
    in_memory = cosine_similarity(images, captions)
    monkeypatch.setattr(arrays, "SMALL", 0)
    monkeypatch.setattr(arrays, "available_memory", lambda: 2 * in_memory.nbytes - 2)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    on_disk = cosine_similarity(images, captions)
    assert isinstance(on_disk, np.memmap) and not list(tmp_path.iterdir())
    assert f"{in_memory.nbytes:,} bytes" in capsys.readouterr().err
    np.testing.assert_array_equal(on_disk, in_memory)
    assert evaluate(on_disk[:, :69]).values == evaluate(in_memory[:, :69]).values
    monkeypatch.setattr(os, "posix_fallocate", lambda *_: os.truncate("/dev/full/nothing", 0))
    with pytest.raises(InputError, match=f"{in_memory.nbytes:,} bytes"):
        cosine_similarity(images, captions)


def test_extreme_lengths_do_not_matter(embeddings):
    images, captions = (side.astype(np.float32) for side in embeddings)
    plain = cosine_similarity(images, captions)
    captions[2] *= np.float32(1e-35)
    np.testing.assert_allclose(cosine_similarity(images * np.float32(1e30), captions), plain, atol=1e-4)


@pytest.mark.parametrize("side, where", [(0, "images"), (1, "captions")])
def test_a_zero_vector_has_no_cosine(embeddings, side, where):
    embeddings[side][[4, 9]] = 0
    with pytest.raises(InputError, match=rf"^{where}: 2 of .*4, 9"):
        cosine_similarity(*embeddings)
    with pytest.raises(InputError, match=rf"^{where}.npy: 2 of"):
        cosine_of_rows(*embeddings, "images.npy", "captions.npy")


def test_images_repeated_in_tiles_or_in_any_order_are_refused_and_equal_photographs_are_not(embeddings):
    images, captions = embeddings[0], np.random.default_rng(4).standard_normal((115, 8))
    tiled = np.tile(images, (5, 1))
    for call in (cosine_similarity, lambda *given: cosine_of_rows(*given, "images", "captions")):
        with pytest.raises(InputError, match="rows 0 and 23"):
            call(tiled, captions)
    with pytest.raises(InputError, match="rows 0 and 23"):
        unique_images(tiled)
    shuffled = np.repeat(images, 5, axis=0)[np.random.default_rng(0).permutation(115)]
    again = 1 + int(np.flatnonzero((shuffled[1:] == shuffled[0]).all(axis=1))[0])
    with pytest.raises(InputError, match=rf"rows 0 and {again} "):
        cosine_similarity(shuffled, captions)
    twins = np.concatenate([images, images[:3]])
    assert cosine_similarity(twins, captions).shape == (26, 115)


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_five_repeated_rows_an_image_are_refused_with_the_cure(embeddings, noise):
    images, captions = embeddings
    repeated = np.repeat(images, 5, axis=0)
    repeated += noise * np.random.default_rng(0).standard_normal(repeated.shape)
    with pytest.raises(InputError, match=r"unique_images\(images\)"):
        cosine_similarity(repeated, captions)
    np.testing.assert_allclose(unique_images(repeated), images, atol=1e-5)


def test_rows_of_images_may_stand_there_once_or_once_per_caption(embeddings):
    images, _ = embeddings
    captions = np.random.default_rng(1).standard_normal((115, 8))
    for rows, often in ((images, 1), (np.repeat(images, 5, axis=0), 5)):
        found, merged = cosine_of_rows(rows, captions, "images", "captions")
        assert (str(often) in merged) == (often > 1)
        np.testing.assert_array_equal(found, cosine_similarity(images, captions))
    as_many = cosine_of_rows(images, captions[:23], "images", "captions")[0]
    np.testing.assert_array_equal(as_many, cosine_similarity(images, captions[:23]))  # one caption per image: no side
    for exchanged in ((captions, images), (captions, np.repeat(images, 5, axis=0))):
        with pytest.raises(InputError, match="images first"):
            cosine_of_rows(*exchanged, "images", "captions")
    with pytest.raises(InputError, match="23 images 2 times"):
        cosine_of_rows(np.repeat(images, 2, axis=0), captions, "images", "captions")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda i, c: (i[:, :3], c), {}, "images is .*, 3"),
        (lambda i, c: (np.where(i == i[7, 2], np.nan, i), c), {}, r"images\[7, 2\] is nan"),
        (lambda i, c: (i, c), {"out": np.empty((71, 23))}, r"\[23, 71\]"),
    ],
)
def test_what_does_not_fit_is_named(embeddings, change, options, message):
    with pytest.raises(InputError, match=message):
        cosine_similarity(*change(*embeddings), **options)
