"""Text files as lists of lines that stay aligned: strict UTF-8, lines end at ``\\n`` only."""

from __future__ import annotations

from pathlib import Path

from fivesentences.errors import InputError


def text_of(data: bytes, where: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        InputError: If a byte is not UTF-8; the sentence names ``where``, the byte's offset and its line.
    """
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}: byte {error.start} (line {line}) is not UTF-8; save the file as UTF-8.") from None


def lines_of(text: str) -> list[str]:
    """Lines without their ends.

    Not ``str.splitlines()``: that also breaks at U+2028, form feeds and other characters people's captions do
    hold, and every later line would belong to the wrong image.
    """
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: If it is missing or cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from None
