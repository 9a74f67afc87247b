"""Links work where the reader is: on a code host, which shows Markdown and pictures, and in a clone."""

from __future__ import annotations

import posixpath
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = set(subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines())
MARKDOWN = sorted(name for name in TRACKED if name.endswith(".md") and "/templates/" not in name)
# Templates hold places, not links.
PAGES = sorted(name for name in TRACKED if name.endswith(".html") and "/templates/" not in name)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<to>[^)\s]+)[^)]*\)|<(?:a|img)\b[^>]*?(?:href|src)=\"(?P<html>[^\"]+)\"")


class Links(HTMLParser):
    """Addresses that a page loads or leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src", "srcset") and value]


def within(page: str, links: list[str]) -> dict[str, str]:
    """Return the places in the tree that links lead to, by link; not of links to the web or within the page."""
    paths = {link: re.split("[#?]", link)[0] for link in links if not re.match(r"[a-z]+:|//", link)}
    folder = posixpath.dirname(page)
    return {link: posixpath.normpath(posixpath.join(folder, unquote(path))) for link, path in paths.items() if path}


@pytest.mark.parametrize("page", MARKDOWN)
def test_markdown_leads_to_no_source_of_html(page: str) -> None:
    text = re.sub(r"^```.*?^```|^ {4}.*?$|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    links = within(page, [link["to"] or link["html"] for link in LINK.finditer(text)])
    assert [link for link, path in links.items() if path.endswith((".html", ".htm"))] == []
    folders = {posixpath.dirname(name) for name in TRACKED}
    dead = [link for link, path in links.items() if path not in TRACKED and path not in folders]
    assert dead == []


@pytest.mark.parametrize("page", PAGES)
def test_a_kept_page_links_to_kept_files_alone(page: str) -> None:
    links = within(page, Links((ROOT / page).read_text(encoding="utf-8")).found)
    assert [link for link, path in links.items() if path not in TRACKED] == []


def test_no_kept_picture_shows_that_there_is_nothing_to_show() -> None:
    data = [re.sub(r"(\.narrow)?\.svg$", ".csv", name) for name in TRACKED if re.match(r"results/.*\.svg$", name)]
    assert data and [name for name in data if len((ROOT / name).read_text(encoding="utf-8").splitlines()) < 2] == []
