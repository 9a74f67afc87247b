"""Merging raw tuples into scene graphs, as SPICE's program merges them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fivesentences.semantics.scene_graphs import Concepts, SceneGraph, scene_graph
from fivesentences.semantics.synonyms import Synonyms, load_synonyms

# hound shares 1 of 3 synsets with dog, mutt 1 of 2; wolf none; near and by are synonyms, as are red and crimson.
SMALL = Synonyms(
    {
        "dog": "1 2", "hound": "2 3", "mutt": "1", "wolf": "9", "cat": "4", "lynx": "4 9",
        "red": "10", "crimson": "10 11", "pink": "11", "near": "20", "by": "20 21", "at": "21",
        "house": "31 32 33", "shed": "34 35", "barn": "33 34",
    },
    {},
)  # fmt: skip
Words = list[list[list[str]]]


def merged(raw: Sequence[Sequence[str]], synonyms: Synonyms = SMALL) -> Words:
    """The merged tuples as sorted lists of sorted words."""
    concepts = Concepts(synonyms)
    return words_of(scene_graph(raw, concepts), concepts)


def words_of(graph: SceneGraph, concepts: Concepts) -> Words:
    return sorted([sorted(concepts.words[concept]) for concept in one] for one in graph.tuples())


def apart(tuples: list[list[str]]) -> Words:
    """Tuples whose concepts are words joined by slashes, in any order, as sorted lists of sorted words."""
    return sorted([sorted(concept.split("/")) for concept in one] for one in tuples)


def split(text: str) -> list[list[str]]:
    return [one.split() for one in text.split(", ")]


# Raw tuples are object, object attribute, or subject object relation; merged ones have the relation in the middle.
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("dog red, hound big, cat", "cat, dog/hound, dog/hound big, dog/hound red"),  # synonyms are one node
        ("cat, wolf, lynx", "cat/lynx, wolf"),  # of two nodes that are equally similar, an object joins the older
        ("house, shed, barn", "barn/shed, house"),  # and else the more similar: 1 of 3 synsets against 1 of 4
        ("hound, mutt, dog", "dog/mutt, hound"),
        ("dog, mutt, hound", "dog/hound/mutt"),  # the order matters
        ("wolf, lynx, cat, wolf, lynx red", "cat/lynx/wolf, cat/lynx/wolf red"),  # a word stays where it once went
        ("dog red, dog crimson, cat crimson, dog red", "cat, cat crimson, dog, dog crimson/red"),  # on their own node
        (  # relations merge between the same nodes, in one direction only
            "dog cat near, hound cat by, cat dog near, dog wolf by",
            "cat, dog/hound, wolf, cat near dog/hound, dog/hound by wolf, dog/hound by/near cat",
        ),
        # "by" joins "near" and makes it similar to "at", which has come before; still "at" stays itself.
        ("dog cat near, dog cat at, dog cat by, dog cat at", "cat, dog, dog at cat, dog by/near cat"),
    ],
)
def test_synonyms_merge_into_the_most_similar_node_that_came_before(raw: str, expected: str) -> None:
    assert merged(split(raw)) == apart(split(expected))


@pytest.mark.parametrize(
    ("raw", "ties"),
    [
        ("cat, wolf, lynx", 1),
        ("dog red, dog pink, dog crimson", 1),
        ("dog red, dog crimson, dog pink", 0),
        ("cat dog near, cat dog at, cat dog by", 0),
    ],
)
def test_merges_that_the_released_program_does_not_determine_are_counted(raw: str, ties: int) -> None:
    assert scene_graph(split(raw), Concepts(SMALL)).ties == ties


@pytest.mark.parity
def test_captions_and_images_merge_as_the_released_program_did(released_spice: dict[str, Any]) -> None:
    raw, image_of_caption = released_spice["raw_tuples"], released_spice["image_of_caption"]
    of_images = [
        [one for tuples, own in zip(raw, image_of_caption, strict=True) if own == image for one in tuples]
        for image in range(len(released_spice["image_ids"]))
    ]
    for graphs, expected in ((raw, released_spice["merged_test"]), (of_images, released_spice["merged_ref"])):
        for tuples, texts in zip(graphs, expected, strict=True):
            released = apart(texts)
            assert merged(tuples, load_synonyms()) == released


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parity
def test_made_graphs_equal_the_jars(
    ask_spice: Callable[[dict[str, Any]], dict[str, Any]],
    made_tuples: Callable[[int, int], list[list[list[str]]]],
    released_spice: dict[str, Any],
) -> None:
    synonyms = load_synonyms()
    graphs = [*released_spice["raw_tuples"], *made_tuples(0, 1500)]
    theirs = ask_spice({"graphs": graphs, "merged": list(range(len(graphs)))})["merged"]
    concepts = Concepts(synonyms)
    decided = 0
    for raw, answer in zip(graphs, theirs, strict=True):
        graph = scene_graph(raw, concepts)
        if graph.ties:
            continue  # the jar's answer changes from run to run
        decided += 1
        ours = [["/".join(concept) for concept in one] for one in words_of(graph, concepts)]
        assert apart(ours) == apart(answer), raw
    assert decided > 0.9 * len(graphs)
