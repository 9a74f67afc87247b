"""QB-Norm and dual banks against released code, against their definitions, and what they may not read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.retrieval import Bank, Gallery, dual_bank, qb_norm, rescore
from fivesentences.retrieval.rescoring import Inference

# What the released code of QB-Norm (github.com/ioanacroi/qb-norm, 76d4d90) returned, and for dual banks the function
# db_norm of github.com/ppanzx/DBSN (44aacaa): that of its authors passes a bank where the test similarities belong.
RELEASED = Path(__file__).parent.parent / "fixtures" / "query_banks.npz"
SIDES = ("i2t", "t2i")


def as_queries(matrix, side):
    return matrix if side == "i2t" else matrix.T


def slow_qb_norm(scores, bank, beta, k):
    """Probabilities and raw scores of ``[queries, items]``, one query at a time."""
    retrieved = {item for row in bank for item in sorted(range(len(row)), key=lambda at: (-row[at], at))[:k]}
    found = []
    for row in scores:
        nearest = max(range(len(row)), key=lambda at: (row[at], -at))
        sums = [math.fsum(math.exp(beta * one[at]) for one in bank) for at in range(len(row))]
        found.append(
            [math.exp(beta * value) / sums[at] if nearest in retrieved else value for at, value in enumerate(row)]
        )
    return np.array(found)


def slow_dual(scores, bank, gallery_bank, beta, gallery_beta):
    return np.array(
        [
            [
                math.exp(beta * value) / math.fsum(math.exp(beta * one[at]) for one in bank)
                * math.exp(gallery_beta * value) / math.fsum(math.exp(gallery_beta * one[at]) for one in gallery_bank)
                for at, value in enumerate(row)
            ]
            for row in scores
        ]
    )  # fmt: skip


def compared(ours, theirs, changed, beta):
    """Scores of queries that are re-scored as logarithms, the others as multiples of their own."""
    np.testing.assert_allclose(ours[changed], np.log(theirs[changed]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours[~changed], beta * theirs[~changed], rtol=0, atol=1e-12)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("k", [1, 2])
def test_qb_norm_equals_the_released_code(side, k):
    with np.load(RELEASED) as given:
        similarity, bank, theirs = given["similarity"], given[f"bank_{side}"], given[f"qb_norm_{side}_k{k}"]
    changed = ~np.isclose(theirs, as_queries(similarity, side)).all(axis=1)
    assert changed.any() and (side == "t2i" or not changed.all())
    compared(as_queries(qb_norm(similarity, bank, k=k, direction=side), side), theirs, changed, 20.0)


@pytest.mark.parametrize("side", SIDES)
def test_dual_banks_equal_the_released_code(side):
    with np.load(RELEASED) as given:
        banks, theirs = (given[f"bank_{side}"], given[f"gallery_bank_{side}"]), given[f"dual_bank_{side}"]
        ours = dual_bank(given["similarity"], *banks, direction=side)
    np.testing.assert_allclose(as_queries(ours, side), np.log(theirs), rtol=0, atol=1e-12)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("beta, k", [(20.0, 1), (3.0, 4), (0.5, 1000)])
@pytest.mark.parametrize("kind", ["random", "ties"])
def test_values_are_those_of_the_definitions(side, beta, k, kind):
    rng = np.random.default_rng(7)
    similarity = rng.uniform(-1, 1, (30, 90)) if kind == "random" else rng.integers(-2, 3, (30, 90)) / 2
    items = similarity.shape[1 if side == "i2t" else 0]
    bank, gallery_bank = rng.uniform(-1, 1, (40, items)), rng.uniform(-1, 1, (50, items))
    queries = as_queries(similarity, side)
    theirs = slow_qb_norm(queries.tolist(), bank.tolist(), beta, k)
    changed = ~(theirs == queries).all(axis=1)
    compared(as_queries(qb_norm(similarity, bank, beta, k, side), side), theirs, changed, beta)
    theirs = slow_dual(queries.tolist(), bank.tolist(), gallery_bank.tolist(), beta, 1.5)
    ours = dual_bank(similarity, bank, gallery_bank, beta, 1.5, side)
    np.testing.assert_allclose(as_queries(ours, side), np.log(theirs), rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["qb_norm", "dual_bank"])
@pytest.mark.parametrize("side", SIDES)
def test_a_query_is_answered_without_the_others(side, method):
    rng = np.random.default_rng(3)
    similarity = rng.uniform(-1, 1, (12, 60))
    items = similarity.shape[1 if side == "i2t" else 0]
    banks = {"bank": rng.uniform(-1, 1, (20, items)), "gallery_bank": rng.uniform(-1, 1, (20, items))}
    banks = banks if method == "dual_bank" else {"bank": banks["bank"]}
    whole = as_queries(rescore(similarity, method, side, **banks), side)
    for query in (0, 5):
        others = rng.uniform(-1, 1, similarity.shape)
        as_queries(others, side)[query] = as_queries(similarity, side)[query]
        found = as_queries(rescore(others, method, side, **banks), side)
        np.testing.assert_array_equal(found[query], whole[query])


def test_a_hub_of_the_bank_falls_in_rank():
    similarity = np.random.default_rng(1).uniform(-0.2, 0.2, (20, 100))
    similarity[:, 7] = 0.3  # the nearest caption of every image
    bank = np.random.default_rng(2).uniform(-0.2, 0.2, (50, 100))
    bank[:, 7] = 0.9
    assert (similarity.argmax(axis=1) == 7).all() and not (qb_norm(similarity, bank).argmax(axis=1) == 7).any()
    bank[:, 7] = -0.9  # no query of the bank retrieves it, so that nothing is changed
    kept = qb_norm(similarity, bank)
    np.testing.assert_array_equal(np.argsort(-kept, axis=1), np.argsort(-similarity, axis=1))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", ["qb_norm", "dual_bank"])
def test_an_inference_with_banks_reads_a_part_of_a_gallery(method, side):
    rng = np.random.default_rng(9)
    similarity = rng.uniform(-1, 1, (12, 60)).astype(np.float32)
    matrices = {at: rng.uniform(-1, 1, (20, {"i2t": 60, "t2i": 12}[at])) for at in SIDES}
    banks = {at: {"bank": Bank.of(one), "gallery_bank": Bank.of(one, 3.0)} for at, one in matrices.items()}
    images, captions = slice(4, 8), slice(20, 40)
    part = Inference.of(method, banks).of_part(images, captions)
    assert set(part.banks[side]) == {"bank"} | ({"gallery_bank"} if method == "dual_bank" else set())
    items = captions if side == "i2t" else images
    for name, bank in part.banks[side].items():
        expected = Bank.of(matrices[side][:, items], bank.beta)
        np.testing.assert_allclose(bank.log_sums, expected.log_sums, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(bank.retrieved, banks[side][name].retrieved[items])  # decided in the whole
    cut = similarity[images, captions]
    read = dict(zip(SIDES, part.read(Gallery.of(cut)), strict=True))
    assert read[side][0] == [side]
    expected = rescore(cut, method, side, **part.settings, **part.banks[side])
    np.testing.assert_array_equal(read[side][1].similarity, expected)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", ["qb_norm", "dual_bank"])
def test_the_result_goes_into_any_output(method, side, tmp_path):
    rng = np.random.default_rng(4)
    similarity = rng.uniform(-1, 1, (12, 60)).astype(np.float32)
    bank = rng.uniform(-1, 1, (20, 60 if side == "i2t" else 12))
    given = {"bank": bank} if method == "qb_norm" else {"bank": bank, "gallery_bank": bank}
    plain, own = rescore(similarity, method, side, **given), similarity.copy()
    assert plain.dtype == np.float32 and rescore(own, method, side, out=own, **given) is own
    rescore(similarity, method, side, out=tmp_path / "out.npy", **given)
    for found in (own, np.load(tmp_path / "out.npy")):
        np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "qb_norm"}, "qb_norm reads similarities of training queries.* pass bank"),
        ({"method": "dual_bank", "bank": np.ones((2, 6))}, "pass gallery_bank"),
        ({"method": "qb_norm", "bank": np.ones((2, 5))}, "bank has 5 columns, but the gallery has 6 captions"),
        ({"method": "qb_norm", "bank": np.ones(6)}, "bank is float64 of shape"),
        ({"method": "qb_norm", "bank": np.full((2, 6), np.nan)}, "bank.*row 0"),
        ({"method": "qb_norm", "bank": np.ones((2, 6)), "beta": 0}, "beta is 0"),
        ({"method": "qb_norm", "bank": np.ones((2, 6)), "k": 0}, "k is 0"),
        ({"method": "qb_norm", "bank": Bank.of(np.ones((2, 6)), 5.0)}, "beta = 5 and k = 1, but beta = 20"),
        ({"method": "dual_bank", "bank": np.ones((2, 6)), "gallery_bank": np.ones((2, 3))}, "gallery_bank has 3"),
    ],
)
def test_a_bank_that_does_not_fit_is_named(given, message):
    with pytest.raises(InputError, match=message):
        rescore(np.arange(18.0).reshape(3, 6), **given)
