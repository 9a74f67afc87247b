"""How docstrings and signatures become readable pages: links, settings of specifications, short types."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from public_names import PACKAGES, public_names
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from written_pages import value_in_words, values_in_words


@cache
def _targets() -> dict[str, str]:
    """Each way in which a docstring may write a public name -> its full name; ambiguous ones are left out."""
    found: dict[str, set[str]] = {}
    for one in (one for package in PACKAGES for one in public_names(package)):
        in_full = (one.full, f"{one.module}.{one.name}")
        names = {short for name in in_full for short in (name, name.removeprefix("fivesentences."))}
        if not one.name.isupper():  # several modules have a constant called COLUMNS
            names.add(one.name)
        for name in names:
            found.setdefault(name, set()).add(one.full)
    return {written: full.pop() for written, full in found.items() if len(full) == 1}


def linked(text: str, entry: str) -> str:
    """A docstring's text whose public names and documents, in double backticks, are links.

    A name that belongs to the entry itself stays as it is.
    """
    package = next((package for package in PACKAGES if entry.startswith(f"{package}.")), "")

    def link(match: re.Match[str]) -> str:
        beside = {one.name: one.full for one in public_names(package)} if package else {}
        target = beside.get(match[1]) or _targets().get(match[1])
        if target is None or entry == target or entry.startswith(f"{target}."):
            return match[0]
        return f":py:obj:`{match[1]} <{target}>`"

    text = re.sub(r"``(docs/\w+)\.md``", r":doc:`/\1`", text)
    return re.sub(r"``([A-Za-z_][\w.]*)``", link, text)


def link_names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Do so in every docstring that autodoc reads."""
    lines[:] = [linked(line, name) for line in lines]


def describe_fields(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give a specification an ``Attributes`` section from its fields: what they mean, their values, their defaults."""
    if what != "class" or not (inspect.isclass(obj) and issubclass(obj, BaseModel)):
        return
    schemas = obj.model_json_schema()["properties"]
    fields = [(name, field) for name, field in obj.model_fields.items() if field.description]
    if fields and "Attributes:" not in lines:
        lines += ["", "Attributes:"]
    for name, field in fields:
        of_value = "" if "$ref" in str(schemas[name]) else f" Values: {values_in_words(schemas[name])};"
        default = "no default" if field.is_required() else f"default {value_in_words(field.default)}"
        description = " ".join((field.description or "").split()).removesuffix(".")
        meaning = f"{description}.{of_value or ' By'} {default}."
        lines += [f"    {name}: {meaning.replace('`', '``').replace('````', '``')}"]


def skip_places(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what Python writes about the fields of a named tuple: their meaning stands in its docstring."""
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field number") else None


def keep_first_line(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep napoleon from reading the words before a colon, in the first line of a property, as its type."""
    if what == "property":
        lines.insert(0, "")


def short_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None] | None:
    """Write types as the source does: ``NDArray[float32]``, and no conditions on values, which the text has."""
    if what == "class" and inspect.isclass(obj) and issubclass(obj, BaseModel):
        return "(**settings)", None
    return short_types(signature), short_types(returned)


def short_types(text: str | None) -> str | None:
    """Shorten the types of a signature."""
    if text is None:
        return None
    text = text.replace("<factory>", "...")
    text = re.sub(r"TypeAliasForwardRef\('([^']*)'\)", r"\1", text)
    text = re.sub(
        r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?(?:\w+\.)*(\w+)\]\]", r"NDArray[\1]", text
    ).replace("NDArray[_ScalarT]", "NDArray")
    while (start := text.find("Annotated[")) >= 0:
        inside = start + len("Annotated[")
        comma = _end_of(text, inside, ",")
        text = text[:start] + text[inside:comma] + text[_end_of(text, comma + 1, "]") + 1 :]
    return text


def _end_of(text: str, start: int, sign: str) -> int:
    """Where a sign next stands outside of brackets."""
    depth = 0
    for place in range(start, len(text)):
        if depth == 0 and text[place] == sign:
            return place
        depth += (text[place] in "([{") - (text[place] in ")]}")
    return len(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"  # as our docstrings call them
    app.connect("autodoc-process-signature", short_signature)
    app.connect("autodoc-skip-member", skip_places)
    # Before napoleon, at 500, reads the sections of a docstring.
    app.connect("autodoc-process-docstring", describe_fields, priority=300)
    app.connect("autodoc-process-docstring", keep_first_line, priority=300)
    app.connect("autodoc-process-docstring", link_names, priority=400)
    return {"parallel_read_safe": True}
