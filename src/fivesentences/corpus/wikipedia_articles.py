"""Photographs and articles of SVCL's Wikipedia, from its own archive (Rasiwasia et al. 2010)."""

from __future__ import annotations

import html
import re
import zipfile
from pathlib import Path, PurePosixPath

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.assembly import Row, caption_at, corpus_of
from fivesentences.corpus.documents import PARTS
from fivesentences.corpus.photographs import SUFFIXES
from fivesentences.corpus.table import Corpus
from fivesentences.corpus.text import lines_of
from fivesentences.corpus.wikipedia import documents_in_list
from fivesentences.documents import text_of
from fivesentences.errors import InputError

LISTS = ("trainset_txt_img_cat.list", "testset_txt_img_cat.list")  # of the published parts, in the order of PARTS
CATEGORIES = "categories.list"
LARGEST_LIST = 4 << 20  # bytes; the original has a thirtieth of it
LARGEST_ARTICLE = 4 << 20  # bytes; sections have some kB
_BEGIN, _END = re.compile(r"<text(?:\s[^<>]*)?>"), "</text>"
_TAG = re.compile(r"<[^<>]*>")
_DECLARED = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def load_wikipedia_articles(archive: Path | str, name: str = "wikipedia") -> Corpus:
    """Read ``wikipedia_dataset.zip``: its lists, ``texts/<text>.xml`` and ``images/<category>/<image>.jpg``.

    Each document of the lists is an image with one caption, the text of its article's section; its id is the text's
    name, which begins with that of the article, up to a "-". The published parts are the splits ``train`` and ``test``.
    Folders above these names do not matter.

    Only what stands between ``<text>`` and ``</text>`` is read, with tags left out and character references replaced
    once. No XML parser is involved, so that no entity is ever expanded; bytes that are not UTF-8 become U+FFFD.

    Args:
        archive: The archive; it is read in place.
        name: What to call the corpus.

    Raises:
        InputError: If the archive is missing, damaged or unsafe, lacks a list, a text or an image, or a list has a
            malformed line; or if a text is too large, declares a document type or entities, or has no words.
    """
    path = Path(archive)
    with open_zip(path) as opened:
        inside = entries(opened)
        names = [line.strip() for line in _lines(opened, inside, CATEGORIES) if line.strip()]
        texts, images = _by_name(inside, {".xml"}), _by_name(inside, SUFFIXES)
        rows = []
        for part, of_part in zip(PARTS, LISTS, strict=True):
            where = f"{path.name}: {of_part}"
            for text, image, category in documents_in_list(_lines(opened, inside, of_part), where, names, CATEGORIES):
                if text not in texts or image not in images:
                    missing = f"texts/{text}.xml" if text not in texts else f"images/{category}/{image}.jpg"
                    raise InputError(f"{where} names '{missing}', which the archive lacks; fetch it again.")
                entry = texts[text]
                words = _words_of(read_entry(opened, entry, LARGEST_ARTICLE), f"{path.name}: '{entry}'")
                rows.append(Row(text, images[image], text, words, part, category))
    return corpus_of(name, rows)


def _lines(archive: zipfile.ZipFile, inside: list[str], filename: str) -> list[str]:
    found = [name for name in inside if PurePosixPath(name).name == filename]
    if len(found) != 1:
        shown = Path(str(archive.filename)).name
        raise InputError(f"{shown} has {len(found)} files named {filename}, and must have one; fetch it again.")
    return lines_of(text_of(read_entry(archive, found[0], LARGEST_LIST), filename))


def _by_name(inside: list[str], suffixes: frozenset[str] | set[str]) -> dict[str, str]:
    """Entries with these suffixes by their names without folder and suffix; of several, the first."""
    found: dict[str, str] = {}
    for name in inside:
        pure = PurePosixPath(name)
        if pure.suffix.lower() in suffixes:
            found.setdefault(pure.stem, name)
    return found


def _words_of(data: bytes, where: str) -> str:
    """The text of an article on one line."""
    content = data.decode("utf-8", errors="replace")
    if _DECLARED.search(content):
        raise InputError(f"{where} declares a document type or entities, which no article has; it is refused.")
    begin, end = _BEGIN.search(content), content.rfind(_END)
    if begin is None or end < begin.end():
        raise InputError(f"{where} has no <text>; fetch the archive again.")
    return caption_at(html.unescape(_TAG.sub(" ", content[begin.end() : end])), f"{where}: <text>")
