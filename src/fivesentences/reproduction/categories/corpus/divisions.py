"""Training, validation and test documents: drawn by a seed, kept in a file that can be cited."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus.csv_rows import csv_rows
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import DivisionSpec
from fivesentences.reproduction.categories.corpus.documents import Division, Documents
from fivesentences.storage import replacing

HEADER = ("document", "part")
PARTS = ("train", "validation", "test")
_CURE = "make it again, or give the division of these documents"

Rows = NDArray[np.int64]


def divide(documents: Documents, spec: DivisionSpec, seed: int) -> Division:
    """Draw training, validation and test documents; every document is in just one of them.

    ``validation_from`` says where validation documents are drawn:

    * ``all``: from all documents; ``test`` is a number too, drawn likewise, and the published parts count for nothing.
    * ``train``: from the published training part; test is the published one.
    * ``test``: from the published test part, the rest of which is test (Wikipedia: 231 of 693).

    A number of ``test`` beside ``train`` or ``test`` must be what is left, so that no document is lost.

    ``balanced`` draws as many documents of each category, within one; the categories that give one more are drawn, and
    those of validation and of test differ as far as possible. ``whole_articles`` draws articles, so that no article is
    both in the drawn documents and in those that they were drawn from; the sizes stay exact.

    Args:
        documents: Documents to be divided.
        spec: Sizes, and where they are drawn from.
        seed: Seed of ``numpy.random.default_rng``; equal seeds give equal divisions.

    Raises:
        InputError: If a size does not fit, no part is published where one is needed, a category has too few documents,
            or no set of whole articles has the size.
    """
    rng = np.random.default_rng(seed)
    source, n_test = spec.validation_from, None if spec.test == "published" else spec.test
    if source == "all":
        if n_test is None:
            what = "validation_from is all, but test is published; give the number of test documents"
            raise InputError(what, cure="or draw validation from train or test")
        everything = np.arange(len(documents), dtype=np.int64)
        validation, test = _draw(documents, spec, everything, (spec.validation, n_test), rng)
        train = _without(everything, validation, test)
    else:
        parts = np.array([part or "" for part in documents.parts])
        published = {name: np.flatnonzero(parts == name).astype(np.int64) for name in ("train", "test")}
        if not all(map(len, published.values())):
            what = (
                f"validation is to be drawn from the published part '{source}', but there is no train or no test part"
            )
            raise InputError(what, cure="draw it `validation_from: all`, and give the number of test documents")
        (validation,) = _draw(documents, spec, published[source], (spec.validation,), rng)
        published[source] = _without(published[source], validation)
        train, test = published["train"], published["test"]
        if n_test is not None and n_test != len(test):
            what = f"test is {n_test:,}, but {len(test):,} documents of the published test part are left"
            raise InputError(what, cure="say so, or `test: published`, or draw from all documents")
    for name, rows in zip(PARTS, (train, validation, test), strict=True):
        if not len(rows):
            what = f"no document is left for {name} of {len(documents):,}, {spec.validation:,} being validation"
            raise InputError(f"{what} (from {source}) and test {spec.test}; draw fewer.")
    return Division(train, validation, test)


def write_division(path: Path, documents: Documents, division: Division) -> None:
    """Write a CSV of ``document`` and ``part`` (train, validation, test), in the order of the documents.

    Raises:
        InputError: If the division does not put every document into just one part.
    """
    rows = np.concatenate([getattr(division, name) for name in PARTS])
    if not np.array_equal(np.sort(rows), np.arange(len(documents))):
        raise InputError(f"a division must put each of {len(documents)} documents into just one part.")
    part_of = dict(zip(rows.tolist(), [name for name in PARTS for _ in getattr(division, name)], strict=True))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(zip(documents.ids, (part_of[row] for row in range(len(documents))), strict=True))
    with replacing(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")


def read_division(path: Path, documents: Documents) -> Division:
    """Read a division of these documents; its lines may be in any order.

    Raises:
        InputError: If it is no such CSV, a document is unknown, missing or named twice, a part is unknown, or no
            document is in one of them.
    """
    row_of = {name: row for row, name in enumerate(documents.ids)}
    part_of: dict[int, str] = {}
    for where, values in csv_rows(path, HEADER):
        name, part = values["document"], values["part"]
        if name not in row_of or row_of[name] in part_of or part not in PARTS:
            what = f"document '{name}' in '{part}' is unknown or given a second time, or that is not a part"
            raise InputError(what, where=where, cure=_CURE)
        part_of[row_of[name]] = part
    if missing := [name for row, name in enumerate(documents.ids) if row not in part_of]:
        what = f"it lacks document '{missing[0]}' ({len(missing):,} of {len(documents):,} are missing)"
        raise InputError(what, where=path, cure=_CURE)
    found = np.array([part_of[row] for row in range(len(documents))])
    parts = [np.flatnonzero(found == name).astype(np.int64) for name in PARTS]
    for name, rows in zip(PARTS, parts, strict=True):
        if not len(rows):
            raise InputError(f"no document is in '{name}'", where=path, cure=_CURE)
    return Division(*parts)


def _without(pool: Rows, *taken: Rows) -> Rows:
    return np.setdiff1d(pool, np.concatenate(taken)).astype(np.int64)


def _draw(
    documents: Documents, spec: DivisionSpec, pool: Rows, sizes: Sequence[int], rng: np.random.Generator
) -> list[Rows]:
    """Draw disjoint sets of rows of ``pool`` with these sizes, each ascending."""
    if sum(sizes) > len(pool):
        drawn_from = "there are" if spec.validation_from == "all" else f"the part '{spec.validation_from}' has"
        wanted = " + ".join(f"{size:,}" for size in sizes)
        raise InputError(f"{wanted} documents are to be drawn, but {drawn_from} {len(pool):,}; draw fewer.")
    if not spec.balanced:
        return _draw_from(documents, spec, pool, sizes, rng, "")
    if spec.whole_articles:
        _check_articles(documents, pool)
    categories = documents.codes[pool]
    names, counts = np.unique(categories, return_counts=True)
    drawn: list[list[Rows]] = [[] for _ in sizes]
    quotas = _quotas(sizes, len(names), rng)
    for place, (code, count) in enumerate(zip(names, counts, strict=True)):
        name, wanted_of = documents.category_names[code], [int(quota[place]) for quota in quotas]
        if sum(wanted_of) > count:
            what = f"a balanced draw needs {sum(wanted_of):,} documents of category '{name}', which has {count:,}"
            raise InputError(what, cure="draw fewer, or say `balanced: false`")
        mine = _draw_from(documents, spec, pool[categories == code], wanted_of, rng, f" of category '{name}'")
        for number, rows in enumerate(mine):
            drawn[number].append(rows)
    return [np.sort(np.concatenate(rows)) for rows in drawn]


def _quotas(sizes: Sequence[int], n_categories: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return how many documents of each category each set gets.

    What does not divide evenly goes round the categories in one random order, from set to set: no category gives two
    more than another in total.
    """
    order = rng.permutation(n_categories)
    quotas, start = [], 0
    for size in sizes:
        share, more = divmod(size, n_categories)
        quota = np.full(n_categories, share, dtype=np.int64)
        quota[order[(start + np.arange(more)) % n_categories]] += 1
        quotas.append(quota)
        start += more
    return quotas


