"""A user's own data: a folder (or zip archive) of photographs and a CSV of (filename, caption, split)."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from fivesentences.config.types import Split
from fivesentences.corpus.assembly import Row, caption_at, check_image_id, corpus_of, split_named
from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.table import Corpus
from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError, did_you_mean

NEEDED = ("filename", "caption", "split")
SPLITS = get_args(Split)
LONGEST_HEADER = 65536  # characters
_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
# What others call these columns; they are not read under these names, which could mean something else.
_OTHER_NAMES = {
    "filename": ("file", "file_name", "image", "image_name", "img", "path", "photo", "photograph"),
    "caption": ("captions", "text", "sentence", "description", "comment"),
    "split": ("set", "subset", "partition", "fold"),
}


def load_folder(photographs: Path | str | Photographs, captions_csv: Path | str, name: str) -> Corpus:
    """Read a CSV with a header and one row per caption.

    The columns are ``filename``, ``caption``, ``split`` and optionally ``category``, in any order; others are ignored,
    and so are empty rows. The separator is a comma, a semicolon or a tab, as spreadsheets of several languages write
    them; names of columns and splits may be capitalised. An image may have any number of captions, and its rows need
    not be adjacent: images are in the order of their first rows, captions of an image in the order of theirs. The
    split ``val`` becomes ``dev``. The id of an image is its filename.

    Args:
        photographs: Folder or zip archive of the photographs.
        captions_csv: The CSV.
        name: What to call the corpus.

    Raises:
        InputError: If the CSV is not UTF-8 or malformed, a column or value is missing, a split is none of train, dev
            (val) and test, an image has two splits or categories, or a photograph does not exist; the sentence names
            the line.
    """
    path = Path(captions_csv)
    archive = photographs if isinstance(photographs, Photographs) else Photographs(photographs)
    images: dict[str, list[Row]] = {}
    for line, values in _records(text_of(read_bytes(path), path.name), path):
        where = f"{path}, line {line}"
        filename, split = values["filename"].strip(), split_named(values["split"].casefold())
        if not filename or not split:
            raise InputError(f"{where}: {'split' if filename else 'filename'} is empty.")
        if split not in SPLITS:
            given = values["split"].strip()
            hint = did_you_mean(split, SPLITS) or "leave out the rows of images that belong to none."
            raise InputError(f"{where}: the split is '{given}'; it must be train, dev (or val) or test; {hint}")
        if filename not in images and filename not in archive:
            raise InputError(archive.problem(filename, f" in {archive.paths[0]}"), where=where)
        if filename not in images:
            check_image_id(filename, where)
        rows = images.setdefault(filename, [])
        caption = caption_at(values["caption"], f"{where}: the caption of '{filename}'")
        category = values.get("category", "").strip() or None
        rows.append(Row(filename, filename, f"{filename}#{len(rows)}", caption, split, category))
        for key, one, other in (("split", rows[0].split, split), ("category", rows[0].category, category)):
            if one != other:
                raise InputError(f"{where}: {key} of '{filename}' is '{other}' but '{one}' in an earlier row; use one.")
    if not images:
        raise InputError(f"{path} has a header but no captions.")
    return corpus_of(name, [row for rows in images.values() for row in rows])


def _records(text: str, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and values of each row; a quoted caption may contain separators and line breaks."""
    separator = _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    try:
        header = _columns(next(reader, []))
        for column in NEEDED:
            if header.count(column) != 1:
                raise InputError(_header_problem(column, header), where=path)
        line = reader.line_num + 1
        for values in reader:
            if any(value.strip() for value in values):  # spreadsheets write rows of separators alone
                if len(values) != len(header):
                    raise InputError(
                        f"{path}, line {line}: {len(values)} values for {len(header)} columns; put captions that "
                        f"contain {_SEPARATORS[separator]} in double quotes."
                    )
                yield line, dict(zip(header, values, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} is not CSV ({error}).") from None


def _separator(text: str) -> str:
    """The separator with which the first line names all columns; a comma if none does."""
    for separator in _SEPARATORS:
        with contextlib.suppress(csv.Error, StopIteration):
            reader = csv.reader(io.StringIO(text[:LONGEST_HEADER], newline=""), delimiter=separator)
            if set(NEEDED) <= set(_columns(next(reader))):
                return separator
    return ","


def _columns(names: list[str]) -> list[str]:
    return [name.strip().casefold() for name in names]


def _header_problem(column: str, header: list[str]) -> str:
    found = ", ".join(header)[:200] or "nothing"
    other = next((name for name in header if name in _OTHER_NAMES[column]), None)
    cure = f"rename '{other}'" if other and column not in header else f"expected {', '.join(NEEDED)}"
    return f"the header must name the column '{column}' once; it is {found}; {cure}."
