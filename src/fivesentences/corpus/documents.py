"""Documents of category retrieval: an image, a text and a category each, and how they are divided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Part = Literal["train", "test"]


@dataclass(frozen=True)
class Documents:
    """A table of documents, one row each; descriptors, where there are any, have the same rows.

    Attributes:
        ids: Unique.
        categories: Name of each document's category.
        images: File name of each image; empty where there is none.
        texts: Each text; empty where there is none, only its descriptor.
        parts: The published part of each, or None where nothing was published.
        articles: What each was cut from; its own id where it is whole.
    """

    ids: tuple[str, ...]
    categories: tuple[str, ...]
    images: tuple[str, ...]
    texts: tuple[str, ...]
    parts: tuple[Part | None, ...]
    articles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Division:
    """Row numbers of ``Documents``, ascending: ``train``, ``validation`` and ``test``, without overlap."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def read_documents(path: Path) -> Documents:
    raise NotImplementedError


def write_documents(documents: Documents, path: Path) -> None:
    raise NotImplementedError
