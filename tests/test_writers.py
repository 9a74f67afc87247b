"""Every file that the package writes gets its name when it is whole: writers stand within ``storage.replacing``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fivesentences"
# Functions and methods that write into the file that they are given.
WRITERS = {
    *("write_text", "write_bytes", "touch", "tofile", "savetxt", "savez", "savez_compressed", "savefig", "save_file"),
    *(
        "to_parquet",
        "to_pickle",
        "to_feather",
        "to_excel",
        "to_hdf",
        "write_image",
        "ParquetWriter",
        "open_memmap",
        "new_npy",
    ),
    *("copy", "copy2", "copyfile", "copytree", "move", "rename", "symlink_to", "hardlink_to"),
}
# The same, but only of these modules: others have harmless functions of that name.
OF_MODULES = {("np", "save"), ("numpy", "save"), ("torch", "save"), ("pq", "write_table"), ("os", "replace")}
OF_MODULES |= {(module, name) for module in ("shutil", "os") for name in WRITERS}
PLAIN = {"copy", "copy2", "copytree", "move", "rename", "touch"}  # methods of tensors, tables, dictionaries
TEXT_OR_FILE = {"to_csv", "to_json", "to_latex", "to_html"}  # without a path they return a text
STREAMS = {"dump", "safe_dump"}  # without a stream YAML's returns a text
OPENERS = {"open", "File", "ZipFile", "TarFile", "GzipFile", "memmap"}

# What writes outside `with replacing(...)`, by file and function, and why that leaves no half-written result.
ELSEWHERE = {
    # These are given the temporary file of a caller's `replacing`.
    "features/formats/npy_rows.py:writing_npy": "writing_table and write_precomp replace",
    "features/formats/hdf5_rows.py:writing_hdf5": "its callers replace",
    "features/formats/table.py:writing_table": "a stack of `replacing`, so that the array is renamed last",
    "semantics/scoring.py:new_array": "likewise",
    "arrays.py:new_npy": "its callers replace; a store of best images is a folder that is renamed",
    # These fill a hidden folder, which is renamed, reused with checksums, or removed.
    "features/formats/folders.py:FolderWriter.add": "into the hidden folder of writing_folder",
    "semantics/top_k.py:write_top_k": "renames its hidden folder",
    "features/progress.py:FinishedRows.__init__": "rows with checksums: what is cut is made again",
    "corpus/download.py:_append": "a .part file, which is continued and checked by SHA-256 before it is renamed",
    "semantics/java/scene_graph_parser.py:_open_journal": "a journal: a line that is cut is parsed again",
    "semantics/java/ptb_tokenizer.py:_tokenise": "a temporary folder",
    "features/networks.py:save_weights": "a temporary folder, which workers read",
    # These are no results.
    "storage.py:_into": "a device or a pipe, which cannot be replaced",
    "features/workers.py:Workers._ask": "a pipe",
    "features/workers.py:serve": "a pipe",
    "console.py:log_to": "a log, which is to be read while it is written",
    "cli.py:_prepare_streams": "the null device",
    "storage.py:alone": "a lock",
    "semantics/top_k.py:_alone": "a lock",
}


def mode_of(call: ast.Call) -> str:
    """The mode in which a call opens a file, as far as it stands there; ``open`` alone reads."""
    texts = [one.value for one in call.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    texts += [one.value.value for one in call.keywords if one.arg == "mode" and isinstance(one.value, ast.Constant)]
    return next((text for text in texts if len(text) <= 3 and set(text) <= set("rwaxbt+")), "r")


def writes(call: ast.Call) -> bool:
    """Whether a call writes into a file."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    module = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    if (module, name) in OF_MODULES or name in WRITERS - PLAIN:
        return True
    if name in TEXT_OR_FILE:
        unbound = isinstance(function, ast.Attribute) and getattr(function.value, "attr", "") == "DataFrame"
        return len(call.args) > unbound or any(word.arg in ("path_or_buf", "buf") for word in call.keywords)
    if name == "save":  # a picture and its format
        return any(isinstance(one, ast.Constant) for one in call.args[1:2]) or any(
            k.arg == "format" for k in call.keywords
        )
    if name in STREAMS:
        return len(call.args) > 1 or any(word.arg in ("stream", "fp") for word in call.keywords)
    return name in OPENERS and bool(set(mode_of(call)) & set("wax+"))


def replaces(node: ast.AST) -> bool:
    """Whether a ``with`` statement is one of ``replacing``."""
    return isinstance(node, ast.With) and any(
        isinstance(part, ast.Call) and getattr(part.func, "id", getattr(part.func, "attr", "")) == "replacing"
        for item in node.items
        for part in ast.walk(item.context_expr)
    )


def outside(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Function and line of every writer that does not stand within ``with replacing(...)``."""

    def visit(node: ast.AST, names: tuple[str, ...], safe: bool) -> Iterator[tuple[str, int]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = (*names, node.name)
        safe = safe or replaces(node)
        if isinstance(node, ast.Call) and not safe and writes(node):
            yield ".".join(names), node.lineno
        for child in ast.iter_child_nodes(node):
            yield from visit(child, names, safe)

    yield from visit(tree, (), False)


def found() -> dict[str, list[int]]:
    """Lines of writers outside ``replacing`` by file and function, in the package and in scripts of the workflow."""
    lines: dict[str, list[int]] = {}
    files = [(path, str(path.relative_to(SOURCE))) for path in sorted(SOURCE.rglob("*.py"))]
    files += [(path, path.name) for path in sorted((ROOT / "workflow").rglob("*.py"))]
    for path, name in files:
        for function, line in outside(ast.parse(path.read_text(encoding="utf-8"))):
            lines.setdefault(f"{name}:{function}", []).append(line)
    return lines


def test_every_writer_replaces_its_file_or_says_why_not() -> None:
    there = found()
    assert {place: lines for place, lines in there.items() if place not in ELSEWHERE} == {}
    assert [place for place in ELSEWHERE if place not in there] == []  # and no reason outlives its writer


@pytest.mark.parametrize(
    "line",
    [
        "np.save(path, array)",
        "path.write_text(text)",
        "path.open('wb')",
        "open(path, 'a')",
        "open(path, mode='r+')",
        "h5py.File(path, 'w')",
        "zipfile.ZipFile(path, 'w')",
        "frame.to_csv(path)",
        "frame.to_parquet(path)",
        "figure.savefig(path)",
        "picture.save(path, 'PNG')",
        "json.dump(content, file)",
        "shutil.copy(a, b)",
        "os.replace(a, b)",
        "np.memmap(path, mode='w+')",
    ],
)
def test_the_check_sees_writers(line: str) -> None:
    assert [name for name, _ in outside(ast.parse(f"def f(): {line}"))] == ["f"]
    assert not list(outside(ast.parse(f"with replacing(path) as path: {line}")))


@pytest.mark.parametrize(
    "line", ["open(path)", "path.open('rb')", "zipfile.ZipFile(path)", "frame.to_csv(index=False)", "array.copy()"]
)
def test_the_check_lets_readers_pass(line: str) -> None:
    assert not list(outside(ast.parse(f"def f(): {line}")))
