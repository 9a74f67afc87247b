"""The pages of the reference, written from the package itself: its public names, their docstrings, its command line.

They stand in ``docs/reference``, which is not in git. Every name that ``__all__`` of a public package lists has an
entry; names of one module stand together, below the first line of that module's docstring.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

from fivesentences.storage import replacing

FOLDER = "docs/reference"
# In the order in which data pass through them.
PACKAGES = tuple(
    f"fivesentences.{name}"
    for name in ("corpus", "features", "semantics", "retrieval", "metrics", "evaluation", "models", "losses")
)
WRITTEN = {
    **{
        word: word.upper()
        for word in ("ap", "asp", "bleu", "coco", "csls", "cvse", "eccv", "hal", "ncs", "rouge", "saf")
    },
    **{word: word.upper() for word in ("scan", "sgr", "spice", "vsrn")},
    **{"cider": "CIDEr", "info": "Info", "k": "k", "nce": "NCE", "tfidf": "tf-idf", "vsepp": "VSE++"},
    "flickr8k": "Flickr8k",
}
COMMANDS = """\
Command line
============

Every command, as ``fivesentences --help`` prints it. :doc:`/docs/your_model` shows them at work.

.. typer:: fivesentences.cli:app
   :prog: fivesentences
   :make-sections:
   :show-nested:
   :preferred: text
   :width: 80
"""


@dataclass(frozen=True)
class PublicName:
    """A name of ``__all__`` and where it is defined."""

    package: str
    name: str
    module: str

    @property
    def full(self) -> str:
        """As users import it."""
        return f"{self.package}.{self.name}"

    @property
    def subject(self) -> str:
        """Its module; a specification (``hal_spec``) stands with what it specifies (``hal``)."""
        return self.module.removesuffix("_spec")

    @property
    def value(self) -> Any:
        """What it names."""
        return getattr(importlib.import_module(self.package), self.name)


@cache
def public_names(package: str) -> tuple[PublicName, ...]:
    """What ``__all__`` of a package lists, names of one module beside each other."""
    found = importlib.import_module(package)
    source = ast.parse(Path(str(found.__file__)).read_text(encoding="utf-8"))
    modules = {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = [PublicName(package, name, modules.get(name, package)) for name in found.__all__]
    return tuple(sorted(names, key=lambda one: (one.subject, _is_constant(one.value), one.module, one.name)))


def _is_constant(value: object) -> bool:
    return not (inspect.isclass(value) or inspect.isfunction(value))


def first_line(text: str | None) -> str:
    """The summary of a docstring, without its full stop."""
    return (text or "").strip().partition("\n")[0].rstrip(".:")


def package_page(package: str) -> str:
    """The page of a package as reStructuredText: an overview of its names, then each of them."""
    names = public_names(package)
    lines = [package, "=" * len(package), "", f".. automodule:: {package}", "   :no-members:", ""]
    lines += [f".. py:currentmodule:: {package}", ""]
    lines += [".. list-table::", "   :widths: 30 70", "   :class: overview", ""]
    for one in names:
        lines += [f"   * - :py:obj:`{one.name} <{one.full}>`", f"     - {linked(_summary(one), one.full)}"]
    for module, group in groupby(names, key=lambda one: one.subject):
        title = "Making one" if module == package else _title(module)
        lines += ["", title, "-" * len(title), ""]
        if module != package:
            lines += [f"{first_line(importlib.import_module(module).__doc__)}.", ""]
        for one in group:
            lines += [*_entry(one), ""]
    return "\n".join(lines)


def _title(module: str) -> str:
    """The last part of a module's name in words."""
    words = [WRITTEN.get(word, word) for word in module.rpartition(".")[2].split("_")]
    title = " ".join(words)
    return title[0].upper() + title[1:]


def _comment(one: PublicName) -> list[str]:
    """What stands above a constant, in comments that begin with ``#:``."""
    return ModuleAnalyzer.for_module(one.module).find_attr_docs().get(("", one.name), [])


