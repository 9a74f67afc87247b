"""Versions of the code that makes results, a whole number per subject, and the syntax of what a run names itself."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Raise a number by one in the commit after which its code gives other numbers, and only then: what another version made
# is made again. `tests/golden` compares the numbers and refuses to keep others of the same versions.
VERSIONS = {
    "corpus": 1,  # readers of published files, drawn scenes, fractions, divisions
    "features": 1,
    "phi": 1,
    "training": 1,  # the loop, batches, what models and losses share, category retrieval
    "evaluation": 2,  # metrics, protocols, contrasts, judges
}
# What draws tables, figures and pages takes seconds: any edit of it draws them again.
DRAWING = (
    "reproduction/categories/**/*.py",
    "reproduction/paper/**/*.py",
    "reproduction/study/**/*.py",
    "training/spec.py",
)


@cache
def code_of_drawing() -> str:
    """Return the SHA-256 of the code that draws tables, figures and pages."""
    digest = hashlib.sha256()
    for pattern in DRAWING:
        for path in sorted(Path(__file__).parent.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def syntax_of_module(name: str) -> str:
    """Write the syntax of a module, which is not imported, as ``syntax_of`` does."""
    found = find_spec(name)
    assert found is not None and found.origin is not None
    return syntax_of(Path(found.origin).read_text(encoding="utf-8"))


def syntax_of(source: str) -> str:
    """Write the syntax of source code without what changes no result.

    Comments, layout, docstrings, imports for type checkers and the words of ``raise`` statements do not count.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, block, None), list):
                setattr(node, block, list(_effective(statements)))
        if isinstance(node, ast.Raise):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    part.value = ""
    return _written(tree)


def _effective(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for one in statements:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            continue  # a docstring, or the text below a field
        if isinstance(one, ast.If) and isinstance(one.test, ast.Name) and one.test.id == "TYPE_CHECKING":
            yield from one.orelse
        else:
            yield one


def _written(part: Any) -> str:
    """Write a part of a syntax tree, alike by each version of Python: ``ast.unparse`` quotes f-strings otherwise."""
    if isinstance(part, ast.AST):
        fields = (f"{name}={_written(value)}" for name, value in ast.iter_fields(part) if value not in (None, []))
        return f"{type(part).__name__}({','.join(fields)})"
    return f"[{','.join(map(_written, part))}]" if isinstance(part, list) else repr(part)
