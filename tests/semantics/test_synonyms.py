"""Synsets of words: METEOR's look-up without Java."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import synonyms
from fivesentences.semantics.synonyms import Synonyms, load_synonyms

SMALL = Synonyms(
    {
        "bus": "1", "box": "2", "quiz": "3", "church": "4", "dish": "5", "woman": "6", "fly": "7", "bake": "8",
        "talk": "9", "big": "10", "fine": "11", "dres": "12", "a": "13", "goose": "14", "men": "15 16", "man": "17",
        "hot_dog": "18", "axe": "19", "axis": "20", "see": "21", "saw": "22", "gla": "23",
    },
    {"geese": ("goose",), "axes": ("axis", "axe"), "saw": ("see",), "odd": ("unknown",)},
)  # fmt: skip


@pytest.mark.parametrize(
    ("word", "synsets"),
    [
        ("bus", {1}), ("buses", {1}), ("boxes", {2}), ("churches", {4}), ("dishes", {5}), ("flies", {7}),
        ("baked", {8}), ("baking", {8}), ("talked", {9}), ("talking", {9}), ("finer", {11}), ("finest", {11}),
        ("women", {6}),
        ("men", {15, 16, 17}),  # its own entry and that of its base
        ("dress", set()), ("as", set()),  # in "ss", and of two letters: no rule
        ("geese", {14}),
        ("axes", {19, 20}),  # both irregular bases
        ("saw", {21, 22}),
        ("odds", set()), ("odd", set()),
        ("glas", {23}),
        ("hot dogs", {18}), ("Hot Dog", {18}), (" hot dog\n", {18}), ("hot  dog", set()),
        ("", set()), ("unheard", set()),
    ],
)  # fmt: skip
def test_a_word_has_the_synsets_of_its_entry_and_of_its_base_form(word: str, synsets: set[int]) -> None:
    assert SMALL.synsets(word) == synsets


def test_the_data_of_the_wheel_are_complete() -> None:
    loaded = load_synonyms()
    assert len(loaded.lemmas) == 147_306
    assert loaded.synsets("automobile") & loaded.synsets("cars")
    assert loaded.synsets("children") == loaded.synsets("child")
    assert not loaded.synsets("dog") & loaded.synsets("cat")


def test_a_damaged_jar_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken.jar").write_bytes(b"PK nothing")
    monkeypatch.setattr(synonyms, "wheel_jar", lambda name: tmp_path / "broken.jar")
    load_synonyms.cache_clear()
    with pytest.raises(InputError, match="synonyms"):
        load_synonyms()


@pytest.mark.slow
@pytest.mark.java
def test_every_look_up_equals_the_jars(ask_spice: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    loaded = load_synonyms()
    draw = random.Random(0)
    lemmas = sorted(loaded.lemmas)
    endings = ("s", "es", "ed", "ing", "er", "est", "ies", "men", "ful", "ss", "")
    odd = ["", "s", "ss", "and/or", " Dog\t", "two  dogs", "\u00a0dog", "İ", "DOGS"]
    texts = [*sorted(loaded.bases), *odd]
    for lemma in draw.sample(lemmas, 5_000):
        texts += [lemma.replace("_", " "), lemma + draw.choice(endings), lemma[:-1] + draw.choice(endings)]
    theirs = ask_spice({"texts": texts})["synsets"]
    assert [text for text, synsets in zip(texts, theirs, strict=True) if loaded.synsets(text) != set(synsets)] == []
