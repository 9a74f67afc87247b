"""Documents of category retrieval: an image, a text and a category each, and how they are divided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus.parquet import label_of, read_parquet, readable, write_labelled
from fivesentences.documents import check_text
from fivesentences.errors import InputError
from fivesentences.seals import check_content
from fivesentences.storage import replacing, sha256_of, together

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = get_args(Part)
FORMAT = 1
# The columns of the parquet table, in the order of the fields of ``Documents``.
COLUMNS = ("document", "category", "image", "text", "part", "article")
_METADATA = b"fivesentences.documents"
_CURE = "make it again"
_BLOCK = 4096  # vectors that are checked at a time


@dataclass(frozen=True)
class Documents:
    """A table of documents, one row each; descriptors, where there are any, have the same rows.

    Attributes:
        ids: Unique ids.
        categories: Name of each document's category; there are at least two.
        images: File name of each image; empty where there is none.
        texts: Each text; empty where there is none, only its descriptor.
        parts: The published part of each, or None for all of them where nothing was published.
        articles: Article that each was cut from; its own id where it is whole.

    Raises:
        InputError: If the columns differ in length, a value is missing or no text, an id is blank or occurs twice, a
            part is unknown or known of some documents only, or there are fewer than two categories.
    """

    ids: tuple[str, ...]
    categories: tuple[str, ...]
    images: tuple[str, ...]
    texts: tuple[str, ...]
    parts: tuple[Part | None, ...]
    articles: tuple[str, ...]

    def __post_init__(self) -> None:
        for field in fields(self):
            values = tuple(getattr(self, field.name))
            object.__setattr__(self, field.name, values)
            if len(values) != len(self.ids):
                raise InputError(f"documents have {len(self.ids)} ids but {len(values)} {field.name}.")
            needed = field.name in ("ids", "categories", "articles")
            for row, value in enumerate(values):
                if field.name == "parts" and value in (None, *PARTS):
                    continue
                if not isinstance(value, str) or field.name == "parts" or (needed and not value.strip()):
                    raise InputError(f"document {row}: its {field.name} is {value!r}; it must be text or a known part.")
                check_text(value, f"document {row}, {field.name}")
        if len(set(self.ids)) < len(self.ids):
            twice = next(name for row, name in enumerate(self.ids) if name in self.ids[:row])
            raise InputError(f"two documents have the id '{twice}'; use another.")
        if 0 < self.parts.count(None) < len(self.ids):
            raise InputError(f"document '{self.ids[self.parts.index(None)]}' is in no part, but others are in one.")
        if len(names := self.category_names) < 2:
            raise InputError(f"documents need at least two categories, but there are {len(names)}.")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def category_names(self) -> tuple[str, ...]:
        """The categories in sorted order; the place of a name is its code."""
        return tuple(sorted(set(self.categories)))

    @property
    def codes(self) -> NDArray[np.int64]:
        """``[documents]`` int64, from 0: the place of each document's category in ``category_names``."""
        code = {name: number for number, name in enumerate(self.category_names)}
        return np.array([code[name] for name in self.categories], dtype=np.int64)


