"""Inputs of category retrieval: vectors of both modalities, prepared alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError, need
from fivesentences.reproduction.categories.config import Prepare
from fivesentences.reproduction.categories.corpus.documents import Division, Documents

Vectors = NDArray[np.floating]
# A fitted method: vectors of images and of texts -> both in the subspace, [documents, dimensions], compared by cosine.
Projector = Callable[[Vectors, Vectors], tuple[Vectors, Vectors]]
_COLUMNS = 128  # that are prepared at a time, in double precision


@dataclass(frozen=True)
class Inputs:
    """Some documents as a method reads them.

    Attributes:
        images: ``[documents, image_dim]`` float32.
        texts: ``[documents, text_dim]`` float32.
        categories: ``[documents]`` int64, the same numbers in training, validation and test.
    """

    images: Vectors
    texts: Vectors
    categories: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.categories)


def inputs_of(
    documents: Documents,
    images: Vectors,
    texts: Vectors | None,
    division: Division,
    image: Prepare,
    text: Prepare,
    words: int,
) -> tuple[Inputs, Inputs, Inputs]:
    """Return the inputs of training, validation and test; everything that is fitted is fitted to training documents.

    Args:
        documents: All documents.
        images: ``[documents, image_dim]``, any float dtype, may be memory-mapped.
        texts: ``[documents, text_dim]`` likewise; None: the words of ``documents.texts`` (``bag_of_words``).
        division: Which documents are in which part.
        image: How image vectors become inputs.
        text: How text vectors, or counts of words, become inputs.
        words: The most words of the bag of words.

    Raises:
        InputError: If there is not one vector per document, the training documents have no words, or as ``prepared``.
    """
    parts = (division.train, division.validation, division.test)
    of_images = [_taken(images, rows, len(documents), "image vectors") for rows in parts]
    if texts is None:
        of_texts: Sequence[Vectors] = bag_of_words(*([documents.texts[row] for row in rows] for rows in parts), n=words)
    else:
        of_texts = [_taken(texts, rows, len(documents), "text vectors") for rows in parts]
    pictures = prepared(*of_images, how=image, what="image vectors")
    writings = prepared(*of_texts, how=text, what="text vectors")
    codes = documents.codes
    train, validation, test = (
        Inputs(picture, writing, codes[rows]) for picture, writing, rows in zip(pictures, writings, parts, strict=True)
    )
    return train, validation, test


def prepared(train: Vectors, *others: Vectors, how: Prepare, what: str = "vectors") -> tuple[NDArray[np.float32], ...]:
    """Vectors as a model reads them, with statistics of the training documents.

    * ``as_stored``: unchanged.
    * ``standardise``: ``(x - mean) / deviation`` of each dimension (scikit-learn's ``StandardScaler``).
    * ``sqrt_standardise``: the same of ``sqrt(x)``, for shares and counts, whose large values are rare.

    A dimension that is constant in training tells nothing and becomes 0 everywhere.

    Args:
        train: ``[documents, dim]``, finite; at least one document and one dimension.
        others: ``[documents, dim]`` each, finite.
        how: As above.
        what: Their name in messages.

    Returns:
        float32 arrays of the same shapes, those of ``train`` first.

    Raises:
        InputError: If shapes disagree, a value is NaN, infinite or beyond float32, or a square root of a negative value
            is asked for.
    """
    given = (train, *others)
    for vectors in given:
        if vectors.ndim != 2 or vectors.shape[1:] != train.shape[1:] or not vectors.shape[1]:
            raise InputError(
                f"{what} are {list(vectors.shape)}, and those of training {list(train.shape)}; they must be "
                "[documents, dim] with the same dim."
            )
    if not len(train):
        raise InputError(f"there are no {what} of training documents, whose mean and deviation are needed.")
    results = tuple(np.empty(vectors.shape, dtype=np.float32) for vectors in given)
    for start in range(0, train.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        blocks = [vectors[:, columns].astype(np.float64) for vectors in given]
        for block in blocks:
            _check(block, how, what, start)
        if how == "sqrt_standardise":
            blocks = [np.sqrt(block) for block in blocks]
        if how != "as_stored":
            blocks = _standardised(blocks)
        for result, block in zip(results, blocks, strict=True):
            result[:, columns] = block
    return results


def bag_of_words(train: Sequence[str], *others: Sequence[str], n: int) -> tuple[NDArray[np.float32], ...]:
    """Return how often each of the most frequent words of the training texts occurs in a text.

    Words are those of scikit-learn's ``CountVectorizer``: in lower case, of two or more letters, digits and
    underscores. The papers say only "bag of words" and its size: stop words are kept, and counts are neither binary
    nor weighted. Of equally frequent words those that come first in the alphabet are taken.

    Args:
        train: Texts of the training documents, from which the words are taken.
        others: Texts of other documents; other words in them are left out.
        n: The most words; there are fewer columns if the training texts have fewer.

    Returns:
        float32 ``[texts, words]`` for each, words in alphabetical order.

    Raises:
        InputError: If scikit-learn is missing, or no training text has a word.
    """
    need("sklearn", "subspaces", "a bag of words")
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(dtype=np.int64)
    try:
        counts = counter.fit_transform(train)
    except ValueError:  # its words for texts without any word
        raise InputError(
            f"none of the {len(train):,} texts of training documents has a word; give texts, or their vectors."
        ) from None
    names = counter.get_feature_names_out()
    # Not max_features: of equally frequent words, that takes those that an unstable sort puts first.
    kept = np.sort(np.lexsort((names, -np.asarray(counts.sum(axis=0)).ravel()))[:n])
    bags = [counts, *(counter.transform(texts) for texts in others)]
    return tuple(np.asarray(bag[:, kept].todense(), dtype=np.float32) for bag in bags)


def _taken(vectors: Vectors, rows: NDArray[np.int64], n_documents: int, what: str) -> Vectors:
    if vectors.ndim != 2 or len(vectors) != n_documents:
        raise InputError(
            f"{what} are {list(vectors.shape)}, but there are {n_documents:,} documents; give one row each."
        )
    return np.asarray(vectors[rows])


def _check(block: NDArray[np.float64], how: Prepare, what: str, start: int) -> None:
    with np.errstate(over="ignore"):
        good = np.isfinite(block.astype(np.float32))
    if how == "sqrt_standardise":
        good &= block >= 0
    if good.all():
        return
    row, column = (int(place) for place in np.argwhere(~good)[0])
    value = block[row, column]
    where = f"{what}: row {row}, dimension {start + column} is {value:.6g}"
    if np.isfinite(value) and value < 0 and how == "sqrt_standardise":
        raise InputError(f"{where}, which has no square root; say `standardise` in place of `sqrt_standardise`.")
    raise InputError(f"{where}; vectors must be finite numbers that float32 can hold.")


def _standardised(blocks: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    train = blocks[0]
    varies = train.max(axis=0) > train.min(axis=0)
    deviation = np.where(varies, train.std(axis=0), 1.0)
    varies &= deviation > 0  # differences so small that their squares vanish
    deviation[~varies] = 1.0
    mean = train.mean(axis=0)
    return [np.where(varies, (block - mean) / deviation, 0.0) for block in blocks]
