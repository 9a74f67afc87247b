"""Packages that import a name when it is first asked for, so that reading a specification does not import numpy."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def lazily(package: str) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package: it offers what the package imports ``if TYPE_CHECKING``."""

    @cache
    def offers() -> dict[str, str]:
        return offered_by(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))

    def found(name: str) -> Any:
        # Private names are asked for by every import of a submodule, and would cost reading the source.
        if name.startswith("_") or name not in offers():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(offers()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return found


def offered_by(source: str) -> dict[str, str]:
    """Return the modules of the names that the source of a package imports ``if TYPE_CHECKING``."""
    tree = ast.parse(source)
    typed = [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]
    nodes = [node for block in typed for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in nodes for alias in node.names}
