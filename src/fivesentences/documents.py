"""Read untrusted text, JSON and YAML with size limits and clear errors."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import stat
import unicodedata
from collections.abc import Hashable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from fivesentences.errors import InputError, did_you_mean

DEEPEST = 100  # levels of nesting; ours have five
MOST_DIGITS = 308  # of an integer; beyond it no float holds it
LARGEST_JSON = 2 << 30  # bytes; COCO's instances of 118,000 photographs are a quarter of it
LARGEST_YAML = 5 << 20  # bytes; configuration is a thousandth of it
MOST_VALUES = 1_000_000  # of a YAML file in which every alias is replaced by what it stands for
NEWLINE = b"\n"
_SMALL = 16 << 20  # bytes of JSON whose values are all checked; of larger files, those that look suspicious
# How common binary files begin that are given where text is read.
BINARY = {b"\x93NUMPY": "a NumPy array", b"PK\x03\x04": "a .zip or .npz archive", b"\x1f\x8b": "a gzip archive"}
SEAL = "fivesentences.sha256"  # in an object that `storage.write_json` wrote: SHA-256 of the rest of it
_SUSPICIOUS = re.compile(rb"\d{300}|\\u[dD][89a-fA-F]")  # a long number, or half of a surrogate pair


def check_file(path: Path | str, otherwise: str = "") -> None:
    """Check that a path leads to a regular file.

    Args:
        path: The path.
        otherwise: Advice if there is none, such as "make it with the workflow".

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
        what = "there is no such file" if cure else "there is no such file."
        raise InputError(what, where=path, cure=cure or None) from None
    except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)[:80]!r} cannot be read ({reason}); name a file.") from None
    if stat.S_ISDIR(mode):
        raise InputError("this is a folder", where=path, cure="name a file in it")
    if not stat.S_ISREG(mode):
        kind = "pipe" if stat.S_ISFIFO(mode) else "device or socket"
        what = f"this is a {kind}, and files are read more than once"
        raise InputError(what, where=path, cure="save it as a file first")


def similar_name(path: Path, names: Iterable[str] | None = None) -> str | None:
    """Ask about the file that was probably meant by a name that is missing.

    Args:
        path: The missing file.
        names: Names of the files that there are; default those in its folder.

    Returns:
        Such as "did you mean 'a.JPG'?": first a name that differs in case or in the composition of accents alone
        (copies from macOS are NFD), then one that differs in a few letters; None if no name resembles it.
    """
    if names is None:
        try:
            names = sorted(entry.name for entry in os.scandir(path.parent) if not entry.name.startswith("."))
        except OSError:
            return None
    names = list(names)
    for name in names:
        composed, wanted = unicodedata.normalize("NFC", name), unicodedata.normalize("NFC", path.name)
        if composed == wanted:
            return f"there is '{name}', whose accents are composed otherwise (NFC and NFD); did you mean it?"
        if composed.casefold() == wanted.casefold():
            return f"did you mean '{name}'?"
    return did_you_mean(path.name, names)


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """Read a file.

    Args:
        path: The file.
        most: The largest size that makes sense, in bytes; default any.

    Raises:
        InputError: If it is not a file, cannot be read, or is larger.
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
        InputError: If a byte is not UTF-8, with its offset and line; or if it holds NUL, as UTF-16 does, which without
            a mark would else be read as text.
    """
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        at, what = data.find(b"\0"), "NUL, which no text holds"
    except UnicodeDecodeError as error:
        text, at, what = "", error.start, "not UTF-8"
    if at < 0:
        return text
    for start, kind in BINARY.items():
        if data.startswith(start):
            raise InputError(f"this is {kind}, not text", where=where, cure="name a text file")
    kind = _wide_encoding(data)
    cure = f"save the file as UTF-8{f' (iconv -f {kind} -t UTF-8 FILE)' if kind else ''}"
    what = f"byte {at} (line {data.count(NEWLINE, 0, at) + 1}) is {what}"
    raise InputError(f"{what}{f': the text is {kind}' if kind else ''}", where=where, cure=cure)


