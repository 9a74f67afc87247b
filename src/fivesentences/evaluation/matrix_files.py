"""Matrices from the files that other people's models write; nothing in a file is ever executed."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus import Corpus
from fivesentences.documents import check_file
from fivesentences.errors import InputError, install
from fivesentences.semantics.scoring import LateBar

SUFFIXES = (".npy", ".npz", ".json", ".csv", ".pt", ".pth")
BYTES_AT_ONCE = 1 << 22
_WITH_KEY = re.compile(r"(?P<file>.+\.(?:npz|pt|pth)):(?P<key>[^/\\:]+)")


def read_matrix(path: Path | str) -> NDArray[Any]:
    """A matrix of real numbers from a file.

    ``.npy`` is memory-mapped. ``.npz`` and ``.pt`` (``torch.load`` with ``weights_only``) hold one matrix, or the one
    that ``FILE:NAME`` names. ``.json`` is a list of rows, as the released code of NCS reads them; it is read row by
    row into float32 where that holds every number exactly, else float64. ``.csv`` has no heading and may end its lines
    with a comma, as the released SPICE matrices do.

    Args:
        path: The file; for ``.npz``, ``.pt`` and ``.pth`` also ``FILE:NAME``.

    Returns:
        ``[rows, columns]``, read-only if memory-mapped; the values are not checked.

    Raises:
        InputError: If the file is missing or damaged, holds Python objects, or holds no such matrix.
    """
    key = None
    found = _WITH_KEY.fullmatch(str(path))
    if found and not Path(path).exists():
        path, key = found["file"], found["key"]
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise InputError(f"matrices are read from {', '.join(SUFFIXES)}; this is none of them.", where=path)
    check_file(path)
    readers = {".npy": read_npy, ".json": _json, ".csv": _csv}
    matrix = readers[path.suffix](path) if path.suffix in readers else _of_several(path, key)
    if matrix.dtype.kind not in "fiub" or matrix.ndim != 2 or not matrix.size:
        raise InputError(
            f"{path} holds {matrix.dtype} of shape {list(matrix.shape)}; a matrix of real numbers is expected."
        )
    return matrix


def read_similarity(path: Path | str, corpus: Corpus) -> NDArray[Any]:
    """The similarity of a run on a split, ``[images, captions]``, memory-mapped.

    Raises:
        InputError: If it is missing or damaged, or not of the images and captions of ``corpus``.
    """
    matrix = read_matrix(path)
    if matrix.shape != (corpus.n_images, corpus.n_captions):
        raise InputError(
            f"{path} is {list(matrix.shape)}, but {' and '.join(corpus.splits)} of {corpus.name} has "
            f"{corpus.n_images} images and {corpus.n_captions} captions; train the run again."
        )
    return matrix


def _json(path: Path) -> NDArray[Any]:
    """Row by row, so that the text and the Python numbers of the whole matrix are never in memory at once."""
    rows: list[NDArray[np.floating]] = []
    with path.open("rb") as file, LateBar(f"read {path.name}", path.stat().st_size) as bar:
        buffer, at, finished = file.read(BYTES_AT_ONCE), 0, False

        def more() -> bool:
            nonlocal buffer, at
            chunk = file.read(BYTES_AT_ONCE)
            bar.advance(at)
            buffer, at = buffer[at:] + chunk, 0
            return bool(chunk)

        def next_sign() -> bytes:
            nonlocal at
            while True:
                while at < len(buffer) and buffer[at : at + 1].isspace():
                    at += 1
                if at < len(buffer) or not more():
                    return buffer[at : at + 1]

        if next_sign() != b"[":
            raise InputError(f"{path}: a .json matrix is one list of rows, [[...], [...]].")
        at += 1
        while not finished:
            if next_sign() != b"[":
                raise InputError(f"{path}: row {len(rows)} is no list of numbers; a .json matrix is a list of rows.")
            while (end := buffer.find(b"]", at)) < 0:
                if not more():
                    raise InputError(f"{path}: row {len(rows)} has no end; the file is not whole.")
            rows.append(_json_row(path, buffer[at : end + 1], len(rows)))
            if len(rows[-1]) != len(rows[0]):
                raise InputError(
                    f"{path}: row {len(rows) - 1} has {len(rows[-1])} numbers but row 0 has {len(rows[0])}."
                )
            at = end + 1
            sign = next_sign()
            at += 1
            if sign == b"]":
                finished = True
            elif sign != b",":
                raise InputError(f"{path}: row {len(rows) - 1} is followed by neither ',' nor ']'; it is not whole.")
        if next_sign():
            raise InputError(f"{path}: something follows the list of rows; a .json matrix is one list.")
    matrix = np.empty((len(rows), len(rows[0])), dtype=np.result_type(*{row.dtype for row in rows}))
    for index in range(len(rows)):
        matrix[index] = rows[index]
        rows[index] = rows[index][:0]  # its memory is freed as the matrix fills
    return matrix


def _json_row(path: Path, text: bytes, index: int) -> NDArray[np.floating]:
    try:
        row = np.array(json.loads(text))
    except ValueError as error:
        raise InputError(f"{path}: row {index} is no list of numbers ({_first_line(error)}).") from None
    if row.ndim != 1 or row.dtype.kind not in "iuf" or not len(row):
        raise InputError(f"{path}: row {index} is no list of numbers{_first_odd(json.loads(text))}.")
    short = row.astype(np.float32)
    # Numbers that were written from float32 come back exactly, in half the memory.
    return short if np.array_equal(short, row, equal_nan=True) else row.astype(np.float64)


def _first_odd(row: list[Any]) -> str:
    """Which cell is no number, in words."""
    for column, cell in enumerate(row):
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            return f": column {column} is {json.dumps(cell)[:40]}"
    return ""


def _csv(path: Path) -> NDArray[Any]:
    import pandas as pd

    try:
        table = pd.read_csv(path, header=None, encoding="utf-8")
    except (ValueError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this is no .csv file of numbers ({_first_line(error)}).") from None
    if table.shape[1] > 1 and table.iloc[:, -1].isna().all():  # the comma at the end of each line
        table = table.iloc[:, :-1]
    return np.asarray(table.to_numpy())


def _of_several(path: Path, key: str | None) -> NDArray[Any]:
    arrays = _npz(path) if path.suffix == ".npz" else _pt(path)
    names = list(arrays)
    if key is None:
        if len(names) != 1:
            raise InputError(
                f"{path} holds {len(names)} arrays ({', '.join(names[:8])}); name one, such as {path}:"
                f"{names[0] if names else 'NAME'}."
            )
        key = names[0]
    if key not in arrays:
        raise InputError(f"{path} holds no array '{key}'; it holds {', '.join(names[:8])}.")
    try:
        return np.asarray(arrays[key])
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: '{key}' is no whole array of numbers ({_first_line(error)}).") from None


def _npz(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: this is not a whole .npz file ({_first_line(error)}).") from None


def _pt(path: Path) -> dict[str, NDArray[Any]]:
    try:
        import torch
    except ImportError:
        raise InputError("reading .pt needs PyTorch", where=path, cure=install("train", "or save .npy")) from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, OSError):
        raise InputError(
            f"{path}: it is damaged, or holds other objects than tensors, which are never loaded; write it with "
            "torch.save(tensor, path)."
        ) from None
    several = content if isinstance(content, dict) else {"": content}
    tensors = {str(name): value for name, value in several.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise InputError(f"{path} holds no tensor but {type(content).__name__}; write torch.save(tensor, path).")
    whole = {name: value.detach().to_dense() for name, value in tensors.items()}
    # numpy has no bfloat16
    return {name: (v.float() if v.dtype == torch.bfloat16 else v).numpy() for name, v in whole.items()}


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
