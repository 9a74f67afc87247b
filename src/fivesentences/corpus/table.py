"""``Corpus``: every dataset in one form, a table with one row per caption."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from fivesentences.choices import split_named
from fivesentences.corpus.parquet import frame_of, label_of, read_parquet, readable, write_labelled
from fivesentences.documents import check_text
from fivesentences.errors import InputError

#: The columns of a corpus's table, one row per caption; ``category`` alone may be missing.
COLUMNS = ("image_id", "filename", "caption_id", "caption", "split", "category")
OF_AN_IMAGE = ("filename", "split", "category")
FORMAT = 1
LONGEST_ID = 1000  # characters of an image's
_METADATA, _CURE = b"fivesentences.corpus", "make it again"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Where str.splitlines() splits: tools that write one caption or name per line must not write additional lines.
_LINE_BREAK = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


class CaptionRow(NamedTuple):
    """One caption; the fields are the columns of ``Corpus.table``."""

    image_id: str
    filename: str
    caption_id: str
    caption: str
    split: str
    category: str | None = None


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
        InputError: If a column is missing or unknown, a value is missing or blank, a text contains a line break or half
            of a surrogate pair, a caption_id occurs twice, the captions of an image are not adjacent or disagree about
            its filename, split or category, or there is no image at all.
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
        stored = read_parquet(path, _CURE)
        label = label_of(stored, path, _METADATA, FORMAT, _CURE)
        return cls(label.get("name", ""), frame_of(stored, path, _CURE), _read_as(label, path))

    def write(self, path: Path | str) -> None:
        """Write one parquet table, whole or not at all; its schema has name, format version and ``read_as``."""
        label = {"format": FORMAT, "name": self.name} | ({"read_as": dict(self.read_as)} if self.read_as else {})
        schema = pa.schema([pa.field(column, pa.string(), nullable=column == "category") for column in COLUMNS])
        stored = pa.Table.from_pandas(self.table, preserve_index=False).cast(schema)
        write_labelled(stored, path, _METADATA, label)

    def split(self, name: str) -> Corpus:
        """Return the images of one split, in file order.

        Raises:
            InputError: If no image has this split.
        """
        chosen = (self.table["split"] == (name if name in self.splits else split_named(name))).to_numpy(dtype=bool)
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

    def without_captions(self) -> Corpus:
        """Return the same images, each captioned by its id alone."""
        images = self.images
        named = images.assign(caption_id=images["image_id"], caption=images["image_id"])
        return replace(self, table=named[list(COLUMNS)])

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
        stored = read_parquet(path, _CURE, ["image_id", "split"])
        read_as = _read_as(label_of(stored, path, _METADATA, FORMAT, _CURE), path)
        with readable(path, _CURE):
            counted = stored.group_by("split").aggregate([("image_id", "count_distinct"), ("image_id", "count")])
            splits = [str(split) for split in counted["split"].to_pylist()]
            images, captions = (counted[f"image_id_{kind}"].to_pylist() for kind in ("count_distinct", "count"))
        return cls(dict(zip(splits, images, strict=True)), dict(zip(splits, captions, strict=True)), read_as)


def clean_caption(text: str) -> str:
    """The caption on one line: every run of white space, including line breaks of any kind, becomes one space."""
    return " ".join(text.split())


def caption_at(text: str, where: str) -> str:
    """Return a caption on one line.

    Raises:
        InputError: If it is blank or holds half of a surrogate pair; the sentence begins with ``where``.
    """
    caption = clean_caption(check_text(text, where))
    if not caption:
        raise InputError(f"{where} is empty; give the caption or leave the image out.")
    return caption


def name_at(name: str, where: str) -> str:
    """Return the name of an image after checking that it stands on one line, as lists of names have it.

    Raises:
        InputError: If it holds a line break of any kind; the sentence begins with ``where``.
    """
    if _LINE_BREAK.search(name):
        what = f"the name {name[:60]!a} contains a line break, after which names would belong to other images"
        raise InputError(what, where=where, cure="rename the image")
    return name


def check_image_id(image_id: str, where: Path | str) -> None:
    """Check that a text can name an image in tables of features, in lists with one id per line, and as a file's name.

    Raises:
        InputError: If it is empty or very long, is not UTF-8, holds a control character, or is a path that leaves its
            folder.
    """
    pure = PurePosixPath(image_id.replace("\\", "/"))
    if not image_id.strip():
        why = "is empty"
    elif len(image_id) > LONGEST_ID:
        why = f"has {len(image_id):,} characters"
    elif any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in image_id):
        why = "holds a control character or is not UTF-8"
    elif pure.is_absolute() or ".." in pure.parts:
        why = "is a path that leaves its folder"
    else:
        return
    raise InputError(f"the image id {image_id[:60]!a} {why}", where=where, cure="rename the file or the id")


def corpus_of(name: str, rows: list[CaptionRow]) -> Corpus:
    """Make the corpus that consists of these captions."""
    return Corpus(name, pd.DataFrame(rows, columns=list(COLUMNS), dtype=object))


def _read_as(label: Mapping[str, Any], path: Path | str) -> dict[str, str | int]:
    read_as = label.get("read_as", {})
    if not isinstance(read_as, dict) or not all(type(value) in (str, int) for value in read_as.values()):
        raise InputError("the label 'read_as' is damaged", where=path, cure=_CURE)
    return read_as


def _starts(image_ids: np.ndarray) -> np.ndarray:
    """Return ``[captions]`` true where a caption belongs to another image than the caption before it."""
    starts = np.ones(len(image_ids), dtype=bool)
    starts[1:] = image_ids[1:] != image_ids[:-1]
    return starts


def _checked(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table in its canonical form.

    Raises:
        InputError: If the table is wrong; it names the first wrong row.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"a corpus needs a name, but its name is {name!r}.")
    if differing := set(COLUMNS) ^ set(table.columns):
        what = f"the table of '{name}' lacks or should not have the column '{min(map(str, differing))}'"
        raise InputError(what, cure=f"the columns are {', '.join(COLUMNS)}")
    if table.empty:
        raise InputError(f"'{name}' has no images; a corpus needs at least one image with a caption.")
    table = table[list(COLUMNS)].reset_index(drop=True)

    def refuse(wrong: np.ndarray, what: Callable[[int], str]) -> None:
        for row in np.flatnonzero(wrong)[:1].tolist():
            raise InputError(f"'{name}', row {row} (image '{table['image_id'].iloc[row]}'): {what(row)}.")

    for column in COLUMNS:
        cells = zip(table[column].tolist(), table[column].isna(), strict=True)
        said = [_wrong(column, None if is_missing else value) for value, is_missing in cells]
        refuse(np.array([what is not None for what in said]), lambda row: f"{column} {said[row]}")  # noqa: B023
    table = table.astype(dict.fromkeys(COLUMNS, "str"))
    image_ids = table["image_id"].to_numpy()
    starts = _starts(image_ids)
    first_rows = np.flatnonzero(starts)
    again = np.zeros(len(table), dtype=bool)
    again[first_rows] = pd.Series(image_ids[first_rows]).duplicated()
    refuse(again, lambda row: "the captions of an image must be adjacent")
    twice = table["caption_id"].duplicated().to_numpy(dtype=bool)
    refuse(twice, lambda row: f"caption_id '{table['caption_id'].iloc[row]}' occurs twice")
    for column in OF_AN_IMAGE:
        texts = np.asarray(table[column].fillna("").to_numpy())
        first = texts[first_rows[np.cumsum(starts) - 1]]
        differs = np.asarray(texts != first, dtype=bool)
        refuse(differs, lambda row: f"{column} is '{texts[row]}' but '{first[row]}' at its first caption")  # noqa: B023
    return table


def _wrong(column: str, value: object) -> str | None:
    """Say what is wrong with a value, None if nothing is."""
    if value is None:
        return None if column == "category" else "is missing"
    if not isinstance(value, str):
        return f"is {value!r}; it must be text"
    if not value.strip():
        return "is empty"
    if _SURROGATE.search(value):
        return "holds half of a surrogate pair, which is not a character"
    return "contains a line break" if _LINE_BREAK.search(value) else None
