"""``Corpus``: every dataset in one form, a table with one row per caption."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.documents import check_text, parse_json
from fivesentences.errors import InputError
from fivesentences.storage import replacing

#: The columns of a corpus's table, one row per caption; ``category`` alone may be missing.
COLUMNS = ("image_id", "filename", "caption_id", "caption", "split", "category")
OF_AN_IMAGE = ("filename", "split", "category")
FORMAT = 1
_METADATA = b"fivesentences.corpus"
# Where str.splitlines() splits: tools that write one caption per line must not write additional lines.
_LINE_BREAK = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Images, their captions and splits, in the order of the files they came from.

    Attributes:
        name: Name of the dataset, such as ``flickr8k``.
        table: One row per caption with the columns ``image_id``, ``filename``, ``caption_id``, ``caption``, ``split``
            (text) and ``category`` (text or missing). The captions of an image are adjacent; the usual splits are
            ``train``, ``dev`` and ``test``, others are allowed. The index is 0, 1, 2, ...
        read_as: How a loader that leaves a choice read it, such as ``{"order": "released", "captions_per_image": 5}``;
            written with the table. Parts of the corpus do not have it.

    Raises:
        InputError: If a column is missing or unknown, a value is missing, a caption is blank or contains a line break,
            a text holds half of a surrogate pair, a caption_id occurs twice, the captions of an image are not adjacent
            or disagree about its filename, split or category, or there is no image at all.
    """

    name: str
    table: pd.DataFrame
    read_as: Mapping[str, str | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", _checked(self.name, self.table))

    @classmethod
    def read(cls, path: Path | str) -> Corpus:
        """Read a corpus that was written by ``write``.

        Raises:
            InputError: If the file is missing or damaged, or was written by another program or in a newer format.
        """
        stored = read_parquet(path, "make it again")
        name, read_as = _label_of(stored, path)
        return cls(name, frame_of(stored, path, "make it again"), read_as)

    def write(self, path: Path | str) -> None:
        """Write one parquet table, whole or not at all; its schema has name, format version and ``read_as``."""
        label = {"format": FORMAT, "name": self.name} | ({"read_as": dict(self.read_as)} if self.read_as else {})
        schema = pa.schema(
            [pa.field(column, pa.string(), nullable=column == "category") for column in COLUMNS],
            metadata={_METADATA: json.dumps(label).encode()},
        )
        stored = pa.Table.from_pandas(self.table, preserve_index=False).cast(schema.remove_metadata())
        with replacing(path) as temporary:
            pq.write_table(stored.replace_schema_metadata(schema.metadata), temporary, compression="zstd")

    def split(self, name: str) -> Corpus:
        """The images of one split, in file order.

        Raises:
            InputError: If no image has this split.
        """
        chosen = (self.table["split"] == name).to_numpy(dtype=bool)
        if not chosen.any():
            known = ", ".join(f"'{split}'" for split in self.splits)
            raise InputError(f"split '{name}' of '{self.name}' has no images; it has only {known}.")
        return Corpus(self.name, self.table[chosen])

    @cached_property
    def _first_rows(self) -> np.ndarray:
        """``[images]`` the row of each image's first caption."""
        return np.flatnonzero(_starts(self.table["image_id"].to_numpy()))

    @cached_property
    def images(self) -> pd.DataFrame:
        """One row per image in file order: ``image_id``, ``filename``, ``split``, ``category``."""
        rows = self.table.iloc[self._first_rows]
        return rows[["image_id", *OF_AN_IMAGE]].reset_index(drop=True)

    @property
    def caption_ids(self) -> list[str]:
        """Identifiers of the captions, in order."""
        return [str(value) for value in self.table["caption_id"]]

    @cached_property
    def captions(self) -> list[str]:
        """All captions in file order."""
        return [str(caption) for caption in self.table["caption"].tolist()]

    @cached_property
    def image_of_caption(self) -> np.ndarray:
        """``[captions]`` int64: for each caption the row of its image in ``images`` of this (sub)corpus."""
        return np.cumsum(_starts(self.table["image_id"].to_numpy()), dtype=np.int64) - 1

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self._first_rows)

    @property
    def n_captions(self) -> int:
        """Number of captions."""
        return len(self.table)

    @property
    def splits(self) -> list[str]:
        """Names of the splits, in the order of their first images."""
        return [str(split) for split in pd.unique(self.table["split"])]

    def __repr__(self) -> str:
        return f"Corpus('{self.name}', {self.n_images} images, {self.n_captions} captions, splits {self.splits})"


@dataclass(frozen=True)
class CorpusSizes:
    """How large the splits of a stored corpus are.

    Attributes:
        images: Images of each split.
        captions: Captions of each split.
        read_as: As of the corpus.
    """

    images: Mapping[str, int]
    captions: Mapping[str, int]
    read_as: Mapping[str, str | int]

    @classmethod
    def read(cls, path: Path | str) -> CorpusSizes:
        """Count what ``Corpus.write`` wrote, without reading its captions.

        Raises:
            InputError: As raised by ``Corpus.read`` for a file that is missing, damaged or of another program.
        """
        stored = read_parquet(path, "make it again", ["image_id", "split"])
        _, read_as = _label_of(stored, path)
        counted = stored.group_by("split").aggregate([("image_id", "count_distinct"), ("image_id", "count")])
        splits = [str(split) for split in counted["split"].to_pylist()]
        images, captions = (counted[f"image_id_{kind}"].to_pylist() for kind in ("count_distinct", "count"))
        return cls(dict(zip(splits, images, strict=True)), dict(zip(splits, captions, strict=True)), read_as)


