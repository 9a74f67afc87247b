"""Captions from the files in which data sets are shared: parquet, WebDataset shards, text tables, JSON."""

from __future__ import annotations

import contextlib
import re
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fivesentences.arrays import check_memory
from fivesentences.choices import Split, split_in_file, split_named
from fivesentences.corpus.archives import SUFFIXES as PHOTOGRAPHS
from fivesentences.corpus.archives import is_litter
from fivesentences.corpus.caption_rows import (
    COLUMNS,
    IDS,
    IMAGES,
    RepeatedCaptions,
    Rows,
    caption_columns,
    is_name,
    refuse_leading_ids,
    text_rows,
    unpacked,
)
from fivesentences.corpus.parquet import read_parquet, readable
from fivesentences.corpus.table import caption_at, name_at
from fivesentences.documents import check_file, lines_of, parse_json, text_of
from fivesentences.errors import Cure, InputError, counted, reason_of, say_left_out, say_once

SUFFIXES = (".parquet", ".tar", ".jsonl", ".json")  # of the files of a folder
LARGEST_TEXT = 1 << 20  # bytes of a sample's .txt or .json
BYTES_OF_ROW = 200  # of memory that a row of a table takes at least
_AGAIN = "fetch it again"
_TABLE = re.compile(r"^[^.].*\.(parquet|tar|tgz|jsonl?)\b", re.IGNORECASE)
_ID = re.compile(r"[0-9]+(\.[0-9]+)?|\S*[#:][0-9]+")  # such as CxC's COCO_val2014:sentid:732091


@dataclass(frozen=True)
class CaptionTable:
    """Captions in the order of a file.

    Attributes:
        captions: Text of each caption, on one line.
        image_of_caption: ``[captions]`` index of each caption's image, counted in the order in which images appear.
        images: ``[images]`` the file or id of each; its number, from 0, if the file names none.
        split: The split that was chosen by a column or by names of files; None if the file knows none.
        ids: ``[images]`` the id of each, its name if the file has no other; results of captioning name images by it.
        is_paired: Whether the file says whose a caption is; if not, every row counts as an image.
        is_named: Whether the file names images; if not, ``images`` are numbers.
        has_numbers: Whether its ids are numbers rather than text, where the format tells the two apart.
    """

    captions: list[str]
    image_of_caption: NDArray[np.int64]
    images: list[str]
    split: str | None = None
    ids: list[str] = field(default_factory=list)
    is_paired: bool = True
    is_named: bool = True
    has_numbers: bool = False


