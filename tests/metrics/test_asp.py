"""Average Semantic Precision against what the released code returned, scipy's ranks and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, pick
from fivesentences.metrics.asp import ASP_TIES, AspReader, asp, mean_phi
from fivesentences.metrics.ranking import QueryBlock, read_rankings
from fivesentences.metrics.values import percent

DIRECTIONS = ("i2t", "t2i")
RNG = np.random.default_rng(7)
SIMILARITY, PHI = RNG.normal(size=(9, 45)), np.maximum(0, RNG.normal(size=(45, 9)))


@pytest.mark.parametrize(("ties", "method"), [("index", "ordinal"), ("average", "average")])
def test_ranks_beyond_sixteen_bits_are_those_of_scipy(ties, method):
    similarity, phi = RNG.normal(size=(2, 40_000)), np.maximum(0, RNG.normal(size=(40_000, 2)))
    wanted = []
    for scores in zip(similarity, phi.T, strict=True):
        ranks = [rankdata(-of.astype(np.float64), method=method) for of in scores]
        wanted.append(100 * np.mean(np.minimum(*ranks) / np.maximum(*ranks)))
    assert asp(similarity, phi, ties=ties) == pytest.approx(np.mean(wanted), abs=1e-9)


@pytest.mark.parametrize("n_images", [7, 300])
def test_ranks_that_are_kept_for_the_next_similarity_change_nothing(n_images):
    rng = np.random.default_rng(n_images)
    phi = rng.integers(0, 3, size=(5 * n_images, n_images)).astype(np.float32)  # most are equal
    phis = {"tied": phi, "plain": rng.random(phi.shape)}
    evaluator = Evaluator(phis, asp_ties=ASP_TIES)
    for _ in range(4):
        similarity = rng.standard_normal(phi.T.shape).round(1)
        found = evaluator(similarity)
        for name, ties, side in itertools.product(phis, ASP_TIES, ("i2t", "t2i")):
            expected = asp(similarity, phis[name], side, ties)
            assert found.value("ASP", side, phi=name, formula=ties) == expected


def test_a_similarity_that_was_broken_off_leaves_no_wrong_ranks():
    rng = np.random.default_rng(4)
    phi, first, second = (rng.standard_normal((30, 40)) for _ in range(3))
    kept = {}
    reader = AspReader({"phi": phi.T}, "i2t", ("index",), kept)
    reader(QueryBlock(slice(0, 10), first[:10]))
    kept["phi", "index", "i2t"][4:] = 0  # as if it had been broken off within this block
    again = AspReader({"phi": phi.T}, "i2t", ("index",), kept)
    read_rankings(second, "i2t", again)
    assert percent(again.values["phi", "index"]) == asp(second, phi.T)


def test_the_mean_phi_is_the_mean_cell_by_cell(tmp_path):
    rng = np.random.default_rng(2)
    phis = [rng.random((50, 10)).astype(dtype) for dtype in ("f4", "f2", "f4")]
    mean = mean_phi(phis)
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean, np.mean(np.array(phis, dtype=float), axis=0), rtol=1e-7)
    exact = mean_phi([phi.astype(float) for phi in phis])
    assert exact.dtype == np.float64
    np.testing.assert_allclose(exact, np.mean(np.array(phis, dtype=float), axis=0), rtol=1e-15)
    out = np.lib.format.open_memmap(tmp_path / "mean.npy", mode="w+", dtype=np.float32, shape=(50, 10))
    assert mean_phi(phis, out) is out
    np.testing.assert_array_equal(out, mean)
    np.testing.assert_array_equal(mean_phi(phis[:1]), phis[0])


def test_an_unknown_rule_and_a_mean_of_nothing_or_of_other_shapes_are_refused():
    for change, message in (
        ({"ties": "min"}, "ties is 'min'; expected 'index' or 'average'"),
        ({"direction": "i2i"}, "direction is 'i2i'"),
    ):
        with pytest.raises(InputError, match=message):
            asp(SIMILARITY, PHI, **change)
    with pytest.raises(InputError, match="phi"):
        mean_phi([])
    with pytest.raises(InputError, match=r"phi 1 .*\[3, 2\]"):
        mean_phi([np.zeros((2, 3)), np.zeros((3, 2))])
    with pytest.raises(InputError, match=r"out is \[3, 2\]"):
        mean_phi([np.zeros((2, 3))], np.zeros((3, 2)))


# --- the release ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released(parity):
    return parity("asp_released")


def cases(released):
    """Name, similarity, phi and direction; the file has both matrices as [image, caption]."""
    for case in sorted({name.split("/")[1] for name in released if name.endswith("/sims")}):
        semantic = released["out/tfidf/semantic"] if case == "tfidf" else released[f"in/{case}/sems"]
        for direction in DIRECTIONS:
            yield case, released[f"in/{case}/sims"], semantic.T, direction


def range_of_ties(similarity, phi, direction) -> tuple[float, float]:
    """The lowest and the highest ASP that any order of equal scores could give each item."""
    low, high = [], []
    for scores in zip(*((similarity, phi.T) if direction == "i2t" else (similarity.T, phi)), strict=True):
        both = [-of.astype(np.float64) for of in scores]
        first, last = (np.stack([rankdata(of, method=method) for of in both]) for method in ("min", "max"))
        low.append(np.mean(np.minimum(first[0] / last[1], first[1] / last[0])))
        # Ranks that both rankings could give an item have the ratio 1.
        high.append(np.mean(np.minimum(1, np.minimum(last[0] / first[1], last[1] / first[0]))))
    return 100 * float(np.mean(low)), 100 * float(np.mean(high))


@pytest.mark.parity
def test_released_numbers_without_ties_and_independent_ones_with_them_are_reached(released):
    without_ties, compared = 0, 0
    for case, similarity, phi, direction in cases(released):
        axis, theirs = int(direction == "i2t"), float(released[f"out64/{case}/{direction}"])
        tied = any((np.diff(np.sort(scores, axis=axis), axis=axis) == 0).any() for scores in (similarity, phi.T))
        for ties in ASP_TIES:
            ours = asp(similarity, phi, direction, ties)
            assert ours == pytest.approx(float(released[f"own/{case}/{ties}/{direction}"]), abs=1e-9)
            compared += 1
            if not tied:
                assert ours == pytest.approx(theirs, abs=1e-9)
                # The release adds a float32 ratio per item of the gallery, each sum rounded.
                rounding = float(np.finfo(np.float32).eps) * similarity.shape[axis]
                assert ours == pytest.approx(float(released[f"out/{case}/{direction}"]), rel=rounding)
                without_ties += 1
        # torch's sort orders equal scores as it likes: of the released number only a range is known.
        low, high = range_of_ties(similarity, phi, direction)
        assert low - 1e-9 <= theirs <= high + 1e-9
        assert tied or high - low < 1e-9
        rows = Evaluator(phi, ms=()).per_query(similarity, (direction,))
        wanted = released[f"own/{case}/index_per_query/{direction}"]
        scale = 100 if wanted.max() <= 1 else 1
        np.testing.assert_allclose(pick(rows, "ASP", direction)["values"], scale * wanted, atol=1e-9, rtol=0)
    assert without_ties and compared == sum(name.startswith("own/") and "per_query" not in name for name in released)
