"""YAML files -> typed blocks, with one error sentence per mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fivesentences.config.files import moved
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, InputErrors, did_you_mean

Block = TypeVar("Block", bound=BaseModel)
NOT_INHERITED = ("finding",)  # keys of results, which a file that extends another one does not share
MOST = 10  # mistakes that are told at once
_SEE = "config/README.md lists the keys"


def check(kind: type[Block], content: Any, where: str) -> Block:
    """Turn plain data into a typed block.

    Raises:
        InputError: One sentence per mistake, which names ``where``, the key, the value and pydantic's message.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = error.errors(include_url=False)
    if not isinstance(content, dict):
        raise InputError("it is empty" if content is None else "it holds no keys and values", where=where, cure=_SEE)
    told: dict[tuple[str, ...], list[Any]] = {}
    for mistake in found:
        told.setdefault(tuple(_keys_as_written(mistake, content)), []).append(mistake)
    # Where a value may be of several kinds, pydantic complains once for each; only the deepest complaints stay.
    deepest = [keys for keys in told if not any(other[: len(keys)] == keys for other in told if other != keys)]
    sentences = [_sentence(kind, where, list(keys), told[keys]) for keys in deepest]
    if len(sentences) > MOST:
        sentences[MOST:] = [f"{where}: there are {len(sentences) - MOST} further mistakes."]
    raise InputErrors([InputError(sentence) for sentence in sentences])


def read(kind: type[Block], path: Path | str) -> Block:
    """Read a YAML file, and the file that it extends, into a typed block; see ``extended`` and ``check``."""
    return check(kind, extended(read_yaml(path), path), str(path))


def extended(content: Any, path: Path | str) -> Any:
    """Merge plain data into that of the file which its key ``extends`` names.

    Mappings are merged key by key, anything else is replaced, a key with the value null is removed, and a list under
    ``<key>+`` is added to that of the key. ``NOT_INHERITED`` are left out.

    Args:
        content: Content of the file at ``path``, perhaps changed by the caller.
        path: Path of the file; ``extends`` is relative to its folder.

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
        raise InputError(f"extends is '{base}', but there is no file {other}", where=path, cure=moved(other))
    found = _extended(read_yaml(other), other, seen)
    if not isinstance(found, dict):
        raise InputError(f"{path}: extends is '{base}', but that file holds no mapping of keys to values.")
    inherited = {key: value for key, value in found.items() if key not in NOT_INHERITED}
    return merged(inherited, {key: value for key, value in content.items() if key != "extends"})


def stated_over(content: Any, path: Path | str, key: str) -> dict[Any, Any]:
    """Return what some content and files that it extends state, above the one that states a key; nothing of that one.

    Args:
        content: Content of the file at ``path``, as for ``extended``, which has found no mistake in it.
        path: Path of the file.
        key: The key.
    """
    if not isinstance(content, dict) or "extends" not in content or key in content:
        return {}
    other = Path(path).parent / content["extends"]
    own = {name: value for name, value in content.items() if name != "extends"}
    return merged(stated_over(read_yaml(other), other, key), own, as_stated=True)


def merged(base: dict[Any, Any], changes: dict[Any, Any], as_stated: bool = False) -> dict[Any, Any]:
    """Merge mappings key by key; anything else is replaced, and a key with the value null is removed.

    Args:
        base: A mapping.
        changes: What goes before it; a list under ``<key>+`` is added to that of the key.
        as_stated: Keep null and ``<key>+`` as they are: the result still has to change something else.
    """
    result = dict(base)
    for key, value in changes.items():
        if value is None and not as_stated:
            result.pop(key, None)
        elif isinstance(key, str) and key.endswith("+") and isinstance(value, list):
            name = key if as_stated else key[:-1]
            result[name] = [*(result.get(name) or []), *value]
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value, as_stated)
        else:
            result[key] = value
    return result


def _sentence(kind: type[BaseModel], where: str, keys: list[str], mistakes: list[Any]) -> str:
    mistake, place = mistakes[0], f"{where}: {'.'.join(keys)}" if keys else where
    value, context = mistake["input"], mistake.get("ctx", {})
    if mistake["type"] == "extra_forbidden":
        hint = did_you_mean(keys[-1], sorted(_keys_beside(kind, keys))) or f"remove it; {_SEE}."
        return f"{place} is not a known key. {hint[0].upper()}{hint[1:]}"
    if mistake["type"] == "missing":
        return f"{place} is missing."
    if mistake["type"] in ("value_error", "assertion_error"):
        message = mistake["msg"].removeprefix("Value error, ")
        return f"{place}: {message}{'' if message.endswith('?') else '.'}"
    shown = repr(value) if not isinstance(value, int) or value.bit_length() < 200 else "a number of hundreds of digits"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    hint = f" Did you mean {value / 100:g}?" if is_number and 2 <= value <= 100 and context.get("le") == 1 else ""
    messages = "; or ".join(dict.fromkeys(one["msg"].partition(" or instance of")[0] for one in mistakes))
    return f"{place} is {shown if len(shown) < 60 else shown[:50] + '...'}: {messages}.{hint}"


def _keys_as_written(mistake: Any, content: Any) -> list[str]:
    """Return the keys as a person wrote them: pydantic inserts names of union branches and validators."""
    keys: list[str] = []
    for part in mistake["loc"]:
        inner = _entries(content)
        if str(part) in inner:
            named = isinstance(content, list) and isinstance(inner[str(part)], dict) and inner[str(part)].get("name")
            content = inner[str(part)]
            keys.append(str(named or part))  # an entry of a list by its name, if it has one
    return [*keys, str(mistake["loc"][-1])] if mistake["type"] == "missing" else keys


def _entries(content: Any) -> dict[str, Any]:
    """Return entries of a mapping or list, by their keys as pydantic names them."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content if isinstance(content, list) else ())
    return {str(key): value for key, value in pairs}


def _keys_beside(kind: type[BaseModel], keys: list[str]) -> set[str]:
    """Return names of the keys that may stand where the last of ``keys`` does."""
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
