"""Rows that repeat images once per caption: merged by the pairing, refused without one, whatever their precision."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fivesentences.errors import InputError
from fivesentences.evaluation import EmbeddingEvaluator, compare, evaluate
from fivesentences.metrics import Evaluator, recall_at_k
from fivesentences.retrieval import cosine_similarity, csls, unique_images
from fivesentences.retrieval.cosine import cosine_of_rows
from fivesentences.retrieval.repeated_rows import twins

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(5)
UNEQUAL = np.repeat(np.arange(40), RNG.integers(1, 9, 40))
EQUAL = np.repeat(np.arange(40), 5)
IMAGES = RNG.normal(size=(40, 24))


def last_bits(rows, kind, bits):
    """The rows in a floating type, each number perhaps one step of its last bit further."""
    typed = rows.astype(kind)
    return (typed.view(bits) + RNG.integers(0, 2, rows.shape).astype(bits)).view(kind)


STORED = {
    "exact": lambda rows: rows,
    "float16": lambda rows: last_bits(rows, np.float16, np.uint16),
    "float32": lambda rows: last_bits(rows, np.float32, np.uint32),
    "float16 as float32": lambda rows: last_bits(rows, np.float16, np.uint16).astype(np.float32),
    "bfloat16": lambda rows: torch.tensor(rows).mul(1 + 2**-8 * torch.randint(0, 2, rows.shape)).bfloat16(),
    "another batch": lambda rows: (rows * (1 + 3e-6 * RNG.normal(size=rows.shape))).astype(np.float32),
    "int8": lambda rows: np.clip(np.round(rows * 40) + RNG.integers(0, 2, rows.shape), -127, 127).astype(np.int8),
}


def captions_of(owner):
    """Embeddings of captions, near those of their images."""
    return IMAGES[owner] + 0.8 * RNG.normal(size=(len(owner), 24))


def recall(images, captions, owner):
    """R@1 in both directions by brute force."""
    distance = cdist(images, captions, "cosine")
    return 100 * np.mean(owner[distance.argmin(axis=1)] == np.arange(40)), 100 * np.mean(
        distance.argmin(axis=0) == owner
    )


@pytest.mark.parametrize("order", ["blocks", "shuffled"])
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("owner", [EQUAL, UNEQUAL], ids=["equal numbers", "unequal numbers"])
def test_one_row_per_caption_is_one_row_per_image(owner, stored, order):
    owner = owner if order == "blocks" else RNG.permutation(owner)
    captions = captions_of(owner)
    rows = STORED[stored](IMAGES[owner])
    similarity, merged = cosine_of_rows(rows, captions, "images", "captions", owner)
    assert similarity.shape == (40, len(owner)) and merged
    wanted = recall(IMAGES, captions, owner)
    batches = EmbeddingEvaluator()
    batches.update(rows, captions, owner)
    result = batches.compute()
    coarse = 0.5 if stored in ("exact", "float32", "another batch") else 6.0  # rounding changes an order here and there
    assert (result["R@1", "i2t"], result["R@1", "t2i"]) == pytest.approx(wanted, abs=coarse)
    assert merged in result.about["notes"]
    if not (order == "blocks" and owner is EQUAL):
        for call in (cosine_similarity, lambda *two: cosine_of_rows(*two, "images", "captions")):
            with pytest.raises(InputError, match=str(len(owner))):
                call(rows, captions)
        with pytest.raises(InputError, match="rows"):
            unique_images(rows)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_a_similarity_with_one_row_per_caption_is_merged_everywhere_or_refused(kind):
    captions = captions_of(UNEQUAL)
    exact = (1 - cdist(IMAGES, captions, "cosine")).astype(kind)
    rows = exact[UNEQUAL]
    wanted = recall_at_k(exact, image_of_caption=UNEQUAL)
    assert recall_at_k(rows, image_of_caption=UNEQUAL) == wanted
    assert Evaluator(image_of_caption=UNEQUAL)(rows)["R@1", "i2t"] == wanted[1]
    table = compare(exact, rows, image_of_caption=UNEQUAL)
    assert (table["difference"] == 0).all()
    phi = np.abs(RNG.normal(size=(len(UNEQUAL), 40)))
    assert evaluate(rows, phi, image_of_caption=UNEQUAL)["Nsum", {"ground_truth": "kept"}] == evaluate(
        exact, phi, image_of_caption=UNEQUAL)["Nsum", {"ground_truth": "kept"}]  # fmt: skip
    for call in (recall_at_k, evaluate, csls):
        with pytest.raises(InputError, match=r"similarity has \d+ rows"):
            call(rows)


def test_rows_that_the_pairing_contradicts_are_named():
    first, other = np.flatnonzero(UNEQUAL == 7)[0], np.flatnonzero(UNEQUAL == 8)[0]
    wrong = np.where(UNEQUAL >= 8, UNEQUAL - 1, UNEQUAL)  # images 7 and 8 are one
    with pytest.raises(InputError, match=f"rows {first} and {other} to image 7"):
        cosine_of_rows(IMAGES[UNEQUAL], captions_of(UNEQUAL), "images", "captions", wrong)


@pytest.mark.parametrize("shape", [(12, 300), (300, 3), (200, 200)])
@pytest.mark.parametrize("stored", STORED)
def test_twins_are_those_of_all_pairs(shape, stored):
    rows = RNG.normal(size=shape)
    again = RNG.choice(shape[0], 4, replace=False)
    rows[again[:2]] = rows[again[2:]]
    matrix = STORED[stored](rows)
    matrix = matrix.float().numpy() if isinstance(matrix, torch.Tensor) else matrix
    found = twins(matrix)
    pairs = cdist(rows, rows, "chebyshev") + np.eye(len(rows))
    wanted = pairs.argmin(axis=1)
    assert set(again.tolist()) <= set(np.flatnonzero(found >= 0).tolist())
    if stored in ("exact", "float32", "another batch"):
        np.testing.assert_array_equal(found, np.where(pairs.min(axis=1) < 1e-9, wanted, -1))


@pytest.mark.parametrize("bits", [8, 16])
def test_codes_of_hashes_that_differ_in_one_bit_are_different_images(bits):
    codes = ((np.arange(min(2**bits, 256))[:, None] >> np.arange(bits)) & 1) * 2 - 1
    for kind in (np.int8, np.int64, np.float32):
        assert (twins((codes @ codes.T).astype(kind)) == -1).all()