def read_caption_table(
    path: Path | str, columns: Sequence[str] = (), image_column: str | None = None, split: str | None = "test"
) -> CaptionTable:
    """Read captions with their images from files that others wrote; photographs in them are not read.

    - ``.parquet``, as Hugging Face's datasets have it;
    - ``.tar``, a WebDataset shard (as for CLIP_benchmark): a row is ``KEY.txt``, whose lines are captions in the column
      ``txt``, and the fields of ``KEY.json``. It is read in place, nothing is extracted;
    - text: token files, CSV, JSON and JSON lines, see ``caption_rows.text_rows`` and ``json_rows``;
    - a folder of files of one of ``SUFFIXES``, in the order of their numbers. Where their names begin with a split,
      such as ``test-00000-of-00002.parquet``, those of the split are read.

    Rows with the same image belong together. If there is a column ``split``, its rows of the split are read; a row
    without one is in none, unless no row has one. A list of captions may be written as text; of several columns, empty
    ones are left out. A sentence says how much was read, and what was left out.

    Args:
        path: The file or folder.
        columns: Columns with a caption or a list of captions; ``sentences.raw`` is the field ``raw`` of the column
            ``sentences``. Default the first of ``COLUMNS`` that the first row has, or all that are numbered.
        image_column: Column with the name or id of the image. Default the first of ``IMAGES``, in a shard its name
            and that of the photograph; without any of them, every row is an image.
        split: ``train``, ``dev`` or ``test``, or another name of these, such as ``val``; None: test, or else the only
            one that there is.

    Raises:
        InputError: If a file is missing, damaged or too large, an entry of a shard would leave its folder, a column or
            the split is missing, a row has no caption, an image has several rows with a list of captions, or a caption
            is blank, not text, or the name of an image.
    """
    path, split = Path(path), split and split_named(split)
    files, found_split = _files_of(path, split or "test")
    asked = [*columns, *([] if image_column is None else [image_column])]
    captions, owners, ids = list[str](), list[int](), dict[str, str]()
    places: dict[str, int] = {}
    left, has_numbers, repeats = Counter[str](), False, RepeatedCaptions()
    rows, others = _of_split([row for file in files for row in _rows_of(file, asked)], split or "test", columns)
    found_split = found_split if others is None else split or "test"
    if others is None and rows and any(map(_is_split, rows[0][1])):
        say_once(f"{path}: no row has a split; all are read.")
    for where, row in rows:
        for image in row.pop("__order__", ()):
            places.setdefault(image, len(places))
        if not columns:
            columns = caption_columns(list(row)) or _missing(where, row, "of captions")
        if image_column is None:
            image_column = (_usual(("__key__", *IMAGES), row) or [""])[0]
        texts, missing = _texts(row, columns, where)
        left["missing captions"] += missing
        image = str(len(places))
        if image_column:
            names = _values(row, image_column, where, (str, int))
            if len(names) != 1:
                raise InputError(f"'{image_column}' holds {len(names)} names; an image has one.", where=where)
            image = name_at(str(names[0]), where).strip()
        if not texts:
            cure = "every image needs one: write it, or leave the row out"
            raise InputError(f"'{columns[0]}' holds no caption", where=where, cure=cure)
        if image_column:
            repeats.check(image, texts, where, is_list=len(texts) > 1 and len(columns) == 1)
        owner = places.setdefault(image, len(places))
        if image not in ids:
            found = next((row[name] for name in IDS if row.get(name) is not None), image)
            ids[image], has_numbers = str(found).strip(), has_numbers or type(found) is int
        for number, text in enumerate(texts, 1):
            captions.append(caption_at(text, place := f"{where}, caption {number}"))
            if is_name(captions[-1]):
                raise InputError(f"it is '{captions[-1][:60]}', the name of an image; name other columns.", where=place)
        owners += [owner] * len(texts)
    others = others or Counter()
    if not captions and split is None and len(others.keys() - {""}) == 1:
        return read_caption_table(path, columns, image_column, *(others.keys() - {""}))
    if not captions:
        raise _none_of_split(path, split or "test", others)
    if all(map(_ID.fullmatch, captions)):
        what = f"its column '{columns[0]}' holds ids or numbers, such as {captions[0][:40]!r}"
        raise InputError(what, where=path, cure="give the file of the captions")
    refuse_leading_ids(captions, path)
    of_others = {f"of {name}" if name else "without a split": others[name] for name in sorted(others)}
    repeats.say(path)
    of = f" of {found_split}" if of_others else ""
    say_left_out(path, f"{counted(len(captions), 'caption')}{of}", of_others | left)
    bare = [image for image in places if PurePosixPath(image).suffix.lower() not in PHOTOGRAPHS]
    if files[0].suffix == ".tar" and image_column == "__key__" and 0 < len(bare) < len(places):
        say_once(
            f"{path}: {len(bare):,} of {len(places):,} samples have captions but no photograph, such as {bare[0]}."
        )
    owner_of, is_named = np.array(owners, dtype=np.int64), bool(image_column)
    is_paired, id_of = is_named or len(places) < len(captions), [ids[image] for image in places]
    return CaptionTable(captions, owner_of, list(places), found_split, id_of, is_paired, is_named, has_numbers)


def _of_split(
    rows: list[tuple[str, dict[str, Any]]], split: str, columns: Sequence[str]
) -> tuple[list[tuple[str, dict[str, Any]]], Counter[str] | None]:
    """Return the rows of a split, and the number of captions of other splits ("" of none); None if no row has one.

    Raises:
        InputError: If a row is not an object, or its split is not text.
    """
    by_split: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for where, row in rows:
        if not isinstance(row, dict):
            raise InputError(f"this is {repr(row)[:40]}; a JSON object is expected.", where=where)
        named = next((value for name, value in row.items() if _is_split(name)), None)
        named = "" if named is None or named != named else named  # pandas writes NaN for what is missing
        if not isinstance(named, str):
            what = f"its split is {repr(named)[:40]}, which is not text"
            raise InputError(what, where=where, cure="write train, dev or test, or leave the column out")
        by_split.setdefault(split_in_file(named), []).append((where, row))
    if not by_split.keys() - {""}:
        return rows, None
    others: Counter[str] = Counter()
    for name in by_split.keys() - {split}:
        of_captions = columns or caption_columns(list(rows[0][1]))
        for where, row in by_split[name]:
            with contextlib.suppress(InputError):  # a mistake in what is not read
                others[name] += len(_texts(row, of_captions, where)[0])
    return by_split.get(split, []), others


def _is_split(column: str) -> bool:
    return column.strip().casefold() == "split"


def _none_of_split(path: Path, split: str, others: Counter[str]) -> InputError:
    """Return the error about a file without captions of a split."""
    known = ", ".join(f"{name or 'none'} ({counted(count, 'caption')})" for name, count in sorted(others.items()))
    if not others:
        return InputError("it holds no captions.", where=path)
    splits: tuple[str, ...] = get_args(Split)
    cure: str = "call its splits train, dev and test, or leave the column out"
    if there := [name for name in splits if name in others]:
        cure = Cure(f"name the split, such as {there[0]}", f"fivesentences captions {path} --split {there[0]}")
    return InputError(f"it holds no captions of {split}; its splits are {known}", where=path, cure=cure)


