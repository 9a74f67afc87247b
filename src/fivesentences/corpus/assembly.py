"""What loaders share: rows of captions, and the ``Corpus`` that is made of them."""

from __future__ import annotations

import unicodedata
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pandas as pd

from fivesentences.corpus.table import COLUMNS, Corpus, clean_caption
from fivesentences.documents import check_text
from fivesentences.errors import InputError

# Names of the same split in different releases; "restval" are the COCO validation images that Karpathy's split uses
# for training.
SPLITS = {"val": "dev", "validation": "dev", "restval": "train"}
LONGEST_ID = 1000  # characters of an image's


class Row(NamedTuple):
    """One caption; the fields are the columns of ``Corpus.table``."""

    image_id: str
    filename: str
    caption_id: str
    caption: str
    split: str
    category: str | None = None


def caption_at(text: str, where: str) -> str:
    """A caption on one line.

    Raises:
        InputError: If it is blank or holds half of a surrogate pair; the sentence begins with ``where``.
    """
    caption = clean_caption(check_text(text, where))
    if not caption:
        raise InputError(f"{where} is empty; give the caption or leave the image out.")
    return caption


def split_named(name: str) -> str:
    """``train``, ``dev`` or ``test`` for the names that releases use; other names are kept."""
    name = name.strip()
    return SPLITS.get(name, name)


def check_image_id(image_id: str, where: Path | str) -> None:
    """Check that a text can name an image in tables of features, in lists with one id per line, and as a file's name.

    Raises:
        InputError: If it is empty or very long, is not UTF-8, holds a control character, or is a path that leaves its
            folder.
    """
    why = None
    if not image_id.strip():
        why = "is empty"
    elif len(image_id) > LONGEST_ID:
        why = f"has {len(image_id):,} characters"
    elif any("\ud800" <= sign <= "\udfff" for sign in image_id):
        why = "is not UTF-8"
    elif any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in image_id):
        why = "holds a control character"
    else:
        pure = PurePosixPath(image_id.replace("\\", "/"))
        if pure.is_absolute() or ".." in pure.parts:
            why = "is a path that leaves its folder"
    if why is not None:
        shown = ascii(image_id if len(image_id) <= 60 else f"{image_id[:60]}...")
        raise InputError(f"the image id {shown} {why}", where=where, cure="rename the file or the id")


def corpus_of(name: str, rows: list[Row]) -> Corpus:
    """The corpus that consists of these captions."""
    return Corpus(name, pd.DataFrame(rows, columns=list(COLUMNS), dtype=object))
