"""NUS-WIDE in its original layout: low-level features, tags and concepts of Flickr photographs (Chua et al. 2009)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.documents import check_file, lines_of, read_bytes, read_lines, text_of
from fivesentences.errors import InputError, reason_of
from fivesentences.reproduction.categories.corpus.documents import PARTS, Documents, LoadedDocuments

_BLOCK = 20_000  # rows of a text file that are parsed at a time
_SUFFIXES = (".txt", ".dat")
_CONCEPT = re.compile(r"labels_((?!.+_(?:train|test)$).+)")

Rows = NDArray[np.int64]


def load_nus_wide(
    folder: Path, features: Sequence[str], categories: int, per_category: int | None = None, seed: int = 0
) -> LoadedDocuments:
    """Read photographs of just one of the 81 concepts, of the most frequent concepts, with their tags as texts.

    Concepts are counted among photographs that have no other: with ten, these are those of the papers (person, animal,
    sky, window, water, flowers, food, toy, grass, clouds), which counts of all photographs would not give. Photographs
    without any tag are left out before the count, and a note says how many.

    The files are looked for by their names, in any subfolder (upper and lower case are the same):

    * ``ImageList``: ``Imagelist.txt``, whose order documents have, and ``TrainImagelist.txt`` with
      ``TestImagelist.txt``, which publish the parts.
    * ``Groundtruth``: ``AllLabels/Labels_<concept>.txt``.
    * ``NUS_WID_Tags``: ``All_Tags.txt``; without it 0/1 of 1,000 tags, ``Train_Tags1k.dat`` with ``Test_Tags1k.dat``,
      and their words in ``TagList1k.txt``.
    * ``Low_Level_Features``: ``Normalized_<name>.dat``, or ``Train_`` and ``Test_Normalized_<name>.dat``.

    Args:
        folder: Where these folders are.
        features: Names such as CH, CM55, CORR, EDH, WT; their vectors are joined in this order.
        categories: Number of concepts.
        per_category: Photographs drawn of each; None: all. NUS-WIDE-10k has 1,000 of each of ten.
        seed: Seed of that draw.

    Raises:
        InputError: If a file is missing or malformed, files differ in length, or a concept has too few photographs.
    """
    files = _Files(Path(folder))
    concepts, concept, n_concepts = _only_concept(files)
    tags = _tags(files)
    tagged = np.array([bool(words) for words in tags])
    counts = np.bincount(concept[(concept >= 0) & tagged], minlength=len(concepts))
    frequent = sorted(range(len(concepts)), key=lambda code: (-counts[code], concepts[code]))[:categories]
    if len(frequent) < categories or not counts[frequent[-1]]:
        have = f"only {int((counts > 0).sum())} have photographs of no other concept"
        raise InputError(f"{categories} concepts are wanted, but {have}; lower `categories`.", where=folder)
    rng = np.random.default_rng(seed)
    drawn = [np.flatnonzero(tagged & (concept == code)) for code in frequent]
    if per_category is not None:
        for code, mine in zip(frequent, drawn, strict=True):
            if len(mine) < per_category:
                have = f"concept '{concepts[code]}' has {len(mine):,} photographs of no other concept and with tags"
                cure = "lower it, or `categories`"
                raise InputError(f"{have}, but per_category is {per_category:,}", where=folder, cure=cure)
        drawn = [rng.choice(mine, per_category, replace=False) for mine in drawn]
    rows = np.sort(np.concatenate(drawn)).astype(np.int64)
    names = [files.names[row] for row in rows]
    documents = Documents(
        ids=tuple(names),
        categories=tuple(concepts[concept[row]] for row in rows),
        images=tuple(names),
        texts=tuple(tags[row] for row in rows),
        parts=tuple(PARTS[int(files.in_test[row])] for row in rows),
        articles=tuple(names),
    )
    vectors = [_features(files, name, rows) for name in features]
    without = int((np.isin(concept, frequent) & ~tagged).sum())
    notes = (
        f"{len(files.names):,} photographs; {int((concept >= 0).sum()):,} have just one of {len(concepts)} concepts, "
        f"{int((n_concepts == 0).sum()):,} have none.",
        f"Of those of {', '.join(concepts[code] for code in frequent)}, {without:,} without any tag are left out.",
    )
    return LoadedDocuments(documents, np.concatenate(vectors, axis=1), None, notes)


class _Files:
    """The text files below a folder, by their names in lower case without the suffix, and the lists of photographs.

    Attributes:
        names: Names of all photographs, in the order of the documents.
        in_test: ``[photographs]`` whether each belongs to the published test part.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.paths: dict[str, Path] = {}
        self._twice: dict[str, Path] = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() not in _SUFFIXES or path.name.startswith("."):
                continue
            if self.paths.setdefault(path.stem.lower(), path) != path:
                self._twice[path.stem.lower()] = path  # of no matter unless it is read, as a readme is not
        self.names, *parts = (
            [line.strip().replace("\\", "/") for line in read_lines(self.path(f"{part}imagelist"))]
            for part in ("", *PARTS)
        )
        if sorted(self.names) != sorted([*parts[0], *parts[1]]) or len(set(self.names)) < len(self.names):
            what = "it must name each photograph of TrainImagelist.txt and TestImagelist.txt once"
            odd = min({*parts[0], *parts[1]} ^ {*self.names}, default="one is listed twice")
            raise InputError(f"{what} ({odd})", where=self.paths["imagelist"], cure="fetch all three")
        row_of = {name: row for row, name in enumerate(self.names)}
        self._rows = [np.array([row_of[name] for name in part], dtype=np.int64) for part in parts]
        self.in_test = np.zeros(len(self.names), dtype=bool)
        self.in_test[self._rows[1]] = True

    def path(self, stem: str) -> Path:
        """Return the file of this name.

        Raises:
            InputError: If there is none.
        """
        if stem not in self.paths:
            what = f"there is no {stem} (.txt or .dat) in it"
            raise InputError(what, where=self.folder, cure="unpack NUS-WIDE's archives there")
        if stem in self._twice:
            raise InputError(
                f"there are {self.paths[stem]} and {self._twice[stem]}; keep one of them.", where=self.folder
            )
        return self.paths[stem]

    def blocks(self, stem: str, width: int | None = None) -> Iterator[tuple[Path, Rows, NDArray[Any]]]:
        """Yield file, rows of photographs and values ``[rows, width]`` of a file, or of its two parts."""
        if stem in self.paths:
            whole = [(self.path(stem), np.arange(len(self.names), dtype=np.int64))]
        else:
            whole = [(self.path(f"{part}_{stem}"), rows) for part, rows in zip(PARTS, self._rows, strict=True)]
        for path, rows in whole:
            for start, block in _blocks(path, len(rows), width):
                yield path, rows[start : start + len(block)], block


