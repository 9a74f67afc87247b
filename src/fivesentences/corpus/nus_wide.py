"""NUS-WIDE in its original layout: low-level features, tags and concepts of Flickr photographs (Chua et al. 2009)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus.documents import Documents, LoadedDocuments, Part
from fivesentences.documents import check_file, lines_of, read_bytes, read_lines, text_of
from fivesentences.errors import InputError

_BLOCK = 20_000  # rows of a text file that are parsed at a time
_SUFFIXES = (".txt", ".dat")
_LABELS = "labels_"
# The two orders that the files of this dataset have: all photographs, or those for training before those for test.
_PARTS: tuple[Part, ...] = ("train", "test")
# Files of 0/1 tags and the list of their words, in the order in which they are looked for.
_TAG_MATRICES = (
    ("alltags1k", "{}_tags1k", ("taglist1k",)),
    ("alltags81", "{}_tags81", ("concepts81", "taglist81")),
)

Rows = NDArray[np.int64]


def load_nus_wide(
    folder: Path, features: Sequence[str], categories: int, per_category: int | None = None, seed: int = 0
) -> LoadedDocuments:
    """Read photographs of just one of the 81 concepts, of the most frequent concepts, with their tags as texts.

    Concepts are counted among photographs that have no other: with ten, these are those of the papers (person, animal,
    sky, window, water, flowers, food, toy, grass, clouds), which counts of all photographs would not give. Photographs
    without any tag are left out before the count, and a note says how many.

    The files are looked for by their names, in any subfolder (upper and lower case are the same):

    * ``ImageList``: ``Imagelist.txt`` and ``TrainImagelist.txt`` with ``TestImagelist.txt``; if both are there,
      documents have the order of the first, and parts by the others.
    * ``Groundtruth``: ``AllLabels/Labels_<concept>.txt`` or ``TrainTestLabels/Labels_<concept>_<Train, Test>.txt``.
    * ``NUS_WID_Tags``: ``All_Tags.txt``, else 0/1 of 1,000 tags (``AllTags1k.txt``, or ``Train_Tags1k.dat`` with
      ``Test_Tags1k.dat``; words in ``TagList1k.txt``), else of 81 (words in ``Concepts81.txt``).
    * ``Low_Level_Features``: ``Normalized_<name>.dat``, or ``Train_`` and ``Test_Normalized_<name>.dat``.

    Args:
        folder: Where these folders are.
        features: Such as CH, CM55, CORR, EDH, WT; their vectors are joined in this order.
        categories: How many concepts.
        per_category: Photographs drawn of each; None: all. NUS-WIDE-10k has 1,000 of each of ten.
        seed: Of that draw.

    Raises:
        InputError: If a file is missing or malformed, files differ in length, or a concept has too few photographs.
    """
    files = _Files(Path(folder))
    order = _order(files)
    tags = _tags(files, order)
    concepts, concept, n_concepts = _only_concept(files, order)
    tagged = np.array([bool(words) for words in tags])
    single = concept >= 0
    counts = np.bincount(concept[single & tagged], minlength=len(concepts))
    frequent = sorted(range(len(concepts)), key=lambda code: (-counts[code], concepts[code]))[:categories]
    if len(frequent) < categories or not counts[frequent[-1]]:
        raise InputError(
            f"{categories} concepts are wanted, but only {int((counts > 0).sum())} have photographs of no other "
            "concept; lower `categories`.",
            where=folder,
        )
    rng = np.random.default_rng(seed)
    drawn = []
    for code in frequent:
        mine = np.flatnonzero(tagged & (concept == code))
        if per_category is not None:
            if len(mine) < per_category:
                raise InputError(
                    f"concept '{concepts[code]}' has {len(mine):,} photographs of no other concept and with tags, but "
                    f"per_category is {per_category:,}; lower it, or `categories`.",
                    where=folder,
                )
            mine = rng.choice(mine, per_category, replace=False)
        drawn.append(mine)
    rows = np.sort(np.concatenate(drawn)).astype(np.int64)
    names = [order.names[row] for row in rows]
    documents = Documents(
        ids=tuple(names),
        categories=tuple(concepts[concept[row]] for row in rows),
        images=tuple(names),
        texts=tuple(tags[row] for row in rows),
        parts=tuple(order.parts[row] for row in rows),
        articles=tuple(names),
    )
    vectors = [_features(files, order, name, rows) for name in features]
    without = int((np.isin(concept, frequent) & ~tagged).sum())
    notes = (
        f"{len(order.names):,} photographs; {int(single.sum()):,} have just one of {len(concepts)} concepts, "
        f"{int((n_concepts == 0).sum()):,} have none.",
        f"Of those of {', '.join(concepts[code] for code in frequent)}, {without:,} without any tag are left out.",
    )
    return LoadedDocuments(documents, np.concatenate(vectors, axis=1), None, notes)


class _Files:
    """The text files below a folder, by their names in lower case without the suffix."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.paths: dict[str, Path] = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() not in _SUFFIXES or path.name.startswith("."):
                continue
            if (other := self.paths.setdefault(path.stem.lower(), path)) != path:
                raise InputError(f"there are {other} and {path}; keep one of them.", where=folder)

    def missing(self, what: str) -> InputError:
        return InputError(f"there is no {what} in it", where=self.folder, cure="unpack NUS-WIDE's archives there")

    def pair(self, name: str) -> list[Path | None]:
        """Find the files of training and of test, such as ``Train_Tags1k.dat`` for ``{}_tags1k``."""
        return [self.paths.get(name.format(part)) for part in _PARTS]


