"""Rankings by torch: those of numpy to the last bit where products are exact, ties by index included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.test_in_blocks import EVERYTHING, gallery
from fivesentences import evaluate
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.metrics import in_blocks, on_device
from fivesentences.metrics.in_blocks import read_products
from fivesentences.retrieval import products
from fivesentences.retrieval.cosine import gallery_of_embeddings
from fivesentences.retrieval.products import Products

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow  # torch is imported
NO_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device")
every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_CUDA])])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(products, "IMAGES_PER_BLOCK", 7)
    monkeypatch.setattr(products, "CAPTIONS_PER_BLOCK", 16)
    monkeypatch.setattr(in_blocks, "WAITING", 40)
    monkeypatch.setattr(on_device, "IMAGES_PER_BLOCK", 5)
    monkeypatch.setattr(on_device, "CAPTIONS_PER_BLOCK", 12)


def assert_alike(found, expected) -> None:
    assert found.depth == expected.depth
    for side in ("i2t", "t2i"):
        np.testing.assert_array_equal(found.best[side].items, expected.best[side].items)
        np.testing.assert_array_equal(found.best[side].scores, expected.best[side].scores)
        np.testing.assert_array_equal(found.own_equal[side], expected.own_equal[side])
        for name in ("best", "target", "ahead", "equal", "earlier"):
            one, other = (getattr(reading.places[side], name) for reading in (found, expected))
            np.testing.assert_array_equal(one, other, err_msg=f"{side} {name}")


def check(device: str, seed: int, n_images: int, depth: int, largest: int, in_part: bool) -> None:
    """Whole numbers have exact products; the smaller they are, the more scores are equal."""
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(n_images), rng.integers(1, 6, n_images)))
    images, texts = (
        rng.integers(-largest, largest + 1, (n, 6)).astype(np.float32) for n in (n_images + 3, len(owner) + 4)
    )
    rows, columns = (np.sort(rng.permutation(extra + n)[:n]) for n, extra in ((n_images, 3), (len(owner), 4)))
    captions = np.flatnonzero(rng.random(len(owner)) < 0.4) if in_part else None
    captions = None if captions is not None and not len(captions) else captions
    found, expected = (
        read_products(Products(images, texts, False, rows, columns, where), owner, depth, captions)
        for where in (device, None)
    )
    assert_alike(found, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 200),
    st.sampled_from([1, 2, 5, 100]),
    st.booleans(),
)
def test_any_reading_is_that_of_numpy(seed, n_images, depth, largest, in_part):
    check("cpu", seed, n_images, depth, largest, in_part)


@every_device
@pytest.mark.parametrize(("n_images", "depth", "largest", "in_part"), [(30, 7, 1, False), (29, 150, 3, True)])
def test_readings_are_those_of_numpy(device, n_images, depth, largest, in_part):
    check(device, 1, n_images, depth, largest, in_part)


@every_device
@pytest.mark.parametrize("ties", [True, False])
def test_every_number_is_that_of_numpy(device, ties):
    images, texts, _, owner = gallery(3, 33, False, ties)
    options = {**EVERYTHING, "asp_ties": ()}
    expected = evaluate(images, texts, image_of_caption=owner, in_blocks=True, **options)
    whole = gallery_of_embeddings(images, texts, owner, in_blocks=True)
    whole.similarity.device = device
    assert ProtocolScorer(whole, **options)(whole).values == expected.values


@every_device
def test_parts_find_their_own_items_where_blocks_of_another_place_round_otherwise(device):
    rng = np.random.default_rng(6)
    images, texts = (rng.normal(size=(n, 301)).astype(np.float32) for n in (40, 200))
    owner, both = np.arange(200) % 40, Products(images, texts, device=device)
    whole = read_products(both, owner, 10)
    parts = [read_products(both, owner, 10, np.arange(first, 200, 3)) for first in range(3)]
    for part in parts:
        assert (part.places["t2i"].equal == 1).all()
    for name in ("ahead", "equal", "earlier"):
        counted = sum(getattr(part.places["i2t"], name) for part in parts)
        np.testing.assert_array_equal(counted, getattr(whole.places["i2t"], name))
    assert (whole.places["i2t"].equal == 1).all()


@pytest.mark.gpu
@NO_CUDA
def test_equal_vectors_have_equal_scores_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(on_device, "IMAGES_PER_BLOCK", 4_096)
    monkeypatch.setattr(on_device, "CAPTIONS_PER_BLOCK", 8_192)
    some = np.random.default_rng(4).normal(size=(6, 301)).astype(np.float32)  # whose products are rounded
    owner, of_text = np.arange(20_000) % 9_000, np.arange(20_000) % 6
    read = read_products(Products(some[np.arange(9_000) // 1_500], some[of_text], device="cuda"), owner, 9_000)
    for items in read.best["i2t"].items:
        assert np.count_nonzero(np.diff(of_text[items])) == 2  # those of one vector follow each other, by index
        assert np.count_nonzero(np.diff(items) < 0) <= 2
    for images in read.best["t2i"].items[::50]:
        assert np.count_nonzero(np.diff(images // 1_500)) == 5
        assert (images.reshape(6, 1_500) % 1_500 == np.arange(1_500)).all()
