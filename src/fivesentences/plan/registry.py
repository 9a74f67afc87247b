"""The table of models as its text says it, not run: importing a model takes torch, seconds a start."""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

from fivesentences.config.types import Layout

PACKAGE = "fivesentences.models"


def registered_models() -> tuple[str, ...]:
    """Names in ``fivesentences.models.MODELS``.

    Empty if they cannot be read from the text; then a model is looked up when it is built.
    """
    imported = sys.modules.get(PACKAGE)
    return tuple(classes_in(_text()) if imported is None else getattr(imported, "MODELS", ()))


def layout_of(model: str) -> Layout:
    """Which features a model of the table reads: ``layout`` of its class.

    Where it cannot be told (a class that is not in a file of its package), it is that of ``Matcher``.
    """
    imported = sys.modules.get(PACKAGE)
    if imported is None:
        return layout_in(_text(), model)
    found: Layout = getattr(getattr(imported, "MODELS", {}).get(model), "layout", "global")
    return found


def classes_in(init: Path | None) -> dict[str, str]:
    """Model -> name of its class, from the ``__init__.py`` that holds ``MODELS``."""
    if init is None:
        return {}
    for node in _parsed(init).body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "MODELS"):
            continue
        if isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            names = {key.value: ast.unparse(value) for key, value in pairs if isinstance(key, ast.Constant)}
            return {key: value for key, value in names.items() if isinstance(key, str)}
    return {}


def layout_in(init: Path | None, model: str) -> Layout:
    """As ``layout_of``, from the text."""
    name = classes_in(init).get(model)
    return "global" if init is None or name is None else _layout_of_class(init, name) or "global"


def _layout_of_class(file: Path, name: str) -> Layout | None:
    """``layout`` of a class that a file defines or imports from its package, or of the first base that has one."""
    for node in _parsed(file).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            bases = (base.id for base in node.bases if isinstance(base, ast.Name) and base.id != name)
            return _layout_in_body(node) or next(filter(None, (_layout_of_class(file, base) for base in bases)), None)
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            original = next((alias.name for alias in node.names if name == (alias.asname or alias.name)), None)
            there = file.parent / f"{node.module.rpartition('.')[2]}.py"
            if original is not None and there.is_file() and there != file:
                return _layout_of_class(there, original)
    return None


def _layout_in_body(node: ast.ClassDef) -> Layout | None:
    for line in node.body:
        targets: list[Any] = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        named = any(isinstance(target, ast.Name) and target.id == "layout" for target in targets)
        value = getattr(line, "value", None)
        if named and isinstance(value, ast.Constant) and value.value in ("global", "grid"):
            return "grid" if value.value == "grid" else "global"
    return None


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _text() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin)
