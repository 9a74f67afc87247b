"""Reads a dataset with the loader that its configuration names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from fivesentences.config.datasets import CatalogueData, CatalogueLoader, FolderData, PrecompData
from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.folder import load_folder
from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.corpus.pascal_sentences import load_pascal_sentences
from fivesentences.corpus.precomp import load_precomp
from fivesentences.corpus.table import Corpus
from fivesentences.corpus.wikipedia import load_wikipedia_articles
from fivesentences.errors import InputError

# A public dataset: the downloaded captions, what to call the corpus, the dataset's block -> the corpus.
LOADERS: dict[CatalogueLoader, Callable[[Path | str, str, CatalogueData], Corpus]] = {
    "flickr8k": lambda captions, name, _: load_flickr8k(captions, name),
    "karpathy": lambda captions, name, data: load_karpathy(
        captions, name, data.member, order=data.order, captions_per_image=data.captions_per_image
    ),
    "pascal_sentences": lambda captions, name, _: load_pascal_sentences(captions, name),
    "wikipedia_articles": lambda archive, name, _: load_wikipedia_articles(archive, name),
}


def load(
    name: str,
    data: CatalogueData | PrecompData | FolderData,
    captions: Path | str,
    needs: Iterable[str] = (),
) -> Corpus:
    """Read a dataset according to its block of the configuration.

    Args:
        name: What to call the corpus.
        data: The dataset's block.
        captions: The downloaded captions, or the folder or CSV that the block names.
        needs: Splits that must have images; default: any will do.

    Raises:
        InputError: As raised by the loader, or if a split that is needed or that the block names has no images.
    """
    corpus = _load(name, data, captions)
    for split in needs:
        if split not in corpus.splits:
            raise InputError(
                f"no image of '{name}' is in the split '{split}' (there are {', '.join(corpus.splits)})",
                where=captions,
                cure=f"training needs images for train, dev and test: put some into '{split}'",
            )
    return corpus


def _load(name: str, data: CatalogueData | PrecompData | FolderData, captions: Path | str) -> Corpus:
    if isinstance(data, PrecompData):
        return load_precomp(captions, data.prefix, name=name, testall=data.testall)
    if isinstance(data, FolderData):
        return load_folder(data.photographs, captions, name)
    whole = LOADERS[data.loader](captions, name, data)
    if data.splits is None:
        return whole
    for split in data.splits:
        whole.split(split)  # raises if there is no such split
    return replace(whole, table=whole.table[whole.table.split.isin(data.splits)].reset_index(drop=True))
