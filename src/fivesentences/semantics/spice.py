"""The exact SPICE of every caption against every image, as sparse matrix products.

SPICE (Anderson et al. 2016) compares the merged scene graph of a caption with the one merged graph of all captions of
an image: the F score of their tuples. As its program computes it, a tuple of the caption is a hit if the image has any
tuple of the same length that is similar in every position; hits are not matched one to one. So all that a cell needs
is the number of hits and the sizes of the two graphs. Which of the few ten thousand different tuples is similar to
which is found once; a product with the images' tuples says which tuple is a hit for which image; and a product of the
captions' tuples with that counts the hits of every cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.pairing import checked_pairing
from fivesentences.semantics.products import checked_pairs
from fivesentences.semantics.scene_graphs import Concepts, ConceptTuple, scene_graph
from fivesentences.semantics.scoring import Scorer, matrix_of
from fivesentences.semantics.similar_tuples import similar_tuples
from fivesentences.semantics.spice_parts import ARITY, PARTS, words_of_part
from fivesentences.semantics.synonyms import load_synonyms
from fivesentences.semantics.tuples import RawTuple, checked_tuples

Ints = NDArray[np.int64]


class SpiceScorer(Scorer):
    """SPICE of the captions of a corpus against its images, prepared once.

    Bit-equal to the released program where merging the graphs meets no tie (``ties``); there Java itself depends on the
    run.

    Args:
        tuples_of_caption: ``[captions]`` raw tuples of each caption, in the parser's order (see ``tuples``).
        image_of_caption: ``[captions]`` image index of each caption. An image's graph merges the tuples of its
            captions in their order.
        part: ``"all"``, or the tuples that a sub-score looks at: ``"object"``, ``"attribute"``, ``"relation"``,
            ``"colour"``, ``"count"``, ``"size"`` (see ``spice_parts``).
        undefined: The sub-score against an image that has no such tuple, whatever the caption; the released program
            says NaN. ``"all"`` is 0 there, as released.

    Attributes:
        ties: Captions and images whose graph the released program leaves open; a pair of counts.

    Raises:
        InputError: If a tuple is not one, there is no such part, or ``image_of_caption`` does not fit.
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
        self._image = checked_pairing(image_of_caption, len(raw))
        self.shape = (len(raw), int(self._image.max()) + 1)
        self._raw, self._part, self._undefined = raw, part, 0.0 if part == "all" else undefined
        self._words = words_of_part(part)
        self._concepts = Concepts(load_synonyms())
        self._one_at_a_time = Lock()  # rebuilding graphs makes new concepts
        self._captions_of_image: list[list[int]] = [[] for _ in range(self.shape[1])]
        for caption, image in enumerate(self._image.tolist()):
            self._captions_of_image[image].append(caption)

        of_captions, caption_ties = self._graphs([tuples] for tuples in raw)
        of_images, image_ties = self._graphs([raw[caption] for caption in own] for own in self._captions_of_image)
        self.ties = (caption_ties, image_ties)
        self._of_captions = of_captions
        self._tested = _Counts(of_captions, of_images, self._concepts)

    def sparse(self, captions: Ints) -> scipy.sparse.csr_array:
        """The rows without their zeros, ``[len(captions), images]``.

        Raises:
            InputError: If undefined cells are neither 0 nor left out: a sub-score needs ``undefined=0``.
        """
        if self._undefined != 0.0:
            raise InputError(
                f"the {self._part} part of SPICE is undefined in some cells; take undefined=0 to leave them out."
            )
        return self._counted(captions)

    def score(self, captions: Ints) -> NDArray[np.float64]:
        """SPICE of some captions against all images, ``[len(captions), images]``, 0 to 1."""
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

    def pairs(self, captions: Ints, images: Ints, without_own: bool = False) -> NDArray[np.float64]:
        """Single cells, as ``Scorer`` says; without its own caption an image's graph is merged from the others."""
        captions, images = checked_pairs(captions, images, self.shape)
        scores = self._cells(self._tested, captions, images)
        own = np.flatnonzero(self._image[captions] == images) if without_own else np.zeros(0, dtype=np.int64)
        if len(own):
            left, place = np.unique(captions[own], return_inverse=True)
            with self._one_at_a_time:
                scores[own] = self._without_own(left)[place]
        return scores

    def hits(self, captions: Ints, images: Ints) -> Ints:
        """``[pairs]`` tuples of the caption that the image's graph has a similar one of: true positives."""
        return self._tested.hits(*checked_pairs(captions, images, self.shape))

    def _without_own(self, captions: Ints) -> NDArray[np.float64]:
        """Each caption against its image's other captions; NaN where there is no other."""
        others = [
            [self._raw[other] for other in self._captions_of_image[image] if other != caption]
            for caption, image in zip(captions.tolist(), self._image[captions].tolist(), strict=True)
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
        """The merged tuples of this part, for each group of captions one graph; and how many graphs met a tie."""
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
    image_of_caption: ArrayLike,
    part: str = "all",
    out: str | Path | NDArray[np.floating] | None = None,
    undefined: float = math.nan,
) -> NDArray[np.floating]:
    """SPICE of every caption against the captions of every image: phi of Five Sentences, Table 1.

    A caption is among the references of its own image, as in the released matrices.

    Args:
        tuples_of_caption: ``[captions]`` raw tuples of each caption.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image.
        part: ``"all"`` or a sub-score, see ``SpiceScorer``.
        out: Where to put the matrix, see ``scoring.matrix_of``.
        undefined: See ``SpiceScorer``.

    Returns:
        ``[captions, images]``, 0 to 1 (NaN or ``undefined`` where a sub-score is undefined); float64, or what ``out``
        names.

    Raises:
        InputError: As ``SpiceScorer``, or if ``out`` does not fit.
    """
    return matrix_of(SpiceScorer(tuples_of_caption, image_of_caption, part, undefined), out, f"SPICE ({part})")


