"""Do the captions of an image describe one thing? Captions in another order give wrong scores and no error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import say_once
from fivesentences.semantics.misplaced import longest_run, misplaced
from fivesentences.semantics.tokenisation import number_words, one_word_each, tokenise
from fivesentences.semantics.validation import checked_corpus, given_or_five

FEWEST, FEW = 10, 50  # images with several captions; fewer say nothing, or only if they certainly agree LITTLE
CHANCE = 3.0  # standard errors of a mean that may be chance
CERTAIN = 6.0  # standard errors of one that is not
LITTLE = 0.03  # cosine; captions of an image agree by 0.15 to 0.23, those of five photographs in a row by up to 0.025
HARDLY = 0.06  # cosine that consecutive images do not stay below
EDGES = (1, 2)  # captions at the end, or at the beginning, of each image that may belong to the next or the one before
EXPONENT = 10.0  # of Lundberg's bound, see _shifted
UNLIKELY = 1e-6  # odds of a break by chance


def note_on_order(captions: Sequence[str], image_of_caption: NDArray[np.int64], name: object) -> list[str]:
    """Return a sentence on captions whose images they do not seem to describe; none where they do.

    Captions of one image share more words than captions of two. A sentence is returned if these share hardly more than
    others, everywhere or in a run of images; if they share far less than captions that are one for each image, then the
    second for each, would; or if the first or last captions of consecutive images fit a neighbour better. It says from
    which line on. By Lundberg's bound (see ``misplaced``) a run is found by chance with a probability below 1e-5.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        name: Name of the captions for the sentence.
    """
    n_captions, n_images = len(captions), int(image_of_caption.max()) + 1
    if not 1 < n_images < n_captions or one_word_each(captions):
        return []
    vectors = _words_of(captions)
    if shifted := _shifted(vectors, image_of_caption):
        return [f"{name}: {shifted}, and phi is wrong if they do; check for a line too much or too few before."]
    agreement = _agreement(vectors, image_of_caption)
    if len(agreement) < 2 or not agreement.any():  # no caption shares a word that others lack
        return []
    other = np.arange(n_captions) % n_images  # the image of each caption if they are interleaved
    in_blocks = n_captions % n_images == 0 and (np.bincount(image_of_caption) == n_captions // n_images).all()
    if in_blocks and not np.array_equal(other, image_of_caption):
        gain = _agreement(vectors, other) - agreement
        if _errors(gain) > CERTAIN:
            return [
                f"{name}: captions seem to come one for each image, then the second for each, and phi is wrong if they "
                "do; reorder them so that those of an image are adjacent, or say which image each belongs to "
                "(image_of_caption; --image-of-caption FILE)."
            ]
    by_chance = len(agreement) >= FEW and _errors(agreement) < CHANCE
    where = f"all {n_images:,} images, from line 1 on"
    if len(agreement) < FEWEST or not (by_chance or _errors(agreement - LITTLE) < -CHANCE):
        start, end, excess = longest_run(min(HARDLY, float(np.median(agreement)) / 2) - agreement)
        if excess < np.log(len(agreement) / UNLIKELY) / (2 * EXPONENT):
            return []
        image = int(np.flatnonzero(np.bincount(image_of_caption) > 1)[start])
        where = f"{end - start:,} of {n_images:,} images, from line {_first_line(image_of_caption, image):,} on"
    return [
        f"{name}: captions of one image share hardly more words than captions of different images ({where}), and phi "
        "is wrong if they are in another order than the images; check the order, how many captions an image has, and "
        "image_of_caption (--image-of-caption FILE)."
    ]


def note_on_candidates(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """Return a sentence on candidates that do not seem to be in the order of their references; none if they do.

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote.
    """
    n = len(candidates)
    if one_word_each(candidates):
        return []
    joined = [" ".join(group) for group in references]
    vectors = _words_of([*candidates, *joined])
    found = misplaced(vectors[:n], lambda order: vectors[n + order], any_move=True)
    if found is None:
        return []
    return [
        "Candidates share no more words with their references than with those of other images, for "
        f"{found.words(found.first + 1)}: check that both files are in the same order, and how many references an "
        "image has (--per-image N)."
    ]


def noted_corpus(
    captions: Sequence[str], image_of_caption: ArrayLike | None, called: str
) -> tuple[list[str], NDArray[np.int64]]:
    """Return captions and the image of each, checked; print the sentence of ``note_on_order``, if there is one.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption, or None for five per image.
        called: Name of the function, for the sentence.

    Raises:
        InputError: As ``given_or_five`` and ``checked_corpus``.
    """
    texts, pairing = checked_corpus(captions, given_or_five(image_of_caption, captions))
    for sentence in note_on_order(texts, pairing, called if image_of_caption is not None else f"{called}, 5 per image"):
        say_once(sentence)
    return texts, pairing


def _first_line(image_of_caption: NDArray[np.int64], image: int) -> int:
    return int(np.flatnonzero(image_of_caption == image)[0]) + 1


def _shifted(vectors: Any, image_of_caption: NDArray[np.int64]) -> str:
    """Return a phrase on consecutive images, some of whose first or last captions describe a neighbour; or nothing.

    Each image counts how much better these captions agree with the rest of a neighbour than with twice the rest of
    their own. In Flickr8k, Flickr30K, COCO and Pascal Sentences the largest sum of consecutive images exceeds x with a
    probability of at most n exp(-17 x), by Lundberg's bound; an exponent of 10 is taken, and 1e-6 allowed.
    """
    import scipy.sparse

    change = np.flatnonzero(np.diff(image_of_caption))  # the last caption of each image but the last
    if len(change) + 1 != image_of_caption.max() + 1:  # captions of an image are apart
        return ""
    starts = np.concatenate([[0], change + 1])
    counts = np.diff(np.append(starts, len(image_of_caption)))
    place = np.arange(len(image_of_caption)) - np.repeat(starts, counts)

    def means(chosen: NDArray[np.bool_]) -> Any:
        of_image = np.bincount(image_of_caption[chosen], minlength=len(counts))
        weight = 1.0 / np.maximum(of_image, 1)[image_of_caption]
        picked = np.where(chosen, weight, 0.0)
        return scipy.sparse.csr_array((picked, (image_of_caption, np.arange(len(picked))))) @ vectors

    best = (0.0, "")
    for edge in EDGES:
        for side, at_edge in (("last", place >= (counts - edge)[image_of_caption]), ("first", place < edge)):
            of_edge, rest = means(at_edge), means(~at_edge)
            pairs = (slice(None, -1), slice(1, None))  # an image and the next
            mine, other = pairs if side == "last" else pairs[::-1]
            own = np.asarray((of_edge[mine] * rest[mine]).sum(axis=1))
            gain = np.asarray((of_edge[mine] * rest[other]).sum(axis=1)) - 2 * own
            usable = (counts[:-1] > edge) & (counts[1:] > edge)
            start, end, excess = longest_run(np.where(usable, gain, -LITTLE))
            if excess > best[0] and excess > np.log(len(counts) / UNLIKELY) / EXPONENT:
                first = start if side == "last" else start + 1
                line = int(starts[first]) + 1 + (int(counts[first]) - edge if side == "last" else 0)
                which = f"{side} {'caption' if edge == 1 else f'{edge} captions'}"
                neighbour = "behind" if side == "last" else "before"
                number = f"{end - start:,} of {len(counts):,} images"
                said = f"from line {line:,} on, the {which} of {number} seem to describe the image {neighbour}"
                best = (excess, said)
    return best[1]


def _words_of(captions: Sequence[str]) -> Any:
    """Return sparse ``[captions, words]`` whether each word occurs, rare words counting more, in rows of length 1."""
    import scipy.sparse  # takes a fifth of a second

    word, lengths, n_words = number_words([sorted(set(words)) for words in tokenise(captions)])
    weight = np.log(len(captions) / np.maximum(np.bincount(word, minlength=n_words), 1))[word]
    row = np.repeat(np.arange(len(captions)), lengths)
    length = np.sqrt(np.bincount(row, weights=weight**2, minlength=len(captions)))
    return scipy.sparse.csr_array(
        (weight / np.maximum(length, 1e-12)[row], (row, word)), shape=(len(captions), n_words)
    )


def _agreement(vectors: Any, image_of_caption: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for each image with several captions, their mean cosine less that with captions of other images."""
    import scipy.sparse

    n_captions, count = len(image_of_caption), np.bincount(image_of_caption)
    owned = scipy.sparse.csr_array((np.ones(n_captions), (image_of_caption, np.arange(n_captions))))
    sums = owned @ vectors  # of the vectors of each image
    squares, single = sums.multiply(sums).sum(axis=1), owned @ vectors.multiply(vectors).sum(axis=1)
    within = (squares - single) / np.maximum(count * (count - 1), 1)
    between = (sums @ vectors.sum(axis=0) - squares) / np.maximum(count * (n_captions - count), 1)
    return np.asarray(within - between)[count > 1]


def _errors(values: NDArray[np.float64]) -> float:
    """Return the mean in standard errors; 0 if all values are 0."""
    return float(values.mean() / max(values.std(ddof=1) / np.sqrt(len(values)), 1e-12))
