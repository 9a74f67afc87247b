"""Reads a dataset with the loader that its configuration names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fivesentences.config import CatalogueData, CatalogueLoader, FolderData, PrecompData
from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.folder import load_folder
from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.corpus.precomp import load_precomp
from fivesentences.corpus.table import Corpus

# A public dataset: the downloaded captions, what to call the corpus, the dataset's block -> the corpus.
LOADERS: dict[CatalogueLoader, Callable[[Path | str, str, CatalogueData], Corpus]] = {
    "flickr8k": lambda captions, name, _: load_flickr8k(captions, name),
    "karpathy": lambda captions, name, data: load_karpathy(captions, name, data.member),
}


def load(name: str, data: CatalogueData | PrecompData | FolderData, captions: Path | str) -> Corpus:
    """Read a dataset according to its block of the configuration.

    Args:
        name: What to call the corpus.
        data: The dataset's block.
        captions: The downloaded captions, or the folder or CSV that the block names.

    Raises:
        InputError: As raised by the loader, or if a split that the block names has no images.
    """
    if isinstance(data, PrecompData):
        return load_precomp(captions, data.prefix, name=name, testall=data.testall)
    if isinstance(data, FolderData):
        return load_folder(data.photographs, captions, name)
    whole = LOADERS[data.loader](captions, name, data)
    if data.splits is None:
        return whole
    for split in data.splits:
        whole.split(split)  # raises if there is no such split
    return Corpus(name, whole.table[whole.table.split.isin(data.splits)].reset_index(drop=True))
