"""Concepts of training captions: which words, how they meet, who is told what."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.models.concepts import ConceptGraph, concept_labels, folded, read_glove, words_of

CAPTIONS = [
    "Two dogs run on the grass .",
    "A brown dog runs.",
    "A dog jumps over a red ball",
    "The red balls lie in the grass",
    "A man's red hat; a man",
    "Men with hats and glasses",
]
IMAGES = [0, 0, 1, 1, 2, 2]


@pytest.fixture(scope="module")
def graph():
    return ConceptGraph.of_captions(CAPTIONS, minimum=1)


def test_concepts_are_the_words_of_most_captions_without_stop_words_equals_by_alphabet(graph):
    assert graph.words[:7] == ("dog", "red", "ball", "grass", "hat", "man", "run")
    assert graph.totals[:8].tolist() == [3, 3, 2, 2, 2, 2, 2, 1]
    assert list(graph.words[7:]) == sorted(graph.words[7:])
    assert not set(graph.words) & {"the", "a", "two", "on"}
    assert ConceptGraph.of_captions(CAPTIONS).words == graph.words[:7]  # in two captions at least
    assert ConceptGraph.of_captions(CAPTIONS, size=2).words == graph.words[:2]


def test_plurals_are_folded_into_words_that_the_captions_hold(graph):
    assert {"ball", "hat", "man", "run"} < set(graph.words)
    assert not {"balls", "hats", "dogs", "runs", "men"} & set(graph.words)
    assert "glasses" in graph.words  # no caption holds "glass"
    known = {"plane", "plan", "dish", "pony", "glass", "glas", "bus", "man"}
    words = ("planes", "dishes", "ponies", "glass", "bus", "cats", "men")
    assert [folded(word, known) for word in words] == ["plane", "dish", "pony", "glass", "bus", "cats", "man"]
    does = ConceptGraph.of_captions(["a doe does", "the doe does"])
    assert does.words == ("doe",) and does.totals.tolist() == [2]
    assert does.labels_of(["she does", "does"]).sum() == 0  # a stop word names nothing


def test_counts_are_those_counted_one_by_one(graph):
    held = [{folded(word, set(graph.words)) for word in words_of(caption)} for caption in CAPTIONS]
    for a, first in enumerate(graph.words):
        assert graph.totals[a] == sum(first in words for words in held)
        for b, second in enumerate(graph.words):
            assert graph.together[a, b] == (0 if a == b else sum({first, second} <= words for words in held))


def test_links_are_frequent_company_and_share_a_quarter(graph):
    adjacency = graph.adjacency()
    off = adjacency - np.eye(len(graph))
    linked = graph.together / graph.totals[:, None] > 0.17  # where the released scale crosses its threshold
    np.testing.assert_array_equal(off > 0, linked)
    np.testing.assert_allclose(off.sum(axis=0)[linked.any(axis=0)], 0.25, rtol=1e-5)


def test_at_test_a_caption_is_told_its_own_concepts_only_unless_the_leak_is_asked_for(graph):
    captions, images = ["a dog", "grass and an unknown zebra", "Hats"], [0, 0, 1]
    own = concept_labels(graph, captions, images, "test")
    named = [[graph.words[c] for c in np.flatnonzero(row)] for row in own]
    assert named == [["dog"], ["grass"], ["hat"]]
    leaked = concept_labels(graph, captions, images, "test", variant="released")
    np.testing.assert_array_equal(leaked, concept_labels(graph, captions, images, "training"))
    assert [graph.words[c] for c in np.flatnonzero(leaked[0])] == ["dog", "grass"]
    np.testing.assert_array_equal(leaked[0], leaked[1])


def test_vectors_of_counts_put_concepts_of_the_same_company_together():
    captions = ["dog grass", "puppy grass"] * 4 + ["car road", "truck road"] * 4
    graph = ConceptGraph.of_captions(captions)
    cosine = graph.vectors @ graph.vectors.T
    row = dict(zip(graph.words, cosine, strict=True))
    assert row["dog"][graph.number["puppy"]] > row["dog"][graph.number["truck"]] + 0.1
    np.testing.assert_allclose(np.linalg.norm(graph.vectors, axis=1), 1, rtol=1e-6)


def test_glove_vectors_are_read_as_text_and_words_without_one_are_no_concepts(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 2 3\n. . . 1 2 3\nred 0.5 -1e-3 4\nzebra 7 8 9\nred 0 0 0\n", encoding="utf-8")
    graph = ConceptGraph.of_captions(CAPTIONS, minimum=1, glove=file)
    assert graph.words == ("dog", "red")
    np.testing.assert_array_equal(graph.vectors, np.array([[1, 2, 3], [0.5, -1e-3, 4]], np.float32))
    file.write_text("dog 1 2 three\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"1.*'dog'.*3"):
        read_glove(file, {"dog"})
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_glove(file, {"dog"})
    with pytest.raises(InputError, match="no such file"):
        read_glove(tmp_path / "none.txt", {"dog"})


@pytest.mark.data
def test_the_released_vectors_of_coco_serve_other_captions(mirror):
    file = mirror / "cvse" / "concepts.npz"
    graph = ConceptGraph.of_captions(CAPTIONS, minimum=1, glove=file)
    with np.load(file) as released:
        words, vectors = [str(word) for word in released["words"]], released["coco_glove"]
    assert {"dog", "grass", "ball"} <= set(graph.words) <= set(words)
    np.testing.assert_array_equal(graph.vectors[0], vectors[words.index("dog")])


def test_what_is_no_graph_is_refused_in_a_sentence(graph, tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "objects.npz", words=np.array([{}], dtype=object), coco_glove=np.zeros((1, 2)))
    for name in ("text", "objects"):
        with pytest.raises(InputError, match=r"is not (a complete .npz file of )?the released concepts; make it again"):
            read_glove(tmp_path / f"{name}.npz", {"a"})
    with pytest.raises(InputError, match="word"):
        ConceptGraph(("a", "b"), graph.vectors, graph.together, graph.totals)
    with pytest.raises(InputError, match="concepts"):
        ConceptGraph.of_captions(["the"])
