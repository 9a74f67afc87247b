"""A user's own data: a folder (or zip archive) of photographs and a CSV of (filename, caption, split)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from fivesentences.choices import split_in_file
from fivesentences.config.types import Split
from fivesentences.corpus.caption_rows import COLUMNS, IMAGES, RepeatedCaptions, refuse_leading_ids, text_rows, unpacked
from fivesentences.corpus.csv_rows import csv_rows
from fivesentences.corpus.photographs import Photographs, note_shared
from fivesentences.corpus.table import CaptionRow, Corpus, caption_at, check_image_id, corpus_of
from fivesentences.errors import InputError, counted, did_you_mean, say_left_out

NEEDED = ("filename", "caption", "split")
SPLITS = get_args(Split)
_OTHERS = {"filename": IMAGES, "caption": COLUMNS}


def load_folder(photographs: Path | str, captions_csv: Path | str, name: str, *, compared: bool = True) -> Corpus:
    """Read a CSV with a header and one row per caption, or JSON such as Karpathy's.

    The columns are ``filename``, ``caption``, ``split`` and optionally ``category``, in any order; others are ignored,
    and so are empty rows. Usual names in place of the first two (``image``, ``raw``) are known, and a caption may be a
    list of captions, written as text. The separator is one of ``SEPARATORS``, as spreadsheets of several languages
    write them; names of columns and splits may be capitalised. An image may have any number of captions, and its rows
    need not be adjacent: images are in the order of their first rows, captions of an image in the order of theirs. The
    split ``val`` becomes ``dev``. The id of an image is its filename.

    A note says if the same photograph is in several splits, where they are ``compared``.

    Args:
        photographs: Folder or zip archive of the photographs.
        captions_csv: The CSV, ``.json`` or ``.jsonl``.
        name: Name of the corpus.
        compared: Whether photographs of equal size are read, to compare splits.

    Raises:
        InputError: If the CSV is not UTF-8 or malformed, a column or value is missing, a split is none of train, dev
            (val) and test, an image has two splits or categories, or a photograph does not exist; it names the line.
    """
    path, archive = Path(captions_csv), Photographs(photographs)
    images: dict[str, list[CaptionRow]] = {}
    repeats = RepeatedCaptions()
    for where, values in _rows(path):
        filename, split = values["filename"].strip(), split_in_file(values["split"])
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
        category = (values.get("category") or "").strip() or None
        texts = [str(text) for text in unpacked(values["caption"], where)]
        repeats.check(filename, texts, where, is_list=len(texts) > 1)
        for text in texts:
            caption = caption_at(text, f"{where}: the caption of '{filename}'")
            rows.append(CaptionRow(filename, filename, f"{filename}#{len(rows)}", caption, split, category))
        if rows and (first := rows[0][4:]) != (split, category):
            what = f"'{filename}' is in {split}, {category}, but in {first[0]}, {first[1]} in an earlier row"
            raise InputError(what, where=where, cure="use one split and one category")
    if empty := [name for name, rows in images.items() if not rows]:
        raise InputError(f"'{empty[0]}' has no caption; every image needs one.", where=path)
    if not images:
        raise InputError(f"{path} has a header but no captions.")
    refuse_leading_ids([row.caption for rows in images.values() for row in rows], path)
    repeats.say(path)
    say_left_out(archive, counted(len(images), "photograph"), {"without a caption": max(0, len(archive) - len(images))})
    if compared:
        note_shared(archive, list(images), [rows[0].split for rows in images.values()])
    return corpus_of(name, [row for rows in images.values() for row in rows])


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    if path.suffix not in (".json", ".jsonl"):
        yield from csv_rows(path, NEEDED, ("category",), _OTHERS)
        return
    rows = text_rows(path)
    for where, row in iter([(str(path), {})]) if isinstance(rows, list) else rows:
        row = {name: next((row[one] for one in (name, *_OTHERS.get(name, ())) if one in row), None) for name in NEEDED}
        if lacking := [name for name, value in row.items() if not isinstance(value, str)]:
            raise InputError(f"it says no {lacking[0]} of an image", where=where, cure=f"give {', '.join(NEEDED)}")
        yield where, row
