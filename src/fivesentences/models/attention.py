"""Cross-attention between all images and all captions of a block at once.

Captions are sorted by length and processed in groups of equal or nearly equal lengths, so that hardly any padding is
computed and most groups need no mask. A block is a rectangle of images and captions with a limited number of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from fivesentences.models.specs import RawNorm
from fivesentences.models.words import inside

Result = TypeVar("Result")
SLOPE = 0.1  # of the leaky ReLU of "clipped" norms
EPS = 1e-8  # added to a norm (l2norm), least product of norms (cosine), as released

# (on the CPU, on an accelerator)
BLOCK_ELEMENTS = (1 << 22, 1 << 27)  # large blocks keep an accelerator busy, small ones fit a CPU's cache
KEPT_ELEMENTS = (1 << 26, 1 << 30)
GROUP_ELEMENTS = (1 << 15, 1 << 24)  # computing this much padding costs as much as launching another group


@dataclass(frozen=True)
class Limits:
    """How much is computed at once.

    Attributes:
        block: Most elements of the largest tensor of a block.
        kept: Most elements that training keeps for the backward pass; beyond them blocks are computed a second time.
        group: Elements of padding that cost as much as another group of captions.
    """

    block: int
    kept: int
    group: int

    @classmethod
    def of(cls, device: torch.device, block: int | None = None, kept: int | None = None) -> Limits:
        """Return the given limits, or those that suit the device."""
        kind = 0 if device.type == "cpu" else 1
        return cls(block or BLOCK_ELEMENTS[kind], kept or KEPT_ELEMENTS[kind], GROUP_ELEMENTS[kind])


@dataclass(frozen=True)
class CaptionGroup:
    """Captions of similar length.

    Attributes:
        rows: ``[captions]``, their indices.
        longest: Words of the longest one.
        mask: ``[captions, longest]``, True where a position is a word; None: all are.
    """

    rows: Tensor
    longest: int
    mask: Tensor | None


def caption_groups(lengths: Tensor, most: int, spare: int) -> list[CaptionGroup]:
    """Captions by length, longest first, in groups.

    Args:
        lengths: ``[captions]`` int64.
        most: Most words of a group, padding included; a longer caption has its own group.
        spare: Padded words that a group may contain in order to have fewer groups.
    """
    ordered, order = torch.sort(lengths, descending=True, stable=True)
    distinct, counts = (values.tolist() for values in torch.unique_consecutive(ordered.cpu(), return_counts=True))
    spans: list[list[int]] = []  # longest, shortest, captions, padded words
    for length, count in zip(distinct, counts, strict=True):
        if spans and spans[-1][3] + count * (spans[-1][0] - length) <= spare:
            span = spans[-1]
            spans[-1] = [span[0], length, span[2] + count, span[3] + count * (span[0] - length)]
        else:
            spans.append([length, length, count, 0])
    groups, start = [], 0
    for longest, shortest, count, _ in spans:
        at_once = max(1, most // longest)
        for first in range(start, start + count, at_once):
            rows = order[first : min(first + at_once, start + count)]
            mask = None if shortest == longest else inside(lengths[rows], longest)
            groups.append(CaptionGroup(rows, longest, mask))
        start += count
    return groups


class Block(NamedTuple):
    """A group of captions, and how many images are compared with it at once."""

    group: CaptionGroup
    images: int


def blocks_of(
    lengths: Tensor, images: int, limits: Limits, unit: int, spare: int, more: int = 0, whole: bool = False
) -> tuple[list[Block], bool]:
    """Cut the pairs of images and captions into rectangles.

    Args:
        lengths: ``[captions]`` int64.
        images: Number of images.
        limits: How much is computed at once.
        unit: Elements of a block per image and word.
        spare: Padded elements per word, see ``Limits.group``.
        more: Entries of a caption beside its words.
        whole: Whether every block takes all images.

    Returns:
        The blocks, and whether they are computed again in the backward pass.
    """
    most = max(1, limits.block // unit)
    groups = caption_groups(lengths, max(1, most // images if whole else most), limits.group // spare)
    entries = [len(group.rows) * (more + group.longest) for group in groups]
    blocks = [Block(group, images if whole else max(1, most // n)) for group, n in zip(groups, entries, strict=True)]
    return blocks, images * sum(entries) * unit > limits.kept


def in_caption_order(columns: list[Tensor], rows: list[Tensor]) -> Tensor:
    """``[images, captions of a group]`` and these captions, of every group -> ``[images, captions]`` in their order."""
    return torch.cat(columns, dim=1)[:, torch.argsort(torch.cat(rows))]


def run_block(compute: Callable[..., Result], *inputs: Tensor, recompute: bool) -> Result:
    """``compute(*inputs)``; its inner tensors are kept for the backward pass, or computed again there."""
    if not (recompute and torch.is_grad_enabled()):
        return compute(*inputs)
    result: Result = checkpoint(compute, *inputs, use_reentrant=False, preserve_rng_state=False)
    return result


def raw_attention(contexts: Tensor, queries: Tensor) -> Tensor:
    """Dot products ``[X, M, D]`` with ``[Y, N, D]`` -> ``[X, M, Y, N]``, one matrix product."""
    product = contexts.flatten(0, 1) @ queries.flatten(0, 1).T
    return product.view(*contexts.shape[:2], *queries.shape[:2])


def attention_weights(
    raw: Tensor,
    temperature: float,
    norm: RawNorm = "clipped_l2norm",
    context_mask: Tensor | None = None,
    query_mask: Tensor | None = None,
) -> Tensor:
    """Weights over contexts for every query (SCAN, eq. 2 to 4): a norm across queries, then a softmax over contexts.

    Args:
        raw: ``[X, M, Y, N]`` dot products of M contexts with N queries; 0 where padded.
        temperature: Factor of the scores in the softmax (released ``lambda_softmax``).
        norm: Norm of each context's row over the queries of an item (released ``raw_feature_norm``).
        context_mask: ``[X, M]``; None: all contexts are real.
        query_mask: ``[Y, N]``; None: all queries are real.

    Returns:
        ``[X, M, Y, N]``, sums to 1 over M.
    """
    scores = functional.leaky_relu(raw, SLOPE) if norm in ("clipped_l2norm", "clipped") else raw
    if norm in ("clipped_l2norm", "l2norm"):
        scores = scores * (temperature / (torch.linalg.vector_norm(scores, dim=3, keepdim=True) + EPS))
    elif norm == "softmax":
        if query_mask is not None:
            scores = scores.masked_fill(~query_mask, -torch.inf)
        scores = temperature * functional.softmax(scores, dim=3)
    else:
        scores = temperature * scores
    if context_mask is not None:
        scores = scores.masked_fill(~context_mask[:, :, None, None], -torch.inf)
    return functional.softmax(scores, dim=1)


def attended(weights: Tensor, contexts: Tensor) -> Tensor:
    """Weighted sums of contexts: ``[X, M, Y, N]``, ``[X, M, D]`` -> ``[X, Y, N, D]``."""
    sums = weights.flatten(2).transpose(1, 2) @ contexts
    return sums.view(len(weights), *weights.shape[2:], contexts.shape[2])


def cosine_with_attended(raw: Tensor, weights: Tensor, contexts: Tensor, queries: Tensor) -> Tensor:
    """Cosine of every query with its attended vector, ``[X, Y, N]``, without computing that vector.

    With weights a, contexts v and c = sum a v: q . c = sum a (q . v), and ``|c|^2 = a^T G a`` with the contexts' Gram
    matrix G. This needs M numbers per query where c has D, and saves the second of SCAN's two large products.
    """
    wide = torch.promote_types(raw.dtype, torch.float32)  # of sums in bfloat16 too many would be equal
    dot = (weights * raw).sum(dim=1, dtype=wide)  # [X, Y, N]
    gram = contexts @ contexts.transpose(1, 2)  # [X, M, M]
    flat = weights.flatten(2)  # [X, M, Y * N]
    squared = ((gram @ flat) * flat).sum(dim=1, dtype=wide).view_as(dot)
    length = squared.clamp_min(torch.finfo(wide).tiny).sqrt()
    query_length: Tensor = torch.linalg.vector_norm(queries, dim=2)
    return dot / (length * query_length).clamp_min(EPS)
