"""CVSE: an instance level as in other models, and a consensus level that describes both sides by shared concepts.

Source: Wang et al., "Consensus-Aware Visual-Semantic Embedding for Image-Text Matching", and its released code
(github.com/BruceW91/CVSE), whose numbers ``cvse.npz`` holds; the fork of "Is An Image Worth Five Sentences?"
(github.com/AndresPMD/semantic_adaptive_margin) differs in ``SAM_FORK``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.models.concepts import ConceptGraph
from fivesentences.models.matching import (
    Matcher,
    TrainingScores,
    Treatment,
    batch_normalised,
    dot_products,
    l2_normalised,
    load_released,
    precise,
    shape_of,
)
from fivesentences.models.specs import CVSESpec
from fivesentences.models.words import WordStates, word_sizes

# Settings of the fork of "Is An Image Worth Five Sentences?" where they are not CVSE's: it scores by the fused vectors
# alone and trains with them as first released. It also leaks labels at test (``labels="released"``), and its gradient
# clipping leaves out the weights of the concept network.
SAM_FORK: dict[str, Any] = {"alpha": 0.75, "test_alpha": 0.75, "fused_share": 1.0}
EPSILON = 1e-12  # added to every length before it divides, as released
SMOOTHING = 10.0  # of the softmax over concepts

_LEVELS = {
    "V_self_atten_enhance.": "image_attention.",
    "T_self_atten_enhance.": "caption_attention.",
    "V_consensus_level_embedding.": "image_consensus.",
    "T_consensus_level_embedding.": "caption_consensus.",
}
RELEASED_NAMES = {
    "img_enc.fc.": "image_projection.",
    "txt_enc.embed.": "text.words.",
    "txt_enc.rnn.": "text.sentence.",
    "C_GCN.adj_all": "concepts.adjacency",
    "C_GCN.gc1.weight": "concepts.first",
    "C_GCN.gc2.weight": "concepts.second",
} | {
    theirs + part: ours + name
    for theirs, ours in _LEVELS.items()
    for part, name in (
        ("fc1.", "item."),
        ("fc2.", "whole."),
        ("fc3.", "score."),
        ("embedding_1.1.", "item_norm."),
        ("embedding_2.1.", "whole_norm."),
    )
}
# The released modules hold these, but nothing reads them.
UNUSED = (
    *(f"{level}{part}" for level in _LEVELS for part in ("fc4.", "fc2_2.", "embedding_2_2.")),
    *("C_GCN.joint_att_emb.", "C_GCN.adj_O_P", "C_GCN.adj_O_M"),
)
# A second name for the same tensor.
TWINS = {f"{level}embedding_{layer}.0.": f"{level}fc{layer}." for level in _LEVELS for layer in (1, 2, 3)}


class Levels(NamedTuple):
    """Vectors that CVSE compares, for images and captions alike.

    Attributes:
        instance: ``[items, embedding]``, length 1.
        consensus: ``[items, embedding]``, length 1.
    """

    instance: Tensor
    consensus: Tensor


class CVSE(Matcher):
    """CVSE (Wang et al. 2020): an instance level, and a consensus level of shared concepts.

    Regions and words are pooled by attention; each pooled vector is also described as a mixture of concepts. The
    pooled vector (instance level) and the mixture (consensus level) are fused. Score: ``fused_share`` of the fused
    vectors' dot product, the rest of the consensus vectors'. Training ranks by the similarities of all three, and
    minimises the KL divergence between the two distributions over concepts.

    Args:
        spec: Its settings and widths.
        image_dim: Length of a region's feature vector.
        vocabulary_size: Number of words.
        concepts: The concepts of the training captions.
        regions: Regions per image: the batch norm over them has one statistic per region.
    """

    spec: CVSESpec

    def __init__(
        self, spec: CVSESpec, *, image_dim: int, vocabulary_size: int, concepts: ConceptGraph, regions: int = 36
    ):
        super().__init__(spec)
        embedding = spec.embedding
        self.image_projection = nn.Linear(image_dim, embedding)
        self.text = WordStates(vocabulary_size, spec.word, embedding, spec.layers, spec.bidirectional, spec.dropout)
        self.image_attention = AgreementPooling(embedding, spec.dropout, regions)
        self.caption_attention = AgreementPooling(embedding, spec.dropout)
        self.image_consensus = ConceptScores(embedding)
        self.caption_consensus = ConceptScores(embedding)
        self.concepts = ConceptNetwork(concepts.vectors, concepts.adjacency(), embedding)
        nn.init.xavier_uniform_(self.image_projection.weight)
        nn.init.zeros_(self.image_projection.bias)
        nn.init.xavier_uniform_(self.text.words.weight)

    def treatments(self) -> Sequence[Treatment]:
        """Return the concept network, where it has a learning rate of its own or its gradients are not clipped."""
        if self.spec.concept_drop is None and self.spec.clip_concepts:
            return ()
        concepts = tuple(self.concepts.parameters())
        return [Treatment(concepts, drop=self.spec.concept_drop, clipped=self.spec.clip_concepts)]

    @classmethod
    def from_released(
        cls, state_dict: Mapping[str, Tensor], concept_vectors: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Return the model with released weights; sizes from the shapes.

        Args:
            state_dict: Released names.
            concept_vectors: ``[C, dim]`` GloVe vectors of the concepts, which no checkpoint holds.
            options: Settings that the shapes do not tell, such as ``alpha``; ``**SAM_FORK`` for weights of the fork.

        Raises:
            InputError: If a weight is missing or too many, or shapes disagree.
        """
        embedding, image_dim = shape_of(state_dict, "img_enc.fc.weight", "CVSE")
        vocabulary_size, sizes = word_sizes(state_dict, "txt_enc.embed.", "txt_enc.rnn.", "CVSE")
        (regions,) = shape_of(state_dict, "V_self_atten_enhance.embedding_1.1.weight", "CVSE", 1)
        count, _ = shape_of(state_dict, "C_GCN.adj_all", "CVSE")
        dim, _ = shape_of(state_dict, "C_GCN.gc1.weight", "CVSE")
        vectors = np.asarray(np.zeros(0) if concept_vectors is None else concept_vectors)
        if vectors.shape != (count, dim):
            given = "not given" if concept_vectors is None else f"{list(vectors.shape)}"
            cure = f"give the {count} of length {dim} that the model was trained with (no checkpoint holds them)"
            raise InputError(f"concept_vectors are {given}", where="CVSE", cure=cure)
        none = np.zeros((count, count), dtype=np.int64)
        graph = ConceptGraph(tuple(map(str, range(count))), vectors, none, np.ones(count, dtype=np.int64))
        spec = check(CVSESpec, {"embedding": embedding} | sizes | options, "CVSE")
        model = cls(spec, image_dim=image_dim, vocabulary_size=vocabulary_size, concepts=graph, regions=regions)
        read = {}
        for name, tensor in state_dict.items():
            twin = next((fc + name.removeprefix(e) for e, fc in TWINS.items() if name.startswith(e)), name)
            if not name.startswith(UNUSED) and (twin == name or twin not in state_dict):
                read[twin] = tensor
        read["concept_vectors"] = torch.as_tensor(vectors).to(read["img_enc.fc.weight"].dtype)
        load_released(model, read, RELEASED_NAMES | {"concept_vectors": "concepts.vectors"}, "CVSE")
        return model

    # --- scores ---------------------------------------------------------------------------------------------

    def encode_images(self, images: Tensor) -> Levels:
        """Map ``[images, regions, image_dim]`` -> both levels, one row per image."""
        return self.describe_images(images, self.concepts())[0]

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor, *, concept_labels: Tensor) -> Levels:
        """Map ``[captions, longest]``, ``[captions]``, ``[captions, C]`` -> both levels, one row per caption.

        Args:
            caption_tokens: Word ids.
            caption_lengths: True lengths.
            concept_labels: 1 where a concept is named, of any numeric type; see ``concepts.concept_labels``.
        """
        return self.describe_captions(caption_tokens, caption_lengths, concept_labels, self.concepts())[0]

    def similarity(self, images: Levels, captions: Levels) -> Tensor:
        """Map both levels of images and captions -> ``[images, captions]``."""
        alpha, share = self.spec.alpha_at_test, self.spec.fused_share
        fused = dot_products(self.fused(images, alpha), self.fused(captions, alpha))
        if share == 1:
            return fused
        return share * fused + (1 - share) * dot_products(images[1], captions[1])

    def training_scores(
        self, images: Tensor, caption_tokens: Tensor, caption_lengths: Tensor, **extras: Tensor
    ) -> TrainingScores:
        """Three similarities that the triplet loss ranks by, and the divergence of the distributions as ``extra``.

        ``similarity`` is that of the fused vectors with ``alpha``: what the Semantic Adaptive Margin sees.
        """
        basis = self.concepts()
        of_images, log_seen = self.describe_images(images, basis)
        of_captions, predicted = self.describe_captions(
            caption_tokens, caption_lengths, extras["concept_labels"], basis
        )
        by_fused, by_instance, by_consensus, by_divergence = self.spec.loss_weights
        fused = dot_products(self.fused(of_images, self.spec.alpha), self.fused(of_captions, self.spec.alpha))
        return TrainingScores(
            fused,
            ranked=(
                (by_fused, fused),
                (by_instance, dot_products(of_images.instance, of_captions.instance)),
                (by_consensus, dot_products(of_images.consensus, of_captions.consensus)),
            ),
            extra=by_divergence * (predicted * (predicted.log() - log_seen)).sum(),  # gradient into both
        )

    # --- the parts ------------------------------------------------------------------------------------------

    def projected_regions(self, images: Tensor) -> Tensor:
        """Map ``[images, regions, image_dim]`` -> ``[images, regions, embedding]``, length 1."""
        count = self.image_attention.items
        if images.ndim != 3 or images.shape[1] != count:
            raise InputError(
                f"images are {list(images.shape)}, but the model is built with regions={count}", where="CVSE"
            )
        return unit(self.image_projection(images.to(self.image_projection.weight.dtype)))

    def word_states(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Return ``[captions, longest, embedding]``: mean of both directions, length 1; 0 behind a caption's end."""
        return unit(self.text(caption_tokens, caption_lengths))

    def describe_images(self, images: Tensor, basis: Tensor) -> tuple[Levels, Tensor]:
        """Return both levels, and the log-probabilities of concepts ``[images, C]``, given ``concepts()``."""
        regions = self.projected_regions(images)
        instance, _ = self.image_attention(regions, regions.mean(dim=1))
        log_seen = self.image_consensus(basis, instance)
        return Levels(instance, unit(log_seen.exp() @ unit(basis))), log_seen

    def describe_captions(
        self, caption_tokens: Tensor, caption_lengths: Tensor, concept_labels: Tensor, basis: Tensor
    ) -> tuple[Levels, Tensor]:
        """Return both levels, and the probabilities of concepts ``[captions, C]``, labels mixed in."""
        words = self.word_states(caption_tokens, caption_lengths)
        # Padding takes part in the mean and in the attention, as released; its vectors are 0: it changes lengths
        # only, and both results get length 1: a caption's vector does not depend on its batch.
        instance, _ = self.caption_attention(words, unit(words.mean(dim=1)))
        named = (SMOOTHING * concept_labels.to(words.dtype)).softmax(dim=1)
        ratio = self.spec.label_ratio
        predicted = ratio * named + (1 - ratio) * self.caption_consensus(basis, instance).exp()
        return Levels(instance, unit(predicted @ unit(basis))), predicted

    @staticmethod
    def fused(levels: Levels, alpha: float) -> Tensor:
        """``[items, embedding]``: ``alpha`` of the instance level and the rest of the consensus level, length 1."""
        instance, consensus = levels
        return unit(alpha * instance + (1 - alpha) * consensus)


class AgreementPooling(nn.Module):
    """Items of a set, weighted by how well they agree with the set as a whole, and summed.

    Args:
        width: Length of a vector.
        dropout: On both sides of the agreement.
        items: Regions of an image, which get batch norms; None: words, which get none.
    """

    def __init__(self, width: int, dropout: float, items: int | None = None):
        super().__init__()
        self.items = items
        self.item, self.whole, self.score = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.item_norm = None if items is None else nn.BatchNorm1d(items)  # one statistic per region, over its features
        self.whole_norm = None if items is None else nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, items: Tensor, whole: Tensor) -> tuple[Tensor, Tensor]:
        """``[sets, items, width]``, ``[sets, width]`` -> pooled ``[sets, width]``, length 1; weights ``[sets, items]``.

        Args:
            items: The vectors.
            whole: The set's mean.
        """
        seen = self.item(items)
        seen = self.dropout(torch.tanh(seen if self.item_norm is None else self.item_norm(seen)))
        asked = self.whole(whole)
        asked = self.dropout(torch.tanh(asked if self.whole_norm is None else batch_normalised(self.whole_norm, asked)))
        # score(seen * asked), without the product of the size of `items`
        scores = torch.bmm(seen, (asked * self.score.weight)[:, :, None])[:, :, 0] + self.score.bias
        weights = scores.softmax(dim=1)
        return unit(torch.bmm(weights[:, None, :], items)[:, 0]), weights


