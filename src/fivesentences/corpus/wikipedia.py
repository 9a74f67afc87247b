"""SVCL's Wikipedia: sections of featured articles with an image each (Rasiwasia et al. 2010)."""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from fivesentences.corpus.archives import SUFFIXES, entries, open_zip, read_entry
from fivesentences.corpus.table import CaptionRow, Corpus, caption_at, corpus_of
from fivesentences.documents import lines_of, text_of
from fivesentences.errors import InputError

LISTS = ("trainset_txt_img_cat.list", "testset_txt_img_cat.list")  # of the published parts, train and test
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
        name: Name of the corpus.

    Raises:
        InputError: If the archive is missing, damaged or unsafe, lacks a list, a text or an image, or a list has a
            malformed line; or if a text is too large, declares a document type or entities, or has no words.
    """
    path = Path(archive)
    with open_zip(path) as opened:
        inside = entries(opened)
        names = [line.strip() for line in lines_in(opened, inside, CATEGORIES) if line.strip()]
        texts, images = _by_name(inside, {".xml"}), _by_name(inside, SUFFIXES)
        rows = []
        for part, of_part in zip(("train", "test"), LISTS, strict=True):
            where = f"{path.name}: {of_part}"
            for text, image, category in documents_in_list(lines_in(opened, inside, of_part), where, names):
                if text not in texts or image not in images:
                    missing = f"texts/{text}.xml" if text not in texts else f"images/{category}/{image}.jpg"
                    raise InputError(f"{where} names '{missing}', which the archive lacks; fetch it again.")
                entry = texts[text]
                words = _words_of(read_entry(opened, entry, LARGEST_ARTICLE), f"{path.name}: '{entry}'")
                rows.append(CaptionRow(text, images[image], text, words, part, category))
    return corpus_of(name, rows)


def documents_in_list(lines: Iterable[str], where: Path | str, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return text, image and name of the category of each line of a list.

    Args:
        lines: Lines of the list: names of text and image and number of the category, by tabs.
        where: Name of the list for errors.
        names: Names of the categories, in the order of their numbers.

    Raises:
        InputError: If a line is malformed or its category is unknown.
    """
    found = []
    for number, line in enumerate(lines, 1):
        fields = [field.strip() for field in line.split("\t")]
        text, image, code = fields if len(fields) == 3 else ("", "", "")
        is_code = re.fullmatch(r"[0-9]{1,9}", code) is not None and 1 <= int(code) <= len(names)
        if not (is_code and text.partition("-")[0] and image):
            raise InputError(
                f"line {number} is '{line[:60]}'; expected <text><tab><image><tab><category from 1 to {len(names)}>.",
                where=where,
            )
        found.append((text, image, names[int(code) - 1]))
    return found


def lines_in(archive: zipfile.ZipFile, inside: list[str], filename: str) -> list[str]:
    """Return the lines of the one file of this name, in whatever folder."""
    return lines_of(text_of(read_entry(archive, only_entry(archive, inside, filename), LARGEST_LIST), filename))


def only_entry(archive: zipfile.ZipFile, inside: list[str], filename: str) -> str:
    """Return the one entry of this name, in whatever folder.

    Raises:
        InputError: If there is none, or there are several.
    """
    found = [name for name in inside if PurePosixPath(name).name == filename]
    if len(found) != 1:
        shown = Path(str(archive.filename)).name
        raise InputError(f"{shown} has {len(found)} files named {filename}, and must have one; fetch it again.")
    return found[0]


def _by_name(inside: list[str], suffixes: frozenset[str] | set[str]) -> dict[str, str]:
    """Index entries with these suffixes by their names without folder and suffix; of several, the first."""
    found: dict[str, str] = {}
    for name in inside:
        pure = PurePosixPath(name)
        if pure.suffix.lower() in suffixes:
            found.setdefault(pure.stem, name)
    return found


def _words_of(data: bytes, where: str) -> str:
    """Return the text of an article on one line."""
    content = data.decode("utf-8", errors="replace")
    if _DECLARED.search(content):
        raise InputError(f"{where} declares a document type or entities, which no article has; it is refused.")
    begin, end = _BEGIN.search(content), content.rfind(_END)
    if begin is None or end < begin.end():
        raise InputError(f"{where} has no <text>; fetch the archive again.")
    return caption_at(html.unescape(_TAG.sub(" ", content[begin.end() : end])), f"{where}: <text>")
