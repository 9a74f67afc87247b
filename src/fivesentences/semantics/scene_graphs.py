"""Scene graphs: the raw tuples of a caption or an image with synonyms merged, as SPICE merges them.

SPICE (Anderson et al. 2016) merges one tuple after another into a graph, so their order matters. A concept is a set of
words; its synsets are those of all its words. Two concepts are similar if they share a word or a synset.

- An object whose word the graph already has is that node. Otherwise it joins the node with the largest Jaccard
  similarity of synsets (above 0; the first of several). Otherwise it becomes a new node.
- An attribute that its node already has is dropped. Otherwise it joins the node's first similar attribute. Otherwise
  it is new. The same holds for relations, among those between the same two nodes in the same direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fivesentences.semantics.synonyms import Synonyms

ConceptTuple = tuple[int, ...]


class Concepts:
    """Numbers of concepts: every distinct set of words has one, shared by all graphs.

    Args:
        synonyms: Source of the words' synsets.
    """

    def __init__(self, synonyms: Synonyms):
        self.synonyms = synonyms
        self.words: list[frozenset[str]] = []  # of each concept
        self.synsets: list[frozenset[int]] = []  # of each concept: the union over its words
        self._of_words: dict[frozenset[str], int] = {}
        self._of_word: dict[str, int] = {}

    def __len__(self) -> int:
        """Number of concepts so far."""
        return len(self.words)

    def of_word(self, word: str) -> int:
        """Return the concept that consists of one word (or term)."""
        concept = self._of_word.get(word)
        if concept is None:
            concept = self._of_word[word] = self._number(frozenset((word,)), self.synonyms.synsets(word))
        return concept

    def joined(self, concept: int, other: int) -> int:
        """Return the concept that has the words of both."""
        words = self.words[concept] | self.words[other]
        known = self._of_words.get(words)
        return self._number(words, self.synsets[concept] | self.synsets[other]) if known is None else known

    def similar(self, concept: int, other: int) -> bool:
        """Return whether the two concepts share a word or a synset."""
        return not self.synsets[concept].isdisjoint(self.synsets[other]) or not self.words[concept].isdisjoint(
            self.words[other]
        )

    def _number(self, words: frozenset[str], synsets: frozenset[int]) -> int:
        known = self._of_words.setdefault(words, len(self.words))
        if known == len(self.words):
            self.words.append(words)
            self.synsets.append(synsets)
        return known


class SceneGraph:
    """A merged graph, to which ``add`` adds raw tuples one by one.

    Attributes:
        ties: Number of merges that the released program does not determine: an object found two nodes of the same,
            largest similarity, or an attribute two similar ones. Java then follows the identity hashes of that run;
            here the older one is taken.
    """

    def __init__(self, concepts: Concepts):
        self.ties = 0
        self._concepts = concepts
        self._nodes: list[int] = []  # concept of each node
        self._attributes: list[list[int]] = []  # of each node
        self._relations: dict[tuple[int, int], list[int]] = {}  # (source, target) -> labels
        self._node_of_word: dict[int, int] = {}  # the word as its own concept -> node
        self._nodes_of_synset: dict[int, list[int]] = {}

    def add(self, raw: Sequence[str]) -> None:
        """Merge one raw tuple of one to three strings."""
        of_word = self._concepts.of_word
        source = self._node(of_word(raw[0]))
        if len(raw) == 2:
            self._merge(self._attributes[source], of_word(raw[1]), ordered=False)
        elif len(raw) == 3:
            target = self._node(of_word(raw[1]))
            self._merge(self._relations.setdefault((source, target), []), of_word(raw[2]), ordered=True)

    def tuples(self) -> list[ConceptTuple]:
        """Return (object), (object, attribute) and (subject, relation, object) as concepts, every tuple once."""
        nodes = self._nodes
        found: list[ConceptTuple] = [(node,) for node in nodes]
        for node, attributes in zip(nodes, self._attributes, strict=True):
            found += [(node, attribute) for attribute in attributes]
        for (source, target), labels in self._relations.items():
            found += [(nodes[source], label, nodes[target]) for label in labels]
        return found

    def _node(self, word: int) -> int:
        node = self._node_of_word.get(word)
        if node is not None:
            return node
        concepts, nodes = self._concepts, self._nodes
        synsets = concepts.synsets[word]
        shared: dict[int, int] = {}
        for synset in synsets:
            for candidate in self._nodes_of_synset.get(synset, ()):
                shared[candidate] = shared.get(candidate, 0) + 1
        if shared:
            largest, best = 0.0, -1
            for candidate in sorted(shared):
                both = shared[candidate]
                similarity = both / (len(synsets) + len(concepts.synsets[nodes[candidate]]) - both)
                if similarity > largest:
                    largest, best, tied = similarity, candidate, 0
                elif similarity == largest:
                    tied = 1
            node, self.ties = best, self.ties + tied
            new = synsets - concepts.synsets[nodes[node]]
            nodes[node] = concepts.joined(nodes[node], word)
        else:
            node, new = len(nodes), synsets
            nodes.append(word)
            self._attributes.append([])
        for synset in new:
            self._nodes_of_synset.setdefault(synset, []).append(node)
        self._node_of_word[word] = node
        return node

    def _merge(self, labels: list[int], word: int, ordered: bool) -> None:
        """Join ``word`` to the first similar concept of ``labels``, or append it; Java keeps attributes unordered."""
        if word in labels:
            return
        similar = self._concepts.similar
        alike = [position for position, label in enumerate(labels) if similar(label, word)]
        if alike:
            labels[alike[0]] = self._concepts.joined(labels[alike[0]], word)
            self.ties += not ordered and len(alike) > 1
        else:
            labels.append(word)


def scene_graph(tuples: Iterable[Sequence[str]], concepts: Concepts) -> SceneGraph:
    """Build the graph of raw tuples, merged in their order."""
    graph = SceneGraph(concepts)
    for raw in tuples:
        graph.add(raw)
    return graph
