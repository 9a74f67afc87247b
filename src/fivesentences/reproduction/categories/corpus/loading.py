"""Reads documents of category retrieval with the loader that their configuration names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus.csv_rows import csv_rows
from fivesentences.corpus.parquet import read_frame
from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import (
    AnyDocuments,
    CorpusDocuments,
    NusWideDocuments,
    WikipediaDocuments,
)
from fivesentences.reproduction.categories.corpus.documents import PARTS, Documents, LoadedDocuments, Part
from fivesentences.reproduction.categories.corpus.nus_wide import load_nus_wide
from fivesentences.reproduction.categories.corpus.wikipedia import load_wikipedia, load_wikipedia_archive

_AGAIN = "extract the features again"
# The splits of a corpus as parts of documents: "dev" is what a division may draw validation from.
_PART_OF: dict[str, Part] = {"train": "train", "dev": "train", "test": "test"}
NEEDED = ("document", "category")
OPTIONAL = ("text", "part", "article", "image")
_PART: dict[str, Part | None] = {"": None, **{name: name for name in PARTS}}


def load_documents(spec: AnyDocuments, files: Mapping[str, Path]) -> LoadedDocuments:
    """Read documents and their descriptors.

    Args:
        spec: The block of the configuration.
        files: Files that the workflow made or fetched, by name. Wikipedia: ``features``, ``train_list``, ``test_list``,
            ``categories``, or the ``archive`` that they are in; a corpus: ``corpus`` (parquet) and ``features``
            (``.npy``). Other loaders read what their block names, relative to the working directory.

    Raises:
        InputError: As raised by the loader.
    """
    if isinstance(spec, WikipediaDocuments):
        if "archive" in files:
            return load_wikipedia_archive(files["archive"])
        return load_wikipedia(files["features"], files["train_list"], files["test_list"], files["categories"])
    if isinstance(spec, NusWideDocuments):
        return load_nus_wide(spec.folder, spec.features, spec.categories, spec.per_category, spec.seed)
    if isinstance(spec, CorpusDocuments):
        return documents_of_corpus(Corpus.read(files["corpus"]), files["features"], spec.article_ends_at)
    return load_own_documents(spec.table, spec.images, spec.texts)


def documents_of_corpus(corpus: Corpus, features: Path, article_ends_at: str | None = None) -> LoadedDocuments:
    """Read each image of a corpus as a document: its features, and all of its captions as one text.

    The published part is ``train`` for the splits train and dev, and ``test`` for test; none if there are other splits.

    Args:
        corpus: Every image has a category.
        features: ``.npy`` of the features stage, ``[images, dim]``, with its ``.images.parquet`` beside.
        article_ends_at: An image's id names its article before the first of these; None: an article of its own.

    Raises:
        InputError: If an image has no category or no features, a file is damaged, or features are per region.
    """
    images = corpus.images
    if len(lacking := images["image_id"][images["category"].isna()]):
        raise InputError(
            f"image '{lacking.iloc[0]}' of '{corpus.name}' has no category ({len(lacking):,} of {len(images):,} have "
            "none)",
            cure="category retrieval needs one per image: add a column `category` to the CSV of a folder of "
            "photographs, or choose other documents",
        )
    ids, splits = images["image_id"].tolist(), images["split"].tolist()
    is_usual = set(splits) <= set(_PART_OF)
    documents = Documents(
        ids=tuple(ids),
        categories=tuple(images["category"]),
        images=tuple(images["filename"]),
        texts=tuple(corpus.table.groupby("image_id", sort=False)["caption"].agg(" ".join)),
        parts=tuple(_PART_OF[split] if is_usual else None for split in splits),
        articles=tuple(ids if article_ends_at is None else (one.partition(article_ends_at)[0] for one in ids)),
    )
    stored, beside = read_npy(features, _AGAIN), features.with_suffix(".images.parquet")
    row_of = {name: row for row, name in enumerate(read_frame(beside, _AGAIN, ["image_id"])["image_id"].astype(str))}
    if stored.ndim != 2 or stored.dtype.kind != "f" or len(row_of) != len(stored):
        what = f"it is {stored.dtype} {list(stored.shape)} for {len(row_of):,} images; documents need one vector each"
        cure = f"choose an extractor with `layout: global`, or {_AGAIN}"
        raise InputError(what, where=features, cure=cure)
    if unknown := [name for name in ids if name not in row_of]:
        what = f"it has no features of image '{unknown[0]}' ({len(unknown):,} of {len(ids):,} are missing)"
        raise InputError(what, where=features, cure=_AGAIN)
    return LoadedDocuments(documents, stored[[row_of[name] for name in ids]], None)


def load_own_documents(table: Path, images: Path, texts: Path | None = None) -> LoadedDocuments:
    """Read a CSV with a header and one row per document, and the vectors of the same rows.

    The columns are ``document`` (its id), ``category``, and optionally ``text``, ``part`` (train or test, of all
    documents or of none), ``article`` (what it was cut from; empty: itself) and ``image`` (a file name), in any order;
    others are ignored. The separator is a comma.

    Args:
        table: The CSV, in UTF-8.
        images: ``.npy``, ``[documents, dim]``, memory-mapped.
        texts: ``.npy`` likewise; None: the column ``text`` as words.

    Raises:
        InputError: If a file is missing or damaged, a column or value is missing, an id occurs twice, a part is
            unknown, or the number of vectors is not that of the rows; it names the line.
    """
    rows: dict[str, dict[str, str]] = {}
    for where, values in csv_rows(Path(table), (*NEEDED, "text") if texts is None else NEEDED, OPTIONAL):
        row = dict.fromkeys(OPTIONAL, "") | {name: value.strip() for name, value in values.items()}
        row["part"] = row["part"].casefold()
        for column in NEEDED:
            if not row[column]:
                raise InputError(f"{where}: {column} is empty; give one, or leave the line out.")
        if row["document"] in rows:
            raise InputError(f"{where}: document '{row['document']}' is in an earlier line too; use another id.")
        rows[row["document"]] = row
        first = next(iter(rows.values()))["part"]
        if row["part"] not in _PART or (row["part"] == "") != (first == ""):
            what = f"{where}: the part is '{row['part']}'; it must be train or test in every line, or empty in all"
            raise InputError(what, cure="validation documents are drawn by the division")
    if not rows:
        raise InputError(f"{table} has no documents; it must have a line for each.")
    category, image, text, part, article = (
        [row[name] for row in rows.values()] for name in ("category", "image", "text", "part", "article")
    )
    articles = [given or name for given, name in zip(article, rows, strict=True)]
    documents = Documents(
        tuple(rows), tuple(category), tuple(image), tuple(text), tuple(_PART[name] for name in part), tuple(articles)
    )
    of_texts = None if texts is None else _vectors(Path(texts), table, len(rows))
    return LoadedDocuments(documents, _vectors(Path(images), table, len(rows)), of_texts)


def _vectors(path: Path, table: Path, n_documents: int) -> NDArray[np.floating]:
    vectors = read_npy(path, "save the vectors with numpy.save")
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or len(vectors) != n_documents:
        raise InputError(
            f"it is {vectors.dtype} {list(vectors.shape)}; it must be numbers [documents, dim], a row for each of the "
            f"{n_documents:,} documents of {table}, in its order.",
            where=path,
        )
    return vectors if vectors.dtype.kind == "f" else vectors.astype(np.float64)
