"""The site of a scale: which pages it has, and the frame in which each is written, with styles and scripts inside.

A page works from a folder without a server and without a network. Scripts are libraries from ``vendored/``, whose
``vendored.json`` says where each came from.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from fivesentences.corpus.catalogue import recorded
from fivesentences.reproduction.paper.tables.writing import environment
from fivesentences.storage import replacing

VENDORED = files("fivesentences.reproduction.paper.site") / "vendored"
STUDY = re.compile(r"\bconfig/studies/(\w+)\.yaml\b")  # as texts name a study
LINES, LETTERS = 3, 120  # of notes shown below a table; about so many letters in a line of notes


@dataclass(frozen=True)
class SitePage:
    """A page in the navigation.

    Attributes:
        part: The heading below which navigation lists it, such as ``Papers``; empty for none.
        label: Name in the navigation.
        path: Where it is, from the folder of the site: ``five_sentences/index.html``.
    """

    part: str
    label: str
    path: str


@dataclass(frozen=True)
class Site:
    """All pages of a scale.

    Attributes:
        title: Title of the scale.
        pages: Its pages in the order of the navigation.
        notes: Sentences at the end of each page.
        is_kept: Whether git keeps its pages.
    """

    title: str
    pages: tuple[SitePage, ...]
    notes: tuple[str, ...] = ()
    is_kept: bool = False

    @classmethod
    def of(cls, planned: Mapping[str, Any], inputs: Mapping[str, str | None] | None = None) -> Site:
        """Return the site that a plan describes to the rules that write pages; see ``Plan.site``.

        Args:
            planned: What the plan says.
            inputs: SHA-256 of what saved numbers were made of, by path; None: downloads that are here were read.
        """
        pages, variants = tuple(SitePage(**page) for page in planned["pages"]), planned.get("variants", {})
        return cls(planned["title"], pages, tuple(_notes_on(variants, inputs)))

    def render(self, template: str, here: str, *, scripts: Sequence[str] = (), **values: Any) -> str:
        """Render a page in its frame.

        Args:
            template: Its template, which extends ``shell.html``.
            here: Its path in the site; links are relative to it (``to(path)`` in a template).
            scripts: Vendored libraries beside those of every page: ``alpine``.
            values: Values of the template.
        """
        found = environment()
        found.filters["in_few_lines"] = in_few_lines
        found.globals["vendored"] = vendored
        folder = posixpath.dirname(here) or "."

        def to(path: str) -> str:
            return posixpath.relpath(path, folder)

        def to_studies(text: str) -> Markup:
            """Link each study that a text names by its file to its page, if the site has one."""
            pages = {page.path.rpartition("/")[0].rpartition("/")[2]: page for page in self.pages if "/" in page.path}

            def linked(named: re.Match[str]) -> str:
                page = pages.get(named[1])
                return named[0] if page is None else f'<a href="{escape(to(page.path))}">{escape(page.label)}</a>'

            return Markup(STUDY.sub(linked, str(escape(text))))

        found.filters["to_studies"] = to_studies
        return found.get_template(template).render(site=self, here=here, to=to, scripts=scripts, **values)

    def write(self, folder: Path, template: str, here: str, **values: Any) -> Path:
        """Write a page to ``folder / here``; see ``render``."""
        text = self.render(template, here, **values)
        with replacing(folder / here) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return folder / here


def _notes_on(variants: Mapping[str, Mapping[str, str]], inputs: Mapping[str, str | None] | None) -> Iterator[str]:
    """Say which downloads are not the files that their hosts have."""
    for path, known in variants.items():
        if inputs is None:
            record = recorded(Path(path))
            digest = record[0] if record is not None else None
        else:
            digest = inputs.get(path)
        if digest is not None and digest in known:
            yield (
                f"These numbers are of {path}, {known[digest]} (SHA-256 {digest[:8]}…). The file that its host has "
                "gives other features, and other numbers."
            )


@cache
def vendored(name: str) -> Markup:
    """Read the script of a vendored library, to stand in a page.

    Args:
        name: Its file without ``.min.js``: ``tocbot``, ``tablesort``, ``alpine``.
    """
    # None of them contains a closing tag, which would end the script early; a test checks it.
    return Markup((VENDORED / f"{name}.min.js").read_text(encoding="utf-8").strip())


def in_few_lines(notes: Iterable[str], lines: int = LINES) -> tuple[list[str], list[str]]:
    """Split the notes of a table into those that a page shows and those that it folds.

    The first notes are shown as long as they fit into a few lines; a longer one is folded, and shorter ones may follow.
    """
    shown: list[str] = []
    folded: list[str] = []
    for note in notes:
        needed = -(-len(note) // LETTERS)
        (shown if needed <= lines else folded).append(note)
        lines -= needed if needed <= lines else 0
    return shown, folded
