"""Matrices from the files that other people's models write; nothing in a file is ever executed."""

from __future__ import annotations

import codecs
import json
import mmap
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.arrays import check_memory, read_npy
from fivesentences.console import Bar
from fivesentences.documents import check_file, similar_name, text_of
from fivesentences.errors import InputError, first_of, need, shortage
from fivesentences.retrieval.gallery import EXACT, as_array, checked_matrix
from fivesentences.seals import check_record, check_zip

if TYPE_CHECKING:
    from fivesentences.corpus import Corpus

SUFFIXES = (".npy", ".npz", ".json", ".csv", ".pt", ".pth")
OF_RUN = "similarity_test.npy"  # beside it a run keeps its SHA-256
_ROW = re.compile(rb"\s*(?P<before>[\[,])\s*(?P<row>\[[^\[\]]*\])")  # of a .json matrix
_END = re.compile(rb"\s*\]\s*")
_WITH_KEY = re.compile(r"(?P<file>.+\.(?:npz|pt|pth)):(?P<key>[^/\\:]+)")


def read_matrix(path: Path | str) -> NDArray[Any]:
    """Read a matrix of real numbers from a file.

    ``.npy`` is memory-mapped. ``.npz`` and ``.pt`` (``torch.load`` with ``weights_only``) hold one matrix, or the one
    that ``FILE:NAME`` names. ``.json`` is a list of rows, as the released code of NCS reads them; it is read row by
    row into float32 where that holds every number exactly, else float64. ``.csv``, separated by commas,
    semicolons or tabs, has no heading and may end its lines with a comma, as the released SPICE matrices do.

    Args:
        path: The file; for ``.npz``, ``.pt`` and ``.pth`` also ``FILE:NAME``.

    Returns:
        ``[rows, columns]``, read-only if memory-mapped; the values are not checked.

    Raises:
        InputError: If the file is missing or damaged, holds Python objects, or holds no such matrix; or if it lies in
            the folder of a run and is not what the run ended with.
    """
    key = None
    found = _WITH_KEY.fullmatch(str(path))
    if found and not Path(path).exists():
        path, key = found["file"], found["key"]
    path = Path(path)
    if path.suffix not in SUFFIXES:
        if not path.exists():
            hint = similar_name(path)
            raise InputError("there is no such file or folder", where=path, cure=hint or "name a matrix or embeddings")
        cure = "save an array with numpy.save"
        if path.suffix == ".txt" and path.is_file():
            with path.open("rb") as file:
                of_numbers = _NUMBERS.fullmatch(file.readline(1 << 24)) is not None
            cure = f"{cure}, such as numpy.loadtxt(FILE)" if of_numbers else "pass captions with --captions"
        raise InputError(f"this is not a matrix ({', '.join(SUFFIXES)})", where=path, cure=cure)
    check_file(path)
    if path.suffix != ".npy":
        check_memory(path.stat().st_size, path)
    if path.name == OF_RUN:
        check_record(path.parent, (path.name,), "train the run again")
    readers = {".npy": read_npy, ".json": _json, ".csv": _csv}
    return checked_matrix(readers[path.suffix](path) if path.suffix in readers else _of_several(path, key), path)


class OpenedOnce:
    """Matrices of one command. A memory map takes no memory and is kept; a file of another kind is read when asked."""

    def __init__(self) -> None:
        self._mapped: dict[str, NDArray[Any]] = {}

    def __call__(self, path: Path | str) -> NDArray[Any]:
        """Return the matrix of a file; see ``read_matrix``."""
        if (known := self._mapped.get(str(path))) is not None:
            return known
        matrix = read_matrix(path)
        if Path(path).suffix == ".npy":
            self._mapped[str(path)] = matrix
        return matrix


def read_similarity(path: Path, corpus: Corpus) -> NDArray[Any]:
    """Read the similarity of a run on a split, ``[images, captions]``, memory-mapped.

    Raises:
        InputError: If it is missing, damaged or not what the run ended with, or is of other images or captions.
    """
    # Snakemake knows that a training ended, not which files it left.
    trained = (path.parent / "run.yaml").exists()
    again = "with -R train, which trains only the runs that are not whole" if trained else "again after removing it"
    cure = f"start Snakemake {again}"
    if not path.exists():
        raise InputError("there is no such file", where=path, cure=cure)
    matrix = read_npy(path, cure)
    check_record(path.parent, (path.name,), cure)
    if matrix.shape != (corpus.n_images, corpus.n_captions):
        raise InputError(
            f"it is {list(matrix.shape)}, but {' and '.join(corpus.splits)} of {corpus.name} has {corpus.n_images} "
            f"images and {corpus.n_captions} captions",
            where=path,
            cure=cure,
        )
    return matrix


