"""The first items of every query from files: TREC runs, what faiss and vector databases return, mteb's predictions."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
from numpy.typing import NDArray

from fivesentences.arrays import read_npz
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.documents import check_file, read_json
from fivesentences.errors import InputError, first_of
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.lists import ItemLists

RUNS = (".run", ".trec")
COLUMNS = ("query", "item", "score")
LETTERS: dict[Direction, tuple[str, str]] = {"i2t": ("i", "c"), "t2i": ("c", "i")}
AGAIN = "write the lists again"
LOOK = 5  # keys down to which mteb wraps its queries


@dataclass(frozen=True)
class RawLists:
    """Lists of one direction as a file has them.

    Attributes:
        path: The file.
        queries: ``[entries]`` query of each entry, by name, or by number.
        items: ``[entries]`` likewise.
        scores: ``[entries]``.
    """

    path: Path
    queries: NDArray[Any]
    items: NDArray[Any]
    scores: NDArray[np.float64]

    @property
    def letters(self) -> tuple[str, str]:
        """First letters of the names of the first query and item, which tell the direction; empty for numbers."""
        if self.queries.dtype.kind in "iu":
            return "", ""
        first = str(self.queries[0])[:1], str(self.items[0])[:1]
        return first if first in LETTERS.values() else ("", "")

    def may_be(self, sizes: tuple[int, int]) -> bool:
        """Return True if queries and items are numbers below these sizes."""
        numbers = [pd.to_numeric(pd.Series(pd.unique(one)), errors="coerce") for one in (self.queries, self.items)]
        return all(bool((one < size).all()) for one, size in zip(numbers, sizes, strict=True))

    @property
    def n_queries(self) -> int:
        """Number of queries that have a list."""
        return len(pd.unique(self.queries))


def is_lists(path: Path) -> bool:
    """Return True if a file seems to hold lists of items, not a matrix."""
    if path.suffix in RUNS:
        return True
    if path.suffix not in (".npz", ".parquet", ".json") or not path.is_file():
        return False
    state = path.stat()
    return _holds_lists(path, state.st_mtime_ns, state.st_size)


@lru_cache
def _holds_lists(path: Path, *state: int) -> bool:
    """Look into a file, once while it is in a state."""
    try:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return {"indices.npy", "scores.npy"} <= set(archive.namelist())
        if path.suffix == ".parquet":
            return set(COLUMNS) <= set(pyarrow.parquet.read_schema(path).names)
        with path.open("rb") as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except (OSError, zipfile.BadZipFile, pyarrow.ArrowInvalid):
        return False  # what is wrong with it is said where it is read


def read_lists(path: Path) -> RawLists:
    """Read lists of items, best first, of one direction.

    Args:
        path: ``.run`` or ``.trec``, lines ``query Q0 item rank score tag``; ``.npz`` of ``indices`` and ``scores``,
            both ``[queries, K]``, where -1 stands for no item; ``.json`` with ``{query: {item: score}}``, perhaps
            inside others, as mteb saves predictions; ``.parquet`` with columns query, item and score.

    Returns:
        The lists, in the order of the file for arrays, else by score, largest first, equal scores as they stand.

    Raises:
        InputError: If the file is missing or damaged, a score is NaN, or scores of an array rise.
    """
    check_file(path)
    readers = {".npz": _arrays, ".json": _predictions, ".parquet": _table}
    raw = readers.get(path.suffix, _run)(path)
    if not len(raw.queries):
        raise InputError("it holds no list.", where=path)
    if len(odd := np.flatnonzero(np.isnan(raw.scores))):
        at = odd[0]
        what = f"the score of item {raw.items[at]} for query {raw.queries[at]} is NaN, which has no place in an order"
        raise InputError(what, where=path, cure=AGAIN)
    return raw


def _run(path: Path) -> RawLists:
    try:
        table = pd.read_csv(
            path, sep=r"\s+", header=None, dtype={0: str, 2: str}, keep_default_na=False, encoding="utf-8", quoting=3
        )
        if table.shape[1] != 6:
            raise ValueError(f"line 1 has {table.shape[1]} columns")
        scores = np.asarray(table[4], dtype=np.float64)
        queries, items = (table[column].to_numpy(dtype=str) for column in (0, 2))
    except (ValueError, pd.errors.ParserError) as error:
        first = str(error).strip().partition("\n")[0].rstrip(".")[:120]
        what = f"this is no TREC run, whose lines are 'query Q0 item rank score tag' ({first})"
        raise InputError(what, where=path, cure=AGAIN) from None
    return _sorted(RawLists(path, queries, items, scores))


def _arrays(path: Path) -> RawLists:
    indices, scores = read_npz(path, ("indices", "scores"), "lists, indices and scores", AGAIN)
    items = indices if indices.ndim == 2 else indices.reshape(0, 0)
    # Of as many queries and items as it names, which later have to fit the gallery.
    lists = ItemLists.of((len(items), int(items.max(initial=-1)) + 1), (scores, indices), names={"i2t": str(path)})
    queries = np.repeat(np.arange(len(indices)), lists.items["i2t"].shape[1])
    return RawLists(path, queries, lists.items["i2t"].ravel(), lists.scores["i2t"].ravel())


def _predictions(path: Path) -> RawLists:
    found = dict(_lists_in(read_json(path)))
    if len(found) != 1:
        what = "this is neither a matrix [[...], ...] nor lists {query: {item: score}}, as mteb saves predictions"
        what = f"it holds several sets of lists ({first_of(list(found), 5)})" if found else what
        raise InputError(what, where=path, cure="save one of them by itself" if found else AGAIN)
    (lists,) = found.values()
    entries = [(query, item, score) for query, of_query in lists.items() for item, score in of_query.items()]
    queries, items, scores = zip(*entries, strict=True)
    return _sorted(RawLists(path, np.array(queries), np.array(items), np.array(scores, dtype=np.float64)))


def _lists_in(content: Any, name: str = "", depth: int = LOOK) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the parts of a document that are lists, with their names; mteb wraps them in subset and split."""
    if not isinstance(content, Mapping) or not depth:
        return
    lists = [one for one in content.values() if isinstance(one, Mapping)]
    if lists and len(lists) == len(content) and all(map(_is_list, lists)):
        yield name, content
        return
    for key, one in content.items():
        yield from _lists_in(one, f"{name}/{key}".lstrip("/"), depth - 1)


