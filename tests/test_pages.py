"""The pages of documentation: their links lead somewhere, and no output in them was typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("*/*.md")])
# Blocks that no command of this program writes, and what keeps them true.
TYPED = {"docs/losses.md": "tests/losses/test_losses_page.py runs the block of Python above it"}
# A place of docs/tools/outputs for the output of a command.
PLACE = re.compile(r"^<!-- output[^:\n]*: (?P<command>[^\n]*?) -->\n.*?^<!-- /output -->$", re.M | re.S)
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


def typed_blocks(text: str) -> list[str]:
    """First lines of blocks that name no language, which show output, and that no command writes."""
    rest = PLACE.sub("", text)
    return [
        block[2].partition("\n")[0]
        for block in re.finditer(r"^```([^\n]*)\n(.*?)^```", rest, re.M | re.S)
        if not block[1]
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_of_output_was_typed(page):
    found = typed_blocks(page.read_text(encoding="utf-8"))
    assert bool(found) == (str(page.relative_to(ROOT)) in TYPED), f"write it by a place, see docs/tools: {found}"


def test_a_reader_sees_every_command_whose_output_is_shown():
    """The comment that names it is invisible; the same command stands in the page's text."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        seen = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        for place in PLACE.finditer(text):
            assert place["command"] in seen, f"{page.name}: {place['command']}"
