from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.reproduction.evaluation.phi_statistics import phi_statistics, read_statistics, write_statistics
from fivesentences.semantics import read_phi, write_phi


def corpus_of(counts: list[int], captions: list[str] | None = None) -> Corpus:
    """Images with so many captions each."""
    owner = np.repeat(np.arange(len(counts)), counts)
    texts = captions or [f"caption {row}" for row in range(len(owner))]
    rows = [(f"i{i}", f"{i}.jpg", f"c{c}", texts[c], "test", None) for c, i in enumerate(owner)]
    return Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))


def random_phi(corpus: Corpus, seed: int, levels: int | None = None) -> np.ndarray:
    """phi of any kind; few levels make many equal scores."""
    draw = np.random.default_rng(seed)
    shape = (corpus.n_captions, corpus.n_images)
    phi = draw.integers(0, levels, shape) / levels if levels else draw.gamma(0.5, 1.0, shape)
    return phi.astype(np.float32)


def counted_one_by_one(corpus: Corpus, phi: np.ndarray, own: np.ndarray) -> dict[str, int]:
    """The definitions, taken literally."""
    owner, images = corpus.image_of_caption, range(corpus.n_images)
    worst = {i: min(own[d] for d in range(len(owner)) if owner[d] == i) for i in images}
    found = {"captions_beat_own": 0, "captions_beat_theirs": 0, "images_beaten": 0}
    for c, i in enumerate(owner):
        others = [j for j in images if j != i]
        found["captions_beat_own"] += max(phi[c, j] for j in others) > worst[i]
        found["captions_beat_theirs"] += any(phi[c, j] > worst[j] for j in others)
    for i in images:
        found["images_beaten"] += max(phi[c, i] for c in range(len(owner)) if owner[c] != i) > worst[i]
    return found


@settings(max_examples=20)
@given(
    counts=st.lists(st.integers(1, 6), min_size=2, max_size=8),
    levels=st.sampled_from([None, 3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_counts_are_those_of_the_definitions_taken_word_by_word(counts, levels, seed):
    corpus = corpus_of(counts)
    phi = random_phi(corpus, seed, levels)
    own = phi[np.arange(corpus.n_captions), corpus.image_of_caption]
    without = (own * np.random.default_rng(seed).uniform(0, 1, len(own))).astype(np.float32)
    found = phi_statistics(corpus, {"phi": phi}, {"phi": without})["phis"]["phi"]
    for kind, scores in (("kept", own), ("own_left_out", without)):
        expected = counted_one_by_one(corpus, phi, scores)
        assert {name: found[kind][name] for name in expected} == expected


def test_histograms_are_numpys_and_count_every_pair_once():
    corpus = corpus_of([3, 1, 4, 2])
    phi = random_phi(corpus, 1)
    phi[2, 3] = phi[4, 0] = phi[0, 0] = 0
    found = phi_statistics(corpus, {"phi": phi}, bins=7)["phis"]["phi"]
    own = np.zeros(phi.shape, dtype=bool)
    own[np.arange(len(phi)), corpus.image_of_caption] = True
    edges = np.linspace(0, float(phi.max()), 8)
    np.testing.assert_allclose(found["edges"], edges)
    assert found["other"] == np.histogram(phi[~own].astype(float), edges)[0].tolist()
    assert found["kept"]["own"] == np.histogram(phi[own].astype(float), edges)[0].tolist()
    assert (found["other_zero"], found["kept"]["own_zero"]) == (2, 1)


def test_images_are_chosen_evenly_by_their_best_caption_of_another_image_under_the_first_phi():
    corpus = corpus_of([2] * 9)
    phis = {"first": random_phi(corpus, 4), "second": random_phi(corpus, 5)}
    found = phi_statistics(corpus, phis, images=5)
    owner = corpus.image_of_caption
    best = [max(phis["first"][c, i] for c in range(18) if owner[c] != i) for i in range(9)]
    order = sorted(range(9), key=lambda i: -best[i])
    assert found["ranked_by"] == "first"
    assert [(one["rank"], one["image_id"]) for one in found["chosen"]] == [
        (rank + 1, f"i{order[rank]}") for rank in (0, 2, 4, 6, 8)
    ]
    assert len(phi_statistics(corpus, phis, images=50)["chosen"]) == 9


def test_the_best_caption_of_another_images_are_of_other_images_in_order_and_words_are_shown_once():
    captions = ["own one", "own two", "same words", "same words", "third", "fourth"]
    corpus = corpus_of([2, 2, 2], captions)
    phi = np.array([[9, 0, 0], [8, 0, 0], [3, 5, 0], [7, 5, 0], [7, 0, 5], [2, 0, 5]], dtype=np.float32)
    image = next(one for one in phi_statistics(corpus, {"phi": phi}, captions=3)["chosen"] if one["image_id"] == "i0")
    assert image["captions"] == ["own one", "own two"]
    assert image["own"] == {"phi": {"kept": [9.0, 8.0]}}
    assert [(one["caption"], one["image_id"], one["score"]) for one in image["other"]["phi"]] == [
        ("same words", "i1", 7.0),
        ("third", "i2", 7.0),
        ("fourth", "i2", 2.0),
    ]


def test_an_image_without_other_references_is_never_beaten_and_not_counted():
    corpus = corpus_of([1, 3, 2])
    phi = random_phi(corpus, 6)
    own = phi[np.arange(6), corpus.image_of_caption] / 4
    own[0] = np.nan
    found = phi_statistics(corpus, {"phi": phi}, {"phi": own})["phis"]["phi"]
    left_out = found["own_left_out"]
    assert (left_out["captions"], left_out["images"], sum(left_out["own"])) == (5, 2, 5)
    filled = np.where(np.isnan(own), np.inf, own)
    expected = counted_one_by_one(corpus, phi, filled)
    assert {name: left_out[name] for name in expected} == expected


def test_measured_files_hold_cider_with_and_without_the_own_caption(tmp_path):
    dogs = ["a dog runs", "the dog runs fast", "a dog on grass"]
    corpus = corpus_of([3, 3], [*dogs, "two boys play ball", "boys play with a ball", "a boy"])
    write_phi("cider", corpus.captions, corpus.image_of_caption, tmp_path / "cider.npy")
    write_statistics(corpus, {"cider": tmp_path / "cider.npy"}, tmp_path / "m.json", images=2)
    found = read_statistics(tmp_path / "m.json")
    phi = read_phi(tmp_path / "cider.npy")
    numbers = found["phis"]["cider"]
    assert (numbers["tokenisation"], numbers["tuples"]) == ("whitespace", "")
    own = {one["image_id"]: one["own"]["cider"] for one in found["chosen"]}
    assert own["i1"]["kept"] == phi[3:, 1].tolist()
    # The caption itself is the best of references.
    assert all(a < b for a, b in zip(own["i1"]["own_left_out"], own["i1"]["kept"], strict=True))
