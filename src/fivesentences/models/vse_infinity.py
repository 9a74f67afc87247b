"""VSE∞: regions and words are pooled by weights of the rank of a value among those of its feature, which are learned.

Source: Chen et al., "Learning the Best Pooling Strategy for Visual Semantic Embedding", and its released code
(github.com/woodfrog/vse_infty, branch bigru, region features), whose numbers ``vse_infinity.npz`` holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_packed_sequence

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.models.matching import (
    Matcher,
    batch_normalised,
    dot_products,
    l2_normalised,
    load_released,
    precise,
    shape_of,
)
from fivesentences.models.recurrence import GRU
from fivesentences.models.specs import VSEInfinitySpec
from fivesentences.models.words import WordStates, inside, packed, word_sizes

EPS = 1e-8
RANK = 32  # length of a rank's encoding, and of the states of the GRU over ranks
TEMPERATURE = 0.1  # of the softmax over ranks
# What becomes of a word that training changes; it leaves out the others.
HIDDEN, REPLACED = 0.5, 0.1
UNUSED = "img_enc.mlp.bns.1."  # a batch norm that the released code makes and does not call
RELEASED_NAMES = {
    "img_enc.fc.": "image_projection.",
    "img_enc.mlp.layers.0.": "image_hidden.",
    "img_enc.mlp.bns.0.": "image_norm.",
    "img_enc.mlp.layers.1.": "image_out.",
    "img_enc.gpool.gru.": "image_pooling.ranks.",
    "img_enc.gpool.linear.": "image_pooling.score.",
    "txt_enc.embed.": "text.words.",
    "txt_enc.rnn.": "text.sentence.",
    "txt_enc.gpool.gru.": "caption_pooling.ranks.",
    "txt_enc.gpool.linear.": "caption_pooling.score.",
}
OTHER_BRANCHES = {"txt_enc.bert.": "reads captions by BERT", "img_enc.backbone.": "holds a network for photographs"}


class VSEInfinity(Matcher):
    """VSE∞ (Chen et al. 2021): generalised pooling of regions and of words, and the dot product of the two vectors.

    Regions: a linear layer plus a perceptron of one hidden layer with batch norm. Words: states of a GRU in both
    directions. Both are pooled by ``GeneralisedPooling`` and get length 1. Training leaves out some regions of each
    image, and hides, replaces or leaves out some words of each caption.

    Args:
        spec: Its settings and widths.
        image_dim: Length of a region's feature vector; any number of regions.
        vocabulary_size: Number of words; one more vector, the last, stands for a hidden word.
    """

    spec: VSEInfinitySpec

    def __init__(self, spec: VSEInfinitySpec, *, image_dim: int, vocabulary_size: int):
        super().__init__(spec)
        self.mask = vocabulary_size
        self.image_projection = nn.Linear(image_dim, spec.embedding)
        self.image_hidden = nn.Linear(image_dim, spec.embedding // 2)
        self.image_norm = nn.BatchNorm1d(spec.embedding // 2)
        self.image_out = nn.Linear(spec.embedding // 2, spec.embedding)
        self.image_pooling = GeneralisedPooling()
        self.text = WordStates(vocabulary_size + 1, spec.word, spec.embedding, spec.layers, spec.bidirectional)
        self.caption_pooling = GeneralisedPooling()
        nn.init.xavier_uniform_(self.image_projection.weight)
        nn.init.zeros_(self.image_projection.bias)

    @classmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """Return the model with released weights (``img_enc``, ``txt_enc``); sizes from the shapes.

        Raises:
            InputError: If the weights are of a model that reads captions by BERT or photographs, or as for others.
        """
        for prefix, what in OTHER_BRANCHES.items():
            if any(name.startswith(prefix) for name in state_dict):
                cure = "give one of region features and a GRU (butd_region_bigru)"
                raise InputError(f"the checkpoint {what}", where="VSE∞", cure=cure)
        embedding, image_dim = shape_of(state_dict, "img_enc.fc.weight", "VSE∞")
        words, sizes = word_sizes(state_dict, "txt_enc.embed.", "txt_enc.rnn.", "VSE∞")
        spec = check(VSEInfinitySpec, {"embedding": embedding} | sizes | options, "VSE∞")
        model = cls(spec, image_dim=image_dim, vocabulary_size=words - 1)
        read = {name: tensor for name, tensor in state_dict.items() if not name.startswith(UNUSED)}
        load_released(model, read, RELEASED_NAMES, "VSE∞")
        return model

    # --- scores ---------------------------------------------------------------------------------------------

    def encode_images(self, images: Tensor) -> Tensor:
        """Map ``[images, regions, image_dim]`` -> ``[images, embedding]``; in training, of some of the regions."""
        counts = torch.full((len(images),), images.shape[1])
        if self.training and self.spec.drop_regions:
            order, counts = _those_kept(torch.rand(images.shape[:2]) > self.spec.drop_regions)
            images = images.take_along_dim(order.to(images.device)[:, :, None], dim=1)
        return self.pooled_regions(images, counts)

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Map ``[captions, longest]``, ``[captions]`` -> ``[captions, embedding]``; in training, some words changed."""
        if self.training and self.spec.change_words:
            caption_tokens, caption_lengths = self.changed(caption_tokens, caption_lengths)
        return self.pooled_words(caption_tokens, caption_lengths)

    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """Map ``[images, embedding]``, ``[captions, embedding]`` -> ``[images, captions]``."""
        return dot_products(images, captions)

    # --- the parts ------------------------------------------------------------------------------------------

    def pooled_regions(self, images: Tensor, counts: Tensor) -> Tensor:
        """Map ``[images, most regions, image_dim]`` and numbers of regions ``[images]`` -> ``[images, embedding]``.

        What stands behind an image's last region is 0 and, as in the released code, part of the batch norm's
        statistics in training.
        """
        outside = ~inside(counts, images.shape[1]).to(images.device)
        images = images.to(self.image_projection.weight.dtype).masked_fill(outside[:, :, None], 0.0)
        hidden = self.image_hidden(images)
        hidden = batch_normalised(self.image_norm, hidden.flatten(0, 1)).view_as(hidden).relu()
        regions = self.image_out(hidden) + self.image_projection(images)
        return l2_normalised(self.image_pooling(regions, counts), EPS)

    def pooled_words(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Map ``[captions, longest]``, ``[captions]`` -> ``[captions, embedding]``."""
        states = self.text(caption_tokens, caption_lengths)
        return l2_normalised(self.caption_pooling(states, caption_lengths.cpu()), EPS)

    def changed(self, caption_tokens: Tensor, caption_lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Hide, replace or leave out the share ``change_words`` of the words, ``<start>`` and ``<end>`` among them.

        Args:
            caption_tokens: ``[captions, longest]`` word ids.
            caption_lengths: ``[captions]`` true lengths.

        Returns:
            The same of what is left, at least a word of each caption.
        """
        device, share = caption_tokens.device, self.spec.change_words
        # On the CPU, whose generator a saved state holds for every device, and where lengths are needed.
        drawn, other = torch.rand(caption_tokens.shape), torch.randint(self.mask + 1, caption_tokens.shape)
        tokens = torch.where((drawn < (HIDDEN + REPLACED) * share).to(device), other.to(device), caption_tokens)
        tokens = tokens.masked_fill((drawn < HIDDEN * share).to(device), self.mask)
        stays = (drawn < (HIDDEN + REPLACED) * share) | (drawn >= share)
        order, lengths = _those_kept(stays & inside(caption_lengths.cpu(), caption_tokens.shape[1]))
        tokens = tokens.take_along_dim(order.to(device), dim=1)
        return tokens.masked_fill(~inside(lengths, tokens.shape[1]).to(device), 0), lengths


class GeneralisedPooling(nn.Module):
    """The sum of a feature's values over a set, each weighted by its rank: largest first.

    The weights follow from the number of items alone: a GRU reads the ranks in both directions, and its states are
    scored. The mean and the largest value are among what it can learn.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ranks = GRU(RANK, RANK, batch_first=True, bidirectional=True)
        self.score = nn.Linear(RANK, 1, bias=False)

    def weights(self, counts: Tensor) -> Tensor:
        """Return the weight of each rank ``[sets, most items]``, given numbers of items ``[sets]`` on the CPU."""
        different, which = torch.unique(counts, return_inverse=True)
        longest = int(counts.max())
        ranks = encoded_ranks(longest).to(self.score.weight).expand(len(different), -1, -1)
        states, _ = pad_packed_sequence(self.ranks(packed(ranks, different))[0], batch_first=True)
        forward, backward = states.chunk(2, dim=2)
        scores = precise(self.score((forward + backward) / 2)[:, :, 0]) / TEMPERATURE
        outside = ~inside(different, longest).to(scores.device)
        weights: Tensor = scores.masked_fill(outside, -torch.inf).softmax(dim=1)
        return weights[which.to(weights.device)]

    def forward(self, items: Tensor, counts: Tensor) -> Tensor:
        """``[sets, most items, width]``, numbers of items ``[sets]`` on the CPU -> ``[sets, width]``."""
        outside = ~inside(counts, items.shape[1]).to(items.device)[:, :, None]
        values = precise(items).masked_fill(outside, -torch.inf).sort(dim=1, descending=True).values
        return (values.masked_fill(outside, 0.0) * self.weights(counts)[:, :, None]).sum(dim=1)


def encoded_ranks(count: int) -> Tensor:
    """Return sines and cosines of the ranks 0 to ``count - 1``, ``[count, RANK]`` float32."""
    rates = torch.exp(torch.arange(0, RANK, 2, dtype=torch.float32) * -(math.log(10_000.0) / RANK))
    angles = torch.arange(count, dtype=torch.float32)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


def _those_kept(kept: Tensor) -> tuple[Tensor, Tensor]:
    """Return where the kept items of each set are, those first, and how many: ``[sets, most]``, ``[sets]``.

    Args:
        kept: ``[sets, items]`` bool; a set without any keeps its first.
    """
    kept[:, 0] |= ~kept.any(dim=1)
    counts = kept.sum(dim=1)
    order = kept.byte().argsort(dim=1, descending=True, stable=True)
    return order[:, : int(counts.max())], counts
