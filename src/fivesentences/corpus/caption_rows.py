"""Captions in the text files of the field: token files, tables with a header, and JSON of several shapes."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from fivesentences.corpus.archives import SUFFIXES as PHOTOGRAPHS
from fivesentences.corpus.csv_rows import SEPARATORS, header_of, rows_below, separator_of
from fivesentences.corpus.karpathy_images import rows_of_images
from fivesentences.documents import lines_of, parse_json, read_bytes, text_of
from fivesentences.errors import InputError, say_once

Rows = Iterator[tuple[str, dict[str, Any]]]  # where a row is, and its fields

# Of captions, and of names or ids of images: the first that there is.
COLUMNS = ("txt", "caption", "captions", "sentences", "sentence", "comment", "raw", "text", "title")
IMAGES = (
    *("filename", "file_name", "image_name", "image_id", "img_id", "imgid", "cocoid", "image/key", "image"),
    *("image_path", "filepath", "file_path", "path", "file", "img", "photo"),
)
IDS = ("cocoid", "image_id", "img_id", "imgid")
_NUMBERED = re.compile(r"(?:caption|comment|sentence|text)[ _.#-]?[0-9]{1,3}")  # columns of a table row per image
# Flickr8k-CN and COCO-CN have a blank in place of the tab, and a word about the caption behind the name: x.jpg#zhb#0.
_TOKEN = re.compile(r"([^\t]+#[0-9]{1,9}(?=\t)|\S+#[0-9]{1,9}(?= ))[\t ](.*)", re.DOTALL)
_ENDINGS = "|".join(re.escape(suffix) for suffix in sorted(PHOTOGRAPHS))
_NAME = rf"[^\t,;|]+?(?:{_ENDINGS})(?:\.[0-9]+)?"
_NAMED = re.compile(rf'"?{_NAME}(?:#[^\t,;| ]*)?"?\s*(?:[\t,;| ]|\Z)', re.IGNORECASE)
# What else lines may be than captions, in how many of them that is no accident, and what to do if they are captions.
_TABLE = "rows of a table without the names of its columns"
_ELSE = (
    (0.5, re.compile(r"[^\t]*\t"), _TABLE, r"or write the tabs within captions as blanks: tr '\t' ' ' < FILE"),
    (0.5, re.compile(r'\s*"?[\w./-]*[0-9][\w./-]*"? *[,;|]', re.ASCII), _TABLE,
     "or give the captions alone: sed -E 's/^[^,;|]*[,;|] *//' FILE"),
    (1.0, re.compile(r'\s*"([^"]|"")*"\s*\Z'), "quoted as in a table",
     """or write captions without the marks: sed -E 's/^ *"//; s/" *$//; s/""/"/g' FILE"""),
)  # fmt: skip
_PAGE = re.compile(r"\s*(<!doctype|<html|<\?xml|version https://git-lfs)", re.IGNORECASE)
_IMAGE = re.compile(rf"({_NAME}|.+?)(?:#[^#]*)?#([0-9]+)", re.IGNORECASE)


# The first token of a line and what separates it from a text behind it.
_FIRST = re.compile(r"""\s*["'([<]?([^\s,;|:]+?)["')\]>.]*([\s,;|:])[\s,;|:]*(?=\S)""")
# Ids: with a digit and long, or with a letter too, or padded by zeros; or capitals where no word has any.
_LONG_ID = re.compile(r"(?=.*[0-9]).{5,}|(?=.*[0-9])(?=.*[a-zA-Z]).{3,}|#?0[0-9]+|(?=.*[a-z][A-Z]).{8,}")
_NUMBER = re.compile(r"#?[0-9]{1,4}")
NEARLY_ALL = 0.9  # of the lines
FEW = 10  # distinct small numbers, with which captions may count what a picture shows
MOST_OF_AN_IMAGE = 50  # captions


def refuse_leading_ids(captions: Sequence[str], where: Path | str) -> None:
    """Refuse captions that begin with the id of their image, or of their own: it would be scored as a word.

    Ids are numbers, hashes or names of files at the beginning of nearly all captions, whatever separates them from the
    text: one of each caption, or of each image. Small numbers may count what a picture shows: they are ids only if they
    count the lines, or are many, each in one line or in lines beside each other.

    Raises:
        InputError: If they do; the first is named.
    """
    found = [_FIRST.match(caption) for caption in captions if caption.strip()]
    begun = [
        one for one in found if one and (_LONG_ID.fullmatch(one[1]) or _NUMBER.fullmatch(one[1]) or is_name(one[1]))
    ]
    if len(found) < 2 or len(begun) < NEARLY_ALL * len(found):
        return
    ids = [one[1] for one in begun]
    distinct = list(dict.fromkeys(ids))
    if sum(_LONG_ID.fullmatch(one) is not None or is_name(one) for one in ids) >= NEARLY_ALL * len(ids):
        are_ids = len(distinct) >= max(2, len(ids) / MOST_OF_AN_IMAGE)
    else:
        numbers = [int(one.removeprefix("#")) if _NUMBER.fullmatch(one) else -9 for one in distinct]
        count_lines = len(numbers) > 2 and all(after == one + 1 for one, after in itertools.pairwise(numbers))
        blocks = 1 + sum(one != after for one, after in itertools.pairwise(ids))
        in_order = blocks == len(distinct) or len(distinct) >= NEARLY_ALL * len(ids)
        are_ids = in_order and (count_lines or len(distinct) >= FEW)
    if are_ids:
        separator = "\\t" if begun[0][2] == "\t" else begun[0][2]
        without = f"sed -E 's/^[^{separator}]*[{separator}][[:space:],;|:]*//' FILE"
        what = f"its captions begin with ids, such as '{ids[0][:60]}', which would be scored as words"
        raise InputError(what, where=where, cure=f"remove them, such as by: {without}")


class RepeatedCaptions:
    """Captions that the rows of a file repeat: an image's list of captions stands there once, a caption perhaps twice.

    Attributes:
        count: Rows whose caption an earlier row of the same image has; people do write the same.
    """

    def __init__(self) -> None:
        self.count = 0
        self._lists: set[str] = set()
        self._rows: set[tuple[str, tuple[str, ...]]] = set()
        self._images: set[str] = set()

    def check(self, image: str, texts: Sequence[str], where: str, *, is_list: bool) -> None:
        """Add a row.

        Args:
            image: Name or id of its image.
            texts: Its captions.
            where: Place of the row.
            is_list: True if it holds a list, which is of the whole image.

        Raises:
            InputError: If there is a row of the image already, and either holds a list, or several equal captions.
        """
        row = image, tuple(texts)
        again = row in self._rows
        if image in self._images and (is_list or image in self._lists or (again and len(texts) > 1)):
            what = f"image '{image[:80]}' has captions in an earlier row too, which would count twice"
            raise InputError(what, where=where, cure="give each image once")
        self.count += again
        self._rows.add(row)
        self._images.add(image)
        if is_list:
            self._lists.add(image)

    def say(self, path: Path) -> None:
        """Say how many captions stand twice, if any do."""
        if self.count:
            rows = "row repeats" if self.count == 1 else "rows repeat"
            say_once(f"{path}: {self.count:,} {rows} a caption of the same image; each counts.")


def caption_columns(names: Sequence[str]) -> list[str]:
    """Return the usual column of captions, or all of those that are numbered; an empty list if there is none."""
    usual = [name for name in COLUMNS if name in names][:1]
    return usual or [name for name in names if _NUMBERED.fullmatch(name)]


def is_name(text: str) -> bool:
    """Return whether a text is the name of a photograph and no more."""
    return " " not in text and (found := _NAMED.match(text)) is not None and found.end() == len(text)


def text_rows(path: Path) -> Rows | list[str]:
    """Return the rows of a text file whose captions come with more, or its captions if it has one per line and no more.

    What a file is, is told by its content, not by its name:

    - Flickr's token files: ``NAME#NUMBER<tab>CAPTION`` in every line;
    - a table whose first line names columns of captions and images, separated by one of ``SEPARATORS``;
    - JSON, or JSON in every line, see ``json_rows``.

    Raises:
        InputError: If it is not UTF-8, is a damaged file of these kinds, or holds something else than captions: names
            of images in a table without header, names alone, or numbers.
    """
    data = read_bytes(path)
    if data[:2] == b"\x1f\x8b" or data[:4] == b"PK\x03\x04":
        raise InputError("it is compressed", where=path, cure="unpack it, and name the file with the captions")
    text = text_of(data, path)
    lines = lines_of(text)
    sample = [line.removesuffix("\r") for line in lines[:1000] if line.strip()]
    is_table = path.suffix.lower() in (".csv", ".tsv")
    if path.suffix == ".json" or (sample and sample[0].lstrip()[0] in "[{"):
        by_line = path.suffix != ".json" and len(sample) > 1 and unpacked(sample[0]) != [sample[0]]
        try:
            return json_rows(parse_json(text, path), path)
        except InputError:
            if not by_line and (path.suffix == ".json" or re.match(r"""\s*(\[\s*\{|\{\s*")""", text)):
                raise
    else:
        by_line = path.suffix == ".jsonl"
    if by_line:
        return _rows_by_line(path, lines)
    if sample and 2 * sum(_TOKEN.fullmatch(line) is not None for line in sample) >= len(sample):
        return _token_rows(path, lines)
    if separator := separator_of(text, caption_columns if is_table else _has_both):
        header = header_of(text, separator)
        if twice := [name for name in header if header.count(name) > 1 and name in (*caption_columns(header), *IMAGES)]:
            raise InputError(
                f"its first line names the column '{twice[0]}' twice", where=path, cure="rename one of them"
            )
        return rows_below(path, text, separator, header)
    if is_table:
        cure = f"{_cure(sample)}, or give the captions alone as .txt, one per line"
        raise InputError("its first line names no column of captions", where=path, cure=cure)
    named = [found.end() == len(line) for line in sample if (found := _NAMED.match(line))]
    if named and 2 * len(named) >= len(sample):
        if all(named):
            raise InputError("its lines are names of images", where=path, cure="give the file of their captions")
        what = "its lines begin with names of images, but are not NAME#NUMBER<tab>CAPTION, and no line names columns"
        raise InputError(what, where=path, cure=_cure(sample))
    if sample and all(line.strip().isdigit() for line in lines):
        raise InputError("its lines are numbers", where=path, cure="give the file of the captions")
    if sample and _PAGE.match(sample[0]):
        raise InputError("it is a web page, XML or a pointer of git-lfs", where=path, cure="fetch the captions again")
    for share, begins, what, alone in _ELSE:
        if sample and sum(begins.match(line) is not None for line in sample) >= share * len(sample):
            raise InputError(f"its lines are {what}", where=path, cure=f"{_cure(sample)}, {alone}")
    from_windows = lines_end_as_on_windows(text, lines)
    return [line.removesuffix("\r") for line in lines] if from_windows else lines


def json_rows(content: Any, path: Path) -> Rows | list[str]:
    """Return the rows of JSON, or its captions if it is a list of strings.

    - Karpathy's ``dataset_*.json``;
    - COCO's ``captions_*.json``: ``annotations`` with ``image_id`` and ``caption``, and ``images`` with file names;
    - a list of objects, such as COCO's results, or one object that holds such a list;
    - a list of lists of captions, one per image, or an object ``{image: captions}``;
    - one object: the fields of an image.

    Raises:
        InputError: If a part of it is not as in these files.
    """
    if isinstance(content, list):
        if all(isinstance(one, str) for one in content):
            return content
        kind = (str,) if isinstance(content[0], str) else (dict, list)
        for number, one in enumerate(content):
            if not isinstance(one, kind):
                kinds = "every item must be a string, or every one a list or object of an image"
                raise InputError(f"{path}: item {number} is {repr(one)[:40]}; {kinds}.")
        return ((f"{path}, item {number}", _row(one)) for number, one in enumerate(content))
    if not isinstance(content, dict):
        raise InputError(f"it is {repr(content)[:40]}, which holds no captions.", where=path)
    images, annotations = content.get("images"), content.get("annotations")
    if _are_objects(images) and any("sentences" in image for image in images):
        return (
            (f"{path}: image '{row.filename}'", {**row._asdict(), "cocoid": images[at].get("cocoid")})
            for at, (_, rows) in enumerate(rows_of_images(content, str(path)))
            for row in rows
        )
    if _are_objects(annotations):
        return _coco_rows(images, annotations, path)
    if "annotations" in content:
        what = f"its 'annotations' are {repr(annotations)[:40]}; they must be a list of objects"
        raise InputError(
            what, where=path, cure='write "annotations": [{"image_id": 1, "id": 1, "caption": "..."}, ...]'
        )
    for name, value in content.items():
        if _are_objects(value) and caption_columns(list(value[0])) and set(IMAGES) & set(value[0]):
            return ((f"{path}: {name}[{number}]", row) for number, row in enumerate(value))
    if content and not caption_columns(list(content)) and all(re.search("[0-9]", image) for image in content):
        return ((f"{path}: '{image}'", {"image": image, **_row(value)}) for image, value in content.items())
    if caption_columns(list(content)) and set(IMAGES).isdisjoint(content):
        texts = _items(content[caption_columns(list(content))[0]])
        if all(isinstance(text, str) for text in texts):
            return texts
    inside = [name for name, value in content.items() if _are_objects(value) and len(value) > 1]
    if inside and set(IMAGES).isdisjoint(content):  # several images, which would count as one
        what = f"'{inside[0]}' holds {len(content[inside[0]]):,} objects without the usual names of columns"
        raise InputError(what, where=path, cure="call their fields image and caption, or save that list alone")
    return iter([(f"{path}, item 0", content)])


def unpacked(text: str, where: str = "") -> list[Any]:
    """Return the items of a list that was written as text, as pandas writes a column of lists; else the text alone.

    Args:
        text: Such as ``["a dog", "a cat"]``, in JSON's or Python's spelling.
        where: Where it is; empty to return what is almost such a list as text.

    Raises:
        InputError: If it begins and ends as such a list but is none, such as numpy's, which has no commas.
    """
    begins = re.match(r"""\s*(\[\s*['"{\[]|\(\s*['"]|\{\s*['"])""", text)
    if begins is None or text.rstrip()[-1] not in "])}":
        return [text]
    try:
        return _items(parse_json(text, where))
    except InputError:
        pass
    try:
        items = _items(ast.literal_eval(text.strip()))
        kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline)]
        kinds = [kind for kind in kinds if kind not in (tokenize.NL, tokenize.NEWLINE)]
        # Python joins strings without a comma between them, and numpy writes none.
        if (tokenize.STRING, tokenize.STRING) not in itertools.pairwise(kinds):
            return items
    except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
        pass
    if where and begins[1][0] == "[":
        what = f"{text[:40]!r} begins as a list of texts but is none of JSON or Python"
        raise InputError(what, where=where, cure="write a caption per row, or lists as JSON")
    return [text]


