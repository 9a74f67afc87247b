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
from fivesentences.errors import InputError, counted, say_left_out

# A public dataset: the downloaded captions, what to call the corpus -> the corpus.
LOADERS: dict[CatalogueLoader, Callable[[Path | str, str], Corpus]] = {
    "flickr8k": load_flickr8k,
    "karpathy": load_karpathy,
    "pascal_sentences": load_pascal_sentences,
    "wikipedia_articles": load_wikipedia_articles,
}


def load(
    name: str, data: CatalogueData | PrecompData | FolderData, captions: Path | str, needs: Iterable[str] = ()
) -> Corpus:
    """Read a dataset according to its block of the configuration.

    Args:
        name: Name of the corpus.
        data: The dataset's block.
        captions: The downloaded captions, or the folder or CSV that the block names.
        needs: Splits that must have images; default: any will do.

    Raises:
        InputError: As raised by the loader, or if a split that is needed or that the block names has no images.
    """
    if isinstance(data, PrecompData):
        corpus = load_precomp(captions, data.prefix, name=name, testall=data.testall)
    elif isinstance(data, FolderData):
        corpus = load_folder(data.photographs, captions, name)
    elif data.loader == "karpathy":
        options = {"order": data.order, "captions_per_image": data.captions_per_image}
        corpus = load_karpathy(captions, name, data.member, **options)  # type: ignore[arg-type]
    else:
        corpus = LOADERS[data.loader](captions, name)
    if isinstance(data, CatalogueData) and data.splits is not None:
        for split in data.splits:
            corpus.split(split)  # raises if there is no such split
        whole, corpus = corpus, replace(corpus, table=corpus.table[corpus.table.split.isin(data.splits)])
        of_others = {"of other splits, as its splits say": whole.n_images - corpus.n_images}
        say_left_out(captions, counted(corpus.n_images, "image"), of_others)
    if lacking := [split for split in needs if split not in corpus.splits]:
        raise InputError(
            f"no image of '{name}' is in the split '{lacking[0]}' (there are {', '.join(corpus.splits)})",
            where=captions,
            cure=f"training needs images for train, dev and test: put some into '{lacking[0]}'",
        )
    return corpus