def _only_concept(files: _Files) -> tuple[list[str], Rows, Rows]:
    """Return the names of the concepts; for each photograph the only one (-1: none or several), and how many it has."""
    # One of the concepts is called "train": Labels_train.txt is not the training part of another one.
    concepts = sorted(found[1] for stem in files.paths if (found := _CONCEPT.fullmatch(stem)))
    if not concepts:
        files.path("labels_<concept>")  # which says that there is none
    concept = np.full(len(files.names), -1, dtype=np.int64)
    count = np.zeros(len(files.names), dtype=np.int64)
    for code, name in enumerate(concepts):
        for path, rows, block in files.blocks(f"labels_{name}", 1):
            has = rows[_zero_or_one(path, block)[:, 0]]
            concept[has] = code
            count[has] += 1
    concept[count != 1] = -1
    return concepts, concept, count


def _tags(files: _Files) -> list[str]:
    """Return the tags of each photograph, joined by spaces."""
    if "all_tags" in files.paths:
        return _all_tags(files.path("all_tags"), files.names)
    words = [line.strip() for line in read_lines(files.path("taglist1k")) if line.strip()]
    texts = [""] * len(files.names)
    for path, rows, block in files.blocks("tags1k", len(words)):
        for row, has in zip(rows, _zero_or_one(path, block), strict=True):
            texts[row] = " ".join(words[column] for column in np.flatnonzero(has))
    return texts


def _all_tags(path: Path, names: list[str]) -> list[str]:
    """Lines of a photograph's number at Flickr and its tags, in any order."""
    data = read_bytes(path)
    try:
        text = text_of(data, path)
    except InputError:  # people wrote these tags
        text = data.decode("latin-1")
    texts: dict[str, str] = {}
    for line, words in enumerate(map(str.split, lines_of(text)), 1):
        if words and words[0] in texts:
            raise InputError(f"line {line}: photograph {words[0][:20]} has a line before.", where=path)
        texts.update({words[0]: " ".join(words[1:])} if words else {})
    number_of = [name.rpartition("_")[2].partition(".")[0] for name in names]
    if missing := [name for name, number in zip(names, number_of, strict=True) if number not in texts]:
        raise InputError(f"no line is about photograph '{missing[0]}' ({len(missing):,} are missing).", where=path)
    return [texts[number] for number in number_of]


def _features(files: _Files, name: str, wanted: Rows) -> NDArray[np.float32]:
    """Return ``[wanted, dim]`` one of the low-level features."""
    place = np.full(len(files.names), -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    kept, targets = [], []
    for _, rows, block in files.blocks(f"normalized_{name.lower()}"):
        inside = place[rows] >= 0
        kept.append(block[inside])
        targets.append(place[rows[inside]])
        if kept[0].shape[1] != block.shape[1]:
            raise InputError(f"the features {name} of training and test differ in length.", where=files.folder)
    found = np.empty((len(wanted), kept[0].shape[1]), dtype=np.float32)
    found[np.concatenate(targets)] = np.concatenate(kept)
    return found


def _blocks(path: Path, lines: int, width: int | None) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number of the first line and values, float32 ``[rows, width]``, of a text file with so many lines.

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
                for row, _ in np.argwhere(~np.isfinite(block))[:1]:
                    what = f"line {read + row + 1} lacks a value, or one is not finite; fetch it again."
                    raise InputError(what, where=path)
                if read + len(block) <= lines:  # else the number of lines is wrong, which is said below
                    yield read, block
                read += len(block)
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise InputError(f"it is no table of numbers ({reason_of(error)}); fetch it again.", where=path) from None
    if read != lines:
        raise InputError(f"it has {read:,} lines for {lines:,} photographs; fetch it again.", where=path)


def _zero_or_one(path: Path, block: NDArray[Any]) -> NDArray[np.bool_]:
    for row, column in np.argwhere((block != 0) & (block != 1))[:1]:
        raise InputError(f"it holds {block[row, column]:g}; it must hold 0 and 1.", where=path)
    return np.asarray(block == 1)