@dataclass(frozen=True)
class _Order:
    """The photographs.

    Attributes:
        names: Of each, in the order of the documents.
        parts: The published part of each.
        listed: The rows of the photographs of the lists of training and of test, in their order; None without lists.
        is_original: Whether ``names`` are those of ``Imagelist.txt``, which files of all photographs follow.
    """

    names: list[str]
    parts: list[Part | None]
    listed: tuple[Rows, Rows] | None
    is_original: bool

    def whole(self, all_file: Path | None, parts: Sequence[Path | None]) -> list[tuple[Path, Rows]] | None:
        """Return files that together have a line for each photograph, with their lines' rows; None if missing."""
        files = [path for path in parts if path is not None]
        if all_file is not None and self.is_original:
            return [(all_file, np.arange(len(self.names), dtype=np.int64))]
        if len(files) == len(parts) and self.listed is not None:
            return list(zip(files, self.listed, strict=True))
        if all_file is not None or len(files) == len(parts):
            lists = "Imagelist.txt" if all_file is not None else "TrainImagelist.txt and TestImagelist.txt"
            raise InputError(f"it is in the order of {lists}, which is missing; add it.", where=all_file or files[0])
        return None


def _order(files: _Files) -> _Order:
    everything = files.paths.get("imagelist")
    of_parts = [_names(path) for path in files.pair("{}imagelist") if path is not None]
    if everything is None and len(of_parts) < len(_PARTS):
        raise files.missing("ImageList/Imagelist.txt, nor TrainImagelist.txt with TestImagelist.txt,")
    names = [name for some in of_parts for name in some] if everything is None else _names(everything)
    row_of = {name: row for row, name in enumerate(names)}
    if len(row_of) < len(names):
        twice = next(name for row, name in enumerate(names) if row_of[name] != row)
        raise InputError(f"photograph '{twice}' is listed twice.", where=everything or files.folder)
    if len(of_parts) < len(_PARTS):
        return _Order(names, [None] * len(names), None, True)
    parts: list[Part | None] = [None] * len(names)
    for part, of_part in zip(_PARTS, of_parts, strict=True):
        for name in of_part:
            if name not in row_of or parts[row_of[name]] is not None:
                what = f"photograph '{name}' of {part} is not in Imagelist.txt, or is listed for training too."
                raise InputError(what, where=files.folder)
            parts[row_of[name]] = part
    if None in parts:
        what = f"photograph '{names[parts.index(None)]}' is neither for training nor test."
        raise InputError(what, where=everything)
    train, test = (np.array([row_of[name] for name in of_part], dtype=np.int64) for of_part in of_parts)
    return _Order(names, parts, (train, test), everything is not None)


def _names(path: Path) -> list[str]:
    """Read photographs such as ``actor/0001_2124494179.jpg``; the original separates folders by a backslash."""
    names = [line.strip().replace("\\", "/") for line in read_lines(path)]
    if "" in names:
        raise InputError(f"line {names.index('') + 1} is empty; it must name a photograph.", where=path)
    return names


def _only_concept(files: _Files, order: _Order) -> tuple[list[str], Rows, Rows]:
    """Names of the concepts; for each photograph the only one (-1: none or several), and how many it has."""
    found = sorted(name for name in files.paths if name.startswith(_LABELS))
    # One of the concepts is called "train": Labels_train.txt is not a part of another one.
    stems = sorted({re.sub(r"(?<=^labels_)(.+)_(train|test)$", r"\1", name) for name in found})
    if not stems:
        raise files.missing("Groundtruth/AllLabels/Labels_<concept>.txt (nor in TrainTestLabels)")
    concept = np.full(len(order.names), -1, dtype=np.int64)
    count = np.zeros(len(order.names), dtype=np.int64)
    for code, stem in enumerate(stems):
        whole = order.whole(files.paths.get(stem), files.pair(f"{stem}_{{}}"))
        if whole is None:
            raise files.missing(f"{stem}_Train.txt with {stem}_Test.txt")
        for path, rows in whole:
            for start, block in _blocks(path, rows, 1):
                has = rows[start : start + len(block)][_zero_or_one(path, block, start)[:, 0]]
                concept[has] = code
                count[has] += 1
    concept[count != 1] = -1
    return [stem.removeprefix(_LABELS) for stem in stems], concept, count


