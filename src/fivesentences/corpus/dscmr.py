"""Descriptors as ``.mat`` files in the layout of DSCMR's release (Zhen et al. 2019)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus.documents import PARTS, Documents, LoadedDocuments, Part
from fivesentences.corpus.matlab import read_mat
from fivesentences.errors import InputError

KINDS = ("img", "txt", "img_lab")


def load_dscmr(folder: Path) -> LoadedDocuments:
    """Read ``train_img``, ``train_txt``, ``train_img_lab`` and the same for ``test``, one matrix per ``.mat`` file.

    Images and texts are ``[documents, dim]``; labels are whole numbers, ``[documents, 1]`` or ``[1, documents]``, or
    0/1 with one 1 per row, ``[documents, categories]``. A document has no name: it is called ``train-0001``, and its
    category by its number, ``category 07``.

    Args:
        folder: Where the six files are.

    Raises:
        InputError: If one is missing or damaged, or they disagree in their shapes.
    """
    names: list[str] = []
    parts: list[Part] = []
    labels: list[NDArray[np.int64]] = []
    vectors: dict[str, list[NDArray[Any]]] = {"img": [], "txt": []}
    for part in PARTS:
        images, texts, given = (read_mat(Path(folder, f"{part}_{kind}.mat"), [f"{part}_{kind}"])[0] for kind in KINDS)
        if len(images) != len(texts):
            what = f"{part}_img has {len(images):,} rows, but {part}_txt {len(texts):,}; they must be pairs."
            raise InputError(what, where=folder)
        labels.append(_labels(Path(folder, f"{part}_img_lab.mat"), given, len(images)))
        vectors["img"].append(images)
        vectors["txt"].append(texts)
        digits = len(str(len(images)))
        names += [f"{part}-{number:0{digits}d}" for number in range(1, len(images) + 1)]
        parts += [part] * len(images)
    for kind, (of_train, of_test) in vectors.items():
        if of_train.shape[1] != of_test.shape[1]:
            what = f"train_{kind} has {of_train.shape[1]} columns, but test_{kind} {of_test.shape[1]}."
            raise InputError(what, where=folder)
    numbers = np.concatenate(labels)
    digits = len(str(numbers.max(initial=0)))
    documents = Documents(
        ids=tuple(names),
        categories=tuple(f"category {number:0{digits}d}" for number in numbers),
        images=("",) * len(names),
        texts=("",) * len(names),
        parts=tuple(parts),
        articles=tuple(names),
    )
    of_images, of_texts = (np.concatenate(of_parts) for of_parts in vectors.values())
    return LoadedDocuments(documents, of_images.astype(np.float64), of_texts.astype(np.float64))


def _labels(path: Path, given: NDArray[Any], n_documents: int) -> NDArray[np.int64]:
    """Return the number of each document's category."""
    if min(given.shape) == 1 and given.size == n_documents:
        numbers = given.ravel()
    elif len(given) == n_documents and np.isin(given, (0, 1)).all() and (given.sum(axis=1) == 1).all():
        numbers = given.argmax(axis=1) + 1
    else:
        raise InputError(
            f"{path.stem} is {list(given.shape)} for {n_documents:,} documents; it must be one number per document, or "
            "0/1 with one 1 per row.",
            where=path,
        )
    wrong = np.flatnonzero((numbers != np.round(numbers)) | (numbers < 0) | (numbers > 1_000_000))
    if len(wrong):
        raise InputError(f"the label in row {wrong[0]} is {numbers[wrong[0]]}; it must be a whole number.", where=path)
    return numbers.astype(np.int64)