def _wide_encoding(data: bytes) -> str:
    """Return the encoding of a text in UTF-16 or UTF-32, with a mark or without; empty if it is another or none."""
    for name, mark in (("UTF-32LE", codecs.BOM_UTF32_LE), ("UTF-32BE", codecs.BOM_UTF32_BE),
                       ("UTF-16LE", codecs.BOM_UTF16_LE), ("UTF-16BE", codecs.BOM_UTF16_BE)):  # fmt: skip
        if data.startswith(mark):
            return name[:6]
        size = int(name[4:6]) // 8
        high = [data[:1000][at::size] for at in range(size) if at != (0 if name.endswith("LE") else size - 1)]
        if all(2 * part.count(0) > len(part) > 0 for part in high):  # as of ASCII, of which all are 0
            return name
    return ""


def lines_of(text: str) -> list[str]:
    """Split a text at ``\\n`` only, without the ends of lines.

    Not ``str.splitlines()``: that also splits at U+2028, form feeds and other characters that real captions contain,
    and every later line would belong to the wrong image.
    """
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_lines(path: Path | str) -> list[str]:
    """Read the lines of a UTF-8 file, see ``lines_of``.

    Raises:
        InputError: If it is not a file, cannot be read, or is not UTF-8.
    """
    return lines_of(text_of(read_bytes(path), path))


def check_text(text: str, where: Path | str) -> str:
    """Return a text after checking that it can be written as UTF-8.

    Raises:
        InputError: If it holds half of a surrogate pair, which no UTF-8 file can hold.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        what = f"it holds U+{ord(text[error.start]):04X}, half of a surrogate pair, which is not a character"
        raise InputError(what, where=where, cure="write the character itself, or both halves") from None
    return text


def read_json(path: Path | str, cure: str = "") -> Any:
    """Read a JSON file, and compare what ``storage.write_json`` wrote with the checksums in it.

    Args:
        path: The file.
        cure: Advice about one that is damaged, such as "make it again".

    Raises:
        InputError: If it is not a file, not what ``parse_json`` reads, or not what was written.
    """
    content = parse_json(read_bytes(path, LARGEST_JSON), path, cure)
    for part in parts_of(content):
        if part.pop(SEAL, None) not in (None, digest_of(part)):
            what = "it differs from what was written: it is damaged, or was edited"
            raise InputError(what, where=path, cure=f"{cure or 'make it again'}, or remove its '{SEAL}'")
    return content


def parts_of(content: Any) -> list[dict[str, Any]]:
    """Return the objects of a JSON file that have a checksum of their own: all of it, or the items of a list.

    A note that has the ``sha256`` of ``seals.seal_of`` needs no other.
    """
    parts = content if isinstance(content, list) else [content]
    return parts if all(isinstance(part, dict) and "sha256" not in part for part in parts) else []


def digest_of(part: dict[str, Any]) -> str:
    """Return the SHA-256 of an object as JSON, whatever the order of its keys and its spaces."""
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()


def read_formatted(path: Path | str, form: str, otherwise: str) -> dict[str, Any]:
    """Read a JSON object whose ``format`` says what it holds, and in which version.

    Args:
        path: The file.
        form: The format that is read.
        otherwise: Error for a file of another format, with its cure, such as "these are not retrievals; make
            them again."

    Raises:
        InputError: If it is not a file, not JSON, or of another format.
    """
    found = read_json(path)
    if not isinstance(found, dict) or found.get("format") != form:
        raise InputError(otherwise, where=path)
    return found


def parse_json(data: bytes | str, where: Path | str, cure: str = "") -> Any:
    """Decode JSON within limits of nesting and of numbers.

    Args:
        data: UTF-8, or text.
        where: Name of the file for errors.
        cure: Advice about a file that is not JSON, such as "fetch it again".

    Raises:
        InputError: If it is not UTF-8 or not JSON, gives a key twice, is nested deeper than ``DEEPEST`` levels, or
            holds an integer of more than ``MOST_DIGITS`` or half of a surrogate pair.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"the key {twice[:80]!r} is given twice in one object; keep one.", where=where)
        return found

    text = text_of(data, where) if isinstance(data, bytes) else data
    try:
        content = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if text.strip() else "it is empty, which"
        raise InputError(f"{place} is not JSON ({error.msg}){f'; {cure}' if cure else ''}.", where=where) from None
    except InputError:
        raise
    except (RecursionError, ValueError) as error:  # int() refuses thousands of digits, since it would take long
        raise _beyond(error, where) from None
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if len(raw) < _SMALL or _SUSPICIOUS.search(raw):
        check_plain(content, where)
    return content


