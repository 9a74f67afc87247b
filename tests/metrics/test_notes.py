"""What numbers hang on is said beside them: each sentence against a count that is made here, by sorting."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy.stats import rankdata

from fivesentences.errors import InputError
from fivesentences.evaluation import evaluate
from fivesentences.metrics import Evaluator, asp, ncs, ndcg, semantic_recall

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
N_IMAGES, PER_IMAGE = 60, 5
OWNER = np.repeat(np.arange(N_IMAGES), PER_IMAGE)


def embeddings(noise: float, owner: np.ndarray = OWNER) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of images and captions of length 1."""
    images = RNG.normal(size=(owner.max() + 1, 32))
    captions = images[owner] + noise * RNG.normal(size=(len(owner), 32))
    return tuple(one / np.linalg.norm(one, axis=1, keepdims=True) for one in (images, captions))


def scores(noise: float = 1.5) -> np.ndarray:
    """A similarity whose own items are often, but not always, the best."""
    images, captions = embeddings(noise)
    return images @ captions.T


def notes(*given, **options) -> str:
    """Sentences of an evaluation as one text."""
    return "\n".join(evaluate(*given, asp_ties=(), **options).about["notes"])


def test_a_similarity_without_trouble_has_no_note():
    assert not notes(scores())


@pytest.mark.parametrize("kind", ["bfloat16", "float16 of sixty-fourths", "whole numbers", "two values"])
def test_ties_say_between_which_numbers_recall_lies(kind):
    exact = scores(2.5)
    coarse = {
        "bfloat16": lambda: torch.tensor(exact).bfloat16(),
        "float16 of sixty-fourths": lambda: (np.round(exact * 64) / 64).astype(np.float16),
        "whole numbers": lambda: np.round(exact * 20).astype(np.int32),
        "two values": lambda: exact > 0.3,
    }[kind]()
    plain = coarse.float().numpy() if kind == "bfloat16" else np.asarray(coarse, dtype=float)
    own = np.arange(N_IMAGES)[:, None] == OWNER
    said = notes(coarse)
    for side, table, mine in (("i2t", plain, own), ("t2i", plain.T, own.T)):
        # Own items before all others that score the same, and behind them.
        kindest, harshest = (
            np.array(
                [rankdata(-row - sign * 1e-9 * of, "ordinal")[of].min() for row, of in zip(table, mine, strict=True)]
            )
            for sign in (1, -1)
        )
        for k in (1, 5, 10):
            low, high = 100 * np.mean(harshest <= k), 100 * np.mean(kindest <= k)
            wanted = f"R@{k} from {low:.2f} to {high:.2f}"
            line = next((line for line in said.splitlines() if line.startswith(side) and "from" in line), "")
            assert (wanted in line) == (high > low), (wanted, line)


@pytest.mark.parametrize("turn", [np.negative, lambda s: 2 - 2 * s, lambda s: np.linalg.norm(s) / (1.1 + s)])
def test_distances_are_recognised(turn):
    assert notes(turn(scores())).count("worse than chance") == 2


def test_captions_in_the_other_order_and_strange_captions_are_recognised():
    images, captions = embeddings(0.5)
    interleaved = captions.reshape(N_IMAGES, PER_IMAGE, -1).swapaxes(0, 1).reshape(len(captions), -1)
    said = notes(images @ interleaved.T)
    assert said.count("no better than chance") == 2 and said.count("--image-of-caption") == 2
    tiled = np.tile(np.arange(N_IMAGES), PER_IMAGE)
    assert not notes(images @ interleaved.T, image_of_caption=tiled)
    strange = notes(images @ RNG.permutation(captions).T)
    assert strange.count("no better than chance") == 2 and "--image-of-caption" not in strange


