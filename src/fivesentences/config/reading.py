"""YAML -> typed blocks; what is wrong is said in one sentence a mistake."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from fivesentences.config.datasets import LOADERS
from fivesentences.config.figures import DRAWINGS
from fivesentences.errors import InputError

Block = TypeVar("Block", bound=BaseModel)


def check(kind: type[Block], content: Any, where: str) -> Block:
    """Turn plain data into a typed block.

    Raises:
        InputError: One sentence a mistake, naming ``where``, the key, the value and what was expected.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(_sentence(kind, where, mistake) for mistake in _told_once(error.errors()))) from None


def read_yaml(path: Path | str) -> Any:
    """Read a YAML file as plain data.

    Raises:
        InputError: If it is missing, not UTF-8 or not YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark is not None else "the file"
        raise InputError(f"{path}: {place} is not YAML ({getattr(error, 'problem', error)}).") from None


def read(kind: type[Block], path: Path | str) -> Block:
    """Read a YAML file into a typed block; see ``check``."""
    return check(kind, read_yaml(path), str(path))


def _told_once(mistakes: list[Any]) -> list[Any]:
    """Where a value may be of several kinds, pydantic complains once for each; the deepest complaint stays."""
    kept: dict[tuple[str, ...], Any] = {}
    for mistake in sorted(mistakes, key=lambda mistake: -len(_keys_as_written(mistake["loc"]))):
        keys = tuple(_keys_as_written(mistake["loc"]))
        if not any(longer[: len(keys)] == keys for longer in kept):
            kept[keys] = mistake
    return [mistake for mistake in mistakes if any(mistake is one for one in kept.values())]


def _sentence(kind: type[BaseModel], where: str, mistake: Any) -> str:
    keys = _keys_as_written(mistake["loc"])
    key, value, context = ".".join(keys) or "the file", mistake["input"], mistake.get("ctx", {})
    if mistake["type"] == "extra_forbidden":
        close = difflib.get_close_matches(keys[-1], sorted(_known_keys(kind)), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else " Remove it; config/README.md lists the known keys."
        return f"{where}: {key} is not a known key.{hint}"
    if mistake["type"] == "missing":
        return f"{where}: {key} is missing."
    if mistake["type"] == "union_tag_invalid":
        told_by = context["discriminator"].strip("'")
        return f"{where}: {key}.{told_by} is '{context['tag']}'; expected one of {context['expected_tags']}."
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "value_error":
        return f"{where}: {key}: {message}." if keys else f"{where}: {message}."
    if keys and "fraction" in key and isinstance(value, int | float) and 1 < value <= 100:
        return f"{where}: {key} is {value!r}; a fraction lies in (0, 1]. Did you mean {value / 100:g}?"
    shown = repr(value) if len(repr(value)) < 60 else type(value).__name__
    return f"{where}: {key} is {shown}; {message[0].lower()}{message[1:]}."


def _keys_as_written(location: tuple[int | str, ...]) -> list[str]:
    """The keys a person wrote: pydantic puts the names of union branches between them."""
    parts = [str(part) for part in location]
    for block, tags in (("datasets", LOADERS), ("figures", DRAWINGS)):
        if parts[:1] == [block] and parts[2:3] and parts[2] in tags:
            del parts[2]
    return [part for part in parts if "[" not in part and part not in {"int", "float", "str", "constrained-int"}]


def _known_keys(annotation: Any) -> set[str]:
    """Names of all fields in the blocks that an annotation leads to."""
    names: set[str] = set()
    for model in _models_in(annotation):
        for name, field in model.model_fields.items():
            names |= {name} | _known_keys(field.annotation)
    return names


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]
