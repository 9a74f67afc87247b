"""Hash what the code behind a computation does, so that a comment, a docstring or an error's words change nothing."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import fivesentences
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.lazy import offered_by
from fivesentences.storage import write_json

PACKAGE = Path(fivesentences.__file__).parent
# A module or a member of one that is named by a text, such as "fivesentences.models.scan:SCAN".
_OWN_SOURCE = Path(__file__).read_bytes()  # what is remembered holds as long as it
_NAMED = re.compile(rf"{PACKAGE.name}(\.\w+)+(:\w+)?")
_BESIDE = re.compile(r"(\w+\.)*\w+:\w+")


@cache
def code_behind(
    modules: Collection[str], rooms: tuple[str, ...] | None = None, lists: frozenset[str] = frozenset()
) -> str:
    """Hash the syntax of modules and of all modules of the package that they import.

    Comments, layout, docstrings, imports for type checkers and the words of ``raise`` statements do not count.

    Args:
        modules: Dotted names of the modules, such as ``fivesentences.training.run``; a name in one is
            ``fivesentences.corpus:Corpus``.
        rooms: Folders of the package whose modules are hashed; imports are followed through all. Default: all, and
            what a registry names beside itself (``cider:CiderScorer``) is followed too.
        lists: Files, relative to the package, that are neither hashed nor followed: they name more than is used.
    """
    found: set[Path] = set()
    todo = [file for module in modules for file in _files_of(module)]
    while todo:
        file = todo.pop()
        if file not in found and file.relative_to(PACKAGE).as_posix() not in lists:
            found.add(file)
            todo += [*_imported(file), *(_beside(file) if rooms is None else ())]
    digest = hashlib.sha256()
    for file in sorted(found):
        name = file.relative_to(PACKAGE)
        if rooms is None or name.parts[0] in rooms:
            digest.update(f"{name.as_posix()}\0{_facts(file).syntax}\0".encode())
    return digest.hexdigest()


def remember(memory: Path) -> None:
    """Take from a file what was found in sources before, by their SHA-256: to parse the package takes seconds."""
    with contextlib.suppress(InputError, LookupError, TypeError, AttributeError):
        _KNOWN.update({key: _Facts(*facts) for key, facts in read_json(memory)["sources"].items()})
        _STORED.update(_KNOWN)


def code_of_script(source: bytes, lists: frozenset[str], memory: Path) -> str:
    """Hash the syntax of a script and of all modules of the package that it imports, see ``code_behind``.

    Args:
        source: The script.
        lists: As for ``code_behind``.
        memory: A file that keeps what was found in sources, see ``remember``.
    """
    facts = _facts_in(source)
    behind = code_behind(frozenset(facts.names), None, lists)
    if not _KNOWN.keys() <= _STORED:
        # A folder that cannot be written must not end a dry run; sources are parsed again the next time.
        with contextlib.suppress(OSError, InputError):
            write_json(memory, {"sources": _KNOWN}, indent=None)
            _STORED.update(_KNOWN)
    return hashlib.sha256(f"{facts.syntax}\0{behind}".encode()).hexdigest()


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


class _Facts(NamedTuple):
    syntax: str  # digest of it
    names: list[str]  # what is imported of the package, at the top or within functions: modules, or names in them
    beside: list[str]  # what is named relative to the file's own folder, such as cider:CiderScorer
    offered: dict[str, str]  # modules of the names that a package imports only when asked


_KNOWN: dict[str, _Facts] = {}
_STORED = set[str]()  # keys of those in the file


def _facts_in(source: bytes) -> _Facts:
    key = hashlib.sha256(_OWN_SOURCE + source).hexdigest()
    if key not in _KNOWN:
        names, beside = list[str](), list[str]()
        for node in ast.walk(tree := _parsed(source.decode())):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names += [f"{node.module}:{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names += [node.value] if _NAMED.fullmatch(node.value) else []
                beside += [node.value] if _BESIDE.fullmatch(node.value) else []
        ours = sorted({name for name in names if re.match(rf"{PACKAGE.name}\b", name)})
        syntax = hashlib.sha256(_written(tree).encode()).hexdigest()
        _KNOWN[key] = _Facts(syntax, ours, beside, offered_by(source.decode()) if b"lazily(" in source else {})
    return _KNOWN[key]


@cache
def _facts(file: Path) -> _Facts:
    try:
        return _facts_in(file.read_bytes())
    except SyntaxError as error:  # somebody is still editing it
        raise InputError(f"{error.msg}, line {error.lineno}.", where=file) from None


@cache
def _imported(file: Path) -> tuple[Path, ...]:
    """Return the package's files that a file imports, at its top or within functions."""
    return tuple(found for name in _facts(file).names for found in _files_of(name))


@cache
def _beside(file: Path) -> tuple[Path, ...]:
    folder = ".".join((PACKAGE.name, *file.parent.relative_to(PACKAGE).parts))
    return tuple(found for name in _facts(file).beside for found in _files_of(f"{folder}.{name}"))


def _files_of(name: str) -> Iterator[Path]:
    """Yield the files behind ``module``, or ``module:name``, whose name a package may import only when asked."""
    module, _, member = name.partition(":")
    if member and (file := _file_of(f"{module}.{member}")) is not None:
        yield file
    elif (file := _file_of(module)) is not None:
        yield file
        if member and (lazy := _file_of(_facts(file).offered.get(member, ""))) is not None:
            yield lazy


def _file_of(module: str) -> Path | None:
    """Return the file of a module of the package; None if there is none."""
    top, *parts = module.split(".")
    place = PACKAGE.joinpath(*parts)
    files = [place / "__init__.py", *([place.with_suffix(".py")] if parts else [])]
    return next((file for file in files if top == PACKAGE.name and file.is_file()), None)
