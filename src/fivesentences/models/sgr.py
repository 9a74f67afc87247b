"""SGR: similarity graph reasoning over the similarity vectors of a pair (Diao et al., SGRAF)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.models.attention import Limits, in_caption_order
from fivesentences.models.matching import FEW, l2_normalised
from fivesentences.models.similarity_vectors import EPS, CaptionParts, ImageParts, SimilarityVectors, xavier_linear
from fivesentences.models.specs import SAFSpec, SGRSpec
from fivesentences.models.words import inside


class GraphStep(nn.Module):
    """One step of reasoning: ``ReLU(W softmax(Q K^T) X)``, no scaling and no residual, as released."""

    def __init__(self, width: int):
        super().__init__()
        self.query = xavier_linear(width, width)
        self.key = xavier_linear(width, width)
        self.out = xavier_linear(width, width)

    def forward(self, nodes: Tensor, mask: Tensor | None, first_only: bool) -> Tensor:
        """``[pairs, T, S]``, ``[pairs, T]`` (None: all real) -> the same, or ``[pairs, 1, S]`` of the first node."""
        # Q K^T = X Wq^T Wk X^T + 1 (Wk^T bq . X) + terms that are the same for all keys, which softmax ignores:
        # one product with the nodes instead of two; the key's bias has no effect at all, nor has it in the release.
        matrix = self.query.weight.T @ self.key.weight  # [S, S]
        shift = self.query.bias @ self.key.weight + 0.0 * self.key.bias  # its gradient is 0, not absent
        asking = nodes[:, :1] if first_only else nodes
        scores = (asking @ matrix + shift) @ nodes.transpose(1, 2)  # [pairs, T or 1, T]
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], -torch.inf)
        return functional.relu(self.out(functional.softmax(scores, dim=2) @ nodes))


class SGR(SimilarityVectors):
    """Similarity graph reasoning (SGRAF, Diao et al. 2021): the words of a pair exchange information.

    Similarity vectors exchange information in a few steps; the first one, of the whole pair, is scored.

    The backward pass visits only pairs whose score has a gradient, and computes them a second time: the hardest
    negatives of a batch of 128 are some 400 of its 16,384 pairs. Gradients are exact; hardly any memory is held.

    Args:
        spec: Its settings and widths.
        sizes: See ``SimilarityVectors``.

    Attributes:
        few_gradients: Off, everything is kept for the backward pass (up to ``kept_elements``): a quarter less work and
            twice the memory if the loss gives most pairs a gradient, as the sum over all negatives does at first.
            Training switches it according to the gradients that it sees.
    """

    kind: ClassVar[type[SAFSpec] | type[SGRSpec]] = SGRSpec

    def __init__(self, spec: SGRSpec, **sizes: int):
        super().__init__(spec, **sizes)
        self.few_gradients = True
        self.steps = nn.ModuleList(GraphStep(spec.similarity_dim) for _ in range(spec.steps))

    @classmethod
    def released_reasoning(cls, state_dict: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the number of steps, and the names of their weights."""
        begin = "sim_enc.SGR_module."
        steps = sorted({key.removeprefix(begin).partition(".")[0] for key in state_dict if key.startswith(begin)})
        parts = {"graph_query_w.": "query.", "graph_key_w.": "key.", "sim_graph_w.": "out."}
        names = {f"{begin}{step}.{old}": f"steps.{step}.{new}" for step in steps for old, new in parts.items()}
        return {"steps": len(steps)}, names

    def similarity(self, images: ImageParts, captions: CaptionParts) -> Tensor:
        """Encoded images and captions -> ``[images, captions]``, between 0 and 1."""
        if not self.few_gradients:
            return self.in_blocks(images, captions)
        weights = [
            *self.local_gap.parameters(),
            *self.overall_gap.parameters(),
            *self.steps.parameters(),
            *self.evaluation.parameters(),
        ]
        scores: Tensor = _OnDemand.apply(self, captions.lengths, *images, *captions[:2], *weights)
        return scores

    def nodes(self, regions: Tensor, overall: Tensor, words: Tensor, caption_overall: Tensor) -> Tensor:
        """As ``gaps`` -> ``[X, Y, 1 + L, S]``, L2 norm 1: the whole first, then every word."""
        whole, local = self.gaps(regions, overall, words, caption_overall)
        return l2_normalised(torch.cat([whole[:, :, None], local], dim=2), EPS)

    def scores(
        self, regions: Tensor, overall: Tensor, words: Tensor, caption_overall: Tensor, mask: Tensor | None
    ) -> Tensor:
        """As ``gaps``, with ``mask`` ``[1 or X, Y, L]`` of true words (None: all) -> ``[X, Y]``."""
        nodes = self.nodes(regions, overall, words, caption_overall)
        n_images, n_captions = nodes.shape[:2]
        nodes = nodes.flatten(0, 1)
        if mask is not None:
            mask = functional.pad(mask, (1, 0), value=True).expand(n_images, -1, -1).flatten(0, 1)
        for number, step in enumerate(self.steps, start=1):
            nodes = step(nodes, mask, first_only=number == len(self.steps))
        return self.evaluated(nodes[:, 0]).view(n_images, n_captions)

    def in_blocks(self, images: ImageParts, captions: CaptionParts) -> Tensor:
        """Scores of all pairs, with autograd's own backward pass."""
        rows, columns = [], []
        for of_group, parts in self.of_blocks(self.scores, images, captions):
            rows.append(of_group)
            columns.append(torch.cat(parts))
        return in_caption_order(columns, rows)


