"""The dev score by which the weights of the best epoch are kept."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fivesentences.corpus import Corpus
from fivesentences.metrics import nsum, rsum
from fivesentences.semantics import cider_matrix


class DevScores:
    """Scores of a similarity matrix on dev.

    Attributes:
        selection: ``"rsum"``: sum of recall@1, 5, 10 over both directions in percent (0..600), as in all base models.
            ``"ncs"``: sum of NCS@1, 5, 10 with CIDEr, ground truth kept, released formula, over both directions, as in
            the released SAM code; the dev phi matrix is computed once.
    """

    def __init__(self, selection: Literal["rsum", "ncs"], dev: Corpus):
        self.selection, self._image_of_caption = selection, dev.image_of_caption
        self._phi = cider_matrix(dev.captions, dev.image_of_caption) if selection == "ncs" else None

    @property
    def column(self) -> str:
        """Name of the score that selects."""
        return "dev_Nsum" if self.selection == "ncs" else "dev_Rsum"

    def __call__(self, similarity: np.ndarray) -> dict[str, float]:
        """``dev_Rsum``, and ``dev_Nsum`` where it selects, of ``[images, captions]``."""
        scores = {"dev_Rsum": rsum(similarity, image_of_caption=self._image_of_caption)}
        if self._phi is not None:
            scores["dev_Nsum"] = nsum(similarity, self._phi, image_of_caption=self._image_of_caption)
        return scores
