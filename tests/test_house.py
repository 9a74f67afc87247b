"""Imports go one way between the rooms of the house, and what needs no torch does not import it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fivesentences"
# From left to right; a room may import what stands to its left, and what stands in its own place.
ROOMS = (
    ("errors", "lazy"),
    ("storage", "console", "glossary", "documents", "arrays", "machine", "workflow_lock"),
    ("config",),
    ("corpus",),
    ("scenes",),
    ("features",),
    ("semantics",),
    ("retrieval",),
    ("encoders",),
    ("metrics",),
    ("losses",),
    ("models",),
    ("study",),
    ("plan",),
    ("training",),
    ("evaluation",),
    ("paper",),
    ("rehearsal",),
    ("commands",),
    ("cli",),
)
PLACE = {room: place for place, rooms in enumerate(ROOMS) for room in rooms}
WITHOUT_TORCH = ("corpus.download", "scenes", "semantics", "encoders", "evaluation", "paper.rendering", "cli")


def imports_of(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of every import of this package in a file, those inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            # `from fivesentences import x` names rooms itself
            below = node.module == "fivesentences"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if below else [node.module]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "fivesentences" and rest:
                yield node.lineno, rest.partition(".")[0]


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_every_file_is_in_a_room() -> None:
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in files()}
    assert rooms - {"__init__"} == set(PLACE)


def test_no_import_runs_upwards() -> None:
    upwards = [
        f"{path.relative_to(SOURCE)}:{line} imports {imported}"
        for path in files()
        if (room := path.relative_to(SOURCE).parts[0].removesuffix(".py")) in PLACE
        for line, imported in imports_of(path)
        if PLACE[imported] > PLACE[room]
    ]
    assert upwards == []


def modules_imported(file: Path, modules: set[str]) -> Iterator[str]:
    """Modules of this package that a file imports, those inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield from {full if full in modules else node.module} & modules


def test_modules_do_not_import_each_other_in_circles() -> None:
    named = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in files()}
    named = {name.removesuffix(".__init__"): path for name, path in named.items()}
    graph = {name: set(modules_imported(path, set(named))) - {name} for name, path in named.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_package_never_imports_snakemake() -> None:
    assert not [
        path for path in files() if "import snakemake" in path.read_text() or "from snakemake" in path.read_text()
    ]


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_what_needs_no_torch_does_not_import_it(module: str) -> None:
    heavy = "torch", "matplotlib", "snakemake", "skimage", "numba", "timm", "transformers", "open_clip"
    code = f"import sys, fivesentences.{module}; print(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
