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


@contextmanager
def on_one_thread() -> Iterator[None]:
    """One thread on a CPU: work is distributed by images, and sums then do not depend on the number of cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
