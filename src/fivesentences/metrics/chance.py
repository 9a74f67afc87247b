"""What a random ranking is expected to reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import Argument, InputError


def expected_average_precision(relevant: ArrayLike, gallery: int) -> NDArray[np.float64]:
    """Expected average precision over a whole ranking in random order (Bestgen 2015).

    With R relevant items among N, and H the N-th harmonic number, it is
    ``(R - 1) / (N - 1) * (1 - H / N) + H / N``: a little above R / N.

    Args:
        relevant: ``[queries]`` relevant items of each query, 0 to ``gallery``.
        gallery: How many items are ranked, at least 1.

    Returns:
        ``[queries]`` fractions; 0 for a query without relevant items.

    Raises:
        InputError: If a number is out of range.
    """
    counts = np.asarray(relevant, dtype=np.float64)
    if gallery < 1:
        raise InputError(f"is {gallery}; rank at least one item.", where=Argument("gallery"))
    if counts.size and not 0 <= counts.min() <= counts.max() <= gallery:
        raise InputError(f"has a number outside 0 to {gallery}, the size of the gallery.", where=Argument("relevant"))
    harmonic = float((1 / np.arange(1, gallery + 1)).sum()) / gallery
    expected: NDArray[np.float64] = (counts - 1) / max(1, gallery - 1) * (1 - harmonic) + harmonic
    return np.where(counts > 0, expected, 0.0)
