"""Hardest negative among captions that fit the query clearly less than its positive: GIST's and NV-Retriever's rule.

Sources: GISTEmbed (Solatorio 2024, arXiv 2402.16829) and sentence-transformers' ``GISTEmbedLoss``, whose guide model is
phi here; positive-aware mining of NV-Retriever (Moreira et al. 2024, arXiv 2407.15831), whose ``TopK-PercPos`` is
``share`` and ``TopK-MarginPos`` ``below``. Both mask candidates of a contrastive loss; here of the triplet loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import EvaluationPhi
from fivesentences.losses.loss import MARGIN, LossOfPhi, Margin, unless
from fivesentences.losses.triplet import hardest_hinges

if TYPE_CHECKING:
    from torch import Tensor


class PositiveAwareTriplet(LossOfPhi):
    """Triplet loss with the hardest negative whose phi is clearly below that of the query's own positive.

    The limit is relative to each query, so no threshold is read off a dataset. From image to text a caption is masked
    if its phi with the image exceeds the limit of the image's own caption; from text to image an image is masked if the
    caption's phi with it exceeds the limit of the caption's own image. A query with no item left has no hinge.
    """

    title = "positive-aware"
    suffix = "+positive_aware"

    share: Annotated[float, Field(gt=0)] | None = None
    """Largest φ of a negative as a share of the positive's (NV-Retriever's best is 0.95; GIST's relative margin is 1
    minus this)."""
    below: float | None = None
    """How far φ of a negative must be below the positive's (GIST's absolute margin)."""
    phi: EvaluationPhi = "embedding"
    """By which items are masked."""
    references: Literal["kept", "own_left_out"] = "kept"
    """`own_left_out`: φ of a positive does not count the caption itself among the captions of its image."""
    margin: Margin = MARGIN
    """How much more similar a matched pair must be than a negative one, in units of the similarity."""

    @property
    def phi_keys(self) -> list[str]:
        """The parts of ``phi_read``, perhaps without a caption among its own references."""
        return [key if self.references == "kept" else f"{key}|{self.references}" for key in super().phi_keys]

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        rule = f"below={self.below:g}" if self.share is None else f"share={self.share:g}"
        left_out = [] if self.references == "kept" else [f"references={self.references}"]
        return [f"positive_{rule}", f"phi={self.phi}", *left_out, f"margin={self.margin:g}"]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``95% of the positive's MiniLM``."""
        phi = phis.get(self.phi, self.phi)
        if self.share is not None:
            rule = f"{100 * self.share:g}% of the positive's {phi}"
        else:
            rule = f"the positive's {phi} less {self.below:g}"
        left_out = [] if self.references == "kept" else ["own caption left out"]
        return [rule, *left_out, *unless(MARGIN, self.margin, "margin {}")]

    def computed(self, similarity: Tensor, phi: Tensor) -> Tensor:
        """Compute the loss of a checked batch, see ``LossOfPhi``."""
        own = phi.diagonal()
        limit = own - (self.below or 0.0) if self.share is None else self.share * own
        directions = ((similarity, phi.T), (similarity.T, phi))  # each [queries, items]
        return sum(
            (hardest_hinges(scores, of_items > limit[:, None], self.margin) for scores, of_items in directions),
            start=similarity.new_zeros(()),
        )

    @model_validator(mode="after")
    def _has_one_rule(self) -> PositiveAwareTriplet:
        if (self.share is None) == (self.below is None):
            raise ValueError("give either share or below, the rule by which items are masked")
        return self
