"""Features on a disk of this machine, while jobs read them: shared file systems are slow at rows in random order."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fivesentences.errors import InputError
from fivesentences.features.files import images_beside, writing_npy
from fivesentences.features.precomp import PrecompRows
from fivesentences.features.table import FeatureTable

ROWS_AT_ONCE = 64


@contextmanager
def staged(features: Path, variable: str | None) -> Iterator[Path]:
    """Yield a copy of features, bit for bit, in the folder that a variable of the environment names.

    The copy is one ``.npy`` with its table of images, also of the files of a precomp folder, and is removed at the end.
    Without a variable, the features themselves are yielded.

    Args:
        features: As ``FeatureTable.open`` reads them.
        variable: Such as ``TMPDIR``, which SLURM sets for each job on many clusters.

    Raises:
        InputError: If the variable is not set or names no folder, the disk is too small, or the features are damaged.
    """
    if variable is None:
        yield features
        return
    named = os.environ.get(variable)
    if not named or not Path(named).is_dir():
        held = f"names '{named}', which is no folder" if named else "is not set"
        cure = "name another, or leave training.scratch out"
        raise InputError(f"training.scratch is {variable}, which {held}", cure=cure)
    folder = Path(named)
    table = FeatureTable.open(features)
    shape, dtype = table.array.shape, table.array.dtype
    needed, free = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, shutil.disk_usage(folder).free
    if needed > free:
        what = f"{features} takes {needed / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free"
        raise InputError(what, where=folder, cure="free some, or leave training.scratch out")
    with tempfile.TemporaryDirectory(prefix="fivesentences-", dir=folder) as temporary:
        copy = Path(temporary) / f"{features.stem}.npy"
        print(f"Copying features to {variable} ({needed / 1e9:,.1f} GB).", file=sys.stderr, flush=True)
        with writing_npy(copy, shape, dtype) as append:
            for start in range(0, shape[0], ROWS_AT_ONCE):
                stop = min(start + ROWS_AT_ONCE, shape[0])
                rows = table.array
                append(rows.take(np.arange(start, stop)) if isinstance(rows, PrecompRows) else rows[start:stop])
        shutil.copyfile(images_beside(features), images_beside(copy))
        yield copy
