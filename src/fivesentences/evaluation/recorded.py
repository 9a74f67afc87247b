"""CSV tables that training leaves in the folder of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fivesentences.documents import check_file
from fivesentences.errors import InputError

CURE = "train the run again"


def read_recorded(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """A CSV of a run's folder, of which some columns may be missing.

    Args:
        path: The file.
        columns: Known columns with their types; those that are ``str`` are read as text.

    Raises:
        InputError: If there is no such file, or it is no table.
    """
    check_file(path, CURE)
    texts = {name: "str" for name, kind in columns.items() if kind == "str"}
    try:
        # Categories may be called NA or null; only what is empty is missing.
        return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"this is no table ({error}); {CURE}.", where=path) from None
