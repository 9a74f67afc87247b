"""Matrices from the files in which models of other people's code leave them; nothing in a file is ever executed."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.phi_file import captions_sha256, pairing_sha256, read_note
from fivesentences.semantics.scoring import LateBar
from fivesentences.storage import sha256_of

SUFFIXES = (".npy", ".npz", ".json", ".csv", ".pt", ".pth")
BYTES_AT_ONCE = 1 << 22
_WITH_KEY = re.compile(r"(?P<file>.+\.(?:npz|pt|pth)):(?P<key>[^/\\:]+)")
_LARGEST_CAPTION_FILE = 100_000_000  # bytes: larger files beside a phi are not searched for its captions


def read_matrix(path: Path | str) -> NDArray[Any]:
    """A matrix of real numbers from a file.

    ``.npy`` is memory-mapped. ``.npz`` and ``.pt`` (``torch.load`` with ``weights_only``) hold one matrix, or the one
    that ``FILE:NAME`` names. ``.json`` is a list of rows, as the released code of NCS reads them; it is read row by
    row into float32 where that holds every number exactly, else float64. ``.csv`` has no heading and may end its lines
    with a comma, as the released SPICE matrices do.

    Args:
        path: The file; for ``.npz``, ``.pt`` and ``.pth`` perhaps ``FILE:NAME``.

    Returns:
        ``[rows, columns]``, read-only if memory-mapped; the values are not looked at.

    Raises:
        InputError: If the file is missing or damaged, holds Python objects, or holds no such matrix.
    """
    key = None
    found = _WITH_KEY.fullmatch(str(path))
    if found and not Path(path).exists():
        path, key = found["file"], found["key"]
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: matrices are read from {', '.join(SUFFIXES)}; this is none of them.")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    readers = {".npy": _npy, ".json": _json, ".csv": _csv}
    matrix = readers[path.suffix](path) if path.suffix in readers else _of_several(path, key)
    if matrix.dtype.kind not in "fiub" or matrix.ndim != 2 or not matrix.size:
        raise InputError(
            f"{path} holds {matrix.dtype} of shape {list(matrix.shape)}; a matrix of real numbers is expected."
        )
    return matrix


def read_similarity(path: Path | str, transposed: bool = False) -> NDArray[Any]:
    """A similarity matrix, ``[images, captions]``.

    Args:
        path: As in ``read_matrix``.
        transposed: The file's rows are captions.

    Raises:
        InputError: As ``read_matrix``.
    """
    matrix = read_matrix(path)
    return matrix.T if transposed else matrix


def check_orientation(shape: tuple[int, int], n_images: int | None, n_captions: int | None, name: str) -> None:
    """Refuse a similarity whose rows are captions.

    Args:
        shape: Of the matrix.
        n_images: Images that there must be, if that is known.
        n_captions: Captions that there must be, if that is known.
        name: What to call the matrix.

    Raises:
        InputError: If it looks transposed; how to cure that.
    """
    rows, columns = shape
    if n_images is not None and n_captions is not None:
        turned = rows != columns and (rows, columns) == (n_captions, n_images)
    else:
        turned = rows > columns  # every image has a caption
    if turned:
        raise InputError(
            f"{name} is [{rows}, {columns}] and looks transposed: rows are images and columns captions; pass its "
            "transpose (similarity.T; on the command line --transposed)."
        )


# --- embeddings ---------------------------------------------------------------------------------------------


def read_embeddings(images: Path | str, captions: Path | str) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Embeddings of images and of captions, one row an image however often the file repeats it.

    The loaders of SCAN and its successors give every image once per caption; such blocks of equal rows are recognised.

    Args:
        images: As in ``read_matrix``: ``[images, dim]``, or ``[captions, dim]`` with equal rows for equal images.
        captions: ``[captions, dim]``.

    Returns:
        ``[images, dim]``, ``[captions, dim]``, and how often the file had each image.

    Raises:
        InputError: As ``read_matrix``; or the dimensions differ, or the two look exchanged.
    """
    from fivesentences.retrieval.matrices import repeats
    from fivesentences.retrieval.similarity import unique_images

    image_rows, caption_rows = read_matrix(images), read_matrix(captions)
    if image_rows.shape[1] != caption_rows.shape[1]:
        raise InputError(
            f"{images} is {list(image_rows.shape)} but {captions} is {list(caption_rows.shape)}; embeddings of images "
            "and captions have the same number of columns."
        )
    images_once = unique_images(image_rows)
    often = len(image_rows) // len(images_once)
    if often > 1 and len(image_rows) == len(caption_rows):
        return images_once, caption_rows, often
    if (of_captions := repeats(caption_rows)) > 1:
        raise InputError(
            f"{captions} has {len(caption_rows)} rows but they repeat {len(caption_rows) // of_captions} ones "
            f"{of_captions} times each, as embeddings of images do; give the embeddings of the images first, then "
            "those of the captions."
        )
    if len(image_rows) > len(caption_rows):
        raise InputError(
            f"{images} has {len(image_rows)} rows and {captions} only {len(caption_rows)}; give the embeddings of "
            "the images first, then those of the captions."
        )
    return image_rows, caption_rows, 1


# --- phi ----------------------------------------------------------------------------------------------------


