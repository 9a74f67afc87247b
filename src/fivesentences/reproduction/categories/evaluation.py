"""Runs of category retrieval -> mean average precision in four readings, what training recorded, a plane of t-SNE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import read_npz
from fivesentences.config.types import Direction
from fivesentences.corpus.parquet import read_frame, write_frame
from fivesentences.errors import InputError
from fivesentences.metrics.category import CategoryReader, Cutoff, category_codes, expected_average_precision
from fivesentences.metrics.ranking import QueryBlock, read_rankings
from fivesentences.reproduction.categories.config import SELECTIONS, Selection
from fivesentences.reproduction.categories.corpus.divisions import read_division
from fivesentences.reproduction.categories.corpus.documents import Documents, read_documents
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.evaluation.tidy import TRAIN_AGAIN, read_recorded, typed_frame
from fivesentences.retrieval.arguments import DIRECTIONS
from fivesentences.seals import check_made_from, check_record

CHANCE = "mAP by chance"
# Where each metric ends the ranking, and what it divides the sum of precisions by.
READINGS: dict[str, tuple[Cutoff, str]] = {
    "mAP": (None, "found"),
    "mAP@100": (100, "found"),
    "mAP@100 possible": (100, "possible"),
    "mAP@R": ("R", "relevant"),
}
SUBSPACE_METRICS = (*READINGS, CHANCE)

RUN = {"run": "str"}
SETTING = {"documents": "str", "division": "str", "method": "str", "seed": "int64"}
VALUES = {"selection": "str", "metric": "str", "direction": "str", "value": "float64"}
SIZES = {"train": "int64", "validation": "int64", "test": "int64", "categories": "int64"}
QUERIES = {"selection": "str", "direction": "str", "document": "str", "category": "str"}
# The column of each metric among the queries: `average_precision` is that over the whole ranking.
PER_QUERY = {metric: metric.replace("mAP", "average_precision") for metric in READINGS}
HISTORY = {"epoch": "int64", "learning_rate": "float64", "loss": "float64", "validation_loss": "float64"}
HISTORY |= {"validation_map": "float64", "alpha": "float64", "mean_margin": "float64"}
MARGINS = {"epoch": "int64", "anchor": "str", "negative": "str", "mean_margin": "float64", "pairs": "int64"}

PERPLEXITY = 30.0
PROJECTION_COLUMNS = {"document": "str", "category": "str", "modality": "str", "x": "float64", "y": "float64"}

SubspaceTable = Literal["metrics", "queries", "histories", "category_margins"]
# Columns of each table of a job, with their types.
TABLES: dict[SubspaceTable, dict[str, str]] = {
    "metrics": RUN | SETTING | VALUES | SIZES,
    "queries": RUN | QUERIES | dict.fromkeys(PER_QUERY.values(), "float64"),
    "histories": RUN | HISTORY,
    "category_margins": RUN | MARGINS,
}


class SubspaceScores(NamedTuple):
    """Numbers of the vectors of one run.

    Attributes:
        values: Fractions by (metric, direction): ``i2t``, ``t2i`` and ``mean``, the mean of both.
        average_precision: For each direction and metric but the one by chance ``[documents]`` average precision of the
            image (``i2t``) or the text (``t2i``) of each document.
    """

    values: Mapping[tuple[str, str], float]
    average_precision: Mapping[Direction, Mapping[str, NDArray[np.float64]]]


def cosine_similarity(images: ArrayLike, texts: ArrayLike) -> NDArray[np.float32]:
    """Return ``[images, texts]`` cosines; a vector of zeros is at 0 to everything."""
    units = []
    for side in (np.asarray(one, dtype=np.float64) for one in (images, texts)):
        # First by the largest value, since squares of very small or large ones would vanish or overflow.
        side = side / _no_zeros(np.abs(side).max(axis=1, keepdims=True, initial=0.0))
        units.append((side / _no_zeros(np.linalg.norm(side, axis=1, keepdims=True))).astype(np.float32))
    cosines: NDArray[np.float32] = units[0] @ units[1].T
    return cosines


def _no_zeros(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values > 0, values, 1.0)


def subspace_scores(images: ArrayLike, texts: ArrayLike, categories: ArrayLike) -> SubspaceScores:
    """Compute mean average precision of cosine similarity where every item of the query's category is relevant.

    ``mAP`` reads the whole ranking (scheduled adaptive margin's, as in the released code of DSCMR); ``mAP@100`` its
    first 100 items and divides by the relevant ones among them, ``mAP@100 possible`` by min(R, 100); ``mAP@R`` the
    first R items (Musgrave et al. 2020), R being how many are relevant. ``mAP by chance`` is what a random ranking is
    expected to reach. Equal similarities are ordered by index, lower first; each ranking is sorted once.

    Args:
        images: ``[documents, dimensions]``, finite.
        texts: ``[documents, dimensions]``, finite.
        categories: ``[documents]`` numbers or strings.
    """
    similarity = cosine_similarity(images, texts)
    labels = np.asarray(categories)
    codes = category_codes(labels, labels, similarity.shape, None)
    cutoffs: dict[str, list[Cutoff]] = {}
    for cutoff, divide_by in READINGS.values():
        cutoffs.setdefault(divide_by, []).append(cutoff)
    values: dict[tuple[str, str], float] = {}
    average_precision: dict[Direction, dict[str, NDArray[np.float64]]] = {}
    for direction in DIRECTIONS:
        readers = {name: CategoryReader(codes, direction, of_name, name) for name, of_name in cutoffs.items()}

        def read(block: QueryBlock, readers: Mapping[str, CategoryReader] = readers) -> None:
            for reader in readers.values():
                reader(block)

        read_rankings(similarity, direction, read)
        average_precision[direction] = {
            metric: readers[divide_by].average_precision[cutoff] for metric, (cutoff, divide_by) in READINGS.items()
        }
        values |= {(name, direction): float(each.mean()) for name, each in average_precision[direction].items()}
        whole = readers["found"]
        values[CHANCE, direction] = float(expected_average_precision(whole.n_relevant, len(whole.gallery)).mean())
    for metric in SUBSPACE_METRICS:
        values[metric, "mean"] = (values[metric, "i2t"] + values[metric, "t2i"]) / 2
    return SubspaceScores(values, average_precision)


def read_vectors(
    run: PlacedRun, selection: Selection, documents: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Read image and text vectors of the test documents of a run.

    Raises:
        InputError: If the run has no such vectors, or as many as another test part, or one is not finite.
    """
    path = run.folder / "vectors.npz"
    names = [f"{selection}_image", f"{selection}_text"]
    images, texts = read_npz(path, names, "vectors of test documents", "train the run again")
    check_record(run.folder, (path.name,), "train the run again")
    if len(images) != documents:
        what = f"it has {len(images)} rows, but the division has {documents} test documents"
        raise InputError(what, where=path, cure="train the run again")
    if not (np.isfinite(images).all() and np.isfinite(texts).all()):
        raise InputError("it holds a value that is not finite; a smaller learning rate may help.", where=path)
    return images, texts


def evaluate_subspace_runs(
    runs: Sequence[PlacedRun], *, documents: Path, metrics: Path, queries: Path, histories: Path, category_margins: Path
) -> None:
    """Measure some runs of the same documents, and gather what their training recorded.

    Four parquet files are written, whose columns are those of ``TABLES``.

    Args:
        runs: The runs.
        documents: The parquet file of the documents.
        metrics: Values, one line each.
        queries: Average precisions of every query.
        histories: Records of every epoch; no lines for methods without epochs.
        category_margins: Mean margins between categories, of what has them.

    Raises:
        InputError: If a file is missing or wrong, or vectors do not fit the division.
    """
    table = read_documents(documents)
    for placed in runs:
        check_made_from(placed.folder, {"the documents": documents, "the division": placed.division}, TRAIN_AGAIN)
    frames: dict[SubspaceTable, list[pd.DataFrame]] = {name: [] for name in TABLES}
    for placed in runs:
        run = placed.run
        of_run, of_queries = _evaluated(placed, table)
        found: dict[SubspaceTable, pd.DataFrame] = {
            "metrics": of_run.assign(
                documents=run.documents, division=run.division, method=run.method.folder, seed=run.seed
            ),
            "queries": of_queries,
            "histories": read_recorded(placed.folder / "history.csv", HISTORY),
        }
        margins = placed.folder / "category_margins.csv"
        if margins.exists():  # only what has margins writes one
            found["category_margins"] = read_recorded(margins, MARGINS)
        for name, frame in found.items():
            frames[name].append(frame.assign(run=run.name))
    outputs = zip(TABLES.items(), (metrics, queries, histories, category_margins), strict=True)
    for (name, columns), out in outputs:
        write_subspace_table(frames[name], out, columns)


def write_subspace_table(frames: Sequence[pd.DataFrame], out: Path, columns: Mapping[str, str]) -> None:
    """Write some lines as one parquet file whose columns have these types, whether or not there are lines."""
    write_frame(typed_frame(frames, columns), out)


def read_subspace_table(files: Iterable[Path], table: SubspaceTable) -> pd.DataFrame:
    """Read one table of some jobs, as ``evaluate_subspace_runs`` wrote it.

    Args:
        files: One per job.
        table: Name of the table.

    Raises:
        InputError: If a file is missing, is another table, or has a run of another file.
    """
    columns, frames, known = TABLES[table], list[pd.DataFrame](), dict[str, Path]()
    for file in files:
        frames.append(frame := read_frame(file, "evaluate the runs again", columns))
        for run in frame["run"].unique():
            if known.setdefault(run, file) != file:
                what = f"it has the run '{run}', as {known[run]} has"
                raise InputError(what, where=file, cure="delete both, and evaluate the runs again")
    return pd.concat(frames, ignore_index=True) if frames else typed_frame([], columns)


def _evaluated(placed: PlacedRun, documents: Documents) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return values of one run, and the average precisions of every query."""
    parts = read_division(placed.division, documents)
    ids = [documents.ids[place] for place in parts.test]
    categories = [documents.categories[place] for place in parts.test]
    sizes = {"train": len(parts.train), "validation": len(parts.validation), "test": len(parts.test)}
    sizes["categories"] = len(set(categories))
    values, queries = [], []
    # A method without epochs has only the last one.
    for selection in SELECTIONS if placed.run.method.iterative else SELECTIONS[-1:]:
        found = subspace_scores(*read_vectors(placed, selection, len(ids)), categories)
        lines = [(selection, metric, direction, value) for (metric, direction), value in found.values.items()]
        values.append(pd.DataFrame(lines, columns=list(VALUES)).assign(**sizes))
        for direction, precisions in found.average_precision.items():
            columns = {PER_QUERY[metric]: precision for metric, precision in precisions.items()}
            about = {"selection": selection, "direction": direction, "document": ids, "category": categories}
            queries.append(pd.DataFrame(about | columns))
    return pd.concat(values), pd.concat(queries)


# --- on a plane ---------------------------------------------------------------------------------------------


def projected(vectors: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Project unit vectors by t-SNE (van der Maaten and Hinton 2008), begun at their first two principal components.

    Between unit vectors the Euclidean distance orders as the cosine does. The perplexity is 30, and less for fewer
    than 91 vectors: a third of the others.

    Args:
        vectors: ``[vectors, dimensions]``, at least four, finite; a vector of zeros stays where it is.
        seed: Seed of scikit-learn.

    Returns:
        ``[vectors, 2]``; zeros if all directions are equal.
    """
    from sklearn.manifold import TSNE  # a second, and only here

    values = np.asarray(vectors, dtype=np.float64)
    units = values / _no_zeros(np.linalg.norm(values, axis=1, keepdims=True))
    if np.allclose(units, units[0], rtol=0, atol=1e-12):  # without a principal component scikit-learn would crash
        return np.zeros((len(units), 2))
    if units.shape[1] == 1:  # principal components are two
        units = np.hstack([units, np.zeros_like(units)])
    perplexity = min(PERPLEXITY, (len(units) - 1) / 3)
    found = TSNE(init="pca", perplexity=perplexity, random_state=seed, n_jobs=1).fit_transform(units)
    return np.asarray(found, dtype=np.float64)


def write_projection(run: PlacedRun, *, documents: Path, selection: Selection, out: Path) -> None:
    """Write where the image and the text of every test document of a run lie, as parquet with ``PROJECTION_COLUMNS``.

    Args:
        run: The run.
        documents: The parquet file of the documents.
        selection: Epoch whose weights are used.
        out: The parquet file.

    Raises:
        InputError: If a file is missing or wrong, or vectors do not fit the division.
    """
    table = read_documents(documents)
    check_made_from(run.folder, {"the documents": documents, "the division": run.division}, TRAIN_AGAIN)
    test = read_division(run.division, table).test
    places = projected(np.concatenate(read_vectors(run, selection, len(test))))
    about = {
        "document": [table.ids[place] for place in test] * 2,
        "category": [table.categories[place] for place in test] * 2,
        "modality": ["image"] * len(test) + ["text"] * len(test),
    }
    write_subspace_table([pd.DataFrame(about | {"x": places[:, 0], "y": places[:, 1]})], out, PROJECTION_COLUMNS)
