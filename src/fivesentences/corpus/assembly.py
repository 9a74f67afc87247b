"""What loaders share: rows of captions, and the ``Corpus`` that is made of them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from fivesentences.corpus.table import COLUMNS, Corpus, clean_caption
from fivesentences.documents import check_text
from fivesentences.errors import InputError

# Names of the same split in different releases; "restval" are the COCO validation images that Karpathy's split uses
# for training.
SPLITS = {"val": "dev", "validation": "dev", "restval": "train"}


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


def corpus_of(name: str, rows: list[Row]) -> Corpus:
    """The corpus that consists of these captions."""
    return Corpus(name, pd.DataFrame(rows, columns=list(COLUMNS), dtype=object))