def test_the_mean_rank_by_chance_is_that_of_all_orders():
    """Every order of six items, of which two are own, as a query of its own."""
    orders = np.array(list(itertools.permutations(range(6))))
    ahead = orders[:, :2].min(axis=1)
    from fivesentences.metrics.notes import Placement

    n_own, n_gallery = np.full(len(ahead), 2), np.full(len(ahead), 6)
    placed = Placement(ahead, np.zeros_like(ahead), n_own, n_gallery)
    assert placed.deviations == pytest.approx(0, abs=1e-9)
    shifted = Placement(ahead + 1, np.zeros_like(ahead), n_own, n_gallery)
    assert shifted.deviations == pytest.approx(len(ahead) / np.sqrt(len(ahead) * ahead.var()))


def test_a_gallery_that_a_cut_off_exhausts_is_named():
    said = notes(scores()[:8, : 8 * PER_IMAGE])
    assert "t2i: the gallery has 8 images" in said and "R@10" in said and "i2t: the gallery" not in said


@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_queries_of_which_phi_says_nothing_are_counted(empty):
    phi = np.abs(RNG.normal(size=(len(OWNER), N_IMAGES)))
    phi[:, [3, 17]] = 0
    phi[[5, 6, 250]] = 0
    said = notes(scores(), {"mine": phi}, empty=empty)
    assert said.count("i2t: 2 of 60 images") == 1 and "(phi mine)" in said
    assert ("t2i: 3 of 300 captions" in said) and ("count 0" in said) == (empty == "zero")


def test_a_phi_of_own_items_alone_says_nothing_once_these_are_removed():
    own = (np.arange(N_IMAGES) == OWNER[:, None]).astype(float)
    said = notes(scores(), {"binary": own})
    assert "i2t: 60 of 60 images have nothing to find by NCS@k removed" in said


def test_queries_that_a_metric_leaves_out_are_counted():
    labels = (RNG.random((N_IMAGES, 4)) < 0.5).astype(int)
    labels[:7], labels[7:, 0] = 0, 1
    said = notes(scores(), labels=labels)
    assert "i2t: 7 of 60 images" in said and "t2i: 35 of 300 captions" in said and "PMRP" in said


def test_queries_whose_category_is_that_of_all_items_are_counted():
    categories = np.zeros(N_IMAGES, dtype=int)
    assert "i2t: 60 of 60 queries" in notes(scores(), categories=categories)
    categories[0] = 1
    assert "category" not in notes(scores(), categories=categories)


def test_a_few_equal_rows_are_named_and_a_printed_result_repeats_the_notes():
    twice = scores()
    twice[40] = twice[11]
    result = evaluate(twice)
    assert "such as 11 and 40" in notes(twice) and "such as 11 and 40" in repr(result)
    assert "such as 11 and 40" not in repr(Evaluator()(scores()))


# --- the range of phi ------------------------------------------------------------------------------------------

PHI = np.abs(RNG.normal(size=(len(OWNER), N_IMAGES)))
COSINES = np.linspace(-0.2, 1, PHI.size).reshape(PHI.shape)
ADD_UP = {
    "ncs": ncs,
    "paper": lambda s, phi: ncs(s, phi, formula="paper"),
    "ndcg": ndcg,
    "semantic_recall": semantic_recall,
    "soft": lambda s, phi: semantic_recall(s, phi, weighting="soft"),
    "Evaluator": lambda s, phi: Evaluator(phi)(s),
    "evaluate": evaluate,
}


@pytest.mark.parametrize("name", ADD_UP)
def test_what_adds_phi_up_refuses_what_no_share_can_be_made_of(name):
    for phi, value in (
        (COSINES, "-0.2"),
        (-PHI, f"{-PHI.max():.4g}"),
        (0 * PHI, "0 everywhere"),
        (0 * PHI + 3, "3 everywhere"),
        (PHI * 1e-9, "e-09"),
    ):
        with pytest.raises(InputError, match=re.escape(value)):
            ADD_UP[name](scores(), phi)
    ADD_UP[name](scores(), np.maximum(COSINES, 0))


def test_asp_reads_the_order_alone_so_that_a_shift_changes_nothing():
    similarity = scores()
    assert asp(similarity, COSINES) == asp(similarity, COSINES + 0.2)


def test_exponential_gains_of_a_large_phi_are_refused():
    with pytest.raises(InputError, match="2000"):
        ndcg(scores(), PHI / PHI.max() * 2000, gains="exponential")
