"""Every metric, in every variant, against plain Python loops on random and adversarial matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fivesentences.metrics import ncs, rank_statistics, recall_at_k, semantic_recall, true_recall_at_k
from fivesentences.metrics import ranking as ranking_module
from fivesentences.metrics import relevance as relevance_module

DIRECTIONS = ("i2t", "t2i")
KS = (1, 2, 5, 10, 1000)  # 1000 is more than any gallery here


def blocks(n_images, per_image=5):
    return np.repeat(np.arange(n_images), per_image)


def made(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """similarity, phi and image_of_caption of a kind of trouble."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    pairing = blocks(8)
    if kind == "unequal captions":
        pairing = np.repeat(np.arange(9), [1, 7, 3, 5, 5, 2, 1, 4, 6])
    if kind == "captions out of order":
        pairing = rng.permutation(np.repeat(np.arange(9), [1, 7, 3, 5, 5, 2, 1, 4, 6]))
    if kind == "one image":
        pairing = blocks(1)
    if kind == "one pair":
        pairing = blocks(1, 1)
    if kind == "two images":
        pairing = blocks(2)
    if kind == "one caption each":
        pairing = blocks(12, 1)
    if kind == "more than 30 images":
        pairing = blocks(37, 2)
    n_images, n_captions = int(pairing.max()) + 1, len(pairing)
    similarity = rng.normal(size=(n_images, n_captions))
    phi = np.maximum(0, rng.normal(size=(n_captions, n_images)))
    if kind == "ties":
        similarity, phi = np.round(similarity), np.round(phi)
    if kind == "signed zeros":
        similarity = rng.choice([0.0, -0.0, 1.0], size=similarity.shape)
    if kind == "all equal":
        similarity, phi = np.full_like(similarity, 0.25), np.ones_like(phi)
    if kind == "duplicated columns":
        similarity, phi = np.repeat(similarity[:, ::5], 5, axis=1), np.repeat(phi[:, ::2], 2, axis=1)
    if kind == "zero phi":
        phi = np.zeros_like(phi)
    if kind == "zero columns":
        phi[:, [2, 5]] = 0
    if kind == "zero rows":
        phi[10:16] = 0
    if kind == "sparse phi":
        phi *= rng.random(phi.shape) < 0.15
    if kind in ("float16", "float32"):
        similarity, phi = similarity.astype(kind), phi.astype(kind)
    if kind == "half precision ties":
        similarity, phi = (similarity * 0.01 + 8).astype(np.float16), phi.astype(np.float16)
    if kind == "large and small":
        similarity = similarity * 10.0 ** rng.integers(-200, 200, size=similarity.shape)
    return similarity, phi, pairing


KINDS = [
    "random",
    "unequal captions",
    "captions out of order",
    "one image",
    "one pair",
    "two images",
    "one caption each",
    "more than 30 images",
    "ties",
    "signed zeros",
    "all equal",
    "duplicated columns",
    "zero phi",
    "zero columns",
    "zero rows",
    "sparse phi",
    "float16",
    "float32",
    "half precision ties",
    "large and small",
]


@pytest.fixture(params=["blocks of any size", "small blocks"])
def block_size(request, monkeypatch):
    """Small blocks, so that a matrix of a test is worked in several."""
    if request.param == "small blocks":
        monkeypatch.setattr(ranking_module, "ELEMENTS_PER_BLOCK", 1)
        monkeypatch.setattr(ranking_module, "QUERIES_PER_BLOCK", 3)
        monkeypatch.setattr(relevance_module, "ELEMENTS_PER_BLOCK", 20)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_instance_recall_equals_its_definition(slow, kind, direction):
    similarity, _, pairing = made(kind)
    ours = recall_at_k(similarity, KS, direction, pairing)
    ours_per_query = recall_at_k(similarity, KS, direction, pairing, per_query=True)
    true = true_recall_at_k(similarity, KS, direction, pairing)
    true_per_query = true_recall_at_k(similarity, KS, direction, pairing, per_query=True)
    for k in KS:
        wanted = slow.recall(similarity, k, direction, pairing)
        np.testing.assert_array_equal(ours_per_query[k], wanted)
        assert ours[k] == pytest.approx(np.mean(wanted), abs=1e-9)
        wanted = slow.true_recall(similarity, k, direction, pairing)
        np.testing.assert_allclose(true_per_query[k], wanted, atol=1e-9)
        assert true[k] == pytest.approx(np.mean(wanted), abs=1e-9)
    wanted = slow.median_and_mean_rank(similarity, direction, pairing)
    assert rank_statistics(similarity, direction, pairing) == pytest.approx(wanted, abs=1e-9)
    ranks = [rank + 1 for rank in slow.ranks(similarity, pairing, direction)]
    np.testing.assert_array_equal(rank_statistics(similarity, direction, pairing, per_query=True), ranks)


