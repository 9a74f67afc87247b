"""SVCL's Wikipedia as its authors describe it: shares of visual words and of topics (Rasiwasia et al. 2010)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.wikipedia import CATEGORIES, LISTS, documents_in_list, lines_in, only_entry
from fivesentences.documents import check_file, read_lines
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.corpus.documents import PARTS, Documents, LoadedDocuments

# Matrices of training and test, in this order; rows follow the lists.
IMAGES = ("I_tr", "I_te")
TEXTS = ("T_tr", "T_te")
FEATURES = "raw_features.mat"
LARGEST_FEATURES = 64 << 20  # bytes; the original has one
MOST_NUMBERS = 1 << 30  # of one matrix, 8.6 GB


def load_wikipedia(features: Path, train_list: Path, test_list: Path, categories: Path) -> LoadedDocuments:
    """Read the features that the authors publish: 2,173 training and 693 test sections of ten categories.

    Images are shares of 128 SIFT words, texts shares of 10 LDA topics; ``corpus/wikipedia.py`` reads photographs and
    texts themselves. The id of a document is its text's name, its article what stands before the first "-" of it:
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
    lists = {path: read_lines(path) for path in (train_list, test_list)}
    return _with_features(read_mat(features, (*IMAGES, *TEXTS)), features, lists, read_lines(categories))


def load_wikipedia_archive(archive: Path) -> LoadedDocuments:
    """Read the same as ``load_wikipedia`` from ``wikipedia_dataset.zip``, in whatever folder of it.

    Raises:
        InputError: As ``load_wikipedia``, or if the archive is damaged or lacks one of these files.
    """
    with open_zip(archive) as opened:
        inside = entries(opened)
        lists = {f"{archive}: {name}": lines_in(opened, inside, name) for name in LISTS}
        categories = lines_in(opened, inside, CATEGORIES)
        features = read_entry(opened, only_entry(opened, inside, FEATURES), LARGEST_FEATURES)
    where = f"{archive}: {FEATURES}"
    return _with_features(read_mat(features, (*IMAGES, *TEXTS), where), where, lists, categories)


def _with_features(
    matrices: list[NDArray[Any]], features: Path | str, lists: Mapping[Any, list[str]], categories: Iterable[str]
) -> LoadedDocuments:
    """Join matrices and lists; ``features``, and the keys of ``lists``, are their names in errors."""
    names = [line.strip() for line in categories if line.strip()]
    of_parts = [documents_in_list(lines, path, names) for path, lines in lists.items()]
    for name, matrix, listed in zip((*IMAGES, *TEXTS), matrices, of_parts * 2, strict=True):
        if len(matrix) != len(listed):
            what = f"{name} has {len(matrix):,} rows, but its list has {len(listed):,} lines; fetch both."
            raise InputError(what, where=features)
    for of_train, of_test in (matrices[:2], matrices[2:]):
        if of_train.shape[1] != of_test.shape[1]:
            what = f"training has {of_train.shape[1]} dimensions, test {of_test.shape[1]}; fetch it again."
            raise InputError(what, where=features)
    texts, images, of_category = zip(*of_parts[0], *of_parts[1], strict=True)
    seen: Counter[str] = Counter()  # the second of equal names gets "#2", and so on
    ids = []
    for text in texts:
        seen[text] += 1
        ids.append(text if seen[text] == 1 else f"{text}#{seen[text]}")
    documents = Documents(
        ids=tuple(ids),
        categories=of_category,
        images=images,
        texts=("",) * len(ids),
        parts=tuple(part for part, listed in zip(PARTS, of_parts, strict=True) for _ in listed),
        articles=tuple(text.partition("-")[0] for text in texts),
    )
    of_images, of_texts = (np.concatenate(both).astype(np.float64) for both in (matrices[:2], matrices[2:]))
    return LoadedDocuments(documents, of_images, of_texts)


def read_mat(file: Path | str | bytes, names: Sequence[str], where: str | None = None) -> list[NDArray[Any]]:
    """Read matrices of a ``.mat`` file; only these are read.

    Args:
        file: A file of MATLAB 4 to 7.2, or its content.
        names: Names of the matrices.
        where: Name of the file in errors; default the file.

    Returns:
        Real ``[rows, columns]`` each, of any numeric dtype, finite.

    Raises:
        InputError: If the file is missing, damaged or of MATLAB 7.3 (HDF5), lacks a matrix, or one is not a matrix
            of finite real numbers or has more than ``MOST_NUMBERS``, zeros of sparse ones included.
    """
    if not isinstance(file, bytes):
        check_file(file)
    path = where or str(file)

    def opened() -> str | BytesIO:
        return BytesIO(file) if isinstance(file, bytes) else str(file)

    try:
        held = {str(name): tuple(shape) for name, shape, _ in whosmat(opened(), appendmat=False)}
        wanted = [name for name in names if math.prod(held.get(name, (0,))) <= MOST_NUMBERS]
        content = loadmat(opened(), variable_names=wanted, appendmat=False) if wanted else {}
    except NotImplementedError:
        what = "this is a file of MATLAB 7.3, which is HDF5"
        raise InputError(what, where=path, cure="save it with -v7 in MATLAB") from None
    except Exception:  # a damaged file fails anywhere in scipy
        raise InputError("this is not a complete .mat file of MATLAB", where=path, cure="fetch it again") from None
    return [_matrix(path, name, held.get(name), content.get(name)) for name in names]


def _matrix(path: Path | str, name: str, shape: tuple[int, ...] | None, value: Any) -> NDArray[Any]:
    value = value.toarray() if hasattr(value, "toarray") else value  # a sparse matrix
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
        held = "missing" if shape is None else f"{getattr(value, 'dtype', 'too large or no array')} {list(shape)}"
        what = f"{name} is {held}; it must be a matrix of real numbers, at most {MOST_NUMBERS:,}."
        raise InputError(what, where=path)
    for row, column in np.argwhere(~np.isfinite(value))[:1]:
        raise InputError(f"{name} holds {value[row, column]} in row {row}, column {column}.", where=path)
    return value