def _is_list(content: Mapping[str, Any]) -> bool:
    return bool(content) and all(type(score) in (int, float) for score in content.values())


def _table(path: Path) -> RawLists:
    table = frame_of(read_parquet(path, AGAIN, list(COLUMNS)), path, AGAIN)
    if table["score"].dtype.kind not in "fiu":
        raise InputError(f"its column score holds {table['score'].dtype}, not numbers", where=path, cure=AGAIN)
    named = [table[name] if table[name].dtype.kind in "iu" else table[name].astype(str) for name in COLUMNS[:2]]
    queries, items = (one.to_numpy() if one.dtype.kind in "iu" else one.to_numpy(dtype=str) for one in named)
    return _sorted(RawLists(path, queries, items, table["score"].to_numpy(dtype=np.float64)))


def _sorted(raw: RawLists) -> RawLists:
    """Return entries with each query's best first."""
    codes, _ = pd.factorize(raw.queries)
    order = np.lexsort((-raw.scores, codes))
    return RawLists(raw.path, raw.queries[order], raw.items[order], raw.scores[order])


def _directions_of(files: Sequence[RawLists], shape: tuple[int, int]) -> list[Direction]:
    """Return the direction of each of one or two files of lists, of which two are for image and for caption queries.

    Names such as i0 and c0 tell it, or else how many queries there are.

    Raises:
        InputError: If it is unclear, or names tell another one.
    """
    found: list[Direction] = ["i2t", "t2i"]
    if len(files) == 1:
        fitting = [side for side, size in zip(found, shape, strict=True) if files[0].n_queries == size]
        fitting = fitting or [side for side in found if files[0].may_be(shape if side == "i2t" else shape[::-1])]
        told = [side for side in found if files[0].letters == LETTERS[side]]
        found = told or fitting[:1]
        if not found or (not told and len(fitting) > 1):
            n = files[0].n_queries
            what = f"{n:,} lists may be of image or caption queries, of {shape[0]:,} images and {shape[1]:,} captions"
            raise InputError(what, where=files[0].path, cure="give those of both directions: I2T,t2i=T2I")
    for raw, side in zip(files, found, strict=True):
        if any(raw.letters) and raw.letters != LETTERS[side]:
            what = f"its queries are {raw.queries[0]} and others, its items {raw.items[0]} and others"
            raise InputError(what, where=raw.path, cure="give lists of image queries first: I2T,t2i=T2I")
    return found