def _files_of(path: Path, split: str) -> tuple[list[Path], str | None]:
    """Return the files of a folder in the order of their numbers, and the split that their names told."""
    if not path.is_dir():
        return [path], None
    inside = [file for file in path.iterdir() if file.suffix in SUFFIXES and not is_litter(file.name)]
    kinds = sorted({file.suffix for file in inside})
    if len(kinds) != 1:
        what = f"the folder holds {', '.join(kinds) or 'none of ' + ', '.join(SUFFIXES)}; name a folder of one kind."
        raise InputError(what, where=path)
    files = sorted(inside, key=lambda file: re.sub("[0-9]+", lambda number: number[0].zfill(20), file.name))
    named = {file: split_in_file(re.split("[-_.]", file.name)[0]) for file in files}
    by_split = [file for file in files if named[file] == split]
    if not by_split and set(named.values()) <= {"train", "dev", "test"}:
        raise InputError(f"no file is of '{split}'; the first is {files[0].name}.", where=path)
    chosen = by_split or files
    for file in chosen:
        part = re.match("(.*)-[0-9]{5}-of-([0-9]{5})", file.name)
        if part and (there := sum(one.name.startswith(f"{part[1]}-") for one in chosen)) != int(part[2]):
            what = f"it holds {there} of the {int(part[2])} parts of {part[1]}"
            raise InputError(what, where=path, cure="fetch the others too, or name one file")
    others = [one.name for one in path.iterdir() if one not in files and _TABLE.search(one.name)]
    others += [file.name for file in files if by_split and named[file] not in ("train", "dev", "test")]
    if others:
        say_once(
            f"{path}: {len(others):,} files are left out, such as {min(others)}; unpack or rename them to be read."
        )
    return chosen, split if by_split else None


def binary_kind(path: Path) -> str | None:
    """Return ``parquet`` or ``tar`` for a file that is one by its content or its name; None for others."""
    by_name = {".parquet": "parquet", ".tar": "tar"}.get(path.suffix.lower())
    if not path.is_file():
        return by_name
    with path.open("rb") as file:
        begin = file.read(262)
    return "parquet" if begin.startswith(b"PAR1") else "tar" if begin.endswith(b"ustar") else by_name


def _rows_of(path: Path, asked: Sequence[str]) -> Rows:
    if (kind := binary_kind(path)) == "parquet":
        yield from _parquet_rows(path, asked)
    elif kind == "tar":
        yield from _samples(path)
    elif not isinstance(rows := text_rows(path), list):
        yield from rows
    elif rows:
        cure = "name a file with a column of images; --image-of-caption FILE is how captions alone are paired"
        raise InputError("it holds captions alone, which name no images", where=path, cure=cure)


def _parquet_rows(path: Path, asked: Sequence[str]) -> Rows:
    """Yield the rows of the columns that may be of use; a column that was asked for is there."""
    check_file(path)
    with readable(path, _AGAIN), pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        check_memory(BYTES_OF_ROW * file.metadata.num_rows, path)
        usual = {*asked, *(name.partition(".")[0] for name in asked), *COLUMNS, *IMAGES}
        usual |= {*caption_columns(schema.names)}
        never = {
            one.name for one in schema if one.name in set(COLUMNS).difference(asked) and pa.types.is_temporal(one.type)
        }
        # Bytes are photographs.
        wanted = [
            one.name
            for one in schema
            if (one.name in usual - never or _is_split(one.name)) and "binary" not in str(one.type)
        ]
    unknown = [f"'{name}'" for name in asked if not {name, name.partition(".")[0]} & set(wanted)]
    if unknown or not (asked or caption_columns(wanted)):
        _missing(path, dict.fromkeys(schema.names), unknown[0] if unknown else "of captions")
    stored = read_parquet(path, _AGAIN, wanted)
    with readable(path, _AGAIN):
        rows = stored.to_pylist()
    for number, row in enumerate(rows):
        yield f"{path}, row {number}", row


