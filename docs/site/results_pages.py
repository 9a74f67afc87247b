"""Links to kept results lead to their pages, which the site has beside its documents, and these link back.

Documents link to tables in Markdown, which a code host shows; the site leads to the same table on the page beside it.

Sphinx would copy the one file that a link names, without the style sheets and pictures that it needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

RESULTS = Path("results", "paper")
SHOWN = (RESULTS, Path("docs", "demo"), Path("docs", "look"))  # made by docs/tools/keep_demo and keep_look
FRAME = '<header class="side">'  # where navigation begins, in reproduction/paper/templates/shell.html


def setup(app: Sphinx) -> dict[str, Any]:
    """Add both steps to a build."""
    app.connect("doctree-read", _lead_to_pages, priority=400)  # before Sphinx collects the files that it copies
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True}


def _lead_to_pages(app: Sphinx, doctree: nodes.document) -> None:
    folder = Path(app.srcdir, app.env.docname).parent
    shown = [Path(app.srcdir, one) for one in SHOWN]
    for node in list(doctree.findall(addnodes.download_reference)):
        path = Path(os.path.normpath(folder / node["reftarget"]))
        if path.suffix == ".html" and any(path.is_relative_to(one) for one in shown):
            _lead(node, path, folder)
    for node in list(doctree.findall(addnodes.pending_xref)):  # of Markdown, which is no document of the site
        path = Path(app.srcdir, node["reftarget"])
        if (below := Path(os.path.normpath(folder / node["reftarget"]))) in shown:  # the folder of a page
            _lead(node, below / "index.html", folder)
            continue
        if any(path.is_relative_to(one) for one in shown) and (page := path.with_name("index.html")).is_file():
            _lead(node, page, folder, f"#{path.name}")


def _lead(node: nodes.Element, page: Path, folder: Path, anchor: str = "") -> None:
    address = Path(os.path.relpath(page, folder)).as_posix() + anchor
    node.replace_self(nodes.reference("", "", *node.children, refuri=address))


def _copy(app: Sphinx, exception: Exception | None) -> None:
    """Copy what git keeps of results, so that nothing of a run made here gets on a site."""
    if exception is not None or not Path(app.srcdir, RESULTS).is_dir():
        return
    listed = subprocess.run(
        ["git", "ls-files", "-z", *SHOWN], cwd=app.srcdir, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (out := Path(app.outdir, name)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(app.srcdir, name), out)
        if out.suffix == ".html":  # only here: a page that is sent to someone alone has no dead link
            home = Path(os.path.relpath(Path(app.outdir, f"{app.config.root_doc}.html"), out.parent)).as_posix()
            link = f'{FRAME}\n<p><a href="{home}">Documentation of fivesentences</a></p>'
            out.write_text(out.read_text(encoding="utf-8").replace(FRAME, link, 1), encoding="utf-8")
