"""A run's history as TensorBoard events, on request; ``history.csv`` contains the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from fivesentences.errors import InputError, install


class Events:
    """Writes one scalar per column and epoch; to be used as a context manager.

    A run that continues after a kill adds a file with the later epochs; TensorBoard shows both as one.

    Args:
        folder: Where the event files go; None: nothing is written and nothing is imported.

    Raises:
        InputError: If TensorBoard is not installed.
    """

    def __init__(self, folder: Path | None):
        self._writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise InputError(
                "writing TensorBoard events needs the package tensorboard", cure=install("tensorboard")
            ) from None
        self._writer = SummaryWriter(str(folder))  # type: ignore[no-untyped-call]

    def __enter__(self) -> Events:
        return self

    def add_last(self, history: Sequence[dict[str, float]]) -> None:
        """Write the last row of a history."""
        if self._writer is None:
            return
        for name, value in history[-1].items():
            if name != "epoch":
                self._writer.add_scalar(name, value, int(history[-1]["epoch"]))
        self._writer.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