@dataclass(frozen=True)
class Division:
    """Row numbers of ``Documents``, ascending: ``train``, ``validation`` and ``test``, without overlap."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


@dataclass(frozen=True)
class LoadedDocuments:
    """Documents with the descriptors that they came with.

    Attributes:
        documents: The table.
        images: ``[documents, image_dim]``, any float dtype; may be memory-mapped.
        texts: ``[documents, text_dim]`` likewise; None where texts are words (``documents.texts``).
        notes: Sentences on what was left out.

    Raises:
        InputError: If there is not one finite vector per document, or neither text nor vector of a text.
    """

    documents: Documents
    images: NDArray[np.floating]
    texts: NDArray[np.floating] | None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, vectors in (("image", self.images), ("text", self.texts)):
            if vectors is not None:
                _check_vectors(self.documents, vectors, what)
        if self.texts is None and not any(text.strip() for text in self.documents.texts):
            raise InputError("no document has a text, and there are no text vectors; give either.")

    def write(self, documents: Path, images: Path, texts: Path | None = None) -> None:
        """Write the table as parquet and the vectors as float32 ``.npy``, each whole or not at all.

        Args:
            documents: Where the table goes.
            images: Where the image vectors go.
            texts: Where the text vectors go; None where texts are words.

        Raises:
            InputError: If a place for text vectors is given but there are none, or the other way round.
        """
        if (texts is None) != (self.texts is None):
            has = "vectors, which need a file" if texts is None else "words, for which there is no file of vectors"
            raise InputError(f"the texts of these documents are {has}.")
        written = {}
        with together():
            for role, path, vectors in (("image", images, self.images), ("text", texts, self.texts)):
                if path is not None and vectors is not None:
                    with replacing(path) as temporary:
                        np.save(temporary, np.asarray(vectors, dtype=np.float32))
                        written[role] = sha256_of(temporary)
            write_documents(self.documents, documents, written)


def write_documents(documents: Documents, path: Path, vectors: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write one parquet table with the columns ``COLUMNS``, whole or not at all; equal documents give equal bytes.

    Args:
        documents: The table.
        path: The file.
        vectors: SHA-256 of the files of their vectors, as ``image`` and ``text``, which ``read_vectors`` compares.
    """
    columns = [pa.array(getattr(documents, field.name), pa.string()) for field in fields(Documents)]
    schema = pa.schema([pa.field(name, pa.string(), nullable=name == "part") for name in COLUMNS])
    write_labelled(pa.Table.from_arrays(columns, schema=schema), path, _METADATA, {"format": FORMAT} | dict(vectors))


def read_documents(path: Path) -> Documents:
    """Read documents that were written by ``write_documents``.

    Raises:
        InputError: If the file is missing or damaged, was written by another program or in a newer format, or is not a
            valid table of documents.
    """
    stored = read_parquet(path, _CURE)
    label_of(stored, path, _METADATA, FORMAT, _CURE)
    if missing := [name for name in COLUMNS if name not in stored.column_names]:
        raise InputError(f"it has no column '{missing[0]}'", where=path, cure=_CURE)
    with readable(path, _CURE):
        columns = [tuple(stored.column(name).to_pylist()) for name in COLUMNS]
    try:
        return Documents(*columns)
    except InputError as error:
        raise InputError(str(error), where=path) from None


def read_vectors(path: Path, documents: Path, role: Literal["image", "text"]) -> NDArray[np.floating]:
    """Map the vectors of documents into memory.

    Args:
        path: The ``.npy``, ``[documents, dim]``.
        documents: The parquet file of the documents.
        role: Which vectors they are.

    Raises:
        InputError: If a file is missing or damaged, or they are not those of these documents.
    """
    label = label_of(read_parquet(documents, _CURE), documents, _METADATA, FORMAT, _CURE)
    vectors = read_npy(path, _CURE)
    what = f"it is damaged, or not what {documents.name} was written with"
    check_content(path, label.get(role), what, _CURE)
    return vectors


def _check_vectors(documents: Documents, vectors: NDArray[np.floating], what: str) -> None:
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.shape[1] or len(vectors) != len(documents):
        held = f"{what} vectors are {vectors.dtype} {list(vectors.shape)} of {len(documents):,} documents"
        raise InputError(held, cure="give floats [documents, dim]")
    for start in range(0, len(vectors), _BLOCK):
        with np.errstate(over="ignore"):
            finite = np.isfinite(vectors[start : start + _BLOCK].astype(np.float32)).all(axis=1)
        if not finite.all():
            name = documents.ids[start + int(np.argmin(finite))]
            raise InputError(f"the {what} vector of document '{name}' has a value that is not finite as float32.")
