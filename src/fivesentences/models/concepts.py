"""Concepts of CVSE: frequent words of the training captions, how often two occur together, and which a text names.

Source: Wang et al., "Consensus-Aware Visual-Semantic Embedding for Image-Text Matching", section 3.2. The authors ship
300 concepts and their counts as files. They do not say how the words were chosen; the counts of "man" and "woman" are
those of all captions of Flickr30K, test split included, and co-occurrence is counted per caption. Here the rule is
explicit, and only training captions are read:

1. Words begin with a letter and are read in lower case. A word that ends in "s" is folded into the same word without
   "s" or "es", or with "y" for "ies", if the training captions contain that word too: "dogs" becomes "dog", "glass"
   stays. "men", "women" and "children" are folded as well. Stop words are removed first.
2. Concepts are the ``size`` words that occur in most captions; ties are ordered alphabetically.
3. Two concepts occur together in a caption that contains both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import read_npz
from fivesentences.config.types import Variant
from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.semantics.tokenisation import WORD, find_words

_WORD = re.compile(rf"(?!\d){WORD}")
SHORTEST = 2  # characters of a word
IRREGULAR = {"men": "man", "women": "woman", "children": "child"}
_STOPPED = """
    a about above across after against all along alongside also am among an and another any are aren't around as at
    away back be because been before behind being below beneath beside besides between beyond both but by can cannot
    could did do does doing don't done down during each either else every few for from front get gets getting had has
    have having he he's her here hers herself him himself his how i if in inside into is isn't it it's its itself just
    like made many may me might more most much must my myself near nearby next no nor not now of off on one ones onto
    or other others our out outside over own past per same several she she's should since so some someone something
    such than that that's the their theirs them themselves then there there's these they they're thing things this
    those three through to together too toward towards two under until up upon us very was we were what when where
    which while who whom whose why will with within without would you your
"""
STOP_WORDS = frozenset(_STOPPED.split())


@dataclass(frozen=True, eq=False)
class ConceptGraph:
    """The concepts of a training set.

    Attributes:
        words: The C concepts, the most frequent first.
        vectors: ``[C, dim]`` float32, the input of the concept network.
        together: ``[C, C]`` int64, captions that contain both of two concepts; 0 on the diagonal.
        totals: ``[C]`` int64, captions that contain a concept; at least 1.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    together: NDArray[np.int64]
    totals: NDArray[np.int64]

    def __post_init__(self) -> None:
        count = len(self.words)
        shapes = (self.vectors.shape[:1], self.together.shape, self.totals.shape)
        if count == 0 or shapes != ((count,), (count, count), (count,)):
            found = ", ".join(str(list(one.shape)) for one in (self.vectors, self.together, self.totals))
            raise InputError(f"vectors, counts and totals of {count} concepts are {found}; each has one row per word.")

    @classmethod
    def of_captions(
        cls, captions: Sequence[str], size: int = 300, minimum: int = 2, glove: Path | str | None = None
    ) -> ConceptGraph:
        """Return the concepts of the captions that a model trains on.

        Args:
            captions: Raw training captions.
            size: The most concepts, 300 as released; small corpora give fewer.
            minimum: How many captions must at least contain a concept.
            glove: GloVe vectors as text, one word and its numbers per line, or the catalogue's ``concepts.npz``; only
                words in it become concepts. Without it, vectors come from the counts: see ``vectors_of_counts``.

        Raises:
            InputError: If no word can be a concept, or the file cannot be read.
        """
        texts = [words_of(caption) for caption in captions]
        known = {word for text in texts for word in text} - STOP_WORDS
        fold = {word: folded(word, known) for word in known}
        names = sorted(set(fold.values()))
        column = {word: number for number, word in enumerate(names)}
        held = _held(texts, {word: column[base] for word, base in fold.items()}, len(names))  # [captions, names] 0/1
        count = np.asarray(held.sum(axis=0)).ravel()
        order = [int(number) for number in np.argsort(-count, kind="stable") if count[number] >= max(minimum, 1)]
        read: dict[str, NDArray[np.float32]] = {}
        if glove is not None:
            read = read_glove(glove, {names[number] for number in order})
            order = [number for number in order if names[number] in read]
        order = order[:size]
        if not order:
            what = f" of {glove}" if glove is not None else ""
            why = f"no word{what} occurs in {minimum} training captions"
            raise InputError(f"{why}, so there are no concepts; lower the minimum or give more captions.")
        chosen = held[:, order]
        together = (chosen.T @ chosen).toarray().astype(np.int64)
        totals = together.diagonal().copy()
        np.fill_diagonal(together, 0)
        words = tuple(names[number] for number in order)
        if read:
            vectors = np.stack([read[word] for word in words])
        else:
            vectors = vectors_of_counts(together, totals, held.shape[0])
        return cls(words, vectors, together, totals)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def number(self) -> dict[str, int]:
        """Concept -> its row."""
        return {word: number for number, word in enumerate(self.words)}

    def adjacency(self, threshold: float = 0.3, base: float = 5.0, shift: float = 0.02) -> NDArray[np.float64]:
        """Return the graph that CVSE's concept network reads, ``[C, C]``, not normalised.

        The share of a concept's captions that contain the other one is rescaled by ``base^(a - shift) - base^-shift``
        and thresholded at ``threshold``, to 0 or 1; then the links of each column sum to .25, and each concept is
        linked to itself.
        """
        share = self.together / self.totals[:, None]
        linked = (base ** (share - shift) - base**-shift >= threshold).astype(np.float64)
        links: NDArray[np.float64] = 0.25 * linked / (linked.sum(axis=0) + 1e-6) + np.eye(len(self))
        return links

    def labels_of(self, captions: Sequence[str]) -> NDArray[np.uint8]:
        """Return ``[captions, C]`` 1 where a caption names a concept, by its own words."""
        named: NDArray[np.uint8] = self._named(captions).toarray().astype(np.uint8)
        return named

    def labels_of_images(self, captions: Sequence[str], image_of_caption: ArrayLike) -> NDArray[np.uint8]:
        """Return ``[images, C]`` 1 where any caption of an image names a concept."""
        named, captions_of = self._named(captions), np.asarray(image_of_caption)
        mine = scipy.sparse.csr_array((np.ones(len(captions), np.int64), (captions_of, np.arange(len(captions)))))
        of_images: NDArray[np.uint8] = ((mine @ named).toarray() > 0).astype(np.uint8)
        return of_images

    def _named(self, captions: Sequence[str]) -> scipy.sparse.csr_array:
        texts = [words_of(caption) for caption in captions]
        met = {word for text in texts for word in text}
        concept = {word: word if word in self.number else folded(word, self.number) for word in met - STOP_WORDS}
        number_of = {word: self.number[base] for word, base in concept.items() if base in self.number}
        return _held(texts, number_of, len(self))


