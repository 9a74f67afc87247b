"""Settings of CVSE."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Layers, Layout, Share, Variant, Width
from fivesentences.models.spec import ConceptOptions, ModelSpec

# Settings of the fork of "Is An Image Worth Five Sentences?" where they are not CVSE's: it scores by the fused vectors
# alone and trains with them as first released. It also leaks labels at test (``labels="released"``), and its gradient
# clipping leaves out the weights of the concept network.
SAM_FORK: dict[str, Any] = {"alpha": 0.75, "test_alpha": 0.75, "fused_share": 1.0, "label_ratio": 0.35}


class CVSESpec(ModelSpec):
    """CVSE: an instance level, and a consensus level that describes both sides by concepts (Wang et al. 2020)."""

    implementation: ClassVar[str] = "fivesentences.models.cvse:CVSE"
    layout: ClassVar[Layout] = "grid"
    title: ClassVar[str] = "CVSE"
    needs: ClassVar[frozenset[str]] = frozenset({"concepts", "concept_labels"})
    counts_regions: ClassVar[bool] = True

    name: Literal["cvse"] = "cvse"
    embedding: Width = Field(default=1024, multiple_of=2, description="length of the common space; even")
    word: Width = Field(default=300, description="length of a word vector")
    most_concepts: Width = Field(default=ConceptOptions.most, description="the most concepts; small corpora give fewer")
    layers: Layers = Field(default=1, description="GRU layers")
    bidirectional: bool = Field(default=True, description="captions are read in both directions")
    dropout: Share = Field(default=0.4, description="of word vectors and of both sides of the attention, in training")
    alpha: Share = Field(default=0.85, description="share of the instance level in the fused vectors, in training")
    test_alpha: Share | None = Field(
        default=None, description="the same when scoring; null: `alpha` (released: .85 on Flickr30K, .9 on COCO)"
    )
    label_ratio: Share = Field(
        default=0.35, description="share of the named concepts in a caption's distribution (released: .4 on COCO)"
    )
    fused_share: Share = Field(default=0.95, description="share of the fused vectors in the score")
    loss_weights: list[float] = Field(
        default=[3.0, 5.0, 1.0, 2.0],
        min_length=4,
        max_length=4,
        description="of the triplet loss of the fused, instance and consensus level, and of the distributions' "
        "divergence",
    )
    concept_drop: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="share to which the concept network's learning rate falls when that of the others falls tenfold "
        "(released: .2); null: as the others",
    )
    clip_concepts: bool = Field(
        default=True,
        description="whether the concept network's gradients are clipped (the fork with SAM leaves them out)",
    )
    labels: Variant = Field(
        default=ConceptOptions.labels,
        description="concept labels at test: of the caption itself, or (`released`) of all captions of its image, "
        "which leaks which captions belong together",
    )
    glove: Path | None = Field(
        default=ConceptOptions.glove,
        description="GloVe vectors of the concepts as text; null: vectors made of the concepts' counts",
    )
    concept_captions: Literal["own", "all"] = Field(
        default=ConceptOptions.captions,
        description="captions that concepts are made of: those that a run trains on, or all of the training split, as "
        "released",
    )

    @property
    def concept_options(self) -> ConceptOptions:
        """How the concepts are made."""
        return ConceptOptions(self.most_concepts, self.glove, self.labels, self.concept_captions)

    @property
    def alpha_at_test(self) -> float:
        """Share of the instance level in the fused vectors when scoring."""
        return self.alpha if self.test_alpha is None else self.test_alpha
