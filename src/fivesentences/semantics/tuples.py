"""Scene-graph tuples of captions, read from a file beside the corpus.

Raw tuples are what SPICE's parser extracts from a caption, before any merging: ``(object,)``, ``(object, attribute)``
or ``(subject, object, relation)``. Two kinds of files hold them, both gzipped JSON lines:

- one line per caption, ``{"caption_id": ..., "tuples": [[...], ...]}``, as written by the generator of drawn scenes;
- a first line ``{"made_by": ..., "captions": N}``, then N lines ``{"caption": text, "tuples": [[...], ...]}``, one per
  distinct caption, as written by ``parse_captions``.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

from fivesentences.corpus.labels import check_beside_labels
from fivesentences.documents import check_file, parse_json
from fivesentences.errors import Cure, InputError
from fivesentences.storage import sha256_of

# What a file says that SPICE's parser made: earlier ones were parsed in the locale of whoever parsed them.
PARSER, IN_ENGLISH = "SPICE 1.0 (pycocoevalcap", "in English"
GENERATOR = "the generator of the scenes, not parsed"
LONGEST_LINE = 16_000_000  # bytes; a parsed caption of 2,000 words has about 100,000

RawTuple = tuple[str, ...]


@dataclass(frozen=True)
class Tuples:
    """Raw tuples of a list of captions, and their source.

    Attributes:
        of_caption: ``[captions]`` raw tuples of each caption in the parser's order; none for a caption without a noun.
        source: Description of what produced them, for the note beside a phi matrix.
        sha256: Hexadecimal SHA-256 of the file that they were read from; empty if there was none.
    """

    of_caption: list[list[RawTuple]]
    source: str
    sha256: str


def checked_tuples(given: Any, where: str) -> list[RawTuple]:
    """Return the raw tuples of one caption as tuples of strings, checked.

    Raises:
        InputError: If ``given`` is not a list of tuples of one to three strings; ``where`` starts the message.
    """
    if not isinstance(given, list | tuple):
        raise InputError(f"{where}: the tuples are {_shown(given)}; give a list of lists of 1 to 3 strings.")
    checked = []
    for one in given:
        if not isinstance(one, list | tuple) or not 1 <= len(one) <= 3 or not all(isinstance(w, str) for w in one):
            kinds = "(object), (object, attribute) or (subject, object, relation), all strings"
            raise InputError(f"{where}: {_shown(one)} is not a tuple; a tuple is {kinds}.")
        checked.append(tuple(map(intern, one)))
    return checked


def read_tuples(path: Path | str, captions: Sequence[str], caption_ids: Sequence[str] | None = None) -> Tuples:
    """Read the raw tuples of ``captions``, in their order, from a ``.jsonl.gz`` of either kind.

    Args:
        path: The file. It may hold further captions. Nothing in it is trusted.
        captions: Caption texts, exactly as they were parsed; equal captions share their tuples.
        caption_ids: ``[captions]`` caption ids, needed for a file whose lines have a ``caption_id``.

    Raises:
        InputError: If the file is missing, truncated, not gzip or not JSON lines of one of the two kinds, names a
            caption twice, lacks one of the captions, or was parsed by a version that took the user's locale.
    """
    path = Path(path)
    if caption_ids is not None and len(caption_ids) != len(captions):
        raise InputError(
            f"there are {len(caption_ids)} caption ids for {len(captions)} captions; give one per caption."
        )
    lines = _lines(path)
    number, first = next(lines, (0, None))
    if first is None:
        raise InputError(f"{path}: the file is empty; recreate it.")
    promised = None
    if "made_by" in first:
        source, promised = first["made_by"], first.get("captions")
        if not isinstance(source, str) or type(promised) is not int:
            raise InputError(f"{path}: line 1 needs 'made_by', a string, and 'captions', a whole number.")
        if source.startswith(PARSER) and not source.endswith(IN_ENGLISH):
            what = f"its captions were parsed by an earlier version, whose words depend on the locale ('{source}')"
            cure = Cure(python="parse_captions writes it anew", shell="leave --tuples out, and the captions are parsed")
            raise InputError(what, where=path, cure=cure)
        names, key = captions, "caption"
    elif caption_ids is None:
        cure = Cure(python="pass caption_ids", shell="leave --tuples out, and the captions are parsed")
        raise InputError("its captions are named by caption_id, and their ids are not known", where=path, cure=cure)
    else:
        source, names, key = GENERATOR, caption_ids, "caption_id"
        lines = itertools.chain([(number, first)], lines)
    wanted, seen = set(names), set[str]()
    found: dict[str, list[RawTuple]] = {}
    for number, line in lines:
        name = line.get(key)
        if not isinstance(name, str) or "tuples" not in line:
            raise InputError(f"{path}: line {number} lacks '{key}' or 'tuples'; recreate the file.")
        if name in seen:
            raise InputError(f"{path}: line {number} names {_shown(name)} a second time; recreate the file.")
        seen.add(name)
        tuples = checked_tuples(line["tuples"], f"{path}, line {number}")
        if name in wanted:
            found[name] = tuples
    if promised not in (None, len(seen)):
        raise InputError(f"{path}: the first line announces {promised} captions but {len(seen)} follow; recreate it.")
    for index, name in enumerate(names):
        if name not in found:
            which = f"{key.replace('_', ' ')} {_shown(name)} (caption {index} of {len(names)})"
            raise InputError(f"{path}: there are no tuples for {which}; parse these captions again.")
    check_beside_labels(path, "recreate it")
    return Tuples([found[name] for name in names], source, sha256_of(path))


def tuples_parsed_before(paths: Iterable[Path], captions: Sequence[str], made_by: str) -> dict[str, list[RawTuple]]:
    """Raw tuples of those ``captions`` that files of ``parse_captions`` have, by caption.

    Args:
        paths: The files. One that another parser made, or that cannot be read to its end, is passed over: its
            captions are to be parsed again.
        captions: Caption texts.
        made_by: The first line of the file must name this parser.
    """
    missing, found = set(captions), dict[str, list[RawTuple]]()
    for path in paths:
        if not missing:
            break
        with contextlib.suppress(InputError):
            lines = _lines(path)
            _, first = next(lines, (0, {}))
            if first.get("made_by") != made_by:
                continue
            every: list[tuple[Any, Any, int]] = [
                (line.get("caption"), line.get("tuples"), number) for number, line in lines
            ]
            if len(every) == first.get("captions"):
                some = [one for one in every if one[0] in missing]
                found |= {text: checked_tuples(raw, f"{path}, line {number}") for text, raw, number in some}
                missing -= found.keys()
    return found


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and content of every line, each checked to be a JSON object."""
    check_file(path)
    try:
        with gzip.open(path, "rb") as file:
            number = 0
            while raw := file.readline(LONGEST_LINE):
                number += 1
                if len(raw) == LONGEST_LINE:
                    raise InputError(f"{path}: line {number} is longer than {LONGEST_LINE} bytes; recreate the file.")
                line = parse_json(raw, f"{path}, line {number}", "recreate the file")
                if not isinstance(line, dict):
                    raise InputError(f"{path}: line {number} is not a JSON object; recreate the file.")
                yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path}: the file is truncated or not a gzip file; recreate it.") from None
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error.strerror}).") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