def _samples(path: Path) -> Rows:
    """Yield the samples of a WebDataset shard: neighbours of one name, up to the first dot of its last part."""
    check_file(path)
    row: dict[str, Any] = {}
    key = None
    try:
        # Not compressed, so that nothing unpacks to more than it is.
        with tarfile.open(path, "r:", tarinfo=_headers_within(path.stat().st_size)) as archive:
            for member in archive:
                if member.size < 0 or archive.offset <= member.offset:  # type: ignore[attr-defined]  # CVE-2025-8194
                    raise tarfile.ReadError(f"the next entry would stand before '{member.name[:80]}'")
                name = PurePosixPath(member.name.replace("\\", "/"))
                if name.is_absolute() or ".." in name.parts:
                    raise InputError(f"entry '{member.name}' would leave the folder; the shard is refused.", where=path)
                if not member.isreg() or is_litter(member.name):
                    continue
                stem, _, ending = name.name.partition(".")
                if str(name.parent / stem) != key:
                    if row:
                        yield f"{path}, {key}", row
                    key = str(name.parent / stem)
                    row = {"__key__": f"{path.name}/{key}"}  # shards may count their samples from 0 each
                if name.suffix.lower() in PHOTOGRAPHS:
                    row["__key__"] = f"{path.name}/{name}"
                if ending not in ("txt", "json"):
                    continue
                where = f"{path}, {name}"
                if member.size > LARGEST_TEXT:
                    raise InputError(f"it has {member.size:,} bytes; at most {LARGEST_TEXT:,} are read.", where=where)
                file = archive.extractfile(member)  # which opens it, and writes nothing
                assert file is not None
                data = file.read(LARGEST_TEXT)
                if ending == "txt":
                    row["txt"] = lines_of(text_of(data, where).strip())
                elif isinstance(fields := parse_json(data, where), dict):
                    row = {**fields, **row}
            _check_end(path, archive.offset)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a damaged archive fails anywhere in tarfile; nested headers end Python's recursion
        raise InputError(f"this is not a whole .tar ({reason_of(error)})", where=path, cure=_AGAIN) from None
    if row:
        yield f"{path}, {key}", row


def _check_end(path: Path, end: int) -> None:
    """Check that a shard has nothing behind its last entry: ``tarfile`` ends in silence at a damaged header.

    Raises:
        InputError: If something follows, or there is no mark of the end.
    """
    with path.open("rb") as file:
        file.seek(end)
        mark = file.read(tarfile.BLOCKSIZE)
        rest = iter(lambda: file.read(1 << 20), b"")
        if mark != bytes(tarfile.BLOCKSIZE) or any(block.strip(b"\0") for block in rest):
            what = (
                f"byte {end:,} of {path.stat().st_size:,} is neither an entry nor the end: it is damaged, cut or joined"
            )
            raise InputError(what, where=path, cure=_AGAIN)


def _headers_within(size: int) -> type[tarfile.TarInfo]:
    """Return a class of headers that refuse an entry larger than its archive, before anything of it is read."""

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> tarfile.TarInfo:  # type: ignore[override]
            found = super().frombuf(buf, encoding, errors)
            if not 0 <= found.size <= size:
                raise tarfile.ReadError(f"an entry states {found.size:,} bytes, and the file has {size:,}")
            return found

    return Header


def _usual(names: Sequence[str], row: dict[str, Any]) -> list[str]:
    return [name for name in names if name in row][:1]


def _missing(where: Path | str, row: dict[str, Any], of: str) -> list[str]:
    known = ", ".join(name[:40] for name in list(row)[:20])
    cure = Cure("pass columns or image_column", "name it by --column or --image-column of fivesentences captions")
    raise InputError(f"there is no column {of} among {known or 'none'}", where=where, cure=cure)


def _texts(row: dict[str, Any], columns: Sequence[str], where: str) -> tuple[list[str], int]:
    """Return the captions in some columns of a row, and how many of several columns are null or empty."""
    filled = [name for name in columns if len(columns) == 1 or not (row.get(name, "-") is None or row.get(name) == "")]
    return [text for name in filled for text in _values(row, name, where, (str,))], len(columns) - len(filled)


def _values(row: dict[str, Any], column: str, where: str, kinds: tuple[type, ...]) -> list[Any]:
    """Return the values of a column of a row, or of a field in it, and in lists of it."""
    first, _, rest = (column, "", "") if column in row else column.partition(".")
    if first not in row:
        _missing(where, row, f"'{column}'")
    values = row[first] if isinstance(row[first], list) else [row[first]]
    found: list[Any] = []
    if str in kinds and int not in kinds:
        values = [item for value in values for item in (unpacked(value, where) if isinstance(value, str) else [value])]
    for value in values:
        if isinstance(value, dict) and rest:
            found += _values(value, rest, where, kinds)
        elif type(value) in kinds and not rest:
            found.append(value)
        else:
            cure = f"name a field, such as {column}.{next(iter(value))}" if isinstance(value, dict) and value else None
            if value is None:
                of_list = "leave it out of the list" if isinstance(row[first], list) else "leave the row out"
                cure = f"write a caption in its place, or {of_list}"
            raise InputError(f"'{column}' holds {repr(value)[:40]}, which is not text", where=where, cure=cure)
    return found
