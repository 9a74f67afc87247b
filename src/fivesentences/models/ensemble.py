"""Several models judged as one: the mean of their similarities (SGRAF = SGR and SAF; ensembles of SCAN, of VSRN)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fivesentences.errors import InputError


def ensemble(similarities: Sequence[ArrayLike]) -> np.ndarray:
    """Mean of similarity matrices, as the released evaluation scripts take it.

    Args:
        similarities: ``[images, captions]`` each, of the same images and captions; scales are not adjusted. Memory
            maps are read one after the other.

    Returns:
        ``[images, captions]``, float64 if one of them is, else float32.

    Raises:
        InputError: If there is none, or shapes disagree.
    """
    if not len(similarities):
        raise InputError("ensemble: there is no similarity; give the matrices of at least one model.")
    arrays = [np.asarray(similarity) for similarity in similarities]
    shapes = [list(array.shape) for array in arrays]
    if any(shape != shapes[0] for shape in shapes) or len(shapes[0]) != 2:
        listed = ", ".join(map(str, shapes))
        raise InputError(f"ensemble: the similarities are {listed}; all must be of the same [images, captions].")
    double = any(array.dtype == np.float64 for array in arrays)
    total = np.zeros(arrays[0].shape, dtype=np.float64 if double else np.float32)
    for array in arrays:
        total += array
    total /= len(arrays)
    return total
