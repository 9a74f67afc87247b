"""Common parts of SGR and SAF: encoders, and similarity vectors of each word and of the whole of every pair.

Source: Diao et al., "Similarity Reasoning and Filtration for Image-Text Matching", and its released code
(github.com/Paranioar/SGRAF), whose numbers ``sgr.npz`` and ``saf.npz`` hold.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.config.reading import check
from fivesentences.models.attention import Block, Limits, Result, attention_weights, blocks_of, run_block
from fivesentences.models.matching import Matcher, batch_normalised, l2_normalised, load_released, precise, shape_of
from fivesentences.models.specs import SAFSpec, SGRSpec
from fivesentences.models.words import WordStates, inside, word_sizes

EPS = 1e-8  # added to every norm, as released
# Elements of attended vectors at once inside ``GapProjection``: on a CPU as many as its cache holds.
CHUNK_ELEMENTS = (1 << 20, 1 << 28)

RELEASED_NAMES = {
    "img_enc.fc.": "image_projection.",
    "txt_enc.embed.": "text.words.",
    "txt_enc.cap_rnn.": "text.sentence.",
    "sim_enc.v_global_w.embedding_local.0.": "image_pooling.local.",
    "sim_enc.v_global_w.embedding_local.1.": "image_pooling.local_norm.",
    "sim_enc.v_global_w.embedding_global.0.": "image_pooling.overall.",
    "sim_enc.v_global_w.embedding_global.1.": "image_pooling.overall_norm.",
    "sim_enc.v_global_w.embedding_common.0.": "image_pooling.score.",
    "sim_enc.t_global_w.embedding_local.0.": "caption_pooling.local.",
    "sim_enc.t_global_w.embedding_global.0.": "caption_pooling.overall.",
    "sim_enc.t_global_w.embedding_common.0.": "caption_pooling.score.",
    "sim_enc.sim_tranloc_w.": "local_gap.",
    "sim_enc.sim_tranglo_w.": "overall_gap.",
    "sim_enc.sim_eval_w.": "evaluation.",
}


class ImageParts(NamedTuple):
    """Images as SGR and SAF compare them.

    Attributes:
        regions: ``[images, regions, embedding]``.
        overall: ``[images, embedding]``.
    """

    regions: Tensor
    overall: Tensor


class CaptionParts(NamedTuple):
    """Captions as SGR and SAF compare them.

    Attributes:
        words: ``[captions, longest, embedding]``, zeros after a caption's end.
        overall: ``[captions, embedding]``.
        lengths: ``[captions]`` int64.
    """

    words: Tensor
    overall: Tensor
    lengths: Tensor


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """Return a linear layer as SGRAF's release initialises it: Xavier uniform, bias 0."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class AttentionPooling(nn.Module):
    """Items -> one vector: items weighted by a score of how well they agree with their mean.

    Args:
        width: Length of an item's vector.
        items: Number of items, if it is fixed; then both branches have batch norm, with one statistic per item index
            in the first. None: any number, masked, no batch norm.
        dropout: Dropout of both branches, in training.
    """

    def __init__(self, width: int, items: int | None, dropout: float):
        super().__init__()
        self.local = xavier_linear(width, width)
        self.overall = xavier_linear(width, width)
        self.score = xavier_linear(width, 1)
        self.local_norm = nn.Identity() if items is None else nn.BatchNorm1d(items)
        self.overall_norm = nn.Identity() if items is None else nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, items: Tensor, mean: Tensor, mask: Tensor | None = None) -> Tensor:
        """``[n, items, width]``, ``[n, width]``, ``[n, items]`` (None: all real) -> ``[n, width]``, L2 norm 1."""
        local = self.dropout(torch.tanh(self.local_norm(self.local(items))))
        whole = self.overall(mean)
        if isinstance(self.overall_norm, nn.BatchNorm1d):
            whole = batch_normalised(self.overall_norm, whole)
        overall = self.dropout(torch.tanh(whole))
        scores = self.score(local * overall[:, None]).squeeze(2)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        pooled = (functional.softmax(scores, dim=1)[:, None] @ items).squeeze(1)
        return l2_normalised(pooled, EPS)


