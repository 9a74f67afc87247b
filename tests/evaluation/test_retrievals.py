"""Retrievals that recall calls equal: which queries, how many, and what is shown of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.evaluation.disagreements import compare_retrievals

K = 4


@pytest.fixture
def corpus() -> Corpus:
    rows = [
        (f"i{image}", f"i{image}.png", f"{image}.{number}", f"a thing {image} seen {number} times", "test", None)
        for image in range(30)
        for number in range(2 + image % 2)
    ]
    return Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))


@pytest.fixture
def matrices(corpus: Corpus) -> tuple[dict[str, np.ndarray], np.ndarray]:
    draw = np.random.default_rng(5)
    own = np.zeros((corpus.n_images, corpus.n_captions))
    own[corpus.image_of_caption, np.arange(corpus.n_captions)] = 1
    similarities = {name: draw.normal(size=own.shape) + 1.2 * own for name in ("a", "b")}
    return similarities, draw.gamma(0.5, 1.0, own.T.shape) + own.T


def slow(corpus: Corpus, similarity: np.ndarray, phi: np.ndarray, direction: str) -> list[tuple[set[int], float]]:
    """For each query: which own items are among the first K, and NCS, from the text."""
    found = []
    owner = corpus.image_of_caption
    for query in range(corpus.n_images if direction == "i2t" else corpus.n_captions):
        scores = similarity[query] if direction == "i2t" else similarity[:, query]
        fits = phi[:, query] if direction == "i2t" else phi[query]
        own = owner == query if direction == "i2t" else np.arange(corpus.n_images) == owner[query]
        first = sorted(range(len(scores)), key=lambda item: (-scores[item], item))[:K]
        found.append(({item for item in first if own[item]}, 100 * fits[first].sum() / np.sort(fits)[-K:].sum()))
    return found


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_counts_and_choice_are_those_of_the_definition(corpus: Corpus, matrices, direction: str) -> None:
    similarities, phi = matrices
    found = compare_retrievals(corpus, similarities, phi, k=K, directions=[direction], queries=2)
    a, b = (slow(corpus, one, phi, direction) for one in similarities.values())
    for outcome, fits in (("neither", lambda own: not own), ("both", bool)):
        queries = [q for q in range(len(a)) if fits(a[q][0]) and fits(b[q][0])]
        equal = [q for q in queries if a[q][0] == b[q][0]]
        counts = found["counts"][direction][outcome]
        assert (counts["queries"], counts["equal"]) == (len(queries), len(equal))
        assert counts["first_better"] == sum(a[q][1] > b[q][1] for q in equal)
        assert counts["second_better"] == sum(a[q][1] < b[q][1] for q in equal)
        assert counts["much"] == sum(abs(a[q][1] - b[q][1]) >= 10 for q in equal)
        best = sorted(equal, key=lambda q: (-abs(a[q][1] - b[q][1]), q))[:2]
        shown = [one for one in found["chosen"] if one["outcome"] == outcome]
        assert [one["query"] for one in shown] == best
        for one in shown:
            for answer, of_model in zip(one["answers"], (a, b), strict=True):
                assert answer["ncs"] == pytest.approx(of_model[one["query"]][1])
                assert sum(item["own"] for item in answer["items"]) == len(of_model[one["query"]][0])
                assert len(answer["items"]) == K