def _json(path: Path) -> NDArray[Any]:
    """Read a list of rows one by one: the Python numbers of a whole matrix would take many times its memory."""
    rows: list[NDArray[np.floating]] = []
    size = path.stat().st_size
    if not size:
        raise InputError(f"{path}: a .json matrix is one list of rows, [[...], [...]].")
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
        Bar(f"read {path.name}", size, delay=3.0) as bar,
    ):
        if b"\0" in text[:LOOK]:
            text_of(text[:LOOK], path)  # which names UTF-16
        at = len(codecs.BOM_UTF8) if text[:3] == codecs.BOM_UTF8 else 0
        while (found := _ROW.match(text, at)) and (found["before"] == b"[") == (not rows):
            rows.append(_json_row(path, found["row"], len(rows)))
            if len(rows[-1]) != len(rows[0]):
                what = f"row {len(rows) - 1} has {len(rows[-1])} numbers but row 0 has {len(rows[0])}."
                raise InputError(what, where=path)
            bar.advance(found.end() - at)
            at = found.end()
        if not rows or not _END.fullmatch(text, at):
            found_there = text[at : at + 20].decode("utf-8", "replace")
            raise InputError(
                f"{path}: behind row {len(rows)} of the list of rows stands {found_there!r}; a .json matrix is one "
                "whole list of rows of numbers, [[...], [...]]."
            )
    return np.stack(rows)


def _json_row(path: Path, text: bytes, index: int) -> NDArray[np.floating]:
    try:
        cells = json.loads(text)
    except ValueError as error:  # also an integer of thousands of digits, which Python does not read
        raise InputError(f"{path}: row {index} is not a list of numbers ({_first_line(error)}).") from None
    odd = next((at for at, cell in enumerate(cells) if type(cell) not in (int, float)), None)
    if odd is not None or not cells:
        where = "" if odd is None else f": column {odd} is {json.dumps(cells[odd])[:40]}"
        raise InputError(f"{path}: row {index} is not a list of numbers{where}.")
    if any(isinstance(cell, int) and abs(cell) > EXACT for cell in cells):
        raise InputError(f"{path}: row {index} holds integers beyond 2^53, which no float holds exactly; scale them.")
    row = np.array(cells, dtype=np.float64)
    short = row.astype(np.float32)
    # Numbers that were written from float32 come back exactly, in half the memory.
    return short if np.array_equal(short, row, equal_nan=True) else row


_MISSING = {"nan", "-nan", "na", "n/a", "#n/a", "<na>", "null", "none"}  # as programs write what is no number
LOOK = 1000  # bytes of JSON that show how it is encoded
_NUMBERS = re.compile(rb"[-+0-9.eE,; \t\r\n]+")  # a line of numbers
_NO_HEADING = "save it without heading and index, such as by DataFrame.to_csv(path, header=False, index=False)"


def _csv(path: Path) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            first = file.readline(1 << 24)
        text_of(first, path)  # which names what is not UTF-8
        if not first.strip():
            raise InputError("row 0 is empty; every row holds the numbers of an image.", where=path)
        # Spreadsheets of several languages write semicolons, with a comma as the decimal point.
        separator = ";" if b";" in first else "\t" if b"\t" in first.strip() and b",\t" not in first else ","
        table = pd.read_csv(
            path, header=None, encoding="utf-8", low_memory=False, sep=separator, skip_blank_lines=False,
            keep_default_na=False, na_values=[""],
        )  # fmt: skip
    except InputError:
        raise
    except (ValueError, pd.errors.ParserError) as error:  # also bytes that are not UTF-8
        raise InputError(f"{path}: this is no .csv file of numbers ({_first_line(error)}).") from None
    table = table.iloc[: len(table) - _blank_lines_at_the_end(path)]
    if table.shape[1] > 1 and table.iloc[:, -1].isna().all():  # the comma at the end of each line
        table = table.iloc[:, :-1]
    try:
        numbers = table.apply(pd.to_numeric, errors="coerce")
    except OverflowError:  # of an integer that no float holds
        raise InputError("it holds a number of more than 308 digits, which no float can hold.", where=path) from None
    odd = np.argwhere(numbers.isna().to_numpy() & table.notna().to_numpy())
    if len(odd):
        row, column = odd[0].tolist()
        cell = str(table.iloc[row, column])[:40]
        what = f"row {row}, column {column} is {cell!r}; a .csv matrix holds numbers alone"
        is_decimal = re.fullmatch(r"\s*[-+]?[0-9]+,[0-9]+(e[-+]?[0-9]+)?\s*", cell, re.IGNORECASE)
        cure = "write decimal points, not commas" if is_decimal else _NO_HEADING
        if cell.strip().casefold() in _MISSING:
            cure = "every score must be finite; let the model write it again"
        if re.match(r"\s*[-+]?[0-9.]+(e[-+]?[0-9]+)?[\s|]+[-+0-9.]", cell, re.IGNORECASE):
            cure = "separate the numbers by commas, semicolons or tabs"
        raise InputError(what, where=path, cure=cure)
    matrix = np.asarray(numbers.to_numpy())
    if matrix.dtype.kind == "f":
        _refuse_counts(path, matrix)
        gaps = np.argwhere(np.isnan(matrix))
        if len(gaps):  # would be read as NaN
            row, column = gaps[0].tolist()
            what = f"row {row}, column {column} is empty; every row has {matrix.shape[1]} numbers."
            raise InputError(what, where=path)
    return matrix


