"""The dev score by which the weights of the best epoch are kept."""

from __future__ import annotations

import numpy as np

from fivesentences.config.types import DevSelection
from fivesentences.corpus import Corpus
from fivesentences.metrics import nsum, rsum
from fivesentences.semantics import cider_matrix

COLUMNS: dict[DevSelection, str] = {
    "rsum": "dev_Rsum",
    "ncs": "dev_Nsum",
    "ncs_discounted": "dev_Nsum_discounted",
}


class DevScores:
    """Scores of a similarity matrix on dev.

    Attributes:
        selection: ``"rsum"``: sum of recall@1, 5, 10 over both directions in percent (0..600), as in all base models.
            ``"ncs"``: sum of NCS@1, 5, 10 with CIDEr, ground truth kept, released formula, over both directions
            (0..600), as ``train_coco.py`` of the released SAM code; the dev phi matrix is computed once.
            ``"ncs_discounted"``: the same with position p (from 0) of k weighted by log2(k - p + 1) (0..600), as its
            ``train_f30k.py``.
    """

    def __init__(self, selection: DevSelection, dev: Corpus):
        self.selection, self._image_of_caption = selection, dev.image_of_caption
        self._phi = None if selection == "rsum" else cider_matrix(dev.captions, dev.image_of_caption)

    @property
    def column(self) -> str:
        """Name of the score that selects."""
        return COLUMNS[self.selection]

    def __call__(self, similarity: np.ndarray) -> dict[str, float]:
        """``dev_Rsum``, and the sum of NCS where it selects, of ``[images, captions]``."""
        scores = {"dev_Rsum": rsum(similarity, image_of_caption=self._image_of_caption)}
        if self._phi is not None:
            discount = "log" if self.selection == "ncs_discounted" else None
            scores[self.column] = nsum(
                similarity, self._phi, image_of_caption=self._image_of_caption, discount=discount
            )
        return scores
