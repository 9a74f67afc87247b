"""A hinge loss that spares likely false negatives, the rival of a semantic margin.

The idea is not ours. False Negative Elimination (Li et al., 2023) lowers the weight of likely false negatives by the
model's own similarity, Li et al. (IEEE TMM, 2023) correct them by a language model, relevance-aware mining (Falcon et
al., 2022) takes them out of the negatives by a threshold on relevance, GISTEmbed (Solatorio, 2024) masks what a guide
model scores above the positive, and NV-Retriever (Moreira et al., 2024) mines below a share of the positive's score.
CITATION.bib has all of them. The threshold on phi here is the plainest form; the control ``spared: shuffled`` is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from fivesentences.config.types import EvaluationPhi
from fivesentences.losses.loss import MARGIN, LossOfPhi, Margin, torch, unless
from fivesentences.losses.semantic_adaptive_margin import random_cycle
from fivesentences.losses.triplet import TripletLoss

if TYPE_CHECKING:
    from torch import Tensor


class SparingTriplet(LossOfPhi):
    """Triplet loss with the hardest negative whose phi is at most a threshold.

    A caption that says what an image's captions say is likely to be right: a pair with a larger phi is no negative. The
    rest is ``TripletLoss(negatives="hardest")``. A query of which every other item is spared has no hinge. With
    ``spared: shuffled``, a control, each pair of the batch is spared as another one would be (rows and columns alike,
    drawn by torch's global CPU generator): as many are spared, whatever they mean. Of one phi the same pairs are spared
    again: they are in each of the similarities that a model wants ranked.
    """

    suffix = "+sparing"

    threshold: float
    """The largest φ of a negative."""
    phi: EvaluationPhi = "embedding"
    """By which pairs are spared."""
    spared: Literal["by_phi", "shuffled"] = "by_phi"
    """Which pairs are no negatives; `shuffled`, a control: as many, of any φ."""
    margin: Margin = MARGIN
    """How much more similar a matched pair must be than a negative one, in units of the similarity."""
    _drawn: tuple[Tensor, Tensor] | None = None  # the phi before, and how it was shuffled

    def label(self, phis: Mapping[str, str], alone: bool = False) -> str:
        """Return what is masked, with what differs: a triplet loss by itself needs no other name."""
        return ", ".join(self.words(phis))

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        phi = self.phi if self.spared == "by_phi" else f"shuffled_{self.phi}"
        return [f"sparing={self.threshold:g}", f"phi={phi}", f"margin={self.margin:g}"]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``mask pairs with MiniLM over 0.4``, ``mask at random as many as with MiniLM over 0.4``."""
        which = "pairs with" if self.spared == "by_phi" else "at random as many as with"
        return [
            f"mask {which} {phis.get(self.phi, self.phi)} over {self.threshold:g}",
            *unless(MARGIN, self.margin, "margin {}"),
        ]

    def computed(self, similarity: Tensor, phi: Tensor) -> Tensor:
        """Compute the loss of a checked batch, see ``LossOfPhi``."""
        if self.spared == "shuffled":
            if self._drawn is None or self._drawn[0] is not phi:
                self._drawn = phi, random_cycle(len(phi), None).to(phi.device)
            place = self._drawn[1]
            phi = phi[place][:, place]
        spared = (self.threshold < phi.T).fill_diagonal_(False)
        return TripletLoss(margin=self.margin, negatives="hardest")(similarity.masked_fill(spared, -torch.inf))
