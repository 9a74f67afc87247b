"""Inference methods by name: what a study's table lists as rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.retrieval.assignment import assignment
from fivesentences.retrieval.csls import csls
from fivesentences.retrieval.inverted_softmax import inverted_softmax
from fivesentences.retrieval.matrices import Output, blocks_of_rows, checked_direction, checked_similarity, filled


def naive(similarity: ArrayLike, out: Output = None) -> NDArray[np.floating]:
    """The similarity as it is, as float32: rank by the scores (kNN-margin eq. 1).

    The only method here that is not transductive. Arguments and errors as ``csls``.
    """
    matrix = checked_similarity(similarity)

    def fill(result: NDArray) -> None:
        for part, block in blocks_of_rows(matrix, dtype=None):
            result[part] = block

    return filled(out, matrix.shape, fill, matrix)


INFERENCE: dict[str, Callable[..., NDArray[np.floating]]] = {
    "naive": naive,
    "inverted_softmax": inverted_softmax,
    "csls": csls,
    "assignment": assignment,
}
PER_DIRECTION = ("inverted_softmax",)  # whose result serves one direction only
TRANSDUCTIVE = ("inverted_softmax", "csls", "assignment")  # which read all queries of the test set


def rescore(
    similarity: ArrayLike, method: str, direction: str = "i2t", out: Output = None, **options: Any
) -> NDArray[np.floating]:
    """The similarity after an inference method.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once.
        method: A name in ``INFERENCE``: ``"naive"``, ``"inverted_softmax"``, ``"csls"`` or ``"assignment"``.
        direction: ``"i2t"`` or ``"t2i"``; only inverted softmax gives another matrix for each.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill.
        options: What the method takes: ``beta`` and ``include_self``; ``k``; ``captions_per_image``,
            ``image_of_caption`` and ``solver``.

    Returns:
        ``[images, captions]`` float32 (or what ``out`` names), larger is more similar.

    Raises:
        InputError: If there is no such method or option, or as the method.
    """
    side = checked_direction(direction)
    if method not in INFERENCE:
        raise InputError(f"method is {method!r}; expected {' or '.join(map(repr, INFERENCE))}.")
    known = list(inspect.signature(INFERENCE[method]).parameters)[1:]
    for name in options:
        if name not in known or name == "direction":
            listed = ", ".join(name for name in known if name not in ("direction", "out")) or "none"
            raise InputError(f"{method} has no option '{name}'; its options are: {listed}.")
    if method in PER_DIRECTION:
        options["direction"] = side
    return INFERENCE[method](similarity, out=out, **options)
