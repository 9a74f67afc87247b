"""Inference methods by name, which a study's table has as rows: the similarity as it is, or re-scored.

Inverted softmax and CSLS are known as similarity normalisation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.retrieval.arguments import checked_choice, checked_direction
from fivesentences.retrieval.assignment import assignment
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled
from fivesentences.retrieval.csls import csls
from fivesentences.retrieval.gallery import Similarity, checked_similarity, name_of
from fivesentences.retrieval.inverted_softmax import inverted_softmax


def naive(similarity: Similarity, out: Output = None) -> NDArray[np.floating]:
    """The similarity as it is, as float32: items are ranked by their scores (kNN-margin eq. 1).

    The only method here that is not transductive. Arguments and errors as in ``csls``.
    """
    matrix = checked_similarity(similarity)

    def fill(result: NDArray) -> None:
        for part, block in blocks_of_rows(matrix, dtype=None):
            result[part] = block

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


#: Ways to read a similarity, by the name that studies and ``rescore`` use.
INFERENCE: dict[str, Callable[..., NDArray[np.floating]]] = {
    "naive": naive,
    "inverted_softmax": inverted_softmax,
    "csls": csls,
    "assignment": assignment,
}
#: Methods whose result serves one direction only; the others' serves both.
PER_DIRECTION = ("inverted_softmax",)
OF_ALL = ("similarity", "direction", "out")  # parameters that are no options
#: Methods that read all queries of the test set, so that no query could be answered alone.
TRANSDUCTIVE = ("inverted_softmax", "csls", "assignment")


def rescore(
    similarity: Similarity, method: str, direction: str = "i2t", out: Output = None, **options: Any
) -> NDArray[np.floating]:
    """The similarity after an inference method.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        method: A name in ``INFERENCE``: ``"naive"``, ``"inverted_softmax"``, ``"csls"`` or ``"assignment"``.
        direction: ``"i2t"`` or ``"t2i"``; only inverted softmax gives a different matrix for each.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill.
        options: The method's own: ``beta`` and ``include_self``; ``k``; ``captions_per_image``,
            ``image_of_caption`` and ``solver``.

    Returns:
        ``[images, captions]`` float32 (or what ``out`` names), larger is more similar.

    Raises:
        InputError: If there is no such method or option, or as raised by the method.
    """
    side = checked_direction(direction)
    checked_choice("method", method, tuple(INFERENCE))
    known = [name for name in inspect.signature(INFERENCE[method]).parameters if name not in OF_ALL]
    for name in options:
        if name not in known:
            raise InputError(f"{method} has no option '{name}'; its options are: {', '.join(known) or 'none'}.")
    if method in PER_DIRECTION:
        options["direction"] = side
    return INFERENCE[method](similarity, out=out, **options)
