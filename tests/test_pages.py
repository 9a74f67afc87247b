"""The pages of documentation: their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("*/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\((?P<to>[^)\s]+)\)")


def prose_of(page: Path) -> str:
    """A page without its blocks of code, whose brackets are no links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^ {4}.*$|`[^`\n]*`", "", text, flags=re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """As GitHub makes them of headings: lower case, without punctuation, spaces as hyphens."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page):
    dead = []
    for link in LINK.finditer(prose_of(page)):
        path, _, anchor = link["to"].partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            dead.append(link["to"])
    assert not dead
