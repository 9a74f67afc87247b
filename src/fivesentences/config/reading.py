"""YAML files -> typed blocks, with one error sentence per mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, did_you_mean

Block = TypeVar("Block", bound=BaseModel)


def check(kind: type[Block], content: Any, where: str) -> Block:
    """Turn plain data into a typed block.

    Raises:
        InputError: One sentence per mistake, which names ``where``, the key, the value and what was expected.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        mistakes = [(_keys_as_written(mistake, content), mistake) for mistake in error.errors()]
        raise InputError("\n".join(_sentence(kind, where, *one) for one in _deepest(mistakes))) from None


def read(kind: type[Block], path: Path | str) -> Block:
    """Read a YAML file, and the file that it extends, into a typed block; see ``extended`` and ``check``."""
    return check(kind, extended(read_yaml(path), path), str(path))


def extended(content: Any, path: Path | str) -> Any:
    """Plain data merged into that of the file which its key ``extends`` names.

    Mappings are merged key by key, anything else is replaced, and a key with the value null is removed.

    Args:
        content: Of the file at ``path``, perhaps changed by the caller.
        path: Of the file; ``extends`` is relative to its folder.

    Returns:
        The content without ``extends``; as it is, if it has no such key.

    Raises:
        InputError: If the file is missing or is not a mapping, or files extend each other in a circle.
    """
    return _extended(content, Path(path), ())


def _extended(content: Any, path: Path, seen: tuple[Path, ...]) -> Any:
    if not isinstance(content, dict) or "extends" not in content:
        return content
    base, seen = content["extends"], (*seen, path.resolve())
    if not isinstance(base, str):
        raise InputError(f"{path}: extends is {base!r}; give the path of a YAML file, relative to this one.")
    other = path.parent / base
    if other.resolve() in seen:
        circle = " -> ".join(file.name for file in (*seen, other))
        raise InputError(f"{path}: extends is '{base}', which leads back to a file on the way: {circle}.")
    if not other.is_file():
        raise InputError(f"{path}: extends is '{base}', but there is no file {other}.")
    found = _extended(read_yaml(other), other, seen)
    if not isinstance(found, dict):
        raise InputError(f"{path}: extends is '{base}', but that file holds no mapping of keys to values.")
    return _merged(found, {key: value for key, value in content.items() if key != "extends"})


def _merged(base: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    merged = dict(base)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


def _deepest(mistakes: list[tuple[list[str], Any]]) -> list[tuple[list[str], Any]]:
    """Where a value may be of several kinds, pydantic complains once for each; only the deepest complaints stay.

    Several complaints about one value become one, which names all that it may be.
    """
    kept: dict[tuple[str, ...], Any] = {}
    for keys, mistake in mistakes:
        path = tuple(keys)
        if path in kept:
            expected = mistake["msg"].removeprefix("Input should be ")
            kept[path] = kept[path] | {"msg": f"{kept[path]['msg']} or {expected}"}
        else:
            kept[path] = mistake
    return [
        (list(path), mistake)
        for path, mistake in kept.items()
        if not any(longer[: len(path)] == path for longer in kept if longer != path)
    ]


def _sentence(kind: type[BaseModel], where: str, keys: list[str], mistake: Any) -> str:
    key, value, context = ".".join(keys) or "the file", mistake["input"], mistake.get("ctx", {})
    if mistake["type"] == "extra_forbidden":
        hint = did_you_mean(keys[-1], sorted(_keys_beside(kind, keys)))
        hint = hint or "remove it; config/README.md and docs/options.md list the known keys."
        return f"{where}: {key} is not a known key. {hint[0].upper()}{hint[1:]}"
    if mistake["type"] == "missing":
        return f"{where}: {key} is missing."
    if mistake["type"] == "union_tag_invalid":
        discriminator = context["discriminator"].strip("'")
        return f"{where}: {key}.{discriminator} is '{context['tag']}'; expected one of {context['expected_tags']}."
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "value_error":
        end = "" if message.endswith("?") else "."
        return f"{where}: {key}: {message}{end}" if keys else f"{where}: {message}{end}"
    if keys and "fraction" in key and isinstance(value, int | float) and 1 < value <= 100:
        return f"{where}: {key} is {value!r}; a fraction lies in (0, 1]. Did you mean {value / 100:g}?"
    shown = repr(value) if len(repr(value)) < 60 else type(value).__name__
    return f"{where}: {key} is {shown}; {message[0].lower()}{message[1:]}."


def _keys_as_written(mistake: Any, content: Any) -> list[str]:
    """The keys as a person wrote them: pydantic inserts names of union branches and validators."""
    keys: list[str] = []
    for part in mistake["loc"]:
        inner = _entries(content)
        if str(part) in inner:
            named = isinstance(content, list) and isinstance(inner[str(part)], dict) and inner[str(part)].get("name")
            content = inner[str(part)]
            keys.append(str(named or part))  # an entry of a list by its name, if it has one
    return [*keys, str(mistake["loc"][-1])] if mistake["type"] == "missing" else keys


def _entries(content: Any) -> dict[str, Any]:
    """Entries of a mapping or list, by their keys as pydantic names them."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content if isinstance(content, list) else ())
    return {str(key): value for key, value in pairs}


def _keys_beside(kind: type[BaseModel], keys: list[str]) -> set[str]:
    """Names of the keys that may stand where the last of ``keys`` does."""
    blocks = [kind]
    for key in keys[:-1]:
        fields = [block.model_fields[key] for block in blocks if key in block.model_fields]
        if fields:  # otherwise it is a key of a mapping, or an entry of a list, of such blocks
            blocks = [model for field in fields for model in _models_in(field.annotation)]
    return {name for block in blocks for name in block.model_fields}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]