def concept_labels(
    graph: ConceptGraph,
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    stage: Literal["training", "test"],
    variant: Variant = "paper",
) -> NDArray[np.uint8]:
    """Which concepts CVSE is given with each caption: ``[captions, C]``, 1 where a concept is named.

    In training, the concepts that any caption of the image names. At test, only those that the caption itself names.

    Args:
        graph: The concepts.
        captions: Captions of one split, all those of its images.
        image_of_caption: ``[captions]`` image index of each.
        stage: ``"training"``, or ``"test"`` for everything that is scored, the dev split included.
        variant: ``"released"`` gives at test, too, the concepts of *all* captions of the image, as the first release
            and the SAM fork did. That leaks which captions belong together: a table with such a run has to say so.
    """
    if stage == "test" and variant == "paper":
        return graph.labels_of(captions)
    image = np.asarray(image_of_caption)
    labels: NDArray[np.uint8] = graph.labels_of_images(captions, image)[image]
    return labels


def vectors_of_counts(together: NDArray[np.int64], totals: NDArray[np.int64], counted: int) -> NDArray[np.float32]:
    """Concept vectors where no GloVe file is given, ``[C, C]``: concepts that occur with the same others are similar.

    A row holds a concept's positive pointwise mutual information with each concept, from how often they occur together
    (with itself: how rare it is), with length 1; 0 if all of the captions that were ``counted`` contain it.
    """
    counts = together + np.diag(totals)
    expected = totals[:, None] * (totals[None, :] / counted)
    information = np.log(np.maximum(counts / expected, 1.0))
    length = np.linalg.norm(information, axis=1, keepdims=True)
    return np.asarray(information / np.where(length > 0, length, 1), dtype=np.float32)


def read_glove(path: Path | str, words: Collection[str]) -> dict[str, NDArray[np.float32]]:
    """Vectors of those of ``words`` that a GloVe file contains (the first, if a word comes twice).

    Args:
        path: UTF-8 text, a word and its numbers per line, separated by spaces; or ``.npz`` with ``words`` and
            ``coco_glove``.
        words: The words to keep.

    Raises:
        InputError: If the file is missing or damaged, or a wanted word is not followed by finite numbers.
    """
    if Path(path).suffix == ".npz":
        theirs, vectors = read_npz(path, ("words", "coco_glove"), "the released concepts", "make it again")
        if theirs.ndim != 1 or vectors.ndim != 2 or len(theirs) != len(vectors) or vectors.dtype.kind != "f":
            raise InputError("its words and coco_glove do not fit together", where=path, cure="make it again")
        return {str(word): vector for word, vector in zip(theirs, vectors, strict=True) if str(word) in words}
    check_file(path)
    wanted, found, dim = set(words), dict[str, NDArray[np.float32]](), 0
    try:
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            for row, line in enumerate(file, 1):
                dim = dim or line.count(" ")
                word = line.partition(" ")[0]
                if word not in wanted or word in found or line.count(" ") != dim:
                    continue
                try:
                    with np.errstate(over="ignore"):
                        found[word] = np.array(line.split(" ")[1:], dtype=np.float32)
                except ValueError:
                    found[word] = np.array([np.nan])
                if not np.isfinite(found[word]).all():
                    raise InputError(f"{path}, line {row}: '{word}' is not followed by {dim} finite numbers.")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; give GloVe vectors as text.") from None
    return found


def words_of(text: str) -> list[str]:
    """Lower-case words of a text: a letter, then letters, digits, apostrophes, hyphens; at least two characters."""
    return [word for word in find_words(_WORD, text) if len(word) >= SHORTEST]


def folded(word: str, known: Collection[str]) -> str:
    """Return the word without the ending of a plural (or of a third person), if that is a known word; else the word."""
    if IRREGULAR.get(word) in known:
        return IRREGULAR[word]
    for ending, instead in (("s", ""), ("es", ""), ("ies", "y")):
        stem = word.removesuffix(ending) + instead
        if word.endswith(ending) and not word.endswith("ss") and len(stem) > SHORTEST and stem in known:
            return stem
    return word


def _held(texts: Iterable[list[str]], number_of: dict[str, int], columns: int) -> scipy.sparse.csr_array:
    """Return ``[texts, columns]``, 1 where a text contains a word of that column."""
    numbers = [sorted({number_of[word] for word in text if word in number_of}) for text in texts]
    starts = np.cumsum([0, *map(len, numbers)])
    flat = np.fromiter((number for row in numbers for number in row), np.int64, int(starts[-1]))
    return scipy.sparse.csr_array((np.ones(len(flat), np.int64), flat, starts), shape=(len(numbers), columns))
