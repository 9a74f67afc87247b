"""SAF: similarity attention filtration of the similarity vectors of a pair (Diao et al., SGRAF)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.models.attention import in_caption_order
from fivesentences.models.matching import l2_normalised
from fivesentences.models.similarity_vectors import EPS, CaptionParts, ImageParts, SimilarityVectors, xavier_linear
from fivesentences.models.specs import SAFSpec, SGRSpec


class SAF(SimilarityVectors):
    """Similarity attention filtration (SGRAF, Diao et al. 2021): a gate weights the words of a pair.

    Similarity vectors are weighted by a gate of their own, and their sum is scored.

    The gate's batch norm sees one caption at a time, as released: in training its statistics are those of all images
    with that caption's words, and its running values move once per caption, in the order of the captions. So a
    training score depends on the other images of the batch, but on no other caption.

    Args:
        spec: Its settings and widths.
        sizes: See ``SimilarityVectors``.
    """

    kind: ClassVar[type[SAFSpec] | type[SGRSpec]] = SAFSpec

    def __init__(self, spec: SAFSpec, **sizes: int):
        super().__init__(spec, **sizes)
        self.gate = xavier_linear(spec.similarity_dim, 1)
        self.gate_norm = nn.BatchNorm1d(1)

    @classmethod
    def released_reasoning(cls, state_dict: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the names of the gate."""
        return {}, {"sim_enc.SAF_module.attn_sim_w.": "gate.", "sim_enc.SAF_module.bn.": "gate_norm."}

    def similarity(self, images: ImageParts, captions: CaptionParts) -> Tensor:
        """Encoded images and captions -> ``[images, captions]``, between 0 and 1."""
        rows, columns, means, variances = [], [], [], []
        # Statistics of a caption need all images.
        for of_group, parts in self.of_blocks(self._scores, images, captions, whole=self.training):
            rows.append(of_group)
            columns.append(torch.cat([scores for scores, _, _ in parts]))
            means.append(parts[0][1])
            variances.append(parts[0][2])
        if self.training:
            order = torch.argsort(torch.cat(rows))
            self._move_running_values(torch.cat(means)[order], torch.cat(variances)[order])
        return in_caption_order(columns, rows)

    def _scores(
        self, regions: Tensor, overall: Tensor, words: Tensor, caption_overall: Tensor, *, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As ``gaps``, with ``mask`` ``[Y, L]`` -> ``[X, Y]``; the gate's mean and variance ``[Y]``."""
        whole, local = self.gaps(regions, overall, words, caption_overall)  # [X, Y, S], [X, Y, L, S]
        # The vectors' L2 norm goes into the gate and into the weights, so that no second copy of them is made.
        inverse_whole = 1 / (torch.linalg.vector_norm(whole, dim=2) + EPS)  # [X, Y]
        inverse_local = 1 / (torch.linalg.vector_norm(local, dim=3) + EPS)  # [X, Y, L]
        raw_whole = (whole @ self.gate.weight[0]) * inverse_whole
        raw_local = (local @ self.gate.weight[0]) * inverse_local
        raw = torch.cat([raw_whole[:, :, None], raw_local], dim=2) + self.gate.bias  # [X, Y, 1 + L]
        real = None if mask is None else functional.pad(mask, (1, 0), value=True)  # [Y, 1 + L]
        normed, mean, variance = self._gate_normed(raw, real)
        gate = torch.sigmoid(normed)
        if real is not None:
            gate = gate.masked_fill(~real, 0.0)
        gate = gate / (gate.sum(dim=2, keepdim=True) + EPS)
        of_words = (gate[:, :, 1:] * inverse_local)[:, :, None] @ local  # [X, Y, 1, S]
        pooled = of_words.squeeze(2) + (gate[:, :, 0] * inverse_whole)[:, :, None] * whole
        return self.evaluated(l2_normalised(pooled, EPS)), mean, variance

    def _gate_normed(self, raw: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Batch norm of ``[X, Y, T]``, one caption at a time; and the mean and unbiased variance of each."""
        norm = self.gate_norm
        assert norm.running_mean is not None and norm.running_var is not None
        if not self.training:
            scale = norm.weight / (norm.running_var + norm.eps).sqrt()
            return (raw - norm.running_mean) * scale + norm.bias, norm.running_mean, norm.running_var
        if real is None:
            count = torch.full_like(raw[0, :, 0], len(raw) * raw.shape[2])
            mean = raw.mean(dim=(0, 2))
            centred = raw - mean[:, None]
            variance = centred.square().mean(dim=(0, 2))
        else:
            count = (len(raw) * real.sum(dim=1)).to(raw.dtype)
            mean = raw.masked_fill(~real, 0.0).sum(dim=(0, 2)) / count
            centred = raw - mean[:, None]
            variance = centred.masked_fill(~real, 0.0).square().sum(dim=(0, 2)) / count
        scale = norm.weight / (variance + norm.eps).sqrt()  # [Y]
        return centred * scale[:, None] + norm.bias, mean.detach(), (variance * count / (count - 1)).detach()

    @torch.no_grad()
    def _move_running_values(self, means: Tensor, variances: Tensor) -> None:
        """One update per caption, ``[captions]`` in their order, all at once: the last caption weighs most."""
        norm = self.gate_norm
        momentum = 0.1 if norm.momentum is None else norm.momentum
        assert norm.running_mean is not None and norm.running_var is not None
        assert norm.num_batches_tracked is not None
        kept = (1 - momentum) ** torch.arange(len(means) - 1, -1, -1, device=means.device, dtype=means.dtype)
        for running, values in ((norm.running_mean, means), (norm.running_var, variances)):
            running.mul_((1 - momentum) ** len(means)).add_(momentum * (kept * values).sum())
        norm.num_batches_tracked += len(means)
