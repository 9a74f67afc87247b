"""Files that must agree, one of them shuffled, dropped, doubled or shifted: right numbers, or where they are not.

Right values are those of plain loops; a sentence says where if it names a line, or says that all own items rank by
chance.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shipped_example as example
from fivesentences import evaluate
from fivesentences.errors import InputError
from fivesentences.semantics import cider_matrix
from fivesentences.semantics.caption_order import note_on_candidates, note_on_order

N, C = example.N_IMAGES, example.N_IMAGES * example.PER_IMAGE
DAMAGES = ("shuffled", "dropped", "lost and appended", "doubled", "shifted", "reversed")


def damaged(n: int, kind: str, at: float, size: float) -> np.ndarray:
    """Which of n lines a damaged file has; a half of them at least is out of place, or their number changes.

    Args:
        n: Lines.
        kind: One of ``DAMAGES``.
        at: Place of a change, 0 to 0.4 of the lines.
        size: Share of the lines that are shuffled, 0.5 to 0.6, from the place on.
    """
    lines, place = np.arange(n), int(at * n)
    if kind == "shuffled":
        return example.block(n, place, int(size * n), seed=place)
    if kind == "dropped":
        return np.delete(lines, place)
    if kind == "lost and appended":
        return example.moved(n, place, n - 1)
    if kind == "doubled":
        return example.doubled(n, place)
    return np.roll(lines, 1 + place % 3) if kind == "shifted" else lines[::-1]


def recall_by_hand(similarity: np.ndarray, owner: np.ndarray) -> list[float]:
    """R@1 of both directions."""
    of_images = [owner[np.argmax(row)] == image for image, row in enumerate(similarity)]
    return [100 * float(np.mean(of_images)), 100 * float(np.mean(similarity.argmax(axis=0) == owner))]


def ncs_by_hand(similarity: np.ndarray, phi: np.ndarray, owner: np.ndarray) -> float:
    """NCS@1 of image queries without their own captions."""
    total, ideal = 0.0, 0.0
    for image, row in enumerate(similarity):
        others = np.flatnonzero(owner != image)
        total += phi[others[np.argmax(row[others])], image]
        ideal += phi[others, image].max()
    return 100 * total / ideal


def texts_of(lines: np.ndarray) -> list[str]:
    return [example.captions()[line] for line in lines]


SIMILARITY, OTHER = example.similarity(), example.similarity("hardest")
PHI = cider_matrix(example.captions(), example.OWNER)
RIGHT_NCS = ncs_by_hand(SIMILARITY, PHI, example.OWNER)


def of_evaluation(*arguments, right=None, **options) -> tuple[bool, list[str]]:
    """Return whether R@1 and NCS@1 are those by hand, and the notes."""
    found = evaluate(*arguments, asp_ties=(), **options)
    numbers = [found["R@1", "i2t"], found["R@1", "t2i"]]
    wanted = recall_by_hand(SIMILARITY, example.OWNER)
    if "NCS@1" in found or ("NCS@1", "i2t", {"ground_truth": "removed"}) in found:
        numbers.append(found["NCS@1", "i2t", {"ground_truth": "removed"}])
        wanted.append(RIGHT_NCS)
    return np.allclose(numbers, wanted, atol=0.01), found.about["notes"]


def captions(lines):
    """A file of captions beside a similarity; what it says is for phi."""
    texts = texts_of(lines)
    notes = note_on_order(texts, np.arange(len(texts)) // 5, "captions.txt") if len(texts) % 5 == 0 else []
    is_right, further = of_evaluation(SIMILARITY, {"cider": cider_matrix(texts)})
    return is_right, notes + further


def pairing(lines):
    return of_evaluation(SIMILARITY, None, image_of_caption=example.OWNER[lines])


def columns(lines):
    return of_evaluation(SIMILARITY[:, lines])


def rows(lines):
    return of_evaluation(SIMILARITY[lines])


def rows_of_phi(lines):
    return of_evaluation(SIMILARITY, {"cider": PHI[lines]})


def images_of_phi(lines):
    return of_evaluation(SIMILARITY, {"cider": PHI[example.of_captions(lines)][:, lines]})


def embeddings(lines):
    images, texts = (np.load(example.FOLDER / f"{name}.npy") for name in ("images", "texts"))
    return of_evaluation(images[lines], texts=texts)


def second_similarity(lines):
    """Which scores caption queries and is compared with the first."""
    texts = example.of_captions(lines)
    found = evaluate(SIMILARITY, t2i=OTHER[lines][:, texts], asp_ties=())
    return False, found.about["notes"]


def labels(lines):
    words = [set(" ".join(texts_of(np.arange(5 * image, 5 * image + 5))).split()) for image in range(N)]
    every = sorted(set().union(*words))
    table = np.array([[word in one for word in every] for one in words])
    table = table[:, (table.mean(axis=0) > 0.02) & (table.mean(axis=0) < 0.2)]
    return False, evaluate(SIMILARITY, labels=table[lines].astype(int), asp_ties=()).about["notes"]


def candidates(lines):
    texts = [example.captions()[5 * line] for line in lines]
    references = [texts_of(np.arange(5 * image + 1, 5 * image + 5)) for image in range(N)]
    if len(texts) != len(references):
        raise InputError(f"there are {len(texts)} candidates")
    return False, note_on_candidates(texts, references)


PAIRS = {
    captions: C, pairing: C, columns: C, rows: N, rows_of_phi: C, images_of_phi: N, embeddings: N,
    second_similarity: N, labels: N, candidates: N,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: one.__name__)
@settings(max_examples=4, derandomize=True)
@given(at=st.floats(0, 0.4), size=st.floats(0.5, 0.6))
def test_damaged_files_give_right_numbers_or_a_sentence_that_says_where(pair, damage, at, size):
    lines = damaged(PAIRS[pair], damage, at, size)
    try:
        is_right, notes = pair(lines)
    except InputError as error:
        assert re.search(r"\d", str(error)), error  # the number or the line that does not fit
        return
    told = [note for note in notes if re.search(r"line [\d,]+", note) or "than chance" in note]
    assert is_right or told, (lines[:10], notes)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: one.__name__)
def test_files_that_agree_give_right_numbers_and_no_sentence(pair):
    is_right, notes = pair(np.arange(PAIRS[pair]))
    assert not any(re.search(r"line [\d,]+", note) or "than chance" in note for note in notes), notes
    assert is_right or pair in (second_similarity, labels, candidates)
