"""Captions and the images they belong to, from files that people made; alignment is checked, never guessed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.corpus.caption_rows import lines_end_as_on_windows, refuse_leading_ids, text_rows
from fivesentences.corpus.caption_tables import CaptionTable, binary_kind, read_caption_table
from fivesentences.documents import check_file, lines_of, read_bytes, read_json, text_of
from fivesentences.errors import Cure, InputError
from fivesentences.semantics.validation import checked_pairing

_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]*)?(e[+-]?[0-9]{1,2})?", re.ASCII | re.IGNORECASE)  # numpy.savetxt: 1.0e+00


def read_captions(path: Path | str) -> list[str]:
    """Read captions from a text file, one per line, from a list in JSON, or from a file that also names their images.

    Text is UTF-8. A line ends only at ``\\n``, so U+2028, form feeds and lone carriage returns stay inside their
    caption; if every line ends in ``\\r\\n``, as on Windows, that is the line ending. An empty line is a caption
    without words. Files that name images are those of ``evaluation.read_caption_table``, told by their content; see
    ``read_captioned``.

    Raises:
        InputError: If the file is missing, is not UTF-8, is damaged, holds something else, or holds no captions.
    """
    return read_captioned(path).captions


def read_captioned(path: Path | str, split: str | None = None) -> CaptionTable:
    """Read captions as ``read_captions``, with the image of each if the file says it (``is_paired``).

    Args:
        path: The file.
        split: Split of a file that has several; None: test, or the only one that there is.

    Raises:
        InputError: As ``read_captions``.
    """
    path = Path(path)
    check_file(path)
    rows = None if binary_kind(path) else text_rows(path)
    if not isinstance(rows, list):
        return read_caption_table(path, split=split)
    if not rows:
        raise InputError(f"{path} holds no captions; write one per line.")
    refuse_leading_ids(rows, path)
    return CaptionTable(rows, np.arange(len(rows)), list(map(str, range(len(rows)))), is_paired=False, is_named=False)


def own_pairing(
    table: CaptionTable, path: Path | str, given: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """Return the image index of each caption that a file of captions says itself, or the given one if it agrees.

    Args:
        table: The captions, as ``read_captioned`` returns them.
        path: Their file, for messages.
        given: Image index of each caption; images may be in another order.

    Raises:
        InputError: If the file says that captions belong to other images than the given indices.
    """
    if not table.is_paired:
        return given
    if given is None:
        return table.image_of_caption
    both = np.unique(np.stack([table.image_of_caption, given]), axis=1) if len(given) == len(table.captions) else None
    if both is None or any(len(np.unique(one)) < both.shape[1] for one in both):
        what = "it says itself which image a caption belongs to, and the given indices say otherwise"
        raise InputError(what, where=path, cure="leave them out, or give captions alone")
    return given


def read_texts(path: Path | str) -> list[str]:
    """Read the lines of a UTF-8 file, or a ``.json`` list of strings: names, ids, or captions known to be alone.

    Raises:
        InputError: If it is missing, not UTF-8 or not such a list, or is empty.
    """
    path = Path(path)
    texts = _list_of(path, "captions", (str,), "a string") if path.suffix == ".json" else _lines(path)
    if not texts:
        raise InputError(f"{path} is empty; write one per line.")
    return texts


def read_pairing(path: Path | str, n_captions: int) -> NDArray[np.int64]:
    """Read the image index of each caption, from 0: one whole number per line, a ``.json`` list or an ``.npy`` array.

    Whole numbers may be written as 1.0 or 1e+00.

    Raises:
        InputError: If the file is missing or is none of these, or does not name an image for each of ``n_captions``.
    """
    path = Path(path)
    if path.suffix == ".npy":
        numbers: Any = read_npy(path)
    elif path.suffix == ".json":
        numbers = _list_of(path, "image indices", (int, float), "a whole number")
    else:
        words = [line.strip() for line in _lines(path)]
        for number, word in enumerate(words, start=1):
            if not (_NUMBER.fullmatch(word) and float(word) < 1e15 and float(word).is_integer()):
                raise InputError(
                    f"{path}: line {number} is {word[:40]!r}; give the index of a caption's image, from 0."
                )
        numbers = list(map(float, words))
    try:
        return checked_pairing(numbers, n_captions)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def equal_pairing(path: Path | str, n_captions: int, per_image: int) -> NDArray[np.int64]:
    """Return the image index of each caption where the captions of an image are adjacent, ``per_image`` of each.

    Raises:
        InputError: If the number of captions in ``path`` is not a multiple of ``per_image``.
    """
    if n_captions % per_image:
        raise InputError(
            f"{path} holds {n_captions} captions, which is not a multiple of {per_image} captions per image",
            cure=Cure(
                python="pass another per_image, or read the image of each caption from a file with read_pairing",
                shell="give --per-image N or --image-of-caption FILE",
            ),
        )
    return np.arange(n_captions) // per_image


def _lines(path: Path) -> list[str]:
    text = text_of(read_bytes(path), str(path))
    lines = lines_of(text)
    return [line.removesuffix("\r") for line in lines] if lines_end_as_on_windows(text, lines) else lines


def _list_of(path: Path, what: str, kinds: tuple[type, ...], name: str) -> list[Any]:
    content = read_json(path)
    if not isinstance(content, list):
        raise InputError(f"{path}: a .json file of {what} must hold one list, [...].")
    for index, item in enumerate(content):
        if type(item) not in kinds or (isinstance(item, float) and not item.is_integer()):
            raise InputError(f"{path}: item {index} is {repr(item)[:40]}; every item must be {name}.")
    return content