def compare(ours_per_query, ours, wanted, slow, empty):
    """Values per query and their mean with a slow list that has None where there is nothing to find."""
    per_query, mean = slow.after_policy(wanted, empty)
    np.testing.assert_allclose(ours_per_query, per_query, atol=1e-9, rtol=0)
    assert ours == pytest.approx(mean, abs=1e-9)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_ncs_equals_its_definition(slow, kind, direction):
    similarity, phi, pairing = made(kind)
    variants = [("released", None, None), ("released", None, "log"), ("paper", None, None), ("paper", 3, None)]
    for keep, (formula, m, discount) in itertools.product((True, False), variants):
        wanted = {k: slow.ncs(similarity, phi, k, direction, keep, formula, m, discount, pairing) for k in KS}
        for empty in ("zero", "skip"):
            if empty == "skip" and any(all(v is None for v in values) for values in wanted.values()):
                continue
            given = (similarity, phi, KS, direction, keep, formula, m, discount, "gallery", pairing)
            ours_per_query, ours = ncs(*given, empty=empty, per_query=True), ncs(*given, empty=empty)
            for k in KS:
                compare(ours_per_query[k], ours[k], wanted[k], slow, empty)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_semantic_recall_equals_its_definition(slow, kind, direction):
    similarity, phi, pairing = made(kind)
    variants = [("recall", "hard"), ("vse_recall", "hard"), ("recall", "soft")]
    for keep, formula, m, (style, weighting) in itertools.product(
        (True, False), ("released", "paper"), (1, 3, 50), variants
    ):
        ks = (1, 5, 1000)
        wanted = {
            k: slow.semantic_recall(similarity, phi, k, direction, m, keep, formula, style, weighting, pairing)
            for k in ks
        }
        for empty in ("zero", "skip"):
            if empty == "skip" and all(value is None for value in wanted[1]):
                continue
            given = (similarity, phi, ks, direction, m, keep, formula, style, weighting, pairing)
            ours_per_query = semantic_recall(*given, empty=empty, per_query=True)
            ours = semantic_recall(*given, empty=empty)
            for k in ks:
                compare(ours_per_query[k], ours[k], wanted[k], slow, empty)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("formula", ["released", "paper"])
def test_an_ideal_over_given_rows_is_taken_over_all_of_phi(slow, formula, keep):
    similarity, phi, _ = made("ties")
    n_images, n_captions = similarity.shape
    more = np.concatenate([phi, np.random.default_rng(1).random((30, n_images)) * 5])
    ours = ncs(similarity, more, KS, "i2t", keep, formula, ideal_pool="given_rows", per_query=True)
    over_gallery = ncs(similarity, more[:n_captions], KS, "i2t", keep, formula)
    for k in KS:
        longer = np.concatenate([similarity, np.full((n_images, 30), -np.inf)], axis=1)
        # Captions beyond the gallery are never retrieved: with a score of minus infinity and k cut to the gallery.
        own = 0 if keep else 5
        retrieved_k = min(k, n_captions - own)
        wanted = []
        for image in range(n_images):
            ranked = slow.ranking(longer[image], set(range(5 * image, 5 * image + 5)), keep)[:retrieved_k]
            best = slow.ranking(more[:, image], set(range(5 * image, 5 * image + 5)), keep)[:k]
            if formula == "paper":
                gained = sum(more[item, image] for item in ranked if item in best)
                wanted.append(100 * gained / sum(more[best, image]))
            else:
                wanted.append(100 * np.mean(more[ranked, image]) / (np.mean(more[best, image]) + 1e-10))
        np.testing.assert_allclose(ours[k], wanted, atol=1e-9)
        if k < 10:
            assert np.mean(ours[k]) < over_gallery[k]
    by_caption = ncs(similarity, more, KS, "t2i", keep, formula, ideal_pool="given_rows")
    assert by_caption == ncs(similarity, more[:n_captions], KS, "t2i", keep, formula)