class ConceptScores(nn.Module):
    """How much an item is about each concept."""

    def __init__(self, width: int):
        super().__init__()
        self.item, self.whole, self.score = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.item_norm, self.whole_norm = nn.BatchNorm1d(width), nn.BatchNorm1d(width)

    def forward(self, basis: Tensor, instance: Tensor) -> Tensor:
        """Map ``[C, width]``, ``[items, width]`` -> log-probabilities ``[items, C]``."""
        concept = torch.tanh(batch_normalised(self.item_norm, self.item(basis)))
        item = torch.tanh(batch_normalised(self.whole_norm, self.whole(instance)))
        # score(concept * item) for all pairs is one product: no [items, C, width]
        scores = (item * self.score.weight) @ concept.T + self.score.bias
        return functional.log_softmax(SMOOTHING * precise(scores), dim=1)  # which a loss reads


class ConceptNetwork(nn.Module):
    """Two graph convolutions from concept vectors to the common space.

    Args:
        vectors: ``[C, dim]``.
        adjacency: ``[C, C]``, with itself, not normalised.
        width: Length of the common space.
    """

    vectors: Tensor
    adjacency: Tensor

    def __init__(self, vectors: ArrayLike, adjacency: ArrayLike, width: int):
        super().__init__()
        dtype = torch.get_default_dtype()
        self.register_buffer("vectors", torch.tensor(np.asarray(vectors), dtype=dtype))
        self.register_buffer("adjacency", torch.tensor(np.asarray(adjacency), dtype=dtype))
        self.first = nn.Parameter(torch.empty(self.vectors.shape[1], width // 2))
        self.second = nn.Parameter(torch.empty(width // 2, width))
        for weight in (self.first, self.second):
            bound = 1 / math.sqrt(weight.shape[1])
            nn.init.uniform_(weight, -bound, bound)

    def normalised_adjacency(self) -> Tensor:
        """``D^-1/2 A^T D^-1/2`` with D the sums of A's rows; A is not symmetric, so that the transpose matters."""
        scale = self.adjacency.sum(dim=1) ** -0.5
        return scale[:, None] * self.adjacency.T * scale[None, :]

    def forward(self) -> Tensor:
        """Return ``[C, width]``, length 1."""
        links = self.normalised_adjacency()
        hidden = functional.leaky_relu(links @ (self.vectors @ self.first), 0.2)
        return unit(links @ (hidden @ self.second))


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1 along the last axis; a zero vector stays zero."""
    return l2_normalised(vectors, EPSILON)
