"""A user's own data: a folder (or zip archive) of photographs and a CSV of (filename, caption, split)."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from fivesentences.config.types import Split
from fivesentences.corpus.csv_rows import csv_rows
from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.table import CaptionRow, Corpus, caption_at, check_image_id, corpus_of, split_named
from fivesentences.errors import InputError, did_you_mean

NEEDED = ("filename", "caption", "split")
SPLITS = get_args(Split)


def load_folder(photographs: Path | str, captions_csv: Path | str, name: str) -> Corpus:
    """Read a CSV with a header and one row per caption.

    The columns are ``filename``, ``caption``, ``split`` and optionally ``category``, in any order; others are ignored,
    and so are empty rows. The separator is a comma, a semicolon or a tab, as spreadsheets of several languages write
    them; names of columns and splits may be capitalised. An image may have any number of captions, and its rows need
    not be adjacent: images are in the order of their first rows, captions of an image in the order of theirs. The
    split ``val`` becomes ``dev``. The id of an image is its filename.

    Args:
        photographs: Folder or zip archive of the photographs.
        captions_csv: The CSV.
        name: Name of the corpus.

    Raises:
        InputError: If the CSV is not UTF-8 or malformed, a column or value is missing, a split is none of train, dev
            (val) and test, an image has two splits or categories, or a photograph does not exist; it names the line.
    """
    path, archive = Path(captions_csv), Photographs(photographs)
    images: dict[str, list[CaptionRow]] = {}
    for where, values in csv_rows(path, NEEDED, ("category",), separators=",;\t"):
        filename, split = values["filename"].strip(), split_named(values["split"].casefold())
        if not filename or not split:
            raise InputError(f"{where}: {'split' if filename else 'filename'} is empty.")
        if split not in SPLITS:
            hint = did_you_mean(split, SPLITS) or "leave out the rows of images that belong to none."
            raise InputError(f"{where}: the split is '{split}'; it must be train, dev (or val) or test; {hint}")
        if filename not in images:
            if filename not in archive:
                raise InputError(archive.problem(filename, f" in {archive.paths[0]}"), where=where)
            check_image_id(filename, where)
        rows = images.setdefault(filename, [])
        caption = caption_at(values["caption"], f"{where}: the caption of '{filename}'")
        category = values.get("category", "").strip() or None
        rows.append(CaptionRow(filename, filename, f"{filename}#{len(rows)}", caption, split, category))
        if (first := rows[0][4:]) != (split, category):
            what = f"'{filename}' is in {split}, {category}, but in {first[0]}, {first[1]} in an earlier row"
            raise InputError(what, where=where, cure="use one split and one category")
    if not images:
        raise InputError(f"{path} has a header but no captions.")
    return corpus_of(name, [row for rows in images.values() for row in rows])