def lines_end_as_on_windows(text: str, lines: Sequence[str]) -> bool:
    r"""Return whether every line of a text ends in ``\r\n``."""
    ended = lines if text.endswith("\n") else lines[:-1]
    return bool(ended) and all(line.endswith("\r") for line in ended)


def _cure(sample: Sequence[str]) -> str:
    """Return how to name the columns of a table whose first line does not."""
    named = next(filter(None, map(_NAMED.match, sample)), None)
    separator = named[0][-1] if named and named[0][-1] in SEPARATORS else "\t" if "\t" in sample[0] else ","
    header = f"image{separator}caption".replace("\t", "<tab>")
    if named and named[0][-1] == " ":
        rows = r"sed -E 's/^([^ #]*[^ #:])(#[^ ]*)?[ :|]+/\1\t/' FILE"
        return rf"write a table: (printf 'image\tcaption\n'; {rows}) > table.txt"
    return f'name its columns in a first line, such as "{header}"'


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _row(value: Any) -> dict[str, Any]:
    """Return the row of an image of which there are only captions."""
    if isinstance(value, dict):
        return value
    return {"captions": [one.get("caption", one) if isinstance(one, dict) else one for one in _items(value)]}


def _are_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _has_both(header: Sequence[str]) -> bool:
    return bool(caption_columns(header)) and not set(IMAGES).isdisjoint(header)