class GapProjection(torch.autograd.Function):
    """Linear map of squared gaps between words and the regions they attend to, without keeping vectors of either.

    For image x and word n: ``weight @ (c / (|c| + eps) - word)^2 + bias`` with ``c = sum_k attention[k] region[k]``.
    The gaps, ``[images, words, embedding]``, are by far the largest tensor of SGR and SAF. Here they exist for a few
    images at a time, in cache, and the backward pass recomputes them from the attention: one thin product instead of
    three copies of them in memory. Expanding the square saves nothing: the square of c and its product with the word
    would each need a product as large as the one here.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        attention: Tensor,
        regions: Tensor,
        words: Tensor,
        weight: Tensor,
        bias: Tensor,
        low: torch.dtype | None,
    ) -> Tensor:
        """Map ``[X, K, N]``, ``[X, K, D]``, ``[1 or X, N, D]``, ``[S, D]``, ``[S]`` -> ``[X, N, S]``.

        ``low``: dtype of the products' factors; None: unchanged.
        """
        ctx.save_for_backward(attention, regions, words, weight, bias)
        ctx.low = low
        out = attention.new_empty(len(attention), attention.shape[2], len(weight))
        with torch.autocast(attention.device.type, enabled=False):
            for part in _chunks(attention, regions):
                gap, _, _ = _gaps(attention[part], regions[part], words if len(words) == 1 else words[part])
                out[part] = (_product(gap.square_().flatten(0, 1), weight.T, low) + bias).view_as(out[part])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the five tensors."""
        attention, regions, words, weight, _ = ctx.saved_tensors
        (grad,), low = grads, ctx.low
        of_attention, of_regions = torch.empty_like(attention), torch.empty_like(regions)
        of_words, of_weight = torch.zeros_like(words), torch.zeros_like(weight)
        with torch.autocast(attention.device.type, enabled=False):
            for part in _chunks(attention, regions):
                of_out = grad[part].flatten(0, 1)
                gap, context, length = _gaps(attention[part], regions[part], words if len(words) == 1 else words[part])
                of_gap = _product(of_out, weight, low).view_as(gap).mul_(gap).mul_(2)
                of_weight += _product(of_out.T, gap.square_().flatten(0, 1), low)
                if len(words) == 1:
                    of_words -= of_gap.sum(dim=0, keepdim=True)
                else:
                    of_words[part] = -of_gap
                # With u = c / (|c| + eps), which context holds: dc = (du - u (u . du) (|c| + eps) / |c|) / (|c| + eps).
                ratio = (length + EPS) / length.clamp_min(torch.finfo(length.dtype).tiny)
                along = (context * of_gap).sum(dim=2, keepdim=True).mul_(ratio)
                of_context = of_gap.sub_(context.mul_(along)).div_(length + EPS)
                of_attention[part] = regions[part] @ of_context.transpose(1, 2)
                of_regions[part] = attention[part] @ of_context
        return of_attention, of_regions, of_words, of_weight, grad.sum(dim=(0, 1)), None


def _product(first: Tensor, second: Tensor, low: torch.dtype | None) -> Tensor:
    """Matrix product; its factors rounded to ``low`` if given."""
    return first @ second if low is None else (first.to(low) @ second.to(low)).to(first.dtype)


