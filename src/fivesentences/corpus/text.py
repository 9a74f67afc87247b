"""Text files: strict UTF-8, lines that end at ``\\n`` only, JSON with one sentence for whatever is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError


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


def text_of(data: bytes, where: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        InputError: If a byte is not UTF-8; the sentence gives ``where``, the byte's offset and its line.
    """
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}: byte {error.start} (line {line}) is not UTF-8; save the file as UTF-8.") from None


def lines_of(text: str) -> list[str]:
    """Lines without their ends.

    Not ``str.splitlines()``: that also splits at U+2028, form feeds and other characters that real captions contain,
    and every later line would belong to the wrong image.
    """
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def json_of(data: bytes, where: str) -> Any:
    """Decode JSON.

    Raises:
        InputError: If it is not UTF-8 or not JSON; the sentence gives ``where`` and the place.
    """
    text = text_of(data, where)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place, reason = f"line {error.lineno}, column {error.colno}", error.msg
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or too deeply nested
        place, reason = "it", str(error)
    raise InputError(f"{where}: {place} is not JSON ({reason}); fetch it again.")
