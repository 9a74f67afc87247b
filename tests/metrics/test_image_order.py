"""Matrices of the same images in another order get a note that says where; those in the same order never do."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
import scipy.sparse

import shipped_example as example
from fivesentences import evaluate
from fivesentences.errors import say_once
from fivesentences.metrics import Positives
from fivesentences.metrics.image_order import ImageOrder, alike_by
from fivesentences.semantics import bleu_matrix, cider_matrix

NEAR = 4  # images between the first misplaced one and the one that is named


@cache
def phi(name: str = "cider") -> np.ndarray:
    return {"cider": cider_matrix, "bleu": bleu_matrix}[name](example.captions(), example.OWNER)


def line_of(said: str) -> int:
    found = re.search(r"line ([\d,]+)", said)
    assert found, said
    return int(found[1].replace(",", ""))


def check_place(said: str, first: int | None, order: np.ndarray) -> None:
    """The line named is that of the first misplaced image, or of one of those that are misplaced anywhere."""
    image = (line_of(said) - 1) // example.PER_IMAGE
    wrong = np.flatnonzero(order != np.arange(len(order)))
    wanted = wrong if first is None else [first]
    assert min(abs(image - one) for one in wanted) <= NEAR, said


@pytest.mark.parametrize("model", ["", "hardest"])
@pytest.mark.parametrize("kind", example.ORDERS)
def test_a_phi_and_a_model_in_another_order_are_told_with_the_place(kind, model):
    order, first = example.ORDERS[kind][0](example.N_IMAGES), example.ORDERS[kind][1]
    similarity = example.similarity(model)
    texts = example.of_captions(order)
    images = ImageOrder(similarity, example.OWNER)
    other = example.similarity("" if model else "hardest")
    for matrix in (phi()[texts][:, order].T, other[order][:, texts]):
        check_place(images.where_apart(matrix), first, order)


@pytest.mark.parametrize("kind", example.ORDERS)
def test_rows_in_another_order_than_captions_are_told(kind):
    order, first = example.ORDERS[kind][0](example.N_IMAGES), example.ORDERS[kind][1]
    notes = evaluate(example.similarity()[order], asp_ties=()).about["notes"]
    placed = [note for note in notes if "line" in note]
    if placed:
        check_place(placed[0], first, order)
    else:  # all of them are elsewhere, and own items rank by chance
        assert (order != np.arange(len(order))).all() and any("chance" in note for note in notes), notes


@pytest.mark.parametrize(
    ("shift", "first"), [(lambda n: np.roll(np.arange(n), -1), 0), (lambda n: example.moved(n, 503, n - 1), 100)]
)
@pytest.mark.parametrize("model", ["", "hardest"])
def test_a_line_too_much_or_too_few_in_a_phi_or_in_columns_is_told(shift, first, model):
    lines, similarity = shift(len(example.OWNER)), example.similarity(model)
    order = np.arange(example.N_IMAGES)
    with_lost = cider_matrix([example.captions()[line] for line in lines], example.OWNER)
    check = ImageOrder(similarity, example.OWNER).where_apart(with_lost.T)
    assert abs((line_of(check) - 1) // example.PER_IMAGE - first) <= 10, check
    own = ImageOrder(similarity[:, lines], example.OWNER).where_own_apart(similarity[:, lines])
    check_place(own, first, order)


def test_the_examples_of_partial_disorder_change_ncs_and_get_a_note(capsys):
    """One line lost at the top, one image lost in the middle, 40% of images swapped: R@k stays as it is."""
    similarity, texts = example.similarity(), example.captions()
    right = evaluate(similarity, {"cider": phi()}, asp_ties=())
    assert not right.about["notes"] or not any("line" in note for note in right.about["notes"])
    lines = {
        "line": np.roll(np.arange(1000), -1),
        "image": example.of_captions(example.moved(200, 100, 199)),
        "swapped": example.of_captions(example.mixed(200, 0.4)),
    }
    removed = {"ground_truth": "removed"}
    for kind, order in lines.items():
        capsys.readouterr()
        say_once.cache_clear()  # type: ignore[attr-defined]
        wrong = evaluate(similarity, {"cider": cider_matrix([texts[line] for line in order])}, asp_ties=())
        assert wrong["R@1", "i2t"] == right["R@1", "i2t"]
        assert wrong["NCS@1", "i2t", removed] < right["NCS@1", "i2t", removed] - 10
        said = [*wrong.about["notes"], *capsys.readouterr().err.splitlines()]
        said = [note for note in said if re.search(r"line [\d,]+", note)]
        assert said, kind
        assert {"line": 5, "image": 501}.get(kind) in (None, line_of(said[-1])), said


def silent(trials: int, seed: int, noises: tuple[float, ...]) -> None:
    """Random subsets of the shipped example, in order and shuffled together, with models of any quality."""
    rng = np.random.default_rng(seed)
    for trial in range(trials):
        chosen = rng.permutation(200)[: rng.integers(50, 201)]
        chosen = np.sort(chosen) if trial % 2 else chosen
        texts, owner = example.of_captions(chosen), np.repeat(np.arange(len(chosen)), 5)
        one, other = (example.similarity(name)[chosen][:, texts] for name in ("", "hardest"))
        one = one + noises[trial % len(noises)] * one.std() * rng.normal(size=one.shape)
        images = ImageOrder(one, owner)
        assert images.where_own_apart(one) == ""
        for matrix in (phi()[texts][:, chosen].T, phi("bleu")[texts][:, chosen].T, other):
            assert images.where_apart(matrix) == ""


def test_what_is_in_order_gets_no_note():
    silent(12, 0, (0.0, 1.0))


@pytest.mark.slow
def test_hundreds_of_subsets_in_order_get_no_note():
    silent(500, 1, (0.0, 0.5, 1.0, 2.0))


def test_one_caption_per_image_gets_no_note():
    first = np.arange(0, 1000, 5)
    result = evaluate(example.similarity()[:, first], {"cider": phi()[first]}, image_of_caption=np.arange(200))
    assert not any("line" in note for note in result.about["notes"])


def test_images_that_are_moved_by_one_are_said_to_be():
    order = example.moved(200, 100, 199)
    said = ImageOrder(example.similarity(), example.OWNER).where_apart(phi()[example.of_captions(order)][:, order].T)
    assert "1 image apart" in said


@pytest.fixture
def labels() -> np.ndarray:
    """Which of the words that two to twenty per cent of images have occur in an image's captions."""
    words = [set(" ".join(example.captions()[5 * image : 5 * image + 5]).lower().split()) for image in range(200)]
    every = sorted(set().union(*words))
    table = np.array([[word in of_image for word in every] for of_image in words])
    return table[:, (table.mean(axis=0) > 0.02) & (table.mean(axis=0) < 0.2)].astype(int)


