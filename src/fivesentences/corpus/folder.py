"""A user's own data: a folder (or zip archive) of photographs and a CSV of (filename, caption, split)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from fivesentences.corpus.assembly import Row, caption_at, corpus_of, split_named
from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.table import Corpus
from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError, did_you_mean

READ_SPLITS = ("train", "dev", "test")
NEEDED = ("filename", "caption", "split")


def load_folder(photographs: Path | str | Photographs, captions_csv: Path | str, name: str) -> Corpus:
    """Read a CSV with a header and one row per caption.

    The columns are ``filename``, ``caption``, ``split`` and optionally ``category``; others are ignored. The rows of an
    image need not be adjacent: images are in the order of their first rows, captions of an image in the order of
    theirs. The split ``val`` becomes ``dev``. The id of an image is its filename.

    Args:
        photographs: Folder or zip archive of the photographs.
        captions_csv: The CSV.
        name: What to call the corpus.

    Raises:
        InputError: If the CSV is not UTF-8 or malformed, a column or value is missing, an image has two splits or
            categories, or a photograph does not exist; the sentence names the line.
    """
    path = Path(captions_csv)
    archive = photographs if isinstance(photographs, Photographs) else Photographs(photographs)
    images: dict[str, list[Row]] = {}
    for line, values in _records(text_of(read_bytes(path), path.name), path):
        where = f"{path}, line {line}"
        filename, split = values["filename"].strip(), split_named(values["split"])
        if not filename or not split:
            raise InputError(f"{where}: {'split' if filename else 'filename'} is empty.")
        if split not in READ_SPLITS:
            hint = did_you_mean(split.lower(), READ_SPLITS) or "give train, dev (or val) or test."
            raise InputError(f"{where}: split is '{split}'; {hint}")
        if filename not in images and filename not in archive:
            raise InputError(f"{where}: there is no photograph '{filename}' in {archive.paths[0]}.")
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
    """Line number and values of each row; a quoted caption may contain commas and line breaks."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        for column in NEEDED:
            if header.count(column) != 1:
                found = ", ".join(header) or "nothing"
                raise InputError(
                    f"{path}: the header must name the column '{column}' once; it is {found}, "
                    f"expected {', '.join(NEEDED)}."
                )
        line = reader.line_num + 1
        for values in reader:
            if values and len(values) != len(header):
                raise InputError(
                    f"{path}, line {line}: {len(values)} values for {len(header)} columns; put captions that "
                    "contain a comma in double quotes."
                )
            if values:
                yield line, dict(zip(header, values, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} is not CSV ({error}).") from None
