"""Matrices from ``.mat`` files that somebody else may have written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.documents import check_file
from fivesentences.errors import InputError, did_you_mean

MOST_NUMBERS = 1 << 30  # of one matrix, 8.6 GB; 269,648 photographs of NUS-WIDE with 1,000 tags are a quarter of it


def read_mat(path: Path | str, names: Sequence[str]) -> list[NDArray[Any]]:
    """Matrices of a ``.mat`` file by their names; only these are read.

    Args:
        path: A file of MATLAB 4 to 7.2.
        names: Of the matrices.

    Returns:
        Real ``[rows, columns]`` each, of any numeric dtype, finite.

    Raises:
        InputError: If the file is missing, damaged or of MATLAB 7.3 (HDF5), lacks a matrix, or one is no matrix of
            finite real numbers or has more than ``MOST_NUMBERS``, zeros of sparse ones included.
    """
    from scipy.io import loadmat, whosmat

    check_file(path)
    try:
        held = {str(name): tuple(shape) for name, shape, _ in whosmat(str(path), appendmat=False)}
        if missing := [name for name in names if name not in held]:
            listed = ", ".join(f"{name} {list(shape)}" for name, shape in held.items())[:200] or "nothing"
            raise InputError(
                f"it holds no {missing[0]}, only {listed}",
                where=path,
                cure=did_you_mean(missing[0], held) or "give the file that holds it",
            )
        for name in names:
            if math.prod(held[name]) > MOST_NUMBERS:
                size = " x ".join(f"{length:,}" for length in held[name])
                raise InputError(f"{name} is {size}; at most {MOST_NUMBERS:,} numbers make sense here.", where=path)
        content = loadmat(str(path), variable_names=list(names), appendmat=False)
    except InputError:
        raise
    except NotImplementedError:
        raise InputError(
            "this is a file of MATLAB 7.3, which is HDF5", where=path, cure="save it with -v7 in MATLAB"
        ) from None
    except Exception:  # a damaged file fails anywhere in scipy
        raise InputError("this is not a complete .mat file of MATLAB", where=path, cure="fetch it again") from None
    return [_matrix(path, name, content.get(name)) for name in names]


def _matrix(path: Path | str, name: str, value: Any) -> NDArray[Any]:
    if hasattr(value, "toarray"):  # a sparse matrix
        value = value.toarray()
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
        kind = f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{name} is {kind[:80]}; it must be a matrix of real numbers.", where=path)
    finite = np.isfinite(value)
    if not finite.all():
        row, column = (int(place) for place in np.argwhere(~finite)[0])
        raise InputError(f"{name} holds {value[row, column]} in row {row}, column {column}.", where=path)
    return value
