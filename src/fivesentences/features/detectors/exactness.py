"""How networks are run: the same numbers from the same input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def exact() -> Iterator[None]:
    """No gradients, and on a GPU the same algorithms every time and no shortened products."""
    with (
        torch.inference_mode(),
        torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False, allow_tf32=False),
    ):
        yield