def _tags(files: _Files, order: _Order) -> list[str]:
    """The tags of each photograph, joined by spaces."""
    path = files.paths.get("all_tags")
    if path is not None:
        return _all_tags(path, order.names)
    for name, part, listed in _TAG_MATRICES:
        whole = order.whole(files.paths.get(name), files.pair(part))
        if whole is None:
            continue
        found = [files.paths[stem] for stem in listed if stem in files.paths]
        if not found:
            raise files.missing(f"{listed[0]}.txt, which names the columns of {whole[0][0].name},")
        words = [line.strip() for line in read_lines(found[0]) if line.strip()]
        texts = [""] * len(order.names)
        for path, rows in whole:
            for start, block in _blocks(path, rows, len(words)):
                for row, has in zip(rows[start:], _zero_or_one(path, block, start), strict=False):
                    texts[row] = " ".join(words[column] for column in np.flatnonzero(has))
        return texts
    raise files.missing("NUS_WID_Tags/All_Tags.txt (nor 0/1 files of 1,000 or 81 tags)")


def _all_tags(path: Path, names: list[str]) -> list[str]:
    """Lines of a photograph's number at Flickr and its tags, usually in the order of ``Imagelist.txt``."""
    data = read_bytes(path)
    try:
        text = text_of(data, path)
    except InputError:  # people wrote these tags
        text = data.decode("latin-1")
    lines = [line.split() for line in lines_of(text)]
    number_of = [name.rpartition("_")[2].partition(".")[0] for name in names]
    if number_of == [words[0] if words else "" for words in lines]:
        return [" ".join(words[1:]) for words in lines]
    texts: dict[str, str] = {}
    for line, words in enumerate(lines, 1):
        if words and words[0] in texts:
            raise InputError(f"line {line}: photograph {words[0][:20]} has a line before.", where=path)
        texts.update({words[0]: " ".join(words[1:])} if words else {})
    missing = [name for name, number in zip(names, number_of, strict=True) if number not in texts]
    if missing:
        raise InputError(f"no line is about photograph '{missing[0]}' ({len(missing):,} are missing).", where=path)
    return [texts[number] for number in number_of]


def _features(files: _Files, order: _Order, name: str, wanted: Rows) -> NDArray[np.float32]:
    """``[wanted, dim]`` one of the low-level features."""
    low = f"normalized_{name.lower()}"
    whole = order.whole(files.paths.get(low), files.pair(f"{{}}_{low}"))
    if whole is None:
        known = sorted({stem.rpartition("_")[2].upper() for stem in files.paths if "normalized_" in stem})
        raise files.missing(f"Low_Level_Features/Normalized_{name}.dat (there are {', '.join(known) or 'none'})")
    place = np.full(len(order.names), -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    found: NDArray[np.float32] | None = None
    for path, rows in whole:
        width = None if found is None else found.shape[1]
        for start, block in _blocks(path, rows, width):
            if found is None:
                found = np.empty((len(wanted), block.shape[1]), dtype=np.float32)
            targets = place[rows[start : start + len(block)]]
            kept = targets >= 0
            found[targets[kept]] = block[kept]
    if found is None:
        raise InputError(f"it has no features of {name}.", where=files.folder)
    return found


def _blocks(path: Path, rows: Rows, width: int | None) -> Iterator[tuple[int, NDArray[Any]]]:
    """Number of the first line and values, float32 ``[lines, width]``, of a text file with a line for each of ``rows``.

    Lines of the original end in a space or a tab, which counts for nothing.
    """
    check_file(path)
    read = 0
    try:
        with pd.read_csv(
            path, sep=r"\s+", header=None, dtype=np.float32, chunksize=_BLOCK, skip_blank_lines=False, index_col=False
        ) as pieces:
            for piece in pieces:
                block = piece.to_numpy()
                if width is not None and block.shape[1] != width:
                    raise InputError(f"it has {block.shape[1]} columns, but {width} are expected.", where=path)
                if not np.isfinite(block).all():
                    line = read + int(np.argwhere(~np.isfinite(block))[0][0]) + 1
                    raise InputError(f"line {line} lacks a value, or one is not finite; fetch it again.", where=path)
                width = block.shape[1]
                if read + len(block) <= len(rows):  # else the number of lines is wrong, which is said below
                    yield read, block
                read += len(block)
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0][:120].rstrip(".")
        raise InputError(f"it is no table of numbers ({reason}); fetch it again.", where=path) from None
    if read != len(rows):
        raise InputError(f"it has {read:,} lines for {len(rows):,} photographs; fetch it again.", where=path)


def _zero_or_one(path: Path, block: NDArray[Any], start: int) -> NDArray[np.bool_]:
    wrong = np.argwhere((block != 0) & (block != 1))
    if len(wrong):
        row, column = (int(place) for place in wrong[0])
        raise InputError(f"line {start + row + 1} holds {block[row, column]:g}; it must hold 0 and 1.", where=path)
    found: NDArray[np.bool_] = block == 1
    return found
