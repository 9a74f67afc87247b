"""Wikipedia of SVCL: sections of featured articles with an image each (Rasiwasia et al. 2010)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fivesentences.corpus.documents import PARTS, Documents, LoadedDocuments, Part
from fivesentences.corpus.matlab import read_mat
from fivesentences.corpus.text import lines_of
from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError

# Of training and test, in this order; rows follow the lists.
IMAGES = ("I_tr", "I_te")
TEXTS = ("T_tr", "T_te")


def load_wikipedia(features: Path, train_list: Path, test_list: Path, categories: Path) -> LoadedDocuments:
    """Read the features that the authors publish: 2,173 training and 693 test sections of ten categories.

    Images are shares of 128 SIFT words, texts shares of 10 LDA topics; ``load_wikipedia_articles`` reads photographs
    and texts themselves. The id of a document is its text's name, its article what stands before the first "-" of it:
    an article was cut into several sections.

    Args:
        features: ``raw_features.mat`` with ``I_tr``, ``T_tr``, ``I_te``, ``T_te``, ``[documents, dim]``.
        train_list: ``trainset_txt_img_cat.list``: names of text and image and number of the category, by tabs.
        test_list: ``testset_txt_img_cat.list``.
        categories: ``categories.list``: one name per line.

    Raises:
        InputError: If a file is missing or damaged, a line is malformed, a category is unknown, or lists and features
            differ in length.
    """
    names = [line.strip() for line in lines_of(text_of(read_bytes(categories), categories)) if line.strip()]
    lines: list[tuple[Part, str, str, str]] = []
    sizes = []
    for part, path in zip(PARTS, (train_list, test_list), strict=True):
        lines_here = lines_of(text_of(read_bytes(path), path))
        of_part = [(part, *fields) for fields in documents_in_list(lines_here, path, names, categories.name)]
        sizes.append(len(of_part))
        lines += of_part
    matrices = read_mat(features, (*IMAGES, *TEXTS))
    for name, matrix, size, path in zip(
        (*IMAGES, *TEXTS), matrices, sizes * 2, (train_list, test_list) * 2, strict=True
    ):
        if len(matrix) != size:
            raise InputError(f"{features}: {name} has {len(matrix):,} rows, but {path} has {size:,} lines; fetch both.")
    vectors = []
    for of_train, of_test in (matrices[:2], matrices[2:]):
        if of_train.shape[1] != of_test.shape[1]:
            raise InputError(
                f"{features}: training has {of_train.shape[1]} dimensions, test {of_test.shape[1]}; fetch it again."
            )
        vectors.append(np.concatenate([of_train, of_test]).astype(np.float64))
    parts, texts, images, labels = zip(*lines, strict=True) if lines else ((), (), (), ())
    documents = Documents(
        ids=_unique(texts),
        categories=labels,
        images=images,
        texts=("",) * len(lines),
        parts=parts,
        articles=tuple(name.partition("-")[0] for name in texts),
    )
    of_images, of_texts = vectors
    return LoadedDocuments(documents, of_images, of_texts)


def documents_in_list(
    lines: Iterable[str], where: Path | str, names: Sequence[str], categories: str
) -> list[tuple[str, str, str]]:
    """Text, image and name of the category of each line of a list.

    Args:
        lines: Of the list: names of text and image and number of the category, by tabs.
        where: What to call the list in an error.
        names: Names of the categories, in the order of their numbers.
        categories: What to call the file of these names in an error.

    Raises:
        InputError: If a line is malformed or its category is unknown.
    """
    found = []
    for number, line in enumerate(lines, 1):
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 3 or not all(fields) or not fields[0].partition("-")[0]:
            raise InputError(f"{where}, line {number} is '{line[:60]}'; expected <text><tab><image><tab><category>.")
        text, image, code = fields
        if not (code.isascii() and code.isdigit() and len(code) < 10 and 1 <= int(code) <= len(names)):
            raise InputError(
                f"{where}, line {number}: the category is '{code[:20]}', but {categories} names 1 to {len(names)}."
            )
        found.append((text, image, names[int(code) - 1]))
    return found


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    """The names; the second of equal ones gets "#2", and so on."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(found)
