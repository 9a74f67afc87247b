"""CIDEr between the captions and the images of one training batch, in about a millisecond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.cider import SCALE, CiderVectors, cider_vectors, length_penalty


class BatchCider:
    """phi of any batch of captions of a corpus, prepared once.

    Document frequencies and the number of images come from the whole corpus, so an entry equals the one of
    ``cider_matrix`` on the same captions. Prepared state is read-only: one object serves several threads and can
    be pickled to worker processes.

    An n-gram that occurs with one image only can raise a score of that image's own captions and no other. What such
    n-grams add is summed at preparation, one number per caption, and only n-grams of two or more images are
    multiplied per batch.

    Args:
        captions: Raw captions of the training set.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``cider_matrix``.

    Raises:
        InputError: If there is no caption, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        vectors = cider_vectors(captions, image_of_caption, tokenize)
        self.image_of_caption = vectors.image_of_caption
        self._length = vectors.length
        self._penalty = length_penalty(np.arange(int(vectors.length.max()) + 1))
        self._n_references = vectors.n_references
        self._captions_by_image = np.argsort(vectors.image_of_caption, kind="stable")
        self._first_of_image = np.cumsum(vectors.n_references) - vectors.n_references

        image = vectors.image_of_caption[vectors.caption]
        column_and_image = np.unique(vectors.column * vectors.n_images + image)
        images_of_column = np.bincount(column_and_image // vectors.n_images, minlength=vectors.n_columns)
        shared = images_of_column[vectors.column] > 1
        self._own = self._own_image_part(vectors, ~shared)

        # Frequent columns first: the entries that most batches look up then lie close together in memory.
        frequency = np.bincount(vectors.column[shared], minlength=vectors.n_columns)
        rank = np.empty(vectors.n_columns, dtype=np.int32)
        rank[np.argsort(-frequency, kind="stable")] = np.arange(vectors.n_columns, dtype=np.int32)
        self._n_columns = int(np.count_nonzero(frequency))
        self._column = rank[vectors.column[shared]]
        self._candidate = vectors.candidate[shared]
        self._reference = vectors.reference[shared]
        self._start = np.searchsorted(vectors.caption[shared], np.arange(vectors.n_captions + 1))

    @staticmethod
    def _own_image_part(vectors: CiderVectors, private: NDArray[np.bool_]) -> NDArray[np.float64]:
        """``[captions]`` what n-grams of a single image add to a caption's score against its own image."""
        caption, column = vectors.caption[private], vectors.column[private]
        shape = (vectors.n_captions, vectors.n_columns)
        candidates = scipy.sparse.csr_array((vectors.candidate[private], (caption, column)), shape=shape)
        references = scipy.sparse.csr_array((vectors.reference[private], (caption, column)), shape=shape)
        pairs = (candidates @ references.T.tocsr()).tocoo()  # only pairs of captions of one image
        penalty = length_penalty(vectors.length[pairs.row] - vectors.length[pairs.col])
        summed = np.bincount(pairs.row, weights=pairs.data * penalty, minlength=vectors.n_captions)
        return np.asarray(summed * SCALE / vectors.n_references[vectors.image_of_caption])

    def __len__(self) -> int:
        """Number of captions of the corpus."""
        return len(self._length)

    def batch(self, caption_indices: ArrayLike) -> NDArray[np.float32]:
        """phi of a batch, single precision.

        Args:
            caption_indices: ``[B]`` captions of the batch; images may repeat.

        Returns:
            ``[B captions, B images]``: entry ``[c, j]`` is the CIDEr of caption ``c`` of the batch against all
            captions that the corpus has of the image of caption ``j`` of the batch; 0 to 10.

        Raises:
            InputError: If an index is not one of a caption.
        """
        return self.exact(caption_indices).astype(np.float32)

    def exact(self, caption_indices: ArrayLike) -> NDArray[np.float64]:
        """As ``batch``, in double precision."""
        candidates = self._checked(caption_indices)
        images, image_in_batch = np.unique(self.image_of_caption[candidates], return_inverse=True)
        n_references = self._n_references[images]
        references = self._captions_by_image[_ranges(self._first_of_image[images], n_references)]

        # Columns of the batch's candidates, under small local numbers; what only references have adds nothing.
        entries, entries_of_candidate = self._entries(candidates)
        column = self._column[entries]
        local_of_column = np.full(self._n_columns, -1, dtype=np.int32)
        local_of_column[column] = np.arange(len(column), dtype=np.int32)
        candidate_values = np.zeros((len(column), len(candidates)))  # [local columns, candidates]
        place = np.repeat(np.arange(len(candidates)), entries_of_candidate)
        candidate_values[local_of_column[column], place] = self._candidate[entries]

        entries, entries_of_reference = self._entries(references)
        local = local_of_column[self._column[entries]]
        known = np.flatnonzero(local >= 0)
        start = np.searchsorted(known, np.concatenate([[0], np.cumsum(entries_of_reference)]))
        reference_values = scipy.sparse.csr_array(
            (self._reference[entries[known]], local[known], start.astype(np.int32)),
            shape=(len(references), len(column)),
        )
        by_reference = reference_values @ candidate_values  # [references, candidates]
        by_reference *= self._penalty[np.abs(self._length[references][:, None] - self._length[candidates][None, :])]
        first = np.cumsum(n_references) - n_references
        by_image = np.add.reduceat(by_reference, first, axis=0) * (SCALE / n_references)[:, None]
        by_image[image_in_batch, np.arange(len(candidates))] += self._own[candidates]
        return np.ascontiguousarray(by_image[image_in_batch].T)

    def _entries(self, captions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the captions' entries one caption after the other, and how many each has."""
        count = self._start[captions + 1] - self._start[captions]
        return _ranges(self._start[captions], count), count

    def _checked(self, caption_indices: ArrayLike) -> NDArray[np.int64]:
        indices = np.asarray(caption_indices)
        if indices.ndim != 1 or not len(indices) or indices.dtype.kind not in "iu":
            raise InputError(
                f"caption_indices is {indices.dtype} {list(indices.shape)}; give a list of at least one whole number."
            )
        wrong = (indices < 0) | (indices >= len(self))
        if wrong.any():
            where = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"caption_indices[{where}] is {indices[where]}; the corpus has captions 0 to {len(self) - 1}."
            )
        return indices.astype(np.int64)


def _ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """``start[0], start[0] + 1, ... (count[0] numbers), start[1], ...`` as one array."""
    end = np.cumsum(count)
    return np.repeat(start - end + count, count) + np.arange(end[-1])