def _f_score(hits: NDArray[np.integer], tests: Ints, references: Ints) -> NDArray[np.float64]:
    """F of precision (hits / tests) and recall (hits / references), rounded as released; 0 where there is no hit."""
    hit = hits > 0
    precision = np.divide(hits, tests, out=np.zeros(len(hits)), where=hit)
    recall = np.divide(hits, references, out=np.zeros(len(hits)), where=hit)
    f = precision * recall
    f *= 2.0
    precision += recall
    return np.asarray(np.divide(f, precision, out=np.zeros(len(hits)), where=hit))


class _Counts:
    """What a cell is made of, for one list of test graphs and one of reference graphs.

    Attributes:
        tests: ``[captions]`` tuples of each test graph.
        references: ``[images]`` tuples of each reference graph.
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
        """``[pairs]`` hits of single cells."""
        start, length = self.test.indptr[captions], self.tests[captions]
        pair = np.repeat(np.arange(len(captions)), length)
        entry = np.arange(len(pair)) + np.repeat(start - (np.cumsum(length) - length), length)
        keys = self.test.indices[entry].astype(np.int64) * self.hit.shape[1] + images[pair]
        return np.bincount(pair[_among(keys, self._keys)], minlength=len(captions))


def _incidence(graphs: list[list[ConceptTuple]], number: dict[ConceptTuple, int]) -> scipy.sparse.csr_array:
    """``[graphs, tuples]`` 1 where a graph has a tuple; new tuples are numbered in ``number``."""
    columns = [number.setdefault(one, len(number)) for graph in graphs for one in graph]
    start = np.cumsum([0, *map(len, graphs)])
    values = np.ones(len(columns), dtype=np.int32)
    return scipy.sparse.csr_array((values, columns, start), shape=(len(graphs), len(number)))


def _among(keys: Ints, known: Ints) -> NDArray[np.bool_]:
    """Which of ``keys`` are in ``known``, which is sorted."""
    if len(known) == 0:
        return np.zeros(len(keys), dtype=bool)
    place = np.searchsorted(known, keys)
    place[place == len(known)] = 0
    return np.asarray(known[place] == keys)