def _rows_by_line(path: Path, lines: Sequence[str]) -> Rows:
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        if line.strip():
            items = unpacked(line, where)
            is_text = len(items) == 1 and items[0] == line
            yield where, _row(parse_json(line, where) if is_text else items[0] if line.lstrip()[0] == "{" else items)


def _token_rows(path: Path, lines: Sequence[str]) -> Rows:
    seen = set[str]()
    for number, line in enumerate(lines, 1):
        where, found = f"{path}, line {number}", _TOKEN.fullmatch(line.removesuffix("\r"))
        if not line.strip():
            continue
        if found is None:
            raise InputError(f"it is '{line[:60]}'; expected <image>#<number><tab><caption>.", where=where)
        if found[1] in seen:
            raise InputError(f"'{found[1]}' appears a second time.", where=where)
        seen.add(found[1])
        name = _IMAGE.fullmatch(found[1])
        text = found[2].lstrip("\t |;,:") or found[2]  # some write more than one sign between
        yield where, {"filename": name[1] if name else found[1].rpartition("#")[0], "caption": text}


def _coco_id(one: dict[str, Any], key: str, place: str, path: Path) -> int | str | None:
    """Return an id of COCO's JSON, None if there is none.

    Raises:
        InputError: If it is neither a whole number nor text.
    """
    value = one.get(key)
    if value is not None and type(value) not in (int, str):
        raise InputError(f"{place} has the {key} {repr(value)[:40]}; it must be a whole number or text.", where=path)
    return value


