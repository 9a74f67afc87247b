"""Queries on which recall and semantics, models, or a loss and its control disagree, against a slow search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.reproduction.evaluation.disagreements import compare_retrievals, find_disagreements

K, QUERIES = 4, 3
PAIR = ("a", "b")


@pytest.fixture
def corpus() -> Corpus:
    rows = [
        (f"i{image}", f"i{image}.png", f"{image}.{number}", f"thing {image} seen {number} times", "test", None)
        for image in range(30)
        for number in range(2 + image % 2)
    ]
    return Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))


@pytest.fixture
def similarities(corpus: Corpus) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    own = np.zeros((corpus.n_images, corpus.n_captions))
    own[corpus.image_of_caption, np.arange(corpus.n_captions)] = 1
    # Rounded, so that scores tie.
    return {name: (draw.normal(size=own.shape) + 0.5 * own).round(1) for name in ("a", "b", "c")}


@pytest.fixture
def phis(corpus: Corpus) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(6)
    own = (corpus.image_of_caption[:, None] == np.arange(corpus.n_images)[None, :]).astype(float)
    return {name: (draw.gamma(0.5, 1.0, own.shape) + own).astype(np.float32) for name in ("cider", "spice")}


class Slow:
    """One query at a time, from the definitions."""

    def __init__(self, corpus: Corpus, similarity: np.ndarray, phi: np.ndarray, direction: str, query: int):
        owner = corpus.image_of_caption
        self.scores = similarity[query] if direction == "i2t" else similarity[:, query]
        self.phi = (phi[:, query] if direction == "i2t" else phi[query]).astype(float)
        self.own = owner == query if direction == "i2t" else np.arange(corpus.n_images) == owner[query]
        order = sorted(range(len(self.scores)), key=lambda item: (-self.scores[item], item))
        self.items = order[:K]
        self.rank = 1 + min(place for place, item in enumerate(order) if self.own[item])
        self.found = frozenset(item for item in self.items if self.own[item])
        self.ncs = 100 * self.phi[self.items].sum() / np.sort(self.phi)[-K:].sum()


@pytest.fixture(params=["i2t", "t2i"])
def direction(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def slow(corpus: Corpus, similarities, phis, direction: str) -> list[list[Slow]]:
    """For each query what each model answers."""
    total = corpus.n_images if direction == "i2t" else corpus.n_captions
    return [
        [Slow(corpus, one, phis["cider"], direction, query) for one in similarities.values()] for query in range(total)
    ]


def find(corpus: Corpus, similarities, phis, direction: str, **options: Any) -> dict[str, Any]:
    options = {"k": K, "queries": QUERIES, "at_random": 7, "contrasts": [PAIR], "directions": [direction]} | options
    return find_disagreements(corpus, similarities, phis, **options)


def test_a_direction_or_contrast_said_twice_is_shown_once(corpus, similarities, phis, direction):
    twice = {"directions": [direction, direction], "contrasts": [PAIR, PAIR]}
    assert find(corpus, similarities, phis, direction, **twice) == find(corpus, similarities, phis, direction)


def chosen(found: dict[str, Any], direction: str, criterion: str) -> list[tuple[int, float | None]]:
    """Queries of a criterion in their order, with the value that each was chosen for."""
    criteria = found["directions"][direction]["criteria"]
    places = [
        (one["place"], query["query"], one["value"])
        for query in found["queries"]
        for one in query["chosen"]
        if criteria[one["criterion"]]["criterion"] == criterion
    ]
    return [(query, value) for _, query, value in sorted(places)]


def spread(answers: list[Slow]) -> float:
    return max(one.ncs for one in answers) - min(one.ncs for one in answers)


VALUES: dict[str, Callable[[list[Slow]], float | None]] = {
    "missed_but_close": lambda answers: max((one.ncs for one in answers if not one.found), default=None),
    "found_but_far": lambda answers: min((one.ncs for one in answers if one.found), default=None),
    "equal_by_recall": lambda answers: spread(answers) if len({one.found for one in answers}) == 1 else None,
    "models_by_ncs": spread,
    "models_by_rank": lambda answers: max(one.rank for one in answers) / min(one.rank for one in answers),
    "contrast": lambda answers: answers[0].ncs - answers[1].ncs,
}


@pytest.mark.parametrize("criterion", VALUES)
def test_each_criterion_chooses_what_a_slow_search_chooses(
    corpus: Corpus, similarities, phis, direction: str, slow: list[list[Slow]], criterion: str
) -> None:
    found = find(corpus, similarities, phis, direction)
    values = {query: VALUES[criterion](answers) for query, answers in enumerate(slow)}
    possible = {query: value for query, value in values.items() if value is not None}

    def importance(query: int) -> float:
        value = possible[query]
        return -value if criterion == "found_but_far" else abs(value)

    # Sums in another order differ in the last digit.
    expected = sorted(possible, key=lambda query: (-round(importance(query), 9), query))[:QUERIES]
    shown = chosen(found, direction, criterion)
    assert [query for query, _ in shown] == expected
    assert [value for _, value in shown] == pytest.approx([possible[query] for query in expected])
    (about,) = [one for one in found["directions"][direction]["criteria"] if one["criterion"] == criterion]
    assert about["among"] == len(possible) > 0
    if criterion == "contrast":
        assert about["models"] == list(PAIR)
        assert about["first_better"] == sum(value > 0 for value in possible.values())
        assert about["second_better"] == sum(value < 0 for value in possible.values())
        assert about["mean"] == pytest.approx(np.mean(list(possible.values())))


def test_marks_ranks_and_phi_are_those_of_the_matrices(
    corpus: Corpus, similarities, phis, direction: str, slow: list[list[Slow]]
) -> None:
    found = find(corpus, similarities, phis, direction)
    assert found["queries"] and found["phis"] == ["cider", "spice"]
    place_of = {image_id: place for place, image_id in enumerate(corpus.images["image_id"])}
    for query in found["queries"]:
        number = query["query"]
        for answer, expected in zip(query["answers"], slow[number], strict=True):
            assert (answer["rank"], answer["found"], answer["of"]) == (
                expected.rank,
                len(expected.found),
                int(expected.own.sum()),
            )
            assert answer["ncs"] == pytest.approx(expected.ncs)
            for item, place in zip(answer["items"], expected.items, strict=True):
                assert item["own"] == bool(expected.own[place])
                for name, phi in phis.items():
                    assert item["phi"][name] == (phi[place, number] if direction == "i2t" else phi[number, place])
                image = corpus.image_of_caption[place] if direction == "i2t" else place
                assert place_of[item["image_id"]] == image
                first = int(np.flatnonzero(corpus.image_of_caption == image)[0])
                assert item["caption"] == corpus.captions[place if direction == "i2t" else first]
        for name, phi in phis.items():
            of_query = phi[:, number] if direction == "i2t" else phi[number]
            assert query["best_other"][name] == of_query[~slow[number][0].own].max()


def test_the_random_sample_depends_on_the_seed_alone(corpus: Corpus, similarities, phis, direction: str) -> None:
    first = chosen(find(corpus, similarities, phis, direction), direction, "random")
    other_models = {name: -matrix for name, matrix in similarities.items()}
    assert chosen(find(corpus, other_models, phis, direction), direction, "random") == first
    assert chosen(find(corpus, similarities, phis, direction, seed=1), direction, "random") != first
    assert len({query for query, _ in first}) == 7 and {value for _, value in first} == {None}


def test_the_same_words_are_shown_once_by_each_criterion(corpus: Corpus, similarities, phis) -> None:
    same = Corpus("made", corpus.table.assign(caption="always the same"))
    found = find(same, similarities, phis, "t2i", at_random=0)
    assert all(len(chosen(found, "t2i", criterion)) == 1 for criterion in VALUES)


def test_of_retrievals_that_recall_calls_equal_the_most_unequal_by_phi_are_chosen(
    corpus: Corpus, similarities, phis, direction: str, slow: list[list[Slow]]
) -> None:
    two = {name: similarities[name] for name in PAIR}
    found = compare_retrievals(corpus, two, phis["cider"], k=K, directions=[direction], queries=2)
    for outcome, fits in (("neither", lambda own: not own), ("both", bool)):
        queries = [(q, a, b) for q, (a, b, _) in enumerate(slow) if fits(a.found) and fits(b.found)]
        better = {q: b.ncs - a.ncs for q, a, b in queries if a.found == b.found}
        assert found["counts"][direction][outcome] == {
            "queries": len(queries),
            "equal": len(better),
            "first_better": sum(value < 0 for value in better.values()),
            "second_better": sum(value > 0 for value in better.values()),
            "much": sum(abs(value) >= 10 for value in better.values()),
        }
        shown = [one for one in found["chosen"] if one["outcome"] == outcome]
        assert [one["query"] for one in shown] == sorted(better, key=lambda q: (-abs(better[q]), q))[:2]
        for one in shown:
            for answer, of_model in zip(one["answers"], slow[one["query"]], strict=False):
                assert answer["ncs"] == pytest.approx(of_model.ncs)
                assert [item["own"] for item in answer["items"]] == of_model.own[of_model.items].tolist()
