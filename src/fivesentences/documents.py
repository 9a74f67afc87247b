"""Text, JSON and YAML that somebody else may have written: read within limits, and one sentence on what is wrong."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fivesentences.errors import InputError, did_you_mean

DEEPEST = 100  # levels of nesting; ours have five
LARGEST_INTEGER = 10**308  # beyond it no float holds it
LARGEST_JSON = 2 << 30  # bytes; COCO's instances of 118,000 photographs are a quarter of it
LARGEST_YAML = 5 << 20  # bytes; configuration is a thousandth of it
MOST_NODES = 1_000_000  # of a YAML file in which every alias is replaced by what it stands for
_SUSPICIOUS = re.compile(rb"\d{300}|\\u[dD][89a-fA-F]")  # a long number, or half of a surrogate pair


def check_file(path: Path | str, otherwise: str = "") -> None:
    """Check that a path leads to a regular file.

    Args:
        path: The path.
        otherwise: What to do if there is none, such as "make it with the workflow".

    Raises:
        InputError: If nothing is there (a file of a similar name is suggested), or a folder, a pipe or a device.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise InputError(f"it is a link to {path.readlink()}, which is missing.", where=path) from None
        hint = similar_name(path) or ""
        cure = f"{otherwise} ({hint})" if hint and otherwise else hint or otherwise
        end = "" if cure.endswith("?") else "."
        raise InputError(f"there is no such file{f'; {cure}' if cure else ''}{end}", where=path) from None
    except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)[:80]!r} cannot be read ({reason}); name a file.") from None
    if stat.S_ISDIR(mode):
        raise InputError("this is a folder", where=path, cure="name a file in it")
    if not stat.S_ISREG(mode):
        kind = "pipe" if stat.S_ISFIFO(mode) else "device or socket"
        raise InputError(
            f"this is a {kind}, and files are read more than once", where=path, cure="save it as a file first"
        )


def similar_name(path: Path, names: Iterable[str] | None = None) -> str | None:
    """A question about the file that was probably meant by a name that is missing.

    First a name that differs in case or in the composition of accents alone (``.JPG`` for ``.jpg``; NFC for NFD, as
    copies from macOS have it), then one that differs in a few letters.

    Args:
        path: The missing file.
        names: Names of the files that there are; default those in its folder.

    Returns:
        Such as "did you mean 'a.JPG'?"; None if no name resembles it.
    """
    if names is None:
        try:
            names = sorted(entry.name for entry in os.scandir(path.parent) if not entry.name.startswith("."))
        except OSError:
            return None
    names = list(names)
    for name in names:
        if _folded(name) == _folded(path.name):
            if unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", path.name):
                return f"there is '{name}', whose accents are composed otherwise (NFC and NFD); did you mean it?"
            return f"did you mean '{name}'?"
    return did_you_mean(path.name, names)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


# --- text ---------------------------------------------------------------------------------------------------


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """The bytes of a file.

    Args:
        path: The file.
        most: The largest size that makes sense, in bytes; default any.

    Raises:
        InputError: If it is no file, cannot be read, or is larger.
    """
    check_file(path)
    try:
        size = Path(path).stat().st_size
        if most is not None and size > most:
            raise InputError(f"it has {size:,} bytes; at most {most:,} make sense here.", where=path)
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"it cannot be read ({error.strerror or error}).", where=path) from None


