"""SCAN: stacked cross attention between the words of a caption and the regions of an image.

Source: Lee et al., "Stacked Cross Attention for Image-Text Matching", and its released code
(github.com/kuanghuei/SCAN), whose numbers ``scan_bigru.npz`` and ``scan_gru_weightnorm.npz`` hold.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.config.reading import check
from fivesentences.models.attention import (
    Limits,
    attention_weights,
    blocks_of,
    cosine_with_attended,
    in_caption_order,
    raw_attention,
    run_block,
)
from fivesentences.models.matching import Matcher, l2_normalised, load_released, shape_of
from fivesentences.models.specs import SCANSpec
from fivesentences.models.words import WordStates, word_sizes

EPS = 1e-8
RELEASED_NAMES = {"img_enc.fc.": "image_projection.", "txt_enc.embed.": "text.words.", "txt_enc.rnn.": "text.sentence."}


class Words(NamedTuple):
    """Captions as one vector per word.

    Attributes:
        vectors: ``[captions, longest, embedding]``, zeros behind a caption's end.
        lengths: ``[captions]`` int64.
    """

    vectors: Tensor
    lengths: Tensor


class ScalarNormLinear(nn.Module):
    """A linear layer whose weight matrix is a direction times one trained length (released ``weight_norm``)."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        drawn = nn.Linear(inputs, outputs)
        self.weight_v = nn.Parameter(drawn.weight.detach().clone())
        self.weight_g = nn.Parameter(torch.linalg.vector_norm(self.weight_v.detach()))
        self.bias = nn.Parameter(drawn.bias.detach().clone())

    @property
    def weight(self) -> Tensor:
        """``[outputs, inputs]``."""
        length: Tensor = torch.linalg.vector_norm(self.weight_v)
        return self.weight_v * (self.weight_g / length)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``[..., inputs]`` -> ``[..., outputs]``."""
        return functional.linear(inputs, self.weight, self.bias)


class SCAN(Matcher):
    """Stacked cross attention (Lee et al. 2018): each word attends to regions, or each region to words.

    Regions: linear, L2 norm. Words: (bi-)GRU states, L2 norm. Score: pooled cosines with attended vectors.

    Args:
        spec: Its settings and widths.
        image_dim: Length of a region's feature vector.
        vocabulary_size: Number of words.

    Attributes:
        block_elements: Most elements of ``[images, regions, captions, words]`` at once; None: what suits the device.
        kept_elements: Most such elements kept for the backward pass; beyond them blocks are computed twice. None: what
            suits the device.
    """

    spec: SCANSpec

    def __init__(self, spec: SCANSpec, *, image_dim: int, vocabulary_size: int):
        super().__init__(spec)
        self.softmax_temperature, self.pooling_temperature = spec.temperatures
        self.block_elements: int | None = None
        self.kept_elements: int | None = None
        self.image_projection: nn.Linear | ScalarNormLinear
        if spec.projection == "basic":
            self.image_projection = nn.Linear(image_dim, spec.embedding)
            nn.init.xavier_uniform_(self.image_projection.weight)
            nn.init.zeros_(self.image_projection.bias)
        else:
            self.image_projection = ScalarNormLinear(image_dim, spec.embedding)
        self.text = WordStates(vocabulary_size, spec.word, spec.embedding, spec.layers, spec.bidirectional)

    @classmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """The model with released weights (``img_enc.fc``, ``txt_enc.embed``, ``txt_enc.rnn``); sizes from shapes.

        ``options``: direction, aggregation, temperatures and norms, which the shapes do not tell.
        """
        projection = "weight_norm" if "img_enc.fc.weight_v" in state_dict else "basic"
        weight = "img_enc.fc.weight_v" if projection == "weight_norm" else "img_enc.fc.weight"
        embedding, image_dim = shape_of(state_dict, weight, "SCAN")
        vocabulary_size, sizes = word_sizes(state_dict, "txt_enc.embed.", "txt_enc.rnn.", "SCAN")
        spec = check(SCANSpec, {"embedding": embedding, "projection": projection} | sizes | options, "SCAN")
        model = cls(spec, image_dim=image_dim, vocabulary_size=vocabulary_size)
        load_released(model, state_dict, RELEASED_NAMES, "SCAN")
        return model

    def encode_images(self, images: Tensor) -> Tensor:
        """Map ``[images, regions, image_dim]`` -> ``[images, regions, embedding]``."""
        vectors: Tensor = self.image_projection(images.to(self.image_projection.bias.dtype))
        return l2_normalised(vectors, EPS) if self.spec.normalise_images else vectors

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Words:
        """``[captions, longest]``, ``[captions]`` -> words ``[captions, longest, embedding]`` and their lengths."""
        vectors = self.text(caption_tokens, caption_lengths)
        if self.spec.normalise_captions:
            vectors = l2_normalised(vectors, EPS)
        return Words(vectors, caption_lengths.to(vectors.device))

    def similarity(self, images: Tensor, captions: Words) -> Tensor:
        """Regions ``[images, regions, embedding]`` and words -> ``[images, captions]``."""
        words, lengths = captions
        n_images, n_regions, _ = images.shape
        limits = Limits.of(images.device, self.block_elements, self.kept_elements)
        blocks, recompute = blocks_of(lengths, n_images, limits, unit=n_regions, spare=n_images * n_regions)
        columns = []
        for group, at_once in blocks:
            of_group = words[group.rows, : group.longest]
            compute = functools.partial(self._scores, lengths=lengths[group.rows], mask=group.mask)
            parts = [run_block(compute, part, of_group, recompute=recompute) for part in torch.split(images, at_once)]
            columns.append(torch.cat(parts))
        return in_caption_order(columns, [group.rows for group, _ in blocks])

    def _scores(self, regions: Tensor, words: Tensor, *, lengths: Tensor, mask: Tensor | None) -> Tensor:
        """Map ``[X, regions, D]``, ``[Y, words, D]``, ``[Y]``, ``[Y, words]`` -> ``[X, Y]``."""
        if self.spec.direction == "t2i":
            raw = raw_attention(regions, words)
            weights = attention_weights(raw, self.softmax_temperature, self.spec.raw_norm, query_mask=mask)
            cosine = cosine_with_attended(raw, weights, regions, words)  # [X, Y, words]
            return self._pooled(cosine, lengths, mask)
        raw = raw_attention(words, regions)
        weights = attention_weights(raw, self.softmax_temperature, self.spec.raw_norm, context_mask=mask)
        return self._pooled(cosine_with_attended(raw, weights, words, regions), None, None).T

    def _pooled(self, cosine: Tensor, lengths: Tensor | None, mask: Tensor | None) -> Tensor:
        """Over the last axis; ``lengths`` (None: all) count its true entries, ``mask`` (None: all) marks them."""
        if self.spec.aggregation == "Max":
            return (cosine if mask is None else cosine.masked_fill(~mask, -torch.inf)).amax(dim=2)
        if self.spec.aggregation == "LogSumExp":
            cosine = (cosine * self.pooling_temperature).exp()
        total = (cosine if mask is None else cosine.masked_fill(~mask, 0.0)).sum(dim=2)
        if self.spec.aggregation == "LogSumExp":
            return total.log() / self.pooling_temperature
        if self.spec.aggregation == "Mean":
            return total / (cosine.shape[2] if lengths is None else lengths)
        return total
