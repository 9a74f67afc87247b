"""Captions from the files in which data sets are shared: parquet, WebDataset shards, text tables, JSON."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fivesentences.arrays import check_memory
from fivesentences.choices import split_in_file, split_named
from fivesentences.corpus.archives import SUFFIXES as PHOTOGRAPHS
from fivesentences.corpus.archives import is_litter
from fivesentences.corpus.caption_rows import COLUMNS, IDS, IMAGES, Rows, caption_columns, is_name, text_rows, unpacked
from fivesentences.corpus.parquet import read_parquet, readable
from fivesentences.corpus.table import caption_at, name_at
from fivesentences.documents import check_file, lines_of, parse_json, text_of
from fivesentences.errors import Cure, InputError, counted, reason_of, say_once

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

    Rows with the same image belong together. If there is a column ``split``, its rows of the split are read. A list of
    captions may be written as text.

    Args:
        path: The file or folder.
        columns: Columns with a caption or a list of captions; ``sentences.raw`` is the field ``raw`` of the column
            ``sentences``. Default the first of ``COLUMNS`` that the first row has, or all that are numbered.
        image_column: Column with the name or id of the image. Default the first of ``IMAGES``, in a shard its name
            and that of the photograph; without any of them, every row is an image.
        split: ``train``, ``dev`` or ``val``, or ``test``; None: test, or else the only one that there is; a note counts
            the others.

    Raises:
        InputError: If a file is missing, damaged or too large, an entry of a shard would leave its folder, a column or
            the split is missing, a row has no caption, or a caption is blank, not text, or the name of an image.
    """
    path, split = Path(path), split and split_named(split)
    files, found_split = _files_of(path, split or "test")
    asked = [*columns, *([] if image_column is None else [image_column])]
    captions, owners, ids = list[str](), list[int](), dict[str, str]()
    places: dict[str, int] = {}
    others, has_numbers = Counter[str](), False
    for where, row in (row for file in files for row in _rows_of(file, asked)):
        if not isinstance(row, dict):
            raise InputError(f"this is {repr(row)[:40]}; a JSON object is expected.", where=where)
        for image in row.pop("__order__", ()):
            places.setdefault(image, len(places))
        if not columns:
            columns = caption_columns(list(row)) or _missing(where, row, "of captions")
        if image_column is None:
            image_column = (_usual(("__key__", *IMAGES), row) or [""])[0]
        texts = [text for column in columns for text in _values(row, column, where, (str,))]
        if isinstance(named := row.get("split"), str):
            found_split = split or "test"
            if split_in_file(named) != found_split:
                others[split_in_file(named)] += len(texts)
                continue
        image = str(len(places))
        if image_column:
            names = _values(row, image_column, where, (str, int))
            if len(names) != 1:
                raise InputError(f"'{image_column}' holds {len(names)} names; an image has one.", where=where)
            image = name_at(str(names[0]), where).strip()
        if not texts:
            raise InputError(f"'{columns[0]}' holds no caption; every image needs one.", where=where)
        owner = places.setdefault(image, len(places))
        if image not in ids:
            found = next((row[name] for name in IDS if row.get(name) is not None), image)
            ids[image], has_numbers = str(found).strip(), has_numbers or type(found) is int
        for number, text in enumerate(texts, 1):
            captions.append(caption_at(text, place := f"{where}, caption {number}"))
            if is_name(captions[-1]):
                raise InputError(f"it is '{captions[-1][:60]}', the name of an image; name other columns.", where=place)
        owners += [owner] * len(texts)
    if not captions and split is None and len(others) == 1:
        return read_caption_table(path, columns, image_column, *others)
    known = ", ".join(f"{name} ({counted(count, 'caption')})" for name, count in sorted(others.items()))
    if not captions:
        of = f" of {split or 'test'}" if others else ""
        cure = Cure("name the split", f"fivesentences captions {path} --split NAME") if others else None
        end = "" if cure else "."
        raise InputError(f"it holds no captions{of}{f'; it has {known}' if known else ''}{end}", where=path, cure=cure)
    if all(map(_ID.fullmatch, captions)):
        what = f"its column '{columns[0]}' holds ids or numbers, such as {captions[0][:40]!r}"
        raise InputError(what, where=path, cure="give the file of the captions")
    if split is None and others:
        say_once(f"{path}: {counted(len(captions), 'caption')} of {found_split} read; left out: {known}.")
    bare = [image for image in places if PurePosixPath(image).suffix.lower() not in PHOTOGRAPHS]
    if files[0].suffix == ".tar" and image_column == "__key__" and 0 < len(bare) < len(places):
        say_once(
            f"{path}: {len(bare):,} of {len(places):,} samples have captions but no photograph, such as {bare[0]}."
        )
    owner_of, is_named = np.array(owners, dtype=np.int64), bool(image_column)
    is_paired, id_of = is_named or len(places) < len(captions), [ids[image] for image in places]
    return CaptionTable(captions, owner_of, list(places), found_split, id_of, is_paired, is_named, has_numbers)


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


def _rows_of(path: Path, asked: Sequence[str]) -> Rows:
    if path.suffix == ".parquet":
        yield from _parquet_rows(path, asked)
    elif path.suffix == ".tar":
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
        usual = {*asked, *(name.partition(".")[0] for name in asked), *COLUMNS, *IMAGES, "split"}
        never = {
            one.name for one in schema if one.name in set(COLUMNS).difference(asked) and pa.types.is_temporal(one.type)
        }
        # Bytes are photographs.
        wanted = [one.name for one in schema if one.name in usual - never and "binary" not in str(one.type)]
    unknown = [f"'{name}'" for name in asked if not {name, name.partition(".")[0]} & set(wanted)]
    if unknown or not (asked or set(COLUMNS) & set(wanted)):
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
            raise InputError(f"'{column}' holds {repr(value)[:40]}, which is not text", where=where, cure=cure)
    return found
