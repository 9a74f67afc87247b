"""Hash what the code behind a computation does, so that a comment, a docstring or an error's words change nothing."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import fivesentences

PACKAGE = Path(fivesentences.__file__).parent
# A module or a member of one that is named by a text, such as "fivesentences.models.scan:SCAN".
_NAMED = re.compile(rf"{PACKAGE.name}(\.\w+)+(:\w+)?")


@cache
def code_behind(modules: Collection[str], rooms: tuple[str, ...], lists: frozenset[str] = frozenset()) -> str:
    """Hash the syntax of modules and of all modules of the package that they import.

    Comments, layout, docstrings, imports for type checkers and the words of ``raise`` statements do not count.

    Args:
        modules: Dotted names of the modules, such as ``fivesentences.training.run``.
        rooms: Folders of the package whose modules are hashed; imports are followed through all.
        lists: Files, relative to the package, that are neither hashed nor followed: they name more than is used.
    """
    found: set[Path] = set()
    todo = [file for file in map(_file_of, modules) if file is not None]
    while todo:
        file = todo.pop()
        if file not in found and file.relative_to(PACKAGE).as_posix() not in lists:
            found.add(file)
            todo += _imported(file)
    digest = hashlib.sha256()
    for file in sorted(found):
        name = file.relative_to(PACKAGE)
        if name.parts[0] in rooms:
            digest.update(f"{name.as_posix()}\0{_written(_syntax(file))}\0".encode())
    return digest.hexdigest()


def syntax_of(source: str) -> str:
    """Write the syntax of source code without what changes no result: see ``code_behind``."""
    return _written(_parsed(source))


def _written(part: Any) -> str:
    """Write a part of a syntax tree, alike by each version of Python: ``ast.unparse`` quotes f-strings otherwise."""
    if isinstance(part, ast.AST):
        fields = (f"{name}={_written(value)}" for name, value in ast.iter_fields(part) if value not in (None, []))
        return f"{type(part).__name__}({','.join(fields)})"
    return f"[{','.join(map(_written, part))}]" if isinstance(part, list) else repr(part)


def _parsed(source: str) -> ast.Module:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, block, None), list):
                setattr(node, block, list(_effective(statements)))
        if isinstance(node, ast.Raise):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    part.value = ""
    return tree


def _effective(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for one in statements:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            continue  # a docstring, or the text below a field
        if isinstance(one, ast.If) and isinstance(one.test, ast.Name) and one.test.id == "TYPE_CHECKING":
            yield from one.orelse
        else:
            yield one


@cache
def _syntax(file: Path) -> ast.Module:
    return _parsed(file.read_text(encoding="utf-8"))


@cache
def _imported(file: Path) -> tuple[Path, ...]:
    """Return the package's files that a file imports, at its top or within functions."""
    names: list[str] = []
    for node in ast.walk(_syntax(file)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}:{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAMED.fullmatch(node.value):
            names.append(node.value)
    return tuple(found for name in names if name.startswith(PACKAGE.name) for found in _files_of(name))


def _files_of(name: str) -> Iterator[Path]:
    """Yield the files behind ``module``, or ``module:name``, whose name a package may import only when asked."""
    module, _, member = name.partition(":")
    if member and (file := _file_of(f"{module}.{member}")) is not None:
        yield file
    elif (file := _file_of(module)) is not None:
        yield file
        if member and file.name == "__init__.py":
            home = getattr(getattr(import_module(module), member, None), "__module__", None)
            if isinstance(home, str) and (lazy := _file_of(home)) is not None:
                yield lazy


def _file_of(module: str) -> Path | None:
    """Return the file of a module of the package; None if there is none."""
    top, *parts = module.split(".")
    place = PACKAGE.joinpath(*parts)
    files = [place / "__init__.py", *([place.with_suffix(".py")] if parts else [])]
    return next((file for file in files if top == PACKAGE.name and file.is_file()), None)