def check_plain(content: Any, where: Path | str) -> None:
    """Check the nesting, the numbers and the text of plain data from a file; it may contain itself.

    Raises:
        InputError: As in ``parse_json``.
    """
    left = [(content, 1)]
    while left:
        value, depth = left.pop()
        if depth > DEEPEST and isinstance(value, dict | list):
            raise _beyond(RecursionError(), where)
        if isinstance(value, dict):
            left += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, list):
            left += [(part, depth + 1) for part in value]
        elif isinstance(value, str):
            check_text(value, where)
        elif isinstance(value, int) and abs(value) > 10**MOST_DIGITS:
            raise _beyond(ValueError(), where)


def _beyond(error: Exception, where: Path | str) -> InputError:
    if isinstance(error, RecursionError):
        return InputError(f"it is nested more than {DEEPEST} levels deep, which nothing here needs.", where=where)
    return InputError(f"it holds a number of more than {MOST_DIGITS} digits, which no float can hold.", where=where)


def read_yaml(path: Path | str) -> Any:
    """Read a YAML file as plain data, within limits of size, nesting, numbers and repetition.

    Raises:
        InputError: If it is not a file, not UTF-8 or not YAML, gives a key twice, is larger than ``LARGEST_YAML``
            bytes, nested deeper than ``DEEPEST`` levels, holds more than ``MOST_VALUES`` once aliases are replaced, an
            integer of more than ``MOST_DIGITS``, or half of a surrogate pair.
    """
    return parse_yaml(text_of(read_bytes(path, LARGEST_YAML), path), path)


def parse_yaml(text: str, path: Path | str) -> Any:
    """Decode YAML as ``read_yaml`` does; ``path`` is its place for errors."""
    try:
        content = _loaded(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"line {mark.line + 1}" if mark is not None else "the file"
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        raise InputError(f"{place} is not YAML ({problem}).", where=path) from None
    except RecursionError as error:
        raise _beyond(error, path) from None
    except ValueError as error:  # an integer of thousands of digits, a date that does not exist
        if "digits" in str(error):
            raise _beyond(error, path) from None
        raise InputError(f"a value is not YAML ({error}); write it in quotes.", where=path) from None
    check_plain(content, path)
    return content


class _Loader(yaml.SafeLoader):
    """Plain data only, without duplicate keys and without aliases that multiply."""

    def __init__(self, text: str):
        super().__init__(text)
        self._sizes: dict[int, int] = {}  # of nodes, with their aliases replaced, by identity

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        node = super().compose_node(parent, index)
        if node is not None and id(node) not in self._sizes:
            parts = node.value if isinstance(node, yaml.SequenceNode) else []
            parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else parts
            self._sizes[id(node)] = size = 1 + sum(self._sizes[id(part)] for part in parts)
            if size > MOST_VALUES:
                mark: Any = node.start_mark
                problem = f"with every alias replaced it holds more than {MOST_VALUES:,} values"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        found = super().construct_mapping(node, deep=deep)
        keys = set[Hashable]()
        for key in own:
            name = self.construct_object(key, deep=True)
            if name in keys:
                mark: Any = key.start_mark
                problem = f"the key '{str(name)[:80]}' is given twice; keep one"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
            keys.add(name)
        return found


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | str:
    """Read an integer; 24:00:00 stays a text, of which YAML 1.1 would make a number of base 60."""
    return node.value if ":" in node.value else loader.construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _number)


class _FastLoader(_Loader):
    """The same with the events of libyaml, in a tenth of the time."""

    def __init__(self, text: str):
        super().__init__(text)
        fast: Any = yaml.CSafeLoader(text)
        vars(self).update(check_event=fast.check_event, peek_event=fast.peek_event, get_event=fast.get_event)


def _loaded(text: str) -> Any:
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError):
            return yaml.load(text, _FastLoader)
    return yaml.load(text, _Loader)  # which says better where text is not YAML