def read_phi_for(
    path: Path | str,
    n_images: int,
    n_captions: int,
    image_of_caption: ArrayLike | None = None,
    captions: Sequence[str] | None = None,
    more_rows: bool = False,
) -> tuple[str, NDArray[Any]]:
    """A phi matrix for a similarity of that many images and captions.

    Args:
        path: A matrix that ``fivesentences phi`` wrote, or any other that ``read_matrix`` reads; ``NAME=FILE`` names
            it.
        n_images: Images of the similarity.
        n_captions: Its captions.
        image_of_caption: ``[captions]`` image of each caption of the similarity, to be compared with those in the note
            beside the matrix. A matrix without a note is taken as it is.
        captions: The captions, to be compared in the same way.
        more_rows: Whether the matrix may have rows of further captions after those of the similarity, and columns of
            further images (``ideal_pool="given_rows"``); it is then not compared.

    Returns:
        Name (given, else noted beside the matrix, else of the file) and ``[captions, images]``.

    Raises:
        InputError: As ``read_matrix``; or it does not fit: the sentence says which captions it seems to come from.
    """
    name, equals, file = str(path).partition("=")
    if not equals or Path(path).exists():
        name, file = "", str(path)
    if Path(file).is_dir():
        raise InputError(f"{file} is a folder; whole matrices are compared, so make one with 'fivesentences phi'.")
    matrix = read_matrix(file)
    fits = matrix.shape == (n_captions, n_images)
    if not fits and not (more_rows and matrix.shape[0] > n_captions and matrix.shape[1] >= n_images):
        raise InputError(_misfit(file, matrix.shape, n_images, n_captions))
    note = _note_beside(Path(file))
    if note is not None and fits:
        _check_made_of(file, note, image_of_caption, captions)
    return name or str((note or {}).get("phi") or Path(file.partition(":")[0]).stem), matrix


def _check_made_of(
    file: str, note: dict[str, Any], image_of_caption: ArrayLike | None, captions: Sequence[str] | None
) -> None:
    """Refuse a phi of other captions, or of the same captions in another order of images."""
    noted = note.get("image_of_caption_sha256")
    if image_of_caption is not None and noted is not None and noted != pairing_sha256(image_of_caption):
        raise InputError(
            f"{file}: phi was made with another list of whose caption each one is; give the list it was made with "
            "(image_of_caption; on the command line --image-of-caption FILE), or make phi again with this one."
        )
    if captions is not None and note["captions_sha256"] != captions_sha256(captions):
        of = f"those of {note['captions_file']}" if note.get("captions_file") else "others"
        raise InputError(f"{file}: phi was made of other captions than these ({of}); make phi again of these captions.")


def _misfit(file: str, shape: tuple[int, ...], n_images: int, n_captions: int) -> str:
    fit = f"{file} is {list(shape)} but similarity has {n_images} images and {n_captions} captions"
    if shape == (n_images, n_captions):
        return f"{fit}: phi looks transposed, its rows are captions and its columns images; save its transpose."
    return f"{fit}: {_origin(Path(file), shape)}; make phi of the captions that the similarity was made of."


def _origin(path: Path, shape: tuple[int, ...]) -> str:
    """Which captions a phi seems to come from, in words."""
    note = _note_beside(path)
    if note is None:
        return f"it was made of {shape[0]} captions of {shape[1]} images (there is no note beside it that says which)"
    size = f"({note['shape'][0]} captions of {note['shape'][1]} images)"
    noted, wanted = note.get("captions_file"), note["captions_sha256"]
    for folder in dict.fromkeys((path.resolve().parent, Path.cwd())):
        for candidate in sorted(folder.glob("*.txt")):
            if candidate.stat().st_size <= _LARGEST_CAPTION_FILE and sha256_of(candidate) == wanted:
                return f"it comes from {candidate.name} {size}"
    if noted:
        return f"it seems to come from {noted} {size}"
    return f"it seems to come from a captions file whose SHA-256 is {str(wanted)[:12]}... {size}"


def _note_beside(path: Path) -> dict[str, Any] | None:
    beside = path.with_suffix(".json")
    if path.suffix == ".json" or not beside.is_file():
        return None
    try:
        return read_note(beside)
    except InputError:
        return None


# --- formats ------------------------------------------------------------------------------------------------


def _npy(path: Path) -> NDArray[Any]:
    try:
        loaded: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: this is not a whole .npy file of numbers ({_first_line(error)}).") from None
    return loaded


def _json(path: Path) -> NDArray[Any]:
    """Row by row, so that text and Python numbers of the whole matrix are never held at once."""
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
        rows[index] = rows[index][:0]  # its memory goes as the matrix fills
    return matrix


def _json_row(path: Path, text: bytes, index: int) -> NDArray[np.floating]:
    try:
        row = np.array(json.loads(text))
    except ValueError as error:
        raise InputError(f"{path}: row {index} is no list of numbers ({_first_line(error)}).") from None
    if row.ndim != 1 or row.dtype.kind not in "iuf" or not len(row):
        raise InputError(f"{path}: row {index} is no list of numbers{_first_odd(json.loads(text))}.")
    short = row.astype(np.float32)
    # What was written from float32 comes back exactly, in half the memory.
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
        raise InputError(
            f'{path}: reading .pt needs PyTorch; install it with pip install "fivesentences[train]", or save .npy.'
        ) from None
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
