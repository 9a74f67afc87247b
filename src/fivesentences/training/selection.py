"""Which epoch's weights are kept: the one with the best dev score."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fivesentences.corpus import Corpus
from fivesentences.metrics import nsum, rsum
from fivesentences.semantics import cider_matrix


class DevScores:
    """Scores of a similarity on dev.

    Attributes:
        selection: ``"rsum"``: sum of recall@1, 5, 10 over both directions, percent (0..600), as all base models.
            ``"ncs"``: sum of NCS@1, 5, 10 with CIDEr, ground truth kept, released formula, over both directions,
            as the released SAM code; a dev phi matrix is computed once.
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