def text_of(data: bytes, where: Path | str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        InputError: If a byte is not UTF-8; the sentence gives ``where``, the byte's offset and its line.
    """
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}: byte {error.start} (line {line}) is not UTF-8; save the file as UTF-8.") from None


def check_text(text: str, where: Path | str) -> str:
    """Check that a text can be written as UTF-8.

    Returns:
        The text.

    Raises:
        InputError: If it holds half of a surrogate pair, which no UTF-8 file can hold.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        odd = text[error.start]
        raise InputError(
            f"it holds U+{ord(odd):04X}, half of a surrogate pair, which is no character (behind "
            f"{text[max(0, error.start - 20) : error.start]!r})",
            where=where,
            cure="write the character itself, or both halves",
        ) from None
    return text


# --- JSON ---------------------------------------------------------------------------------------------------


def read_json(path: Path | str, cure: str = "") -> Any:
    """Read a JSON file.

    Args:
        path: The file.
        cure: What to do about one that is not JSON, such as "make it again".

    Raises:
        InputError: If it is no file, or not what ``parse_json`` reads.
    """
    return parse_json(read_bytes(path, LARGEST_JSON), path, cure)


def read_formatted(path: Path | str, form: str, otherwise: str) -> dict[str, Any]:
    """Read a JSON object whose ``format`` says what it holds, and in which version.

    Args:
        path: The file.
        form: The format that is read.
        otherwise: What to say of a file of another one, with the cure, such as "these are not retrievals; make them
            again."

    Raises:
        InputError: If it is no file, no JSON, or of another format.
    """
    found = read_json(path)
    if not isinstance(found, dict) or found.get("format") != form:
        raise InputError(f"{path}: {otherwise}")
    return found


def parse_json(data: bytes | str, where: Path | str, cure: str = "") -> Any:
    """Decode JSON within limits of nesting and of numbers.

    Args:
        data: UTF-8, or text.
        where: What to call it in an error.
        cure: What to do about a file that is not JSON, such as "fetch it again".

    Raises:
        InputError: If it is not UTF-8 or not JSON, gives a key twice, is nested more than ``DEEPEST`` levels, or holds
            an integer beyond ``LARGEST_INTEGER`` or half of a surrogate pair; the sentence names the place.
    """
    text = text_of(data, where) if isinstance(data, bytes) else data
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    end = f"; {cure}." if cure else "."
    try:
        content = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if _deepest_bracket(raw) > DEEPEST:  # Python 3.13 gets to the end of what earlier ones gave up
            raise _nested(where) from None
        place = f"line {error.lineno}, column {error.colno}" if text.strip() else "it is empty, which"
        raise InputError(f"{place} is not JSON ({error.msg}){end}", where=where) from None
    except _TwiceError as error:
        raise InputError(f"the key {str(error)[:80]!r} is given twice in one object; keep one.", where=where) from None
    except RecursionError:
        raise _nested(where) from None
    except ValueError:  # int() refuses thousands of digits, since it would take long
        raise _long_number(where) from None
    if _SUSPICIOUS.search(raw) or _deepest_bracket(raw) > DEEPEST:
        check_plain(content, where)
    return content


def check_plain(content: Any, where: Path | str) -> None:
    """Check the nesting, the numbers and the text of plain data from a file, however deep it is.

    Raises:
        InputError: As in ``parse_json``.
    """
    left = [(content, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, dict | list):
            if depth > DEEPEST:
                raise _nested(where)
            parts = [*value, *value.values()] if isinstance(value, dict) else value
            left += [(part, depth + 1) for part in parts]
        elif isinstance(value, str):
            check_text(value, where)
        elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise _long_number(where)


class _TwiceError(Exception):
    """A key that an object gives twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for key in keys if keys.count(key) > 1))
    return found


def _deepest_bracket(raw: bytes) -> int:
    """A bound of the nesting, for which brackets within texts count too."""
    deepest, level = 0, 0
    for start in range(0, len(raw), 1 << 22):
        signs = np.frombuffer(raw[start : start + (1 << 22)], dtype=np.uint8)
        # "[" and "{", "]" and "}" differ in one bit from each other.
        steps = np.where((signs | 32) == 0x7B, 1, np.where((signs | 32) == 0x7D, -1, 0)).astype(np.int32)
        levels = level + np.cumsum(steps)
        deepest, level = max(deepest, int(levels.max())), int(levels[-1])
    return deepest


def _nested(where: Path | str) -> InputError:
    return InputError(f"it is nested more than {DEEPEST} levels deep, which nothing here needs.", where=where)


def _long_number(where: Path | str) -> InputError:
    digits = round(math.log10(LARGEST_INTEGER))
    return InputError(f"it holds a number of more than {digits} digits, which no float can hold.", where=where)


# --- YAML ---------------------------------------------------------------------------------------------------


def read_yaml(path: Path | str) -> Any:
    """Read a YAML file as plain data, within limits of size, nesting, numbers and repetition.

    Raises:
        InputError: If it is no file, not UTF-8 or not YAML, gives a key twice, is larger than ``LARGEST_YAML`` bytes,
            nested more than ``DEEPEST`` levels, holds more than ``MOST_NODES`` values once aliases are replaced, an
            integer beyond ``LARGEST_INTEGER``, or half of a surrogate pair.
    """
    return parse_yaml(text_of(read_bytes(path, LARGEST_YAML), path), path)


def parse_yaml(text: str, path: Path | str) -> Any:
    """Plain data from the text of a YAML file; ``path`` is what an error names. See ``read_yaml``."""
    try:
        loader = _Loader(text)
        try:
            content = loader.get_single_data()
        finally:
            loader.dispose()  # type: ignore[no-untyped-call]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"line {mark.line + 1}" if mark is not None else "the file"
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        if isinstance(error, _LimitError):
            raise InputError(f"{place}: {problem}.", where=path) from None
        raise InputError(f"{place} is not YAML ({problem}).", where=path) from None
    except RecursionError:
        raise _nested(path) from None
    except ValueError as error:  # an integer of thousands of digits, a date that does not exist
        if "digits" in str(error):
            raise _long_number(path) from None
        raise InputError(f"a value is not YAML ({error}); write it in quotes.", where=path) from None
    check_plain(content, path)
    return content


class _LimitError(yaml.MarkedYAMLError):
    """A file that is YAML, but not one that is accepted here."""


class _Loader(yaml.SafeLoader):
    """Plain data only; refuses duplicate keys, deep nesting, and aliases that multiply or contain themselves."""

    def __init__(self, text: str):
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # of finished nodes, with their aliases replaced, by identity

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        start: Any = event.start_mark
        self._depth += 1
        if self._depth > DEEPEST:
            raise _LimitError(
                problem=f"it is nested more than {DEEPEST} levels deep, which nothing here needs",
                problem_mark=start,
            )
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return node
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self._sizes:
                raise _LimitError(problem=f"*{event.anchor} stands within itself", problem_mark=start)
            return node
        size = 1 + sum(self._sizes[id(part)] for part in _parts(node))
        if size > MOST_NODES:
            raise _LimitError(
                problem=f"with every alias replaced it holds more than {MOST_NODES:,} values",
                problem_mark=start,
            )
        self._sizes[id(node)] = size
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[Hashable, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                line = key_node.start_mark.line + 1
                if key in seen:
                    first = f" (first in line {seen[key]})" if seen[key] != line else ""
                    problem = f"the key '{str(key)[:80]}' is given twice{first}; keep one"
                    mark: Any = key_node.start_mark
                    raise _LimitError(problem=problem, problem_mark=mark)
                seen[key] = line
        return super().construct_mapping(node, deep=deep)


def _parts(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value
