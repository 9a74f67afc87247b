"""The check of what a loss is called with: one similarity of matched pairs, and perhaps phi of the same pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from fivesentences.errors import InputError


def checked_batch(loss: str, similarity: Tensor, phi: Tensor | None = None, *, needs_phi: bool = False) -> int:
    """How many pairs a batch has.

    Args:
        loss: What messages call the loss.
        similarity: ``[B images, B captions]``, matched pairs on the diagonal; B is at least 1.
        phi: ``[B captions, B images]`` of the same pairs.
        needs_phi: Whether the loss reads phi.

    Raises:
        InputError: If the similarity is no square matrix of floating numbers, or phi is not of its size.
    """
    for name, given in (("similarity", similarity), ("phi", phi)):
        if given is not None and not isinstance(given, Tensor):
            raise InputError(f"{loss}: {name} is {type(given).__name__}; give a torch tensor.")
    sides = f"similarity is {list(similarity.shape)}"
    square = similarity.ndim == 2 and similarity.shape[0] == similarity.shape[1] and len(similarity) > 0
    if needs_phi or phi is not None:
        sides += f" and phi {'missing' if phi is None else list(phi.shape)}"
        if not square or phi is None or phi.shape != similarity.shape:
            raise InputError(
                f"{loss}: {sides}; both must be square and equal, with one row and one column per pair of the batch."
            )
    elif not square:
        raise InputError(f"{loss}: {sides}; it must be square, with one row and one column per pair of the batch.")
    if not torch.is_floating_point(similarity):
        raise InputError(f"{loss}: similarity is {similarity.dtype}; give floating numbers, such as torch.float32.")
    return len(similarity)
