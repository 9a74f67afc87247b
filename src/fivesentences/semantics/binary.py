"""The relevance of conventional evaluation as a phi: 1 for an image's own captions, 0 for all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.references import References
from fivesentences.semantics.scoring import Indices, Scorer
from fivesentences.semantics.validation import checked_corpus


class BinaryScorer(Scorer):
    """phi of conventional evaluation: 1 where the caption is one of the image's own, else 0.

    A caption that is left out of its image's references counts as a caption of another image: 0.

    Args:
        captions: Raw captions; their words do not matter.
        image_of_caption: ``[captions]`` image index of each caption.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike):
        self._references = References(checked_corpus(captions, image_of_caption)[1])
        self.shape = self._references.shape

    def sparse(self, captions: Indices) -> scipy.sparse.csr_array:
        """Return the rows of ``score`` without their zeros."""
        row_start = np.arange(len(captions) + 1)
        image = self._references.image_of_caption[captions]
        return scipy.sparse.csr_array((np.ones(len(captions)), image, row_start), shape=(len(captions), self.shape[1]))

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        own = self._references.own(captions, images)
        if not without_own:
            return own.astype(np.float64)
        return np.where(own & (self._references.count[images] == 1), np.nan, 0.0)
