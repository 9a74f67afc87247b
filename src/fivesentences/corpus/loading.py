"""Reads a dataset with the loader that its configuration names."""

from __future__ import annotations

from pathlib import Path

from fivesentences.config import CatalogueData, FolderData, PrecompData
from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.folder import load_folder
from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.corpus.precomp import load_precomp
from fivesentences.corpus.table import Corpus


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
    whole = load_flickr8k(captions, name) if data.loader == "flickr8k" else load_karpathy(captions, name, data.member)
    if data.splits is None:
        return whole
    for split in data.splits:
        whole.split(split)  # raises if there is no such split
    return Corpus(name, whole.table[whole.table.split.isin(data.splits)].reset_index(drop=True))
