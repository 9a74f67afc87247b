"""Captions and the images they belong to, from files that people made; alignment is checked, never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.documents import lines_of, read_bytes, read_json, text_of
from fivesentences.errors import Cure, InputError
from fivesentences.semantics.validation import checked_pairing


def read_captions(path: Path | str) -> list[str]:
    """Read captions from a text file, one per line, or from a ``.json`` file that holds one list of strings.

    Text is UTF-8. A line ends only at ``\\n``, so U+2028, form feeds and lone carriage returns stay inside their
    caption; if every line ends in ``\\r\\n``, as on Windows, that is the line ending. An empty line is a caption
    without words.

    Raises:
        InputError: If the file is missing, is not UTF-8, is not such a list, or holds no captions.
    """
    path = Path(path)
    captions = _list_of(path, "captions", str, "a string") if path.suffix == ".json" else _lines(path)
    if not captions:
        raise InputError(f"{path} holds no captions; write one per line.")
    return captions


def read_pairing(path: Path | str, n_captions: int) -> NDArray[np.int64]:
    """Read the image index of each caption, from 0: one whole number per line, a ``.json`` list or an ``.npy`` array.

    Raises:
        InputError: If the file is missing or is none of these, or does not name an image for each of ``n_captions``.
    """
    path = Path(path)
    if path.suffix == ".npy":
        numbers: Any = read_npy(path)
    elif path.suffix == ".json":
        numbers = _list_of(path, "image indices", int, "a whole number")
    else:
        words = [line.strip() for line in _lines(path)]
        for number, word in enumerate(words, start=1):
            if not (word.isascii() and word.isdigit() and len(word) < 16):
                raise InputError(
                    f"{path}: line {number} is {word[:40]!r}; give the index of a caption's image, from 0."
                )
        numbers = list(map(int, words))
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
    ended = lines if text.endswith("\n") else lines[:-1]
    from_windows = bool(ended) and all(line.endswith("\r") for line in ended)
    return [line.removesuffix("\r") for line in ended] + lines[len(ended) :] if from_windows else lines


def _list_of(path: Path, what: str, kind: type, name: str) -> list[Any]:
    content = read_json(path)
    if not isinstance(content, list):
        raise InputError(f"{path}: a .json file of {what} must hold one list, [...].")
    for index, item in enumerate(content):
        if type(item) is not kind:
            raise InputError(f"{path}: item {index} is {repr(item)[:40]}; every item must be {name}.")
    return content
