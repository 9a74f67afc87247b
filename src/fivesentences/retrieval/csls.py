"""Cross-domain similarity local scaling: scores relative to how close both items are to their nearest neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fivesentences.retrieval.arguments import checked_count
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled, largest_of_columns, largest_of_rows
from fivesentences.retrieval.gallery import Similarity, checked_similarity, name_of


def csls(similarity: Similarity, k: int = 10, out: Output = None) -> NDArray[np.floating]:
    """Compute CSLS (Conneau et al. 2018; kNN-margin eq. 6), which lowers scores of hubs in both directions at once.

    Transductive: it reads all queries and the whole gallery of the test set; say so beside the numbers. The value is
    ``2 S[i, t]`` minus the mean of the k largest scores of caption t over images, minus the mean of the k largest of
    image i over captions. The pair itself may be among the k. Within one query's ranking the query's own mean is a
    constant.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        k: Neighbours on either side, 10 in the paper; where there are fewer items, all of them.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill (``similarity``
            itself is allowed).

    Returns:
        ``[images, captions]`` float32, float64 from float64 (or what ``out`` names), larger is more similar; it serves
        both directions.

    Raises:
        InputError: If ``similarity`` is transposed, repeats its images or is not finite, k is below 1, or ``out``
            does not fit.
    """
    k = checked_count("k", k)
    matrix = checked_similarity(similarity)

    def fill(result: NDArray) -> None:
        n_images, n_captions = matrix.shape
        image_means, caption_means = np.empty(n_images), np.empty(n_captions)
        for part, block in blocks_of_rows(matrix, dtype=None):
            image_means[part] = largest_of_rows(block, min(k, n_captions)).mean(axis=0, dtype=np.float64)
        for part, top in largest_of_columns(matrix, min(k, n_images)):
            caption_means[part] = top.mean(axis=0, dtype=np.float64)
        for part, block in blocks_of_rows(matrix):
            block *= 2.0
            block -= image_means[part, None]
            block -= caption_means
            result[part] = block

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))
