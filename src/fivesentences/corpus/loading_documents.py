"""Reads documents of category retrieval with the loader that their configuration names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.config.documents import (
    AnyDocuments,
    CorpusDocuments,
    MatDocuments,
    NusWideDocuments,
    WikipediaDocuments,
)
from fivesentences.corpus.documents import Documents, LoadedDocuments, Part
from fivesentences.corpus.dscmr import load_dscmr
from fivesentences.corpus.nus_wide import load_nus_wide
from fivesentences.corpus.own_documents import load_own_documents
from fivesentences.corpus.parquet import read_frame
from fivesentences.corpus.table import Corpus
from fivesentences.corpus.wikipedia import load_wikipedia
from fivesentences.errors import InputError

_AGAIN = "extract the features again"
# The splits of a corpus as parts of documents: "dev" is what a division may draw validation from.
_PART_OF: dict[str, Part] = {"train": "train", "dev": "train", "test": "test"}


def load_documents(spec: AnyDocuments, files: Mapping[str, Path]) -> LoadedDocuments:
    """Read documents and their descriptors.

    Args:
        spec: The block of the configuration.
        files: What the workflow made or fetched, by name. Wikipedia: ``features``, ``train_list``, ``test_list``,
            ``categories``; a corpus: ``corpus`` (parquet) and ``features`` (``.npy``). Other loaders read what their
            block names, relative to the working directory.

    Raises:
        InputError: As raised by the loader.
    """
    if isinstance(spec, WikipediaDocuments):
        return load_wikipedia(files["features"], files["train_list"], files["test_list"], files["categories"])
    if isinstance(spec, NusWideDocuments):
        return load_nus_wide(spec.folder, spec.features, spec.categories, spec.per_category, spec.seed)
    if isinstance(spec, MatDocuments):
        return load_dscmr(spec.folder)
    if isinstance(spec, CorpusDocuments):
        return documents_of_corpus(Corpus.read(files["corpus"]), files["features"], spec.article_ends_at)
    return load_own_documents(spec.table, spec.images, spec.texts)


def documents_of_corpus(corpus: Corpus, features: Path, article_ends_at: str | None = None) -> LoadedDocuments:
    """Each image of a corpus as a document: its features, and all of its captions as one text.

    The published part is ``train`` for the splits train and dev, and ``test`` for test; none if there are other splits.

    Args:
        corpus: Every image has a category.
        features: ``.npy`` of the features stage, ``[images, dim]``, with its ``.images.parquet`` beside.
        article_ends_at: An image's id names its article before the first of these; None: an article of its own.

    Raises:
        InputError: If an image has no category or no features, a file is damaged, or features are per region.
    """
    images = corpus.images
    missing = images["category"].isna().to_numpy(dtype=bool)
    if missing.any():
        name = images["image_id"].iloc[int(np.argmax(missing))]
        raise InputError(
            f"image '{name}' of '{corpus.name}' has no category ({int(missing.sum()):,} of {len(images):,} have none)",
            cure="category retrieval needs one per image: add a column `category` to the CSV of a folder of "
            "photographs, or choose other documents",
        )
    texts: list[list[str]] = [[] for _ in range(corpus.n_images)]
    for image, caption in zip(corpus.image_of_caption, corpus.captions, strict=True):
        texts[image].append(caption)
    ids = [str(name) for name in images["image_id"]]
    splits = [str(split) for split in images["split"]]
    is_usual = set(splits) <= set(_PART_OF)
    documents = Documents(
        ids=tuple(ids),
        categories=tuple(str(name) for name in images["category"]),
        images=tuple(str(name) for name in images["filename"]),
        texts=tuple(" ".join(some) for some in texts),
        parts=tuple(_PART_OF[split] if is_usual else None for split in splits),
        articles=tuple(ids if article_ends_at is None else (one.partition(article_ends_at)[0] for one in ids)),
    )
    return LoadedDocuments(documents, _features(Path(features), ids), None)


def _features(path: Path, ids: list[str]) -> NDArray[np.floating]:
    """Read the rows of these images, in their order."""
    stored = read_npy(path, _AGAIN)
    beside = path.with_suffix(".images.parquet")
    table = read_frame(beside, _AGAIN, ["image_id"])
    if stored.ndim != 2 or stored.dtype.kind != "f" or len(table) != len(stored):
        raise InputError(
            f"it is {stored.dtype} {list(stored.shape)} for {len(table):,} images; documents need one vector each",
            where=path,
            cure=f"choose an extractor with `layout: global`, or {_AGAIN}",
        )
    row_of = {str(name): row for row, name in enumerate(table["image_id"])}
    if unknown := [name for name in ids if name not in row_of]:
        what = f"it has no features of image '{unknown[0]}' ({len(unknown):,} of {len(ids):,} are missing)"
        raise InputError(what, where=path, cure=_AGAIN)
    rows: NDArray[np.floating] = stored[[row_of[name] for name in ids]]
    return rows