@pytest.mark.parametrize(
    "kind", ["shifted by one", "reversed", "an image lost near the top", "an image lost in the middle"]
)
def test_labels_categories_and_positives_in_another_order_are_told(labels, kind):
    order, first = example.ORDERS[kind][0](200), example.ORDERS[kind][1]
    similarity = example.similarity()
    alike = labels @ labels.T >= np.quantile(labels @ labels.T, 0.98)

    def notes(rows):
        positives = alike[rows][:, rows][:, example.OWNER] | (np.arange(200)[:, None] == example.OWNER)
        given = {"labels": labels[rows], "positives": {"CxC": Positives.symmetric(positives)}}
        found = evaluate(similarity, asp_ties=(), **given).about["notes"]
        return {name: [note for note in found if note.startswith(name)] for name in ("labels", "the positives CxC")}

    assert not any(notes(np.arange(200)).values())
    for name, said in notes(order).items():
        if name != "labels" and kind == "an image lost in the middle":
            continue  # few positives beside own items: half of the images in place hide the others
        assert len(said) == 1 and abs(line_of(said[0]) - 1 - first) <= 2 * NEAR, said


def test_categories_in_another_order_are_told(labels):
    common = labels[:, labels.sum(axis=0).argsort()[-6:]]
    categories = np.unique(common, axis=0, return_inverse=True)[1]

    def said(given):
        return [
            note for note in evaluate(example.similarity(), categories=given).about["notes"] if "categories" in note
        ]

    assert not any("line" in note for note in said(categories))
    assert any("line 1 " in note for note in said(categories[::-1]))


def test_labels_say_how_alike_images_are():
    owner = np.array([0, 0, 1, 2])
    both = np.arange(3)
    assert (alike_by(np.array([1, 2, 1]), owner)(both, both) == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]).all()
    pairs = scipy.sparse.csr_array(np.array([[1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    counted = alike_by(Positives.symmetric(pairs), owner)(both, both)
    assert counted[0, 1] == counted[1, 0] > 0 and counted[0, 2] == counted[1, 2] == 0
