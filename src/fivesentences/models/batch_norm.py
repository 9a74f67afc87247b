"""Batch normalisation that does not fail on the last, smallest batch of an epoch."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


def batch_normalised(norm: nn.BatchNorm1d, rows: Tensor) -> Tensor:
    """``norm(rows)``; a batch of one row has no variance, so it uses the running statistics in training too."""
    if norm.training and len(rows) == 1:
        return functional.batch_norm(rows, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
    normalised: Tensor = norm(rows)
    return normalised
