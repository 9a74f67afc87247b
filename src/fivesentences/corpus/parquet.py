"""Parquet tables that somebody else may have written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fivesentences.arrays import check_memory
from fivesentences.documents import check_file, parse_json
from fivesentences.errors import InputError, reason_of
from fivesentences.storage import replacing


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
        InputError: If it is missing or damaged, names a column twice, or holds text that is not UTF-8.
    """
    check_file(path)
    # Not read_table(): it would turn a folder's name such as "fraction=0.1" into a column.
    with readable(path, cure), pq.ParquetFile(path) as file:
        # Few bytes can stand for any number of equal values, each of which takes four at least.
        check_memory(4 * file.metadata.num_rows * len(file.schema_arrow.names if columns is None else columns), path)
        stored = file.read(columns)
        stored.validate(full=True)
    names = stored.column_names
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"it has two columns named '{twice[0]}'", where=path, cure=cure)
    return stored


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
    labelled = stored.replace_schema_metadata({key: json.dumps(label).encode()})
    with replacing(path) as temporary:
        pq.write_table(labelled, temporary, compression="zstd")


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