def _blank_lines_at_the_end(path: Path) -> int:
    """Count the lines without anything behind the last row, which are no rows; one before it is an empty row."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - (1 << 16)))
        tail = file.read()
    _, *lines = tail[len(tail.rstrip(b" \r\n")) :].split(b"\n")
    return len(lines[:-1] if lines and not lines[-1] else lines)


def _refuse_counts(path: Path, matrix: NDArray[np.floating]) -> None:
    """Refuse numbers that count the rows or columns of a .csv, which would be read as scores."""
    heading = _counts(matrix[0]) or (np.isnan(matrix[0, 0]) and _counts(matrix[0, 1:]))
    index = _counts(matrix[:, 0]) or _counts(matrix[1:, 0])
    if (heading or index) and (np.mod(matrix[int(heading) :, int(index) :], 1) != 0).any():
        found = ["its first row is a heading"] * bool(heading) + ["its first column counts the rows"] * bool(index)
        raise InputError(f"{' and '.join(found)}, which would count as scores", where=path, cure=_NO_HEADING)


def _counts(numbers: NDArray[np.floating]) -> bool:
    """Return True if numbers, at least 3, count from 0 or 1."""
    return len(numbers) > 2 and numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def _of_several(path: Path, key: str | None) -> NDArray[Any]:
    """Read the only array of a file, or the one with a name."""
    try:
        arrays = np.load(path, allow_pickle=False) if path.suffix == ".npz" else _tensors(path)
    except InputError:
        raise
    except Exception as error:  # what a damaged file raises depends on where it is damaged
        what = f"it is damaged, or holds objects that are never loaded ({_first_line(error)})"
        raise shortage(error, path) or InputError(
            what, where=path, cure="write it by numpy.savez or torch.save(tensor, path)"
        ) from None
    if not isinstance(arrays, Mapping):
        raise InputError(f"this is one .npy array under another name; rename it to {path.stem}.npy.", where=path)
    names = [name[:40] for name in arrays]
    if key is None and len(names) == 1:
        key = next(iter(arrays))
    if key is None or key not in arrays:
        shown = first_of(names, 8)
        cure = f"name one, such as {path}:{names[0]}" if names else "write it by numpy.savez(path, matrix)"
        if len(names) > 1:
            images = next((name for name in names if name.lower().startswith(("im", "vis", "v_"))), names[0])
            texts = next(name for name in names if name != images)
            cure += f", or two for embeddings of images and captions: {path}:{images},{path}:{texts}"
        what = "" if key is None else f"there is no array '{key[:40]}' in it; "
        raise InputError(f"{what}it holds {len(names) or 'no'} arrays ({shown or 'none'})", where=path, cure=cure)
    called = f"{path}:{key}" if key else str(path)
    try:
        if isinstance(archive := getattr(arrays, "zip", None), zipfile.ZipFile):
            sizes = [entry.file_size for entry in archive.infolist() if entry.filename in (key, f"{key}.npy")]
            check_memory(max(sizes), called)
        values = arrays[key]
    except InputError:
        raise
    except Exception as error:  # a damaged member fails anywhere in zipfile, zlib or numpy's reader of headers
        raise InputError(
            f"{called}: this is no whole array of numbers ({_first_line(error)}); write it again."
        ) from None
    if isinstance(values, bytes):  # a file of another kind in the archive
        raise InputError(f"{called}: this is no .npy array; write the archive by numpy.savez(path, matrix).")
    return as_array(values, called)


def _tensors(path: Path) -> Mapping[str, Any]:
    need("torch", "train", f"reading {path}")
    import torch  # takes seconds

    check_zip(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about types of tensors that torch calls experimental
        content = torch.load(path, map_location="cpu", weights_only=True)
    several = content if isinstance(content, Mapping) else {"": content}
    tensors = {str(name): value for name, value in several.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        inner = ", ".join(str(name)[:40] for name in list(several)[:4])
        what = f"{path} holds no tensor but {type(content).__name__}{f' of {inner}' if inner else ''}"
        raise InputError(what, cure="let its model score images and captions, and save the scores by torch.save")
    return tensors


def _first_line(error: BaseException) -> str:
    if "allow_pickle" in str(error) or "weights_only" in str(error):
        return "Python objects"
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