def _draw_from(
    documents: Documents, spec: DivisionSpec, pool: Rows, sizes: Sequence[int], rng: np.random.Generator, words: str
) -> list[Rows]:
    if spec.whole_articles:
        drawn: list[Rows] = []
        for size in sizes:
            drawn.append(_draw_articles(documents, pool, size, rng, words))
            pool = _without(pool, drawn[-1])
        return drawn
    shuffled = rng.permutation(pool)
    ends = np.cumsum([0, *sizes])
    return [np.sort(shuffled[start:end]) for start, end in pairwise(ends)]


def _check_articles(documents: Documents, pool: Rows) -> None:
    """Balanced draws take the articles of one category after the other."""
    category_of: dict[str, str] = {}
    for row in pool:
        article, category = documents.articles[row], documents.categories[row]
        if category_of.setdefault(article, category) != category:
            raise InputError(
                f"article '{article}' has documents of '{category_of[article]}' and '{category}', so that `balanced` "
                "and `whole_articles` cannot both hold; choose one."
            )


def _draw_articles(documents: Documents, pool: Rows, size: int, rng: np.random.Generator, words: str) -> Rows:
    """Rows of whole articles, ``size`` in all.

    In random order, every article is taken that leaves a number which later ones can still fill exactly.
    """
    lengths = Counter(documents.articles[row] for row in pool)
    articles = sorted(lengths)
    articles = [articles[number] for number in rng.permutation(len(articles))]
    within = (1 << (size + 1)) - 1
    reachable = [1]  # bit n: some of the articles from here on have n documents together; the last article first
    for article in reversed(articles):
        reachable.append((reachable[-1] | reachable[-1] << lengths[article]) & within)
    reachable.reverse()
    if not reachable[0] >> size & 1:
        nearest = (reachable[0]).bit_length() - 1
        raise InputError(
            f"no set of whole articles{words} has {size:,} documents together, the next smaller one has {nearest:,}; "
            "draw as many, or say `whole_articles: false`."
        )
    taken, left = set[str](), size
    for article, later in zip(articles, reachable[1:], strict=True):
        if left >= lengths[article] and later >> (left - lengths[article]) & 1:
            taken.add(article)
            left -= lengths[article]
    return np.array([row for row in pool if documents.articles[row] in taken], dtype=np.int64)
