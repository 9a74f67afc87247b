"""Parquet tables that somebody else may have written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fivesentences.arrays import check_memory
from fivesentences.documents import check_file, parse_json
from fivesentences.errors import InputError, reason_of
from fivesentences.storage import replacing

_SUMS = b"fivesentences.sha256"  # in a table's metadata: a checksum of each column, together with the other metadata


@contextmanager
def readable(path: Path | str, cure: str) -> Iterator[None]:
    """Turn whatever pyarrow raises in the block into one sentence that names the file.

    Args:
        path: The file.
        cure: Advice about a damaged one, such as "make it again".

    Raises:
        InputError: If the block fails, but for lack of memory.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # damaged pages, dates beyond Python's, unknown time zones: no list is complete
        what = f"this is not a readable parquet file ({reason_of(error)})"
        raise InputError(what, where=path, cure=cure) from None


def read_parquet(path: Path | str, cure: str, columns: list[str] | None = None) -> pa.Table:
    """Read a parquet file.

    Args:
        path: The file.
        cure: Advice about a damaged one, such as "make it again".
        columns: Columns to read; None: all. Absent ones are passed over.

    Raises:
        InputError: If it is missing or damaged, names a column twice, or holds text that is not UTF-8; or if a column
            is not what was written (tables of others have no checksums, and are not compared).
    """
    check_file(path)
    # Not read_table(): it would turn a folder's name such as "fraction=0.1" into a column.
    with readable(path, cure), pq.ParquetFile(path, page_checksum_verification=True) as file:
        # Few bytes can stand for any number of equal values, each of which takes four at least.
        check_memory(4 * file.metadata.num_rows * len(file.schema_arrow.names if columns is None else columns), path)
        stored = file.read(columns)
        stored.validate(full=True)
    names = stored.column_names
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"it has two columns named '{twice[0]}'", where=path, cure=cure)
    if known := (stored.schema.metadata or {}).get(_SUMS):
        with readable(path, cure):
            damaged = [name for name, digest in _sums(stored).items() if parse_json(known, "checksums")[name] != digest]
        if damaged:
            what = f"its column '{damaged[0]}' is not what was written: the file is damaged, or was edited"
            raise InputError(what, where=path, cure=cure)
    return stored


def _sums(stored: pa.Table) -> dict[str, str]:
    """Return the SHA-256 of each column's values; each also covers the table's metadata."""
    about = sorted((key, value) for key, value in (stored.schema.metadata or {}).items() if key != _SUMS)

    def digest_of(name: str) -> str:
        total = hashlib.sha256(repr((about, name)).encode())
        for part in _parts(stored[name]):
            total.update(part)
        return total.hexdigest()

    return {name: digest_of(name) for name in stored.column_names}


def _parts(values: pa.ChunkedArray) -> Iterator[bytes | memoryview]:
    """Yield what a column holds, however it is cut into chunks."""
    if pa.types.is_primitive(values.type) and not values.null_count:
        yield values.to_numpy().tobytes()
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):  # far faster than one by one
        whole = pc.fill_null(values.cast(pa.large_string()), "\0").combine_chunks()
        _, starts, text = whole.buffers()
        bounds = np.frombuffer(starts or bytes(8), np.int64)[whole.offset :][: len(whole) + 1]
        yield np.diff(bounds).tobytes()
        yield memoryview(text or b"")[bounds[0] : bounds[-1]]
    else:
        yield json.dumps(values.to_pylist(), default=str).encode()


def frame_of(stored: pa.Table, path: Path | str, cure: str) -> pd.DataFrame:
    """Convert a table to pandas.

    Args:
        stored: The table.
        path: Its file, for messages.
        cure: Advice about a damaged one.

    Raises:
        InputError: If a column cannot be converted.
    """
    with readable(path, cure):  # the metadata may be of other columns
        return stored.to_pandas()  # type: ignore[no-any-return]


def read_frame(path: Path | str, cure: str, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a parquet file as pandas reads it.

    Args:
        path: The file.
        cure: Advice about a damaged one, such as "make it again".
        columns: Columns that it must have.

    Raises:
        InputError: As in ``read_parquet``; or if a column is missing or cannot be converted.
    """
    frame = frame_of(read_parquet(path, cure), path, cure)
    if missing := [name for name in columns if name not in frame.columns]:
        raise InputError(f"the column '{missing[0]}' is missing", where=path, cure=cure)
    return frame


def write_labelled(stored: pa.Table, path: Path | str, key: bytes, label: dict[str, Any]) -> None:
    """Write a parquet table with a JSON label in its schema; equal tables give equal bytes."""
    _write(stored.replace_schema_metadata({key: json.dumps(label).encode()}), path)


def write_frame(frame: pd.DataFrame, path: Path | str, about: Mapping[bytes, bytes] = MappingProxyType({})) -> None:
    """Write a table without its index as parquet, with checksums that ``read_parquet`` compares.

    Args:
        frame: The table.
        path: The file.
        about: Further metadata of the table.
    """
    stored = pa.Table.from_pandas(frame, preserve_index=False)
    _write(stored.replace_schema_metadata({**stored.schema.metadata, **about}), path)


def _write(stored: pa.Table, path: Path | str) -> None:
    about = {**(stored.schema.metadata or {}), _SUMS: json.dumps(_sums(stored)).encode()}
    with replacing(path) as temporary:
        pq.write_table(stored.replace_schema_metadata(about), temporary, compression="zstd", compression_level=9)


def label_of(stored: pa.Table, path: Path | str, key: bytes, form: int, cure: str) -> dict[str, Any]:
    """Return the JSON label of a table that was written by ``write_labelled``.

    Raises:
        InputError: If it is damaged, or of another program or format.
    """
    label = parse_json((stored.schema.metadata or {}).get(key, b"{}"), f"{path}, label", cure)
    found = label.get("format", "none") if isinstance(label, dict) else "none"
    if found != form:
        raise InputError(f"its format is {str(found)[:40]} but this version reads {form}", where=path, cure=cure)
    return dict(label)