def clean_caption(text: str) -> str:
    """The caption on one line: every run of white space, including line breaks of any kind, becomes one space."""
    return " ".join(text.split())


def _label_of(stored: pa.Table, path: Path | str) -> tuple[Any, dict[str, str | int]]:
    """The name in the schema of a stored corpus, and how it was read."""
    label = parse_json((stored.schema.metadata or {}).get(_METADATA, b"{}"), f"{path}, label", "make it again")
    found = label.get("format", "none") if isinstance(label, dict) else "none"
    if found != FORMAT:
        raise InputError(
            f"{path}: the corpus format is {str(found)[:40]} but this version reads {FORMAT}; make the file again."
        )
    read_as = label.get("read_as", {})
    if not isinstance(read_as, dict) or not all(type(value) in (str, int) for value in read_as.values()):
        raise InputError("the label 'read_as' is damaged", where=path, cure="make the file again")
    return label.get("name"), read_as


def _starts(image_ids: np.ndarray) -> np.ndarray:
    """``[captions]`` true where a caption belongs to another image than the caption before it."""
    starts = np.ones(len(image_ids), dtype=bool)
    starts[1:] = image_ids[1:] != image_ids[:-1]
    return starts


def _checked(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table in its canonical form, or an ``InputError`` that names the first wrong row."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"a corpus needs a name, but its name is {name!r}.")
    missing = [column for column in COLUMNS if column not in table.columns]
    unknown = [str(column) for column in table.columns if column not in COLUMNS]
    if missing or unknown:
        what = f"lacks the column '{missing[0]}'" if missing else f"has an unknown column '{unknown[0]}'"
        raise InputError(f"the table of '{name}' {what}; the columns are {', '.join(COLUMNS)}.")
    if len(table) == 0:
        raise InputError(f"'{name}' has no images; a corpus needs at least one image with a caption.")
    table = table[list(COLUMNS)].reset_index(drop=True)
    for column in COLUMNS:
        _check_texts(name, table, column)
    table = table.astype(dict.fromkeys(COLUMNS, "str"))
    _check_captions(name, table)
    _check_images(name, table)
    return table


def _check_texts(name: str, table: pd.DataFrame, column: str) -> None:
    values = table[column]
    missing = values.isna().to_numpy(dtype=bool)
    if column != "category" and missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InputError(f"'{name}', row {row}: {column} is missing{_beside(table, row, column)}.")
    for row, value in enumerate(values.tolist()):
        if missing[row]:
            continue
        if not isinstance(value, str):
            raise InputError(f"'{name}', row {row}: {column} is {value!r}; it must be text.")
        if column != "caption" and not value.strip():
            raise InputError(f"'{name}', row {row}: {column} is empty{_beside(table, row, column)}.")
        check_text(value, f"'{name}', row {row}, {column}")


def _beside(table: pd.DataFrame, row: int, column: str) -> str:
    return "" if column == "image_id" else f" (image '{table['image_id'].iloc[row]}')"


def _check_captions(name: str, table: pd.DataFrame) -> None:
    for row, caption in enumerate(table["caption"].tolist()):
        wrong = "is empty" if not caption.strip() else "contains a line break" if _LINE_BREAK.search(caption) else None
        if wrong:
            image, caption_id = table["image_id"].iloc[row], table["caption_id"].iloc[row]
            raise InputError(f"'{name}', row {row}: caption '{caption_id}' of image '{image}' {wrong}.")
    twice = table["caption_id"].duplicated().to_numpy(dtype=bool)
    if twice.any():
        row = int(np.flatnonzero(twice)[0])
        value = table["caption_id"].iloc[row]
        raise InputError(f"'{name}', row {row}: caption_id '{value}' occurs twice; it must be unique.")


def _check_images(name: str, table: pd.DataFrame) -> None:
    image_ids = table["image_id"].to_numpy()
    starts = _starts(image_ids)
    first_rows = np.flatnonzero(starts)
    again = pd.Series(image_ids[first_rows]).duplicated().to_numpy(dtype=bool)
    if again.any():
        row = int(first_rows[np.flatnonzero(again)[0]])
        raise InputError(
            f"'{name}', row {row}: a caption of image '{image_ids[row]}' is apart from its others; "
            "the captions of an image must be adjacent."
        )
    first_of = first_rows[np.cumsum(starts) - 1]
    for column in OF_AN_IMAGE:
        values: Sequence[str] | np.ndarray = table[column].fillna("").to_numpy()
        differs = np.flatnonzero(np.asarray(values != values[first_of], dtype=bool))
        if len(differs):
            row = int(differs[0])
            raise InputError(
                f"'{name}', row {row}: {column} of image '{image_ids[row]}' is '{values[row]}' "
                f"but '{values[first_of[row]]}' at its first caption; an image has one {column}."
            )
