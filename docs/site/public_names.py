"""The public names of the package: what ``__all__`` of each public package lists, and where it is defined."""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.pycode import ModuleAnalyzer

# What most readers look for comes first.
PACKAGES = tuple(
    f"fivesentences.{name}"
    for name in ("evaluation", "metrics", "semantics", "retrieval", "corpus", "features", "models", "losses")
)


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
        """Its module; a specification (``scan_spec``) stands with what it specifies (``scan``)."""
        return self.module.removesuffix("_spec")

    @property
    def is_constant(self) -> bool:
        """Whether it is neither a class nor a function."""
        return not (inspect.isclass(self.value) or inspect.isfunction(self.value))

    @property
    def comment(self) -> list[str]:
        """What stands above a constant, in lines that begin with ``#:``; autodoc would look for it in the package."""
        return ModuleAnalyzer.for_module(self.module).find_attr_docs().get(("", self.name), [])

    @property
    def summary(self) -> str:
        """The first line of its docstring or comment, without its full stop."""
        text = "\n".join(self.comment) if self.is_constant else inspect.getdoc(self.value)
        return first_line(text)

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
    return tuple(sorted(names, key=lambda one: (one.subject, one.is_constant, one.module, one.name)))


def first_line(text: str | None) -> str:
    """The summary of a docstring, without its full stop."""
    return (text or "").strip().partition("\n")[0].rstrip(".:")
