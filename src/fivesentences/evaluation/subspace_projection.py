"""The subspace of one run in two dimensions: t-SNE of the test documents, images and texts together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.config.documents import Selection
from fivesentences.corpus.divisions import read_division
from fivesentences.corpus.documents import read_documents
from fivesentences.errors import InputError
from fivesentences.evaluation.categories import read_vectors, write_subspace_table
from fivesentences.study.runs import PlacedRun

PERPLEXITY = 30.0
COLUMNS = {"document": "str", "category": "str", "modality": "str", "x": "float64", "y": "float64"}


def projected(vectors: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """t-SNE (van der Maaten and Hinton 2008) of unit vectors, begun at their first two principal components.

    Between unit vectors the Euclidean distance orders as the cosine does. The perplexity is 30, and less for fewer
    than 91 vectors: a third of the others.

    Args:
        vectors: ``[vectors, dimensions]``, at least four, finite; a vector of zeros stays where it is.
        seed: Of scikit-learn.

    Returns:
        ``[vectors, 2]``; zeros if all directions are equal.

    Raises:
        InputError: If there are fewer than four vectors, or a value is not finite.
    """
    from sklearn.manifold import TSNE  # a second, and only here

    values = np.asarray(vectors, dtype=np.float64)
    if values.ndim != 2 or len(values) < 4:
        raise InputError(f"vectors are {list(values.shape)}; give [vectors, dimensions] with four vectors or more.")
    if not np.isfinite(values).all():
        raise InputError("vectors hold a value that is not finite; train the run again with a smaller learning rate.")
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    units = values / np.where(norms > 0, norms, 1.0)
    if np.allclose(units, units[0], rtol=0, atol=1e-12):  # without a principal component scikit-learn would crash
        return np.zeros((len(units), 2))
    if units.shape[1] == 1:  # principal components are two
        units = np.hstack([units, np.zeros_like(units)])
    perplexity = min(PERPLEXITY, (len(units) - 1) / 3)
    found = TSNE(init="pca", perplexity=perplexity, random_state=seed, n_jobs=1).fit_transform(units)
    return np.asarray(found, dtype=np.float64)


def write_projection(run: PlacedRun, *, documents: Path, selection: Selection, out: Path) -> None:
    """Write where the image and the text of every test document of a run lie, as parquet with ``COLUMNS``.

    Args:
        run: The run.
        documents: The parquet file of the documents.
        selection: Which epoch's weights.
        out: The parquet file.

    Raises:
        InputError: If a file is missing or wrong, or vectors do not fit the division.
    """
    table = read_documents(documents)
    test = read_division(run.division, table).test
    places = projected(np.concatenate(read_vectors(run, selection, len(test))))
    about = {
        "document": [table.ids[place] for place in test] * 2,
        "category": [table.categories[place] for place in test] * 2,
        "modality": ["image"] * len(test) + ["text"] * len(test),
    }
    write_subspace_table([pd.DataFrame(about | {"x": places[:, 0], "y": places[:, 1]})], out, COLUMNS)
