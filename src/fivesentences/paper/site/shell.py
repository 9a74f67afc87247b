"""The site of a scale: which pages it has, and the frame in which each is written, with styles and scripts inside.

A page works from a folder without a server and without a network. Scripts are libraries from ``vendored/``, whose
``vendored.json`` says where each came from.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from markupsafe import Markup

from fivesentences.paper.tables.writing import environment
from fivesentences.storage import replacing

VENDORED = files("fivesentences.paper.site") / "vendored"


@dataclass(frozen=True)
class SitePage:
    """A page in the navigation.

    Attributes:
        part: The heading below which navigation lists it, such as ``Papers``; empty for none.
        label: What navigation calls it.
        path: Where it is, from the folder of the site: ``five_sentences/index.html``.
    """

    part: str
    label: str
    path: str


@dataclass(frozen=True)
class Site:
    """All pages of a scale, in the order of the navigation; ``title`` is the scale's."""

    title: str
    pages: tuple[SitePage, ...]

    @classmethod
    def of(cls, planned: Mapping[str, Any]) -> Site:
        """The site that a plan describes to the rules that write pages; see ``Plan.site``."""
        return cls(planned["title"], tuple(SitePage(**page) for page in planned["pages"]))

    def render(self, template: str, here: str, *, scripts: Sequence[str] = (), **values: Any) -> str:
        """A page in its frame.

        Args:
            template: Its template, which extends ``shell.html``.
            here: Its path in the site; links are relative to it (``to(path)`` in a template).
            scripts: Vendored libraries beside those of every page: ``alpine``.
            values: What the template shows.
        """
        found = environment()
        found.filters["groupby_in_order"] = _runs_of
        found.globals["vendored"] = vendored
        folder = posixpath.dirname(here) or "."

        def to(path: str) -> str:
            return posixpath.relpath(path, folder)

        return found.get_template(template).render(site=self, here=here, to=to, scripts=scripts, **values)

    def write(self, folder: Path, template: str, here: str, **values: Any) -> Path:
        """Write a page to ``folder / here``; see ``render``."""
        text = self.render(template, here, **values)
        with replacing(folder / here) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return folder / here


@cache
def vendored(name: str) -> Markup:
    """The script of a vendored library, to stand in a page.

    Args:
        name: Its file without ``.min.js``: ``tocbot``, ``tablesort``, ``alpine``.
    """
    # None of them contains a closing tag, which would end the script early; a test checks it.
    return Markup((VENDORED / f"{name}.min.js").read_text(encoding="utf-8").strip())


def vendored_libraries() -> list[dict[str, str]]:
    """Name, version, licence, file, checksum and origin of each vendored library."""
    found: list[dict[str, str]] = json.loads((VENDORED / "vendored.json").read_text(encoding="utf-8"))
    return found


def _runs_of(items: Iterable[Any], attribute: str) -> list[tuple[Any, list[Any]]]:
    """Neighbours of equal attribute together, in their order, which Jinja's own ``groupby`` would sort."""
    return [(key, list(same)) for key, same in groupby(items, key=attrgetter(attribute))]
