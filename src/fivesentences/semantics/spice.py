"""The exact SPICE of every caption against every image, as sparse matrix products.

SPICE (Anderson et al. 2016) compares the merged scene graph of a caption with the single merged graph of all captions
of an image: the F score of their tuples. As its program computes it, a tuple of the caption is a hit if the image has
any tuple of the same length that is similar in every position; hits are not matched one to one. A cell therefore needs
only the number of hits and the sizes of the two graphs. Similarity among the tens of thousands of distinct tuples is
computed once; a product with the images' tuples says which tuple is a hit for which image; and a product of the
captions' tuples with that matrix counts the hits of every cell.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from threading import Lock

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import check_java, wheel_jar
from fivesentences.semantics.references import References, ranges
from fivesentences.semantics.scene_graphs import Concepts, ConceptTuple, scene_graph
from fivesentences.semantics.scoring import Output, Scorer, matrix_of
from fivesentences.semantics.similar_tuples import similar_tuples
from fivesentences.semantics.synonyms import load_synonyms
from fivesentences.semantics.tuples import RawTuple, checked_tuples
from fivesentences.semantics.validation import checked_pairing, given_or_five

Ints = NDArray[np.int64]

# The parts that sub-scores are restricted to, each a selection of a graph's merged tuples. Objects, attributes and
# relations are all tuples of one, two and three concepts. Colours, counts and sizes are the attributes that consist of
# a single word from a list; an attribute merged with a synonym (red/crimson) is not one. SPICE's list of sizes is a
# thesaurus of a hundred words: it is read from the authors' class at run time (extra `java`).
COLOURS = frozenset(
    ("beige", "black", "blue", "brown", "cream", "dark", "gray", "green", "grey", "light", "maroon", "orange", "pink",
     "purple", "red", "violet", "white", "yellow")
)  # fmt: skip
COUNTS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))
ARITY = {"object": 1, "attribute": 2, "relation": 3, "colour": 2, "count": 2, "size": 2}
PARTS = ("all", *ARITY)

# A process of its own: a JVM can be started only once and would stay in this process.
CHILD = """
import json, sys
from pathlib import Path
from fivesentences.semantics.java.jvm import start_jvm
start_jvm([Path(sys.argv[1])], memory_mb=64)
import jpype
print(json.dumps(sorted(map(str, jpype.JClass("edu.anu.spice.TupleFilter").sizeAdjectives))))
"""


@cache
def size_words() -> frozenset[str]:
    """Read SPICE's list of size words from its jar in the pycocoevalcap wheel (half a second, in a child process).

    Raises:
        InputError: If the extra ``java`` is not installed or Java fails.
    """
    check_java()
    jar = wheel_jar("spice/spice-1.0.jar")
    done = subprocess.run([sys.executable, "-c", CHILD, str(jar)], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise InputError(f"{jar}: SPICE's size words could not be read ({reason}).")
    return frozenset(json.loads(done.stdout))


class SpiceScorer(Scorer):
    """SPICE of the captions of a corpus against its images, 0 to 1, prepared once.

    Bit-equal to the released program if no tie occurs while the graphs are merged (``ties``); with a tie, the result
    of the Java program itself varies from run to run.

    Args:
        tuples_of_caption: ``[captions]`` raw tuples of each caption, in the parser's order (see ``tuples``).
        image_of_caption: ``[captions]`` image index of each caption. The graph of an image merges the tuples of its
            captions in caption order.
        part: ``"all"``, or the tuples that a sub-score is restricted to: ``"object"``, ``"attribute"``,
            ``"relation"``, ``"colour"``, ``"count"``, ``"size"`` (see ``ARITY``).
        undefined: The sub-score against an image that has no such tuple, for any caption; NaN as in the released
            program. ``"all"`` is 0 there, as released.

    Attributes:
        ties: Number of captions and number of images whose graphs depend on how the released program breaks a tie.

    Raises:
        InputError: If a tuple is malformed, there is no such part, or ``image_of_caption`` does not fit.
    """

    def __init__(
        self,
        tuples_of_caption: Sequence[Sequence[Sequence[str]]],
        image_of_caption: ArrayLike,
        part: str = "all",
        undefined: float = math.nan,
    ):
        if part not in PARTS:
            raise InputError(f"part is {part!r}; the parts of SPICE are {', '.join(PARTS)}.")
        raw = [checked_tuples(tuples, f"caption {index}") for index, tuples in enumerate(tuples_of_caption)]
        self._references = References(checked_pairing(image_of_caption, len(raw)))
        self.shape = self._references.shape
        self._raw, self._part, self._undefined = raw, part, 0.0 if part == "all" else undefined
        # None if every tuple of this arity belongs to the part.
        self._words = size_words() if part == "size" else {"colour": COLOURS, "count": COUNTS}.get(part)
        self._concepts = Concepts(load_synonyms())
        self._one_at_a_time = Lock()  # rebuilding graphs creates new concepts
        of_captions, caption_ties = self._graphs([tuples] for tuples in raw)
        of_images, image_ties = self._graphs(
            [raw[caption] for caption in self._references.of_image(image)] for image in range(self.shape[1])
        )
        self.ties = (caption_ties, image_ties)
        self._of_captions = of_captions
        self._tested = _Counts(of_captions, of_images, self._concepts)

    def sparse(self, captions: Ints) -> scipy.sparse.csr_array:
        """Return the rows without their zeros, ``[len(captions), images]``.

        Raises:
            InputError: If undefined cells are not 0: a sub-score needs ``undefined=0``.
        """
        if self._undefined != 0.0:
            raise InputError(f"SPICE of part {self._part!r} is undefined in some cells; pass undefined=0.")
        return self._counted(captions)

    def score(self, captions: Ints) -> NDArray[np.float64]:
        """Return ``[len(captions), images]`` dense float64."""
        rows: NDArray[np.float64] = self._counted(captions).toarray()
        if self._undefined != 0.0:
            rows[:, self._tested.references == 0] = self._undefined
        return rows

    def _counted(self, captions: Ints) -> scipy.sparse.csr_array:
        counts = self._tested
        hits = counts.test[captions] @ counts.hit
        tests = np.repeat(counts.tests[captions], np.diff(hits.indptr))
        f = _f_score(hits.data, tests, counts.references[hits.indices])
        return scipy.sparse.csr_array((f, hits.indices, hits.indptr), shape=hits.shape)

    def _pairs(self, captions: Ints, images: Ints, without_own: bool) -> NDArray[np.float64]:
        scores = self._cells(self._tested, captions, images)
        own = np.flatnonzero(self._references.own(captions, images) & without_own)
        if len(own):
            left, place = np.unique(captions[own], return_inverse=True)
            with self._one_at_a_time:
                scores[own] = self._without_own(left)[place]
        return scores

    def _without_own(self, captions: Ints) -> NDArray[np.float64]:
        """Return each caption against the merged graph of its image's other captions; NaN where there is no other."""
        image_of_caption = self._references.image_of_caption
        others = [
            [self._raw[other] for other in self._references.of_image(image, without=caption)]
            for caption, image in zip(captions.tolist(), image_of_caption[captions].tolist(), strict=True)
        ]
        of_others, _ = self._graphs(others)
        of_captions = [self._of_captions[caption] for caption in captions.tolist()]
        here = np.arange(len(captions))
        scores = self._cells(_Counts(of_captions, of_others, self._concepts), here, here)
        scores[[not one for one in others]] = np.nan
        return scores

    def _cells(self, counts: _Counts, captions: Ints, images: Ints) -> NDArray[np.float64]:
        tests, references = counts.tests[captions], counts.references[images]
        scores = _f_score(counts.hits(captions, images), tests, references)
        scores[references == 0] = self._undefined
        return scores

    def _graphs(self, groups: Iterable[Sequence[list[RawTuple]]]) -> tuple[list[list[ConceptTuple]], int]:
        """Merged tuples of this part, one graph per group of captions, and the number of graphs with a tie."""
        graphs, ties = [], 0
        arity, words = ARITY.get(self._part), self._words
        concepts = self._concepts
        for captions in groups:
            graph = scene_graph((one for caption in captions for one in caption), concepts)
            merged = graph.tuples()
            if arity is not None:
                merged = [one for one in merged if len(one) == arity]
            if words is not None:
                merged = [one for one in merged if len(concepts.words[one[1]]) == 1 and concepts.words[one[1]] <= words]
            graphs.append(merged)
            ties += graph.ties > 0
        return graphs, ties