def _summary(one: PublicName) -> str:
    return first_line("\n".join(_comment(one)) if _is_constant(one.value) else inspect.getdoc(one.value))


def _entry(one: PublicName) -> list[str]:
    if inspect.isfunction(one.value):
        return [f".. autofunction:: {one.full}"]
    if inspect.isclass(one.value):
        return [f".. autoclass:: {one.full}", "   :members:"]
    # A constant does not know its module, so autodoc would look for its comment in the package.
    lines = [f".. py:data:: {one.name}"]
    if isinstance(one.value, str | tuple):
        lines += [f"   :value: {one.value!r}"]
    lines += ["", *(f"   {linked(line, one.full)}" for line in _comment(one))]
    if isinstance(one.value, dict):
        lines += ["", f"   Keys: {', '.join(f'``{key}``' for key in one.value)}."]
    return lines


def index_page() -> str:
    """The page that lists the packages."""
    title = "Python API"
    lines = [
        title,
        "=" * len(title),
        "",
        "What each public package offers, with the shapes, units and ranges that it takes and gives.",
    ]
    lines += [
        "Arrays may be NumPy arrays, memory maps or torch tensors. Errors are of",
        "``fivesentences.errors.InputError``: one sentence with the value and the cure.",
        "",
    ]
    for package in PACKAGES:
        summary = first_line(importlib.import_module(package).__doc__)
        lines += [f":doc:`{package}`", f"   {summary}.", ""]
    return "\n".join(lines)


def write_pages(folder: Path) -> None:
    """Write every page whose text has changed, and remove those of packages that are gone."""
    pages = {"index": index_page(), "command_line": COMMANDS} | {name: package_page(name) for name in PACKAGES}
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            with replacing(path) as unfinished:
                unfinished.write_text(text, encoding="utf-8")


@cache
def _targets() -> dict[str, str]:
    """Each way in which a docstring may write a public name -> its full name; ambiguous ones are left out."""
    found: dict[str, set[str]] = {}
    for one in (one for package in PACKAGES for one in public_names(package)):
        written = {one.full, f"{one.module}.{one.name}"}
        # A bare constant may be one of another module: every second one is called COLUMNS.
        found.setdefault(one.name if not one.name.isupper() else one.full, set()).add(one.full)
        for name in written:
            for short in (name, name.removeprefix("fivesentences."), name.removeprefix(f"{one.package}.")):
                if short != one.name:
                    found.setdefault(short, set()).add(one.full)
    return {written: full.pop() for written, full in found.items() if len(full) == 1}


def linked(text: str, entry: str) -> str:
    """A docstring's text with each public name in double backticks as a link, except to the entry that it belongs to."""
    package = next((package for package in PACKAGES if entry.startswith(f"{package}.")), "")

    def link(match: re.Match[str]) -> str:
        beside = {one.name: one.full for one in public_names(package)} if package else {}
        target = beside.get(match[1]) or _targets().get(match[1])
        if target is None or entry == target or entry.startswith(f"{target}."):
            return match[0]
        return f":py:obj:`{match[1]} <{target}>`"

    return re.sub(r"``([A-Za-z_][\w.]*)``", link, text)


def link_names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Do so in every docstring that autodoc reads."""
    lines[:] = [linked(line, name) for line in lines]


def describe_fields(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give a specification an ``Attributes`` section from the descriptions of its fields."""
    if what != "class" or not (inspect.isclass(obj) and issubclass(obj, BaseModel)) or "Attributes:" in lines:
        return
    fields = [(name, field) for name, field in obj.model_fields.items() if field.description]
    if fields:
        lines += ["", "Attributes:"]
        for name, field in fields:
            default = "" if field.is_required() else f" Default: ``{field.get_default(call_default_factory=True)!r}``."
            lines += [f"    {name}: {field.description}.{default}"]
        lines += [""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / FOLDER))
    app.connect("autodoc-process-docstring", describe_fields, priority=300)  # before napoleon reads the sections
    app.connect("autodoc-process-docstring", link_names, priority=400)
    return {"parallel_read_safe": True}