def _coco_rows(images: Any, annotations: list[dict[str, Any]], path: Path) -> Rows:
    names: dict[int | str, str] = {}
    for number, one in enumerate(images if isinstance(images, list) else ()):
        if isinstance(one, dict) and (image := _coco_id(one, "id", f"images[{number}]", path)) is not None:
            if image in names:
                what = f"images[{number}] has the id {image!r}, which an earlier one has too"
                raise InputError(what, where=path, cure="give each image once")
            names[image] = one.get("file_name", image)
    seen: dict[int | str, int] = {}
    for number, one in enumerate(annotations):
        place = f"annotations[{number}]"
        if not isinstance(one.get("caption"), str) or (image := _coco_id(one, "image_id", place, path)) is None:
            what = f"{place} has no 'caption' and 'image_id'"
            raise InputError(what, where=path, cure="give COCO's captions, such as captions_val2014.json")
        if names and image not in names:
            raise InputError(f"{place} is of image {image!r}, which is not among its images.", where=path)
        if (own := _coco_id(one, "id", place, path)) is not None and (first := seen.setdefault(own, number)) != number:
            what = f"{place} has the id {own!r}, which annotations[{first}] has too"
            raise InputError(what, where=path, cure="give each caption once, with an id of its own")
    captioned = {one["image_id"] for one in annotations}
    order = [str(name) for image, name in names.items() if image in captioned]
    if left := len(names) - len(order):
        say_once(f"{path}: {left:,} of {len(names):,} images have no caption and are left out.")
    for number, one in enumerate(annotations):
        image = one["image_id"]
        row = {"filename": str(names.get(image, image)), "image_id": image, "caption": one["caption"]}
        yield f"{path}: annotations[{number}]", row | ({"__order__": order} if not number else {})
