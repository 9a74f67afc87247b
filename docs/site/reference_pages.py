"""The pages of the Python reference, written from the package itself: its public names and their docstrings.

They stand in ``docs/reference``, which is not in git. Every name that ``__all__`` of a public package lists has an
entry; names of one module stand together, below that module's docstring.
"""

from __future__ import annotations

import importlib
import inspect
from itertools import groupby
from pathlib import Path

import written_pages
from docstrings import linked
from public_names import PACKAGES, PublicName, first_line, public_names
from sphinx.application import Sphinx

from fivesentences.storage import replacing

FOLDER = "docs/reference"
# Names of modules in titles, where capitals alone would not do.
UPPER = ("ap", "asp", "bleu", "coco", "csls", "cvse", "eccv", "nce", "ncs", "rouge", "saf", "scan", "sgr", "vse")
WRITTEN = {"cider": "CIDEr", "spice": "SPICE", "tfidf": "tf-idf", "vsepp": "VSE++", "vsrn": "VSRN"} | {
    word: word.upper() for word in UPPER
}
INDEX = """\
Python
======

Most programs need one function, ``evaluate``: similarity in, every number out.

.. code-block:: python

   from fivesentences import evaluate

   scores = evaluate(similarity, {"cider": phi}, protocol="f30k")
   scores["R@1", "i2t"], scores["NCS@1", "i2t"]

.. autofunction:: fivesentences.evaluate
   :no-index:

Packages
--------

Arrays are NumPy arrays, memory maps or torch tensors. An ``InputError`` names the file or argument, the value and what
to do.

"""


def package_page(package: str) -> str:
    """The page of a package as reStructuredText: an overview of its names, then each of them."""
    names = public_names(package)
    lines = [package, "=" * len(package), "", f".. automodule:: {package}", "   :no-members:", ""]
    lines += [f".. py:currentmodule:: {package}", ""]
    lines += [".. list-table::", "   :widths: 30 70", "   :class: overview", ""]
    for one in names:
        lines += [f"   * - :py:obj:`{one.name} <{one.full}>`", f"     - {linked(one.summary, one.full)}"]
    for module, group in groupby(names, key=lambda one: one.subject):
        title = "Making one" if module == package else _title(module)
        lines += ["", title, "-" * len(title), ""]
        if module != package:
            lines += [linked(inspect.getdoc(importlib.import_module(module)) or "", module), ""]
        for one in group:
            lines += [*_entry(one), ""]
    return "\n".join(lines)


def _title(module: str) -> str:
    """The last part of a module's name in words."""
    words = [WRITTEN.get(word, word) for word in module.rpartition(".")[2].split("_")]
    title = " ".join(words)
    return title[0].upper() + title[1:]


def _entry(one: PublicName) -> list[str]:
    if inspect.isfunction(one.value):
        return [f".. autofunction:: {one.full}"]
    if inspect.isclass(one.value):
        # Settings are described in the class's own docstring, see `docstrings.describe_fields`.
        settings = ", ".join(getattr(one.value, "model_fields", ()))
        hidden = [f"   :exclude-members: +{settings}"] if settings else []
        return [f".. autoclass:: {one.full}", "   :members:", *hidden]
    lines = [f".. py:data:: {one.name}"]
    if isinstance(one.value, str | tuple):
        lines += [f"   :value: {one.value!r}"]
    lines += ["", *(f"   {linked(line, one.full)}" for line in one.comment)]
    if isinstance(one.value, dict):
        lines += ["", f"   Keys: {', '.join(f'``{key}``' for key in one.value)}."]
    return lines


def index_page() -> str:
    """The page that lists the packages."""
    lines = [INDEX]
    for package in PACKAGES:
        lines += [f":doc:`{package}`", f"   {first_line(importlib.import_module(package).__doc__)}.", ""]
    return "\n".join(lines)


def write_pages(folder: Path) -> None:
    """Write every page whose text has changed, and remove those of packages that are gone."""
    pages = {"index": index_page()} | {name: package_page(name) for name in PACKAGES}
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            with replacing(path) as unfinished:
                unfinished.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / FOLDER))
    app.connect("builder-inited", lambda app: written_pages.write_pages(Path(app.srcdir) / FOLDER))
    app.connect("source-read", _insert_tables)
    app.connect("build-finished", lambda app, error: written_pages.write_schemas(Path(app.outdir) / "schemas"))
    return {"parallel_read_safe": True}


def _insert_tables(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = written_pages.with_tables(source[0])
