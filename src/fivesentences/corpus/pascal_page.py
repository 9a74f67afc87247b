"""The page of Pascal Sentences: a table of photographs and their sentences, collected into a JSON and an archive."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urljoin

from fivesentences.corpus.content import check_kind
from fivesentences.corpus.decoding import decode
from fivesentences.corpus.download import receive
from fivesentences.documents import read_bytes
from fivesentences.errors import InputError
from fivesentences.storage import inside, replacing, work_folder

MOST_SENTENCES = 10  # of a photograph; most have five, some four or six
GIVE_UP_AFTER = 5  # photographs in a row that no address has
LARGEST_PAGE = 32 << 20  # bytes; the original has under a megabyte
LARGEST_PHOTOGRAPH = 64 << 20  # bytes
_CELL = re.compile(r"[^/]+/[^/]+\.jpe?g", re.IGNORECASE)
_CURE = "put the captions in place by hand, as config/datasets.yaml names them"


def collect(page: Path, addresses: Sequence[str], target: Path) -> None:
    """Make the captions (``.json``) or the archive of photographs (``.zip``) of the page.

    Args:
        page: The page as it was fetched.
        addresses: Its addresses, to which those of the photographs are relative; asked in turn.
        target: File to make.

    Raises:
        InputError: If the page's table is not as it was, or a photograph cannot be fetched; what has arrived is kept.
    """
    images = read_page(page)
    if target.suffix == ".json":
        with replacing(target) as temporary:
            content = {PurePosixPath(name).name: about for name, about in images.items()}
            temporary.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    else:
        _collect_photographs(list(images), addresses, target)


def read_page(page: Path) -> dict[str, dict[str, object]]:
    """Read the page's table: cells with ``<img src="category/name.jpg">``, and behind each its sentences' cells.

    Returns:
        ``category`` and ``captions`` of each photograph, by its path relative to the page, in the order of the page.

    Raises:
        InputError: If the page has no such table, names a photograph elsewhere or twice, or one has no sentences or
            more than ten: then the table is not the one that this reads.
    """
    table, content = _Table(), read_bytes(page, LARGEST_PAGE)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # a page of 2010 need not be in UTF-8
        text = content.decode("cp1252", "replace")
    table.feed(text)
    table.close()
    if not table.rows:
        raise InputError("it has no table of photographs (<img src=category/name.jpg>)", where=page, cure=_CURE)
    found: dict[str, dict[str, object]] = {}
    filenames = set[str]()
    for number, (source, sentences) in enumerate(table.rows, 1):
        shown, name = f"photograph {number}, '{source[:80]}',", unquote(source)
        if not _CELL.fullmatch(name) or ".." in name or ":" in name or "\\" in name:
            raise InputError(f"{shown} is not <category>/<name>.jpg; the table has changed", where=page, cure=_CURE)
        if not 1 <= len(sentences) <= MOST_SENTENCES:
            what = f"{shown} has {len(sentences)} sentences, and 1 to {MOST_SENTENCES} are expected"
            raise InputError(f"{what}; the table has changed", where=page, cure=_CURE)
        category, _, filename = name.partition("/")
        if filename in filenames:
            raise InputError(f"{shown} has the name of one before; the table has changed", where=page, cure=_CURE)
        filenames.add(filename)
        found[name] = {"category": category, "captions": sentences}
    return found


class _Table(HTMLParser):
    """Collects photographs and the text of cells behind each.

    Attributes:
        rows: Address and sentences of each photograph.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[str, list[str]]] = []
        self._cell: list[str] | None = None  # text of the innermost open cell

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "td":
            self._end_cell()
            self._cell = []
        elif tag == "img" and (source := dict(attrs).get("src")):
            self._cell = None
            self.rows.append((source.strip(), []))
        elif tag == "table":  # one within a cell
            self._end_cell()

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "tr", "table"):
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def _end_cell(self) -> None:
        text = " ".join("".join(self._cell or ()).split())
        if text and self.rows:
            self.rows[-1][1].append(text)
        self._cell = None


def _collect_photographs(names: list[str], addresses: Sequence[str], target: Path) -> None:
    """Fetch every photograph into a folder beside the archive, then pack them; a stopped call goes on where it was."""
    work, failed = work_folder(target.with_name(f".{target.name}.photographs")), list[str]()
    bases, in_a_row = [f"{address.rstrip('/')}/" for address in addresses], 0
    for number, name in enumerate(names):
        if in_a_row == GIVE_UP_AFTER:
            break
        photograph = inside(work, name)
        if photograph.exists():
            continue
        if number % 100 == 0:
            print(f"{target.name}: photograph {number + 1} of {len(names)}", file=sys.stderr, flush=True)
        for base in tuple(bases):
            try:
                _fetch(urljoin(base, quote(name)), photograph)
            except InputError as error:
                failed.append(str(error).rstrip("."))
            else:
                bases.sort(key=lambda one, last=base: one != last)  # type: ignore[misc]
                break
        in_a_row = 0 if photograph.exists() else in_a_row + 1
    if lacking := [name for name in names if not inside(work, name).exists()]:
        what = (
            f"{len(lacking):,} of the page's {len(names):,} photographs are missing, such as {lacking[0]} ({failed[0]})"
        )
        cure = f"run again, which fetches only these, or put the archive at {target}"
        raise InputError(what, where=target, cure=cure)
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name in names:
            archive.write(inside(work, name), f"{target.parent.name}/{name}")
    shutil.rmtree(work)


def _fetch(address: str, photograph: Path) -> None:
    part = receive(address, photograph, known=False)
    try:
        check_kind(part, photograph.name, address, "nothing was kept")
        if (size := part.stat().st_size) > LARGEST_PHOTOGRAPH:
            raise InputError(f"{address}: {size:,} bytes are no photograph; nothing was kept.")
        decode(part.read_bytes(), address)  # what is cut is found now, not after days
    except InputError:
        part.unlink()
        raise
    part.replace(photograph)
