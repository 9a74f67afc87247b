"""Embeddings and two similarities in place of one, against torch's normalisation and rankings by plain sorting."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from fivesentences.errors import InputError
from fivesentences.evaluation import PROTOCOLS, EmbeddingEvaluator, evaluate
from fivesentences.evaluation.protocols import Protocol
from fivesentences.metrics import Evaluation
from fivesentences.metrics.notes import note_on_products
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.cosine import are_embeddings

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
OWNER = np.repeat(np.arange(30), 5)
IMAGES = RNG.normal(size=(30, 16)).astype(np.float32)
TEXTS = (IMAGES[OWNER] + 1.5 * RNG.normal(size=(150, 16))).astype(np.float32)
IMAGES *= RNG.lognormal(2, 0.5, (30, 1)).astype(np.float32)
TEXTS *= RNG.lognormal(2, 0.5, (150, 1)).astype(np.float32)
PHI = RNG.random((150, 30))


def unit(rows: np.ndarray) -> np.ndarray:
    return torch.nn.functional.normalize(torch.from_numpy(rows).double()).numpy()


COSINE = unit(IMAGES) @ unit(TEXTS).T


def recall(similarity: np.ndarray, k: int, side: str) -> float:
    """Recall in percent, by sorting every row."""
    own = np.arange(len(similarity))[:, None] == OWNER
    table, mine = (similarity, own) if side == "i2t" else (similarity.T, own.T)
    first = np.argsort(-table, axis=1, kind="stable")[:, :k]
    return 100.0 * float(np.take_along_axis(mine, first, axis=1).any(axis=1).mean())


def normalised(dtype: str, rows: np.ndarray) -> np.ndarray:
    return unit(rows).astype(dtype)


def test_embeddings_are_recognised_and_normalised_and_the_notes_say_so():
    result = evaluate(IMAGES, TEXTS, phis={"cider": PHI})
    for side in ("i2t", "t2i"):
        for k in (1, 5, 10):
            assert result[f"R@{k}", side] == pytest.approx(recall(COSINE, k, side))
    products = evaluate(IMAGES @ TEXTS.T)
    assert products["Rsum"] != pytest.approx(result["Rsum"])  # so that it matters
    kept = {"ground_truth": "kept"}
    assert result["Nsum", kept] == pytest.approx(evaluate(COSINE, {"cider": PHI})["Nsum", kept])
    lengths = np.concatenate([np.linalg.norm(IMAGES, axis=1), np.linalg.norm(TEXTS, axis=1)])
    said = f"of 16 dimensions, normalised first (lengths {lengths.min():.3g} to {lengths.max():.3g})."
    assert result.about["notes"] == [f"Cosine similarity of embeddings {said}"]


@pytest.mark.parametrize(
    "call",
    {
        "by name": lambda: evaluate(IMAGES, texts=TEXTS),
        "torch": lambda: evaluate(torch.from_numpy(IMAGES), torch.from_numpy(TEXTS).requires_grad_()),
        "lists": lambda: evaluate(IMAGES.tolist(), TEXTS.tolist()),
        "a pairing": lambda: evaluate(IMAGES, TEXTS, image_of_caption=OWNER),
        "one row per caption": lambda: evaluate(IMAGES[OWNER], TEXTS, image_of_caption=OWNER),
        "a protocol": lambda: evaluate(IMAGES, TEXTS, "thirty"),
        "batches": lambda: batches(),
    }.items(),
    ids=lambda one: one[0],
)
def test_every_way_to_give_embeddings_gives_the_same_numbers(monkeypatch, call):
    monkeypatch.setitem(PROTOCOLS, "thirty", Protocol("thirty", 30, 150, 30, 1, "thirty"))
    found, wanted = call[1](), evaluate(IMAGES, TEXTS)
    assert [one["value"] for one in found.values] == pytest.approx([one["value"] for one in wanted.values])
    assert found.about["notes"][0] == wanted.about["notes"][0]


def batches() -> Evaluation:
    evaluator = EmbeddingEvaluator()
    evaluator.update(IMAGES[:7], TEXTS[:40])
    evaluator.update(IMAGES[7:], TEXTS[40:])
    return evaluator.compute()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normalised_embeddings_are_known_even_where_their_shapes_are_those_of_similarities(dtype):
    images, texts = normalised(dtype, RNG.normal(size=(8, 16))), normalised(dtype, RNG.normal(size=(8, 16)))
    square = normalised(dtype, RNG.normal(size=(16, 16)))
    for pair in ((images, texts), (square, square[::-1].copy())):
        notes = evaluate(*pair, ks=(1,)).about["notes"]
        assert notes[0] == "Cosine similarity of embeddings of 16 dimensions."


EMBEDDINGS, SIMILARITIES, EITHER = True, False, None


@pytest.mark.parametrize(
    ("first", "second", "owners", "answer"),
    [
        ((30, 16), (150, 16), None, EMBEDDINGS),
        ((30, 512), (150, 512), None, EMBEDDINGS),  # more columns than rows
        ((64, 640), (320, 640), None, EMBEDDINGS),  # each alone may be a similarity, but not of the same images
        ((1, 7), (5, 7), None, EMBEDDINGS),
        ((30, 16), (30, 16), None, EMBEDDINGS),  # one caption per image
        ((150, 16), (150, 16), None, EMBEDDINGS),  # images once per caption
        ((150, 16), (30, 16), None, EMBEDDINGS),  # exchanged
        ((30, 16), (149, 16), None, EMBEDDINGS),
        ((30, 60), (149, 60), 149, EMBEDDINGS),
        ((30, 16), (150, 15), None, SIMILARITIES),
        ((30, 150), (30, 150), None, SIMILARITIES),
        ((30, 149), (30, 149), 149, SIMILARITIES),
        ((30, 150), (150, 150), None, SIMILARITIES),  # the other has one row per caption
        ((30, 150), (29, 150), None, SIMILARITIES),  # of other images, which their check says
        ((30, 30), (30, 30), None, SIMILARITIES),
        ((150, 30), (150, 30), None, EITHER),
        ((149, 30), (149, 30), 149, EITHER),
    ],
)
def test_shapes_say_whether_two_matrices_are_embeddings(first, second, owners, answer):
    pairing = None if owners is None else np.arange(owners) % 30
    assert are_embeddings(RNG.normal(size=first), RNG.normal(size=second), pairing) is answer


def test_a_phi_stays_a_phi():
    for similarity, phi in ((COSINE, PHI), (COSINE[:, ::5], PHI[::5])):  # the latter are square
        found = evaluate(similarity, phi)
        assert found.values == evaluate(similarity, phis=phi).values and found.about["phis"] == ["phi"]
    every = evaluate(COSINE[:10, :50], PHI[:, :10], ideal_pool="given_rows")
    assert every.about["phis"] == ["phi"]
    assert evaluate(Gallery.of(COSINE), PHI).about["phis"] == ["phi"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: evaluate(COSINE, COSINE), ["[30, 150] and texts or phi is [30, 150]", "t2i=", "texts="]),
        (lambda: evaluate(COSINE.T, PHI), ["[150, 30] and texts or phi is [150, 30]", "transposed", "texts="]),
        (lambda: evaluate(COSINE, COSINE, phis=PHI), ["[30, 150]", "t2i="]),
        (lambda: evaluate(IMAGES, TEXTS[:, :9]), ["[30, 16] but texts is [150, 9]", "same number of columns"]),
        (lambda: evaluate(IMAGES, TEXTS[:, :9], phis=PHI), ["[30, 16] but texts is [150, 9]"]),
        (lambda: evaluate(TEXTS, IMAGES), ["images has 150 rows and texts only 30", "images first"]),
        (lambda: evaluate(IMAGES, TEXTS[:149]), ["149 captions are not equal blocks for 30 images"]),
        (lambda: evaluate(IMAGES), ["[30, 16]", "evaluate(images, texts)"]),
        (lambda: evaluate(IMAGES * (np.arange(30) != 3)[:, None], TEXTS), ["images: 1 of 30 rows is all zeros (3"]),
        (lambda: evaluate(IMAGES, np.where(np.eye(150, 16) > 0, np.nan, TEXTS)), ["texts[0, 0] is nan"]),
        (lambda: evaluate(COSINE, {"a": PHI}, phis=PHI), ["phis are given twice"]),
        (lambda: evaluate(Gallery.of(COSINE), texts=TEXTS), ["a gallery has a similarity already"]),
        (lambda: evaluate(COSINE, PHI[:149]), ["phi is [149, 30] but similarity has 30 images and 150 captions"]),
    ],
)
def test_what_may_be_either_or_fits_nothing_is_refused_with_what_was_seen(call, says):
    with pytest.raises(InputError) as error:
        call()
    assert all(part in str(error.value) for part in says), str(error.value)


# --- a similarity for each direction ------------------------------------------------------------------------

OTHER = COSINE + 0.2 * RNG.normal(size=COSINE.shape)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"inference": "csls,k=3"},
        {"inference": "inverted_softmax"},
        {"protocol": "folds"},
        {"protocol": "folds", "inference": "assignment"},
        {"hubness": True, "labels": np.eye(3)[np.arange(30) % 3]},
    ],
)
def test_each_direction_has_the_numbers_of_its_own_similarity(monkeypatch, options):
    monkeypatch.setitem(PROTOCOLS, "folds", Protocol("folds", 30, 150, 10, 3, "three folds"))
    both = evaluate(COSINE, {"x": PHI}, t2i=OTHER, **options)
    alone = {"i2t": evaluate(COSINE, {"x": PHI}, **options), "t2i": evaluate(OTHER, {"x": PHI}, **options)}
    wanted = [one for side, result in alone.items() for one in result.values if one["direction"] == side]
    assert [one for one in both.values if one["direction"]] == wanted
    assert both["Rsum"] == pytest.approx(sum(both[f"R@{k}", side] for k in (1, 5, 10) for side in ("i2t", "t2i")))
    assert "Image queries are scored by similarity, caption queries by t2i." in both.about["notes"]
    if not options:
        assert both["R@5", "i2t"] == pytest.approx(recall(COSINE, 5, "i2t"))
        assert both["R@5", "t2i"] == pytest.approx(recall(OTHER, 5, "t2i"))
        assert recall(OTHER, 5, "i2t") != both["R@5", "i2t"] and recall(COSINE, 5, "t2i") != both["R@5", "t2i"]


def test_embeddings_and_one_row_per_caption_go_with_another_similarity_too():
    wanted = evaluate(COSINE, t2i=OTHER).values
    for found in (evaluate(IMAGES, TEXTS, t2i=OTHER), evaluate(IMAGES[OWNER], TEXTS, t2i=OTHER[OWNER])):
        assert [one["value"] for one in found.values] == pytest.approx([one["value"] for one in wanted])


@pytest.mark.parametrize(
    ("t2i", "says"),
    [
        (OTHER.T, r"^t2i is \[150, 30\], but there are 30 images and 150 captions: .* pass t2i\.T"),
        (OTHER[:, :149], r"^t2i is \[30, 149\] but similarity is \[30, 150\]"),
        (np.where(OTHER < 0, -np.inf, OTHER), r"^t2i\[\d+, \d+\] is -inf .* pairs have a score"),
    ],
)
def test_another_similarity_that_does_not_fit_is_refused(t2i, says):
    with pytest.raises(InputError, match=says):
        evaluate(COSINE, t2i=t2i)


# --- products of embeddings ---------------------------------------------------------------------------------

PRODUCTS = IMAGES @ TEXTS.T
CLIPPED = np.maximum(RNG.normal(size=(30, 16)), 0.1)


@pytest.mark.parametrize(
    ("matrix", "noted"),
    [
        (PRODUCTS, True),
        (PRODUCTS.astype(np.float64), True),
        (PRODUCTS.astype(np.float16), True),
        (np.asfortranarray(PRODUCTS), True),
        (CLIPPED @ np.maximum(TEXTS, 0).T, True),  # all positive
        (100 * COSINE, True),  # scaled cosines look alike
        (COSINE, False),
        (COSINE.astype(np.float16), False),
        (scipy.special.expit(PRODUCTS), False),
        (PRODUCTS * (1 + 0.05 * RNG.normal(size=PRODUCTS.shape)), False),  # no product
        (9 * RNG.normal(size=(30, 150)), False),
        (np.round(PRODUCTS), False),
        (PRODUCTS.astype(np.int64), False),
        (PRODUCTS - PRODUCTS.max(), False),  # such as negated distances
        (PRODUCTS[:8, :40], False),  # too small to tell
        (np.full((30, 150), 7.5), False),
        (np.where(np.eye(30, 150) > 0, np.nan, PRODUCTS), False),
        (np.where(np.eye(30, 150) > 0, np.inf, PRODUCTS), False),
    ],
)
def test_products_of_embeddings_get_a_note_and_other_scores_none(matrix, noted):
    found = note_on_products(matrix, "sims.npy")
    assert [bool(one) for one in found] == [True] * noted
    if noted:
        side = min(matrix.shape)
        largest = float(matrix[:side, :side].max())
        assert found[0].startswith(f"sims.npy reaches {largest:,.1f} and looks like products of embeddings.")
        assert found[0] in evaluate(matrix, ks=(1,)).about["notes"][0].replace("similarity", "sims.npy", 1)


def test_both_similarities_are_looked_at():
    notes = evaluate(PRODUCTS, t2i=2 * PRODUCTS).about["notes"]
    assert [note.split()[0] for note in notes if "products" in note] == ["similarity", "t2i"]
