"""Parquet tables that somebody else may have written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fivesentences.documents import check_file
from fivesentences.errors import InputError


def read_parquet(path: Path | str, cure: str, columns: list[str] | None = None) -> pa.Table:
    """Read a parquet file.

    Args:
        path: The file.
        cure: What to do about a damaged one, such as "make it again".
        columns: Those to read; None: all. Absent ones are passed over.

    Raises:
        InputError: If it is missing or damaged, names a column twice, or holds text that is not UTF-8.
    """
    check_file(path)
    try:
        # Not read_table(): it would turn a folder's name such as "fraction=0.1" into a column.
        with pq.ParquetFile(path) as file:
            stored = file.read(columns)
        stored.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error, cure) from None
    names = stored.column_names
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"it has two columns named '{twice[0]}'", where=path, cure=cure)
    return stored


def frame_of(stored: pa.Table, path: Path | str, cure: str) -> pd.DataFrame:
    """The table as pandas reads it.

    Args:
        stored: The table.
        path: Its file, for messages.
        cure: What to do about a damaged one.

    Raises:
        InputError: If a column cannot be converted.
    """
    try:
        frame: pd.DataFrame = stored.to_pandas()
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:  # such as metadata of other columns
        raise _unreadable(path, error, cure) from None
    return frame


def read_frame(path: Path | str, cure: str, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a parquet file as pandas reads it.

    Args:
        path: The file.
        cure: What to do about a damaged one, such as "make it again".
        columns: Columns that it must have.

    Raises:
        InputError: As in ``read_parquet``; or if a column is missing or cannot be converted.
    """
    frame = frame_of(read_parquet(path, cure), path, cure)
    if missing := [name for name in columns if name not in frame.columns]:
        raise InputError(f"the column '{missing[0]}' is missing", where=path, cure=cure)
    return frame


def _unreadable(path: Path | str, error: Exception, cure: str) -> InputError:
    lines = str(error).splitlines() or [type(error).__name__]
    return InputError(f"{path} is not a readable parquet file ({lines[0][:200].rstrip('.')}); {cure}.")
