"""Matrices from ``.mat`` files that somebody else may have written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from fivesentences.documents import check_file
from fivesentences.errors import InputError

MOST_NUMBERS = 1 << 30  # of one matrix, 8.6 GB; 269,648 photographs of NUS-WIDE with 1,000 tags are a quarter of it


def read_mat(path: Path | str, names: Sequence[str]) -> list[NDArray[Any]]:
    """Read matrices of a ``.mat`` file; only these are read.

    Args:
        path: A file of MATLAB 4 to 7.2.
        names: Names of the matrices.

    Returns:
        Real ``[rows, columns]`` each, of any numeric dtype, finite.

    Raises:
        InputError: If the file is missing, damaged or of MATLAB 7.3 (HDF5), lacks a matrix, or one is not a matrix
            of finite real numbers or has more than ``MOST_NUMBERS``, zeros of sparse ones included.
    """
    check_file(path)
    try:
        held = {str(name): tuple(shape) for name, shape, _ in whosmat(str(path), appendmat=False)}
        wanted = [name for name in names if math.prod(held.get(name, (0,))) <= MOST_NUMBERS]
        content = loadmat(str(path), variable_names=wanted, appendmat=False) if wanted else {}
    except NotImplementedError:
        what = "this is a file of MATLAB 7.3, which is HDF5"
        raise InputError(what, where=path, cure="save it with -v7 in MATLAB") from None
    except Exception:  # a damaged file fails anywhere in scipy
        raise InputError("this is not a complete .mat file of MATLAB", where=path, cure="fetch it again") from None
    return [_matrix(path, name, held.get(name), content.get(name)) for name in names]


def _matrix(path: Path | str, name: str, shape: tuple[int, ...] | None, value: Any) -> NDArray[Any]:
    value = value.toarray() if hasattr(value, "toarray") else value  # a sparse matrix
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
        held = "missing" if shape is None else f"{getattr(value, 'dtype', 'too large or no array')} {list(shape)}"
        what = f"{name} is {held}; it must be a matrix of real numbers, at most {MOST_NUMBERS:,}."
        raise InputError(what, where=path)
    for row, column in np.argwhere(~np.isfinite(value))[:1]:
        raise InputError(f"{name} holds {value[row, column]} in row {row}, column {column}.", where=path)
    return value
