"""Every link of every page leads to a file that is there, and to an anchor that it has."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Read(HTMLParser):
    """Addresses and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.append(value)
            if name in ("href", "src") and value and not value.startswith("data:"):
                self.links.append(value)


def test_every_link_leads_somewhere_and_no_anchor_stands_twice(site_folder):
    pages = {path.resolve(): Read(path) for path in site_folder.rglob("*.html")}
    assert len(pages) > 5
    wrong = []
    for path, page in pages.items():
        assert len(page.anchors) == len(set(page.anchors)), path
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = not parts.scheme and target.is_file() and target.is_relative_to(site_folder.resolve())
            anchored = not parts.fragment or target not in pages or parts.fragment in pages[target].anchors
            if not (there and anchored):
                wrong.append(f"{path.relative_to(site_folder.resolve())}: {link}")
    assert wrong == []