def spice_matrix(
    tuples_of_caption: Sequence[Sequence[Sequence[str]]],
    image_of_caption: ArrayLike | None = None,
    part: str = "all",
    out: Output = None,
    undefined: float = math.nan,
) -> NDArray[np.floating]:
    """SPICE of every caption against the captions of every image: phi of Five Sentences, Table 1.

    A caption is one of the references of its own image, as in the released matrices.

    Args:
        tuples_of_caption: ``[captions]`` raw tuples of each caption.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image;
            default five per image, those of an image adjacent.
        part: ``"all"`` or a sub-score; see ``SpiceScorer``.
        out: Where to put the matrix; see ``scoring.matrix_of``.
        undefined: See ``SpiceScorer``.

    Returns:
        ``[captions, images]``, 0 to 1 (``undefined`` where a sub-score is undefined); float64, or as ``out`` says.

    Raises:
        InputError: As ``SpiceScorer``, or if ``out`` does not fit.
    """
    pairing = given_or_five(image_of_caption, tuples_of_caption)
    return matrix_of(SpiceScorer(tuples_of_caption, pairing, part, undefined), out, f"SPICE ({part})")


def _f_score(hits: NDArray[np.integer], tests: Ints, references: Ints) -> NDArray[np.float64]:
    """F of precision (hits / tests) and recall (hits / references), rounded as in the release; 0 without hits."""
    hit = hits > 0
    precision = np.divide(hits, tests, out=np.zeros(len(hits)), where=hit)
    recall = np.divide(hits, references, out=np.zeros(len(hits)), where=hit)
    f = precision * recall
    f *= 2.0
    precision += recall
    return np.asarray(np.divide(f, precision, out=np.zeros(len(hits)), where=hit))