def _chunks(attention: Tensor, regions: Tensor) -> list[slice]:
    """Images in slices whose attended vectors fit the cache."""
    most = CHUNK_ELEMENTS[0 if attention.device.type == "cpu" else 1]
    at_once = max(1, most // (attention.shape[2] * regions.shape[2]))
    return [slice(start, start + at_once) for start in range(0, len(attention), at_once)]


def _gaps(attention: Tensor, regions: Tensor, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gaps and normalised contexts, ``[x, N, D]`` each, and the contexts' lengths ``[x, N, 1]``."""
    context = attention.transpose(1, 2) @ regions
    length = torch.linalg.vector_norm(context, dim=2, keepdim=True)
    context.div_(length + EPS)
    return context - words, context, length


class SimilarityVectors(Matcher):
    """Regions and words (L2 norm), a pooled vector of each side, and the similarity vectors of every pair.

    Args:
        spec: Settings and widths of SGR or SAF.
        image_dim: Length of a region's feature vector.
        vocabulary_size: Number of words.
        regions: Regions per image, the same for all images (batch norm keeps one statistic per region index).

    Attributes:
        block_elements: Most elements of the similarity vectors computed at once; None: what suits the device.
        kept_elements: Most such elements kept for the backward pass; beyond them blocks are computed twice. None: what
            suits the device.
    """

    kind: ClassVar[type[SAFSpec] | type[SGRSpec]]
    spec: SAFSpec | SGRSpec

    def __init__(self, spec: SAFSpec | SGRSpec, *, image_dim: int, vocabulary_size: int, regions: int = 36):
        super().__init__(spec)
        self.block_elements: int | None = None
        self.kept_elements: int | None = None
        self.image_projection = xavier_linear(image_dim, spec.embedding)
        self.text = WordStates(
            vocabulary_size, spec.word, spec.embedding, spec.layers, spec.bidirectional, spec.dropout
        )
        self.image_pooling = AttentionPooling(spec.embedding, regions, spec.dropout)
        self.caption_pooling = AttentionPooling(spec.embedding, None, spec.dropout)
        self.local_gap = xavier_linear(spec.embedding, spec.similarity_dim)
        self.overall_gap = xavier_linear(spec.embedding, spec.similarity_dim)
        self.evaluation = xavier_linear(spec.similarity_dim, 1)

    @classmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """Return the model with released weights (``img_enc``, ``txt_enc``, ``sim_enc``); sizes from shapes.

        ``options``: temperature and dropout, which the shapes do not tell.
        """
        title = cls.kind.title
        embedding, image_dim = shape_of(state_dict, "img_enc.fc.weight", title)
        vocabulary_size, sizes = word_sizes(state_dict, "txt_enc.embed.", "txt_enc.cap_rnn.", title)
        sizes["similarity_dim"] = shape_of(state_dict, "sim_enc.sim_tranloc_w.weight", title)[0]
        (regions,) = shape_of(state_dict, "sim_enc.v_global_w.embedding_local.1.weight", title, 1)
        own_sizes, own_names = cls.released_reasoning(state_dict)
        spec = check(cls.kind, {"embedding": embedding} | sizes | own_sizes | options, title)
        model = cls(spec, image_dim=image_dim, vocabulary_size=vocabulary_size, regions=regions)
        load_released(model, state_dict, RELEASED_NAMES | own_names, title)
        return model

    @classmethod
    @abstractmethod
    def released_reasoning(cls, state_dict: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, str]]:
        """Where SGR and SAF differ: settings from the shapes, and released prefix -> prefix here."""

    def encode_images(self, images: Tensor) -> ImageParts:
        """Map ``[images, regions, image_dim]`` -> ``[images, regions, embedding]`` and ``[images, embedding]``."""
        regions = l2_normalised(self.image_projection(images.to(self.image_projection.weight.dtype)), EPS)
        return ImageParts(regions, self.image_pooling(regions, regions.mean(dim=1)))

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> CaptionParts:
        """``[captions, longest]``, ``[captions]`` -> words ``[captions, longest, embedding]``, pooled, and lengths."""
        words = l2_normalised(self.text(caption_tokens, caption_lengths), EPS)
        lengths = caption_lengths.to(words.device)
        mean = words.sum(dim=1) / lengths[:, None]
        return CaptionParts(words, self.caption_pooling(words, mean, inside(lengths, words.shape[1])), lengths)

    def blocks(self, lengths: Tensor, regions: Tensor, whole: bool = False) -> tuple[list[Block], bool]:
        """``blocks_of`` images and captions, with a similarity vector per word and one of the whole pair."""
        limits = Limits.of(regions.device, self.block_elements, self.kept_elements)
        spare, width = len(regions) * regions.shape[2], self.evaluation.in_features
        return blocks_of(lengths, len(regions), limits, unit=width, spare=spare, more=1, whole=whole)

    def of_blocks(
        self, compute: Callable[..., Result], images: ImageParts, captions: CaptionParts, whole: bool = False
    ) -> Iterator[tuple[Tensor, list[Result]]]:
        """Yield the captions of each block, and what ``compute`` makes of them and of some images at a time.

        ``compute`` takes what ``gaps`` takes, and as ``mask`` which words of the captions are true ones (None: all).
        """
        blocks, recompute = self.blocks(captions.lengths, images.regions, whole)
        for group, at_once in blocks:
            of_group = captions.words[None, group.rows, : group.longest], captions.overall[None, group.rows]
            masked = functools.partial(compute, mask=group.mask)
            parts = zip(*(torch.split(tensor, at_once) for tensor in images), strict=True)
            yield group.rows, [run_block(masked, *part, *of_group, recompute=recompute) for part in parts]

    def gaps(self, regions: Tensor, overall: Tensor, words: Tensor, caption_overall: Tensor) -> tuple[Tensor, Tensor]:
        """Similarity vectors of pairs, of the whole and of every word, before their L2 norm.

        Args:
            regions: ``[X, K, D]``.
            overall: ``[X, D]``.
            words: ``[1, Y, L, D]``: every image with all Y captions; ``[X, 1, L, D]``: image x with caption x alone.
            caption_overall: ``[1, Y, D]`` or ``[X, 1, D]``.

        Returns:
            ``[X, Y, S]`` and ``[X, Y, L, S]``; entries after a caption's end are finite and meaningless.
        """
        attention = self.attention(regions, words).flatten(2)  # [X, K, Y * L]
        weight, bias = self.local_gap.weight, self.local_gap.bias
        low = torch.get_autocast_dtype(words.device.type) if torch.is_autocast_enabled(words.device.type) else None
        # Under autocast, contexts and gaps keep the weight's precision; only factors of the large products are rounded.
        exact = [tensor.to(weight.dtype) for tensor in (attention, regions, words.flatten(1, 2))]
        local = GapProjection.apply(*exact, weight, bias, low)
        whole = self.overall_gap((overall[:, None] - caption_overall).square())
        return whole, local.view(len(regions), *words.shape[1:3], len(weight))

    def evaluated(self, vectors: Tensor) -> Tensor:
        """``[..., S]`` -> scores ``[...]`` between 0 and 1; in float32, since of bfloat16's scores most are equal."""
        with torch.autocast(vectors.device.type, enabled=False):
            return torch.sigmoid(self.evaluation(precise(vectors))).squeeze(-1)

    def attention(self, regions: Tensor, words: Tensor) -> Tensor:
        """Map ``[X, K, D]``, ``[1 or X, Y, L, D]`` -> weights over regions ``[X, K, Y, L]``."""
        if len(words) == 1:
            raw = regions.flatten(0, 1) @ words.flatten(0, 2).T
        else:
            raw = regions @ words.flatten(1, 2).transpose(1, 2)
        return attention_weights(raw.view(*regions.shape[:2], *words.shape[1:3]), self.spec.temperature)
