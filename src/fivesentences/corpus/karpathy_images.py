"""Images of Karpathy's ``dataset_*.json`` with their captions, of a JSON that was read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from fivesentences.choices import RESTVAL, split_in_file
from fivesentences.corpus.table import CaptionRow, caption_at
from fivesentences.errors import InputError


def rows_of_images(content: Any, where: str) -> Iterator[tuple[bool, list[CaptionRow]]]:
    """Yield the captions of each image of a parsed JSON, and whether the image is of ``restval``.

    Raises:
        InputError: If it is not in Karpathy's schema, or an image is in it twice, by its id or its filename.
    """
    images = content.get("images") if isinstance(content, dict) else None
    if not isinstance(images, list):
        raise InputError(f"{where}: there is no list 'images'; is it a Karpathy dataset file?")
    seen: dict[str, set[str]] = {"id": set(), "filename": set()}
    for number, image in enumerate(images):
        of_image = _rows_of_image(image, f"{where}: images[{number}]")
        first = of_image[0]
        for what, named in (("id", first.image_id), ("filename", first.filename)):
            if named in seen[what]:
                held = f"images[{number}] has the {what} '{named[:80]}', which an earlier one has too"
                raise InputError(held, where=where, cure="give each image once")
            seen[what].add(named)
        yield image["split"].strip().casefold() == RESTVAL, of_image


def _rows_of_image(image: Any, where: str) -> list[CaptionRow]:
    if not isinstance(image, dict):
        raise InputError(f"it is {type(image).__name__}; it must be an object.", where=where)
    filename, split = _text(image, "filename", where), _text(image, "split", where)
    where = f"{where} ('{filename}')"
    image_id = _id(image, "cocoid", where) or PurePosixPath(filename).stem
    sentences, sentids = image.get("sentences"), image.get("sentids")
    if not isinstance(sentences, list) or not sentences:
        raise InputError("it has no sentences; each image needs a caption.", where=where)
    if isinstance(sentids, list) and len(sentids) != len(sentences):
        raise InputError(f"it has {len(sentences)} sentences but {len(sentids)} sentids; one is missing.", where=where)
    if image.get("filepath"):
        filename = f"{_text(image, 'filepath', where).strip('/')}/{filename}"
    rows = []
    for index, sentence in enumerate(sentences):
        place = f"{where}, sentence {index}"
        sentence = sentence if isinstance(sentence, dict) else {}
        raw, tokens = sentence.get("raw"), sentence.get("tokens")
        if not isinstance(raw, str):
            if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
                raise InputError("it has neither 'raw' text nor 'tokens'.", where=place)
            raw = " ".join(tokens)
        caption_id = _id(sentence, "sentid", place) or f"{image_id}#{index}"
        rows.append(CaptionRow(image_id, filename, caption_id, caption_at(raw, place), split_in_file(split)))
    return rows


def _id(entry: dict[str, Any], key: str, where: str) -> str:
    """Return an id as text; empty if there is none."""
    value = entry.get(key)
    if value is not None and type(value) not in (int, str):
        raise InputError(f"{key} is {str(value)[:40]}; it must be a whole number or text.", where=where)
    return "" if value is None else str(value)


def _text(image: dict[str, Any], key: str, where: str) -> str:
    value = image.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{key} is {value!r}; it must be text.", where=where)
    return value