class _Counts:
    """The counts that cells are computed from, for a list of test graphs and a list of reference graphs.

    Attributes:
        tests: ``[captions]`` number of tuples of each test graph.
        references: ``[images]`` number of tuples of each reference graph.
        test: ``[captions, tuples]`` 1 where the graph has the tuple.
        hit: ``[tuples, images]`` 1 where the image has a similar tuple.
    """

    def __init__(self, test: list[list[ConceptTuple]], reference: list[list[ConceptTuple]], concepts: Concepts):
        self.tests = np.array([len(graph) for graph in test], dtype=np.int64)
        self.references = np.array([len(graph) for graph in reference], dtype=np.int64)
        number: dict[ConceptTuple, int] = {}
        self.test = _incidence(test, number)
        number_of_reference: dict[ConceptTuple, int] = {}
        holds = _incidence(reference, number_of_reference)
        alike = similar_tuples(list(number), list(number_of_reference), concepts)
        self.hit = (alike @ holds.T.tocsr()).tocsr()
        self.hit.data = np.ones(len(self.hit.data), dtype=np.int32)
        self.hit.sort_indices()
        n_images = self.hit.shape[1]
        tuples = np.repeat(np.arange(self.hit.shape[0], dtype=np.int64), np.diff(self.hit.indptr))
        self._keys = tuples * n_images + self.hit.indices  # ascending

    def hits(self, captions: Ints, images: Ints) -> Ints:
        """Return ``[pairs]`` number of hits."""
        start, length = self.test.indptr[captions], self.tests[captions]
        pair = np.repeat(np.arange(len(captions)), length)
        entry = ranges(start.astype(np.int64), length)
        keys = self.test.indices[entry].astype(np.int64) * self.hit.shape[1] + images[pair]
        if not len(self._keys):
            return np.zeros(len(captions), dtype=np.int64)
        place = np.searchsorted(self._keys, keys)
        place[place == len(self._keys)] = 0
        return np.bincount(pair[self._keys[place] == keys], minlength=len(captions))


def _incidence(graphs: list[list[ConceptTuple]], number: dict[ConceptTuple, int]) -> scipy.sparse.csr_array:
    """``[graphs, tuples]`` 1 where a graph has a tuple; tuples that are not in ``number`` yet are added to it."""
    columns = [number.setdefault(one, len(number)) for graph in graphs for one in graph]
    start = np.cumsum([0, *map(len, graphs)])
    values = np.ones(len(columns), dtype=np.int32)
    return scipy.sparse.csr_array((values, columns, start), shape=(len(graphs), len(number)))
