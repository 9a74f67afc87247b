"""YAML files -> typed blocks, with one error sentence per mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fivesentences.config.types import PATTERNS
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, InputErrors, did_you_mean

Block = TypeVar("Block", bound=BaseModel)
MOST = 10  # mistakes that are told at once
_SEE = "config/README.md lists the keys"


def check(kind: type[Block], content: Any, where: str) -> Block:
    """Turn plain data into a typed block.

    Raises:
        InputError: One sentence per mistake, which names ``where``, the key, the value and what was expected.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = error.errors(include_url=False)
    if not isinstance(content, dict):
        raise InputError(
            f"it {_held(content)}; expected keys and values, among them {_needed(kind)}", where=where, cure=_SEE
        )
    mistakes = _deepest([(_keys_as_written(mistake, content), mistake) for mistake in found])
    sentences = [_sentence(kind, where, *mistake) for mistake in mistakes]
    if len(sentences) > MOST:
        sentences[MOST:] = [f"{where}: there are {len(sentences) - MOST} further mistakes."]
    raise InputErrors([InputError(sentence) for sentence in sentences])


def read(kind: type[Block], path: Path | str) -> Block:
    """Read a YAML file, and the file that it extends, into a typed block; see ``extended`` and ``check``."""
    return check(kind, extended(read_yaml(path), path), str(path))


def extended(content: Any, path: Path | str) -> Any:
    """Plain data merged into that of the file which its key ``extends`` names.

    Mappings are merged key by key, anything else is replaced, a key with the value null is removed, and a list under
    ``<key>+`` is added to that of the key.

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
    return merged(found, {key: value for key, value in content.items() if key != "extends"})


def merged(base: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    """Mappings merged key by key; anything else is replaced, and a key with the value null is removed."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(key, str) and key.endswith("+") and isinstance(value, list):
            result[key[:-1]] = [*(result.get(key[:-1]) or []), *value]
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def _deepest(mistakes: list[tuple[list[str], Any]]) -> list[tuple[list[str], list[Any]]]:
    """Where a value may be of several kinds, pydantic complains once for each; only the deepest complaints stay.

    Returns:
        The keys of each mistaken value, and all complaints about it.
    """
    kept: dict[tuple[str, ...], list[Any]] = {}
    for keys, mistake in mistakes:
        kept.setdefault(tuple(keys), []).append(mistake)
    return [
        (list(path), about)
        for path, about in kept.items()
        if not any(longer[: len(path)] == path for longer in kept if longer != path)
    ]


def _sentence(kind: type[BaseModel], where: str, keys: list[str], mistakes: list[Any]) -> str:
    mistake = mistakes[0]
    key, value, context = ".".join(keys) or "the file", mistake["input"], mistake.get("ctx", {})
    if mistake["type"] == "extra_forbidden":
        hint = did_you_mean(keys[-1], sorted(_keys_beside(kind, keys)))
        hint = hint or f"remove it; {_SEE}."
        return f"{where}: {key} is not a known key. {hint[0].upper()}{hint[1:]}"
    if mistake["type"] == "missing":
        return f"{where}: {key} is missing."
    if mistake["type"] == "union_tag_invalid":
        discriminator = context["discriminator"].strip("'")
        return f"{where}: {key}.{discriminator} is '{context['tag']}'; expected one of {context['expected_tags']}."
    if mistake["type"] == "union_tag_not_found":
        return f"{where}: {key}.{context['discriminator'].strip(chr(39))} is missing."
    if mistake["type"] in ("value_error", "assertion_error"):
        message = mistake["msg"].removeprefix("Value error, ")
        end = "" if message.endswith("?") else "."
        return f"{where}: {key}: {message}{end}" if keys else f"{where}: {message}{end}"
    about = f"{'.'.join(keys[:-1])} has the key" if mistake["loc"][-1] == "[key]" else f"{key} is"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    of_fraction = "fraction" in key or (mistake["loc"][-1] == "[key]" and mistake["type"] != "string_type")
    if number and of_fraction:
        hint = f" Did you mean {value / 100:g}?" if 2 <= value <= 100 else ""
        return f"{where}: {about} {_shown(value)}; a fraction lies in (0, 1].{hint}"
    expected = list(dict.fromkeys(_expected(one, keys) for one in mistakes))
    return f"{where}: {about} {_shown(value)}; expected {' or '.join(expected)}."


def _expected(mistake: Any, keys: list[str]) -> str:
    """What a value should have been, in words: pydantic's own name its classes."""
    context = mistake.get("ctx", {})
    match mistake["type"]:
        case "greater_than_equal":
            return f"a number of at least {_bound(context['ge'])}"
        case "greater_than":
            return f"a number above {_bound(context['gt'])}"
        case "less_than_equal":
            return f"a number of at most {_bound(context['le'])}"
        case "less_than":
            return f"a number below {_bound(context['lt'])}"
        case "multiple_of":
            return f"a multiple of {_bound(context['multiple_of'])}"
        case "finite_number":
            return "a finite number"
        case "int_type" | "int_parsing" | "int_from_float" | "int_parsing_size":
            return "a whole number"
        case "float_type" | "float_parsing":
            return "a number"
        case "bool_type" | "bool_parsing":
            return "true or false"
        case "string_type":
            return "a text"
        case "path_type":
            return "a path"
        case "list_type":
            return "a list"
        case "none_required":
            return "null"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "a mapping of keys to values"
        case "literal_error" | "enum":
            return str(context["expected"])
        case "too_short":
            return f"at least {_entries_of(context['min_length'])}"
        case "too_long":
            return f"at most {_entries_of(context['max_length'])}"
        case "string_pattern_mismatch":
            return PATTERNS.get(context["pattern"], f"a known {keys[-1]}" if keys else "a known name")
    return f"something else ({mistake['msg']})"


def _bound(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def _entries_of(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _shown(value: Any) -> str:
    """A value as a person may have written it, or what it is if it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of about {int(value.bit_length() * 0.30103):,} digits"
    shown = repr(value)
    if len(shown) < 60:
        return shown
    if isinstance(value, str):
        return f"a text of {len(value):,} characters ({shown[:30]}...)"
    if isinstance(value, list):
        return f"a list of {_entries_of(len(value))}"
    return f"a mapping of {len(value)} keys" if isinstance(value, dict) else f"{shown[:50]}..."


def _held(content: Any) -> str:
    """What a file holds that should hold a mapping."""
    if content is None:
        return "is empty"
    if isinstance(content, bool | int | float):
        return f"holds only {_shown(content)}"
    return "holds text" if isinstance(content, str) else "holds a list"


def _needed(kind: type[BaseModel]) -> str:
    """The keys that a block cannot do without."""
    return ", ".join(f"'{name}'" for name, field in kind.model_fields.items() if field.is_required())


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