class _OnDemand(torch.autograd.Function):
    """Scores of all pairs, nothing kept but the inputs; backward computes again the pairs that have a gradient."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        model: SGR,
        lengths: Tensor,
        regions: Tensor,
        overall: Tensor,
        words: Tensor,
        caption_overall: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        ctx.model, ctx.weights, device = model, weights, regions.device.type
        ctx.autocast = (device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device))
        ctx.save_for_backward(lengths, regions, overall, words, caption_overall)
        return model.in_blocks(ImageParts(regions, overall), CaptionParts(words, caption_overall, lengths))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        model, weights = ctx.model, ctx.weights
        lengths, regions, overall, words, caption_overall = ctx.saved_tensors
        (grad,) = grads
        totals = [torch.zeros_like(tensor) for tensor in (regions, overall, words, caption_overall)]
        of_weights = [torch.zeros_like(weight) for weight in weights]
        device, dtype, enabled = ctx.autocast
        blocks = _paired_blocks if grad.count_nonzero() < FEW * grad.numel() else _rectangles
        for rows, columns, longest, paired, mask, of_scores in blocks(model, lengths, regions, grad):
            inputs = [regions[rows], overall[rows], words[columns, :longest], caption_overall[columns]]
            inputs = [tensor.detach().requires_grad_() for tensor in inputs]
            axis = 1 if paired else 0
            with torch.enable_grad(), torch.autocast(device, dtype, enabled=enabled):
                scores = model.scores(*inputs[:2], inputs[2].unsqueeze(axis), inputs[3].unsqueeze(axis), mask)
            found = torch.autograd.grad(scores, [*inputs, *weights], of_scores)
            for total, rows_of_it, gradient in zip(totals, (rows, rows, columns, columns), found[:4], strict=True):
                if total is totals[2]:
                    total = total[:, :longest]
                total.index_add_(0, rows_of_it, gradient)
            for total, gradient in zip(of_weights, found[4:], strict=True):
                total += gradient
        return None, None, *totals, *of_weights


# Rows, columns, longest caption, whether rows and columns are pairs, mask, gradient of the scores.
Part = tuple[Tensor, Tensor, int, bool, Tensor | None, Tensor]


def _paired_blocks(model: SGR, lengths: Tensor, regions: Tensor, grad: Tensor) -> Iterator[Part]:
    """Pairs with a gradient, longest captions first."""
    rows, columns = grad.nonzero(as_tuple=True)
    order = torch.argsort(lengths[columns], descending=True, stable=True)
    rows, columns = rows[order], columns[order]
    # A pair brings its own copy of the regions, which is about as large as its similarity vectors.
    longest = int(lengths.max()) if len(lengths) else 0
    widest = max(model.evaluation.in_features * (1 + longest), regions.shape[1] * regions.shape[2])
    at_once = max(1, Limits.of(regions.device, model.block_elements).block // widest)
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        of_pairs = lengths[columns[part]]
        longest = int(of_pairs[0])
        mask = inside(of_pairs, longest)[:, None]
        yield rows[part], columns[part], longest, True, mask, grad[rows[part], columns[part]][:, None]


def _rectangles(model: SGR, lengths: Tensor, regions: Tensor, grad: Tensor) -> Iterator[Part]:
    """Yield all pairs, in blocks of images x captions."""
    images = torch.arange(len(regions), device=regions.device)
    for group, at_once in model.blocks(lengths, regions)[0]:
        for rows in torch.split(images, at_once):
            yield rows, group.rows, group.longest, False, group.mask, grad[rows][:, group.rows]