def lists_of(
    files: Sequence[RawLists],
    shape: tuple[int, int],
    names: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
) -> ItemLists:
    """Put lists of one or both directions together, by the numbers or names of queries and items.

    Args:
        files: Lists of image queries and of caption queries, or one of these.
        shape: Images and captions of the gallery.
        names: Names of images and of captions, in the order of the gallery; default their numbers from 0, or i0, i1,
            ... and c0, c1, ..., as ``evaluate --trec`` writes them.

    Raises:
        InputError: If the direction is unclear or another one, a query is missing, a query or an item is unknown, two
            have one name, or an item is twice in one list.
    """
    directions = _directions_of(files, shape)
    found: dict[Any, Any] = {}
    for raw, side in zip(files, directions, strict=True):
        sizes, named = (shape, names) if side == "i2t" else (shape[::-1], names[::-1])
        words = ("image", "caption") if side == "i2t" else ("caption", "image")
        queries = _indices(raw, raw.queries, sizes[0], named[0], LETTERS[side][0], words[0])
        items = _indices(raw, raw.items, sizes[1], named[1], LETTERS[side][1], words[1])
        lengths = np.bincount(queries, minlength=sizes[0])
        if len(missing := np.flatnonzero(lengths == 0)):
            which = first_of(missing.tolist(), 5)
            what = f"{len(missing):,} of {sizes[0]:,} {words[0]}s have no list, such as number {which}, from 0"
            raise InputError(what, where=raw.path, cure=f"search with every {words[0]}, or score fewer of them")
        order = np.argsort(queries, kind="stable")
        place = np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        kept = order[place < lengths.min()]
        found[side] = tuple(one[kept].reshape(sizes[0], -1) for one in (raw.scores, items))
    return ItemLists.of(
        shape, **found, names={side: str(raw.path) for raw, side in zip(files, directions, strict=True)}
    )


def _indices(
    raw: RawLists, given: NDArray[Any], size: int, names: Sequence[str] | None, letter: str, word: str
) -> NDArray[np.int64]:
    """Return the numbers of queries or items in the gallery."""
    distinct, which = np.unique(given, return_inverse=True)
    if names is None and distinct.dtype.kind in "iu":
        numbers = distinct.astype(np.int64)
    else:
        known: dict[str, int] = {}
        for index, name in enumerate(names or ()):
            if known.setdefault(name, index) != index:
                what = (
                    f"{word} ids {known[name]} and {index} are both {name!r:.60}, so that lists do not tell them apart"
                )
                raise InputError(what, where=raw.path, cure="give every one its own id")
        texts = [str(one) for one in distinct.tolist()]
        if names is None:
            short = [text[1:] if text[:1] == letter else text for text in texts]
            numbers = np.array([int(one) if one.isascii() and one.isdigit() and len(one) < 10 else -1 for one in short])
        else:
            numbers = np.array([known.get(text, -1) for text in texts])
    if len(unknown := np.flatnonzero((numbers < 0) | (numbers >= size))):
        which_ones = first_of([str(one) for one in distinct[unknown].tolist()], 5)
        cure = f"give their names, one per line in the order of the gallery: --{word}-ids FILE"
        cure = cure if names is None else f"give the file of {word} ids that these lists were made with"
        what = f"{len(unknown):,} of {len(distinct):,} {word}s are none of the {size:,} of the gallery: {which_ones}"
        raise InputError(what, where=raw.path, cure=cure)
    return numbers[which]
