"""Runs of category retrieval, from files to files."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import SELECTIONS, Selection, SubspaceTraining
from fivesentences.reproduction.categories.corpus.divisions import read_division
from fivesentences.reproduction.categories.corpus.documents import read_documents, read_vectors
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors, inputs_of
from fivesentences.reproduction.categories.models.closed_forms import fit_closed_form
from fivesentences.reproduction.categories.models.specs import AnyMethod, OtherNetwork, TripletNetwork
from fivesentences.reproduction.categories.runs import PlacedRun, SubspaceRun
from fivesentences.reproduction.categories.training.code import code_of_method
from fivesentences.reproduction.categories.training.fit import Fit, Progress, Row, silent
from fivesentences.reproduction.categories.training.networks import networks_of, seeded, train_module
from fivesentences.reproduction.categories.training.triplets import CATEGORY_MARGINS, fit_triplets
from fivesentences.storage import remove, replacing, write_json
from fivesentences.training.fingerprint import fingerprint
from fivesentences.training.jobs import Stop, Task, train_tasks
from fivesentences.training.loop import reproducible

LIBRARIES = ("fivesentences", "torch", "numpy", "scikit-learn", "cca-zoo")
STATED, VECTORS, HISTORY, MARGINS = "settings.json", "vectors.npz", "history.csv", "category_margins.csv"
# The first columns of a history; methods may add others.
HISTORY_COLUMNS = ("epoch", "learning_rate", "loss", "validation_loss", "validation_map", "alpha", "mean_margin")


def fit(
    spec: AnyMethod,
    train: Inputs,
    validation: Inputs,
    seed: int,
    training: SubspaceTraining,
    category_names: Sequence[str],
    progress: Progress = silent,
) -> Fit:
    """Fit a method to training documents; validation documents choose epochs, and margins where several are given.

    Args:
        spec: The method.
        train: Training documents.
        validation: Validation documents.
        seed: Seed of everything that is random.
        training: How networks are trained.
        category_names: Names of the categories 0 to C - 1.
        progress: Called as often as ``rounds`` says.

    Raises:
        InputError: If training diverges, or the documents do not fit the method.
    """
    if isinstance(spec, TripletNetwork):
        return fit_triplets(spec, train, validation, seed, training, category_names, progress)
    if isinstance(spec, OtherNetwork):
        training = spec.training(training)
        with seeded(seed, 0):
            networks = networks_of(spec, train, validation, training)
        return train_module(networks, train, validation, seed, training, spec.learning_rate, progress)
    projector = fit_closed_form(spec, train, seed)
    progress("")
    return Fit({"last": projector}, [], [])


def rounds(spec: AnyMethod, training: SubspaceTraining) -> int:
    """Return how often ``fit`` reports progress: after each epoch, or once."""
    if isinstance(spec, OtherNetwork):
        return spec.training(training).epochs
    return training.epochs * len(spec.margins or [None]) if isinstance(spec, TripletNetwork) else 1


def outputs_of_run(run: SubspaceRun) -> tuple[str, ...]:
    """List the files that a run writes into its folder before ``finished.json``."""
    method = run.method
    scheduled = isinstance(method, TripletNetwork) and method.loss.toward != "nothing"
    return (STATED, VECTORS, HISTORY, *([MARGINS] if scheduled else []))


def train_subspaces(
    runs: Sequence[PlacedRun], *, documents: Path, image: Path, text: Path | None, record: Path | None = None
) -> None:
    """Fit some methods to the same documents and project the test documents of each run.

    Every run's folder gets ``settings.json``, ``vectors.npz`` (``{selection}_image`` and ``{selection}_text``, float32
    ``[test documents, dimensions]``, rows ascending), ``history.csv``, ``category_margins.csv`` if its margin is
    scheduled, and last ``finished.json``. A run that is finished is not trained again if its settings, its inputs and
    the code are the same. Runs with the same division and inputs should stand side by side: they share what was
    read, and the distances between training documents. A first SIGTERM or SIGUSR1 ends the work after the run under
    way, of which no state is kept: it takes seconds.

    Args:
        runs: The runs in their order.
        documents: The parquet file of the documents.
        image: ``.npy``, ``[documents, dim]``.
        text: ``.npy`` likewise; None: texts are words.
        record: See ``train_tasks``.

    Raises:
        InputErrors: If runs failed, one sentence each; all the others have been trained by then.
        Stopped: If a signal asked to end.
    """
    last: tuple[Any, Any, tuple[Inputs, Inputs, Inputs]] | None = None

    def inputs(placed: PlacedRun) -> tuple[Sequence[str], tuple[Inputs, Inputs, Inputs]]:
        """Return names of categories; training, validation and test: the same objects for runs that read the same."""
        nonlocal last
        run = placed.run
        prepare = run.method.inputs or run.image, run.method.inputs or run.text
        key = placed.division, prepare, run.words
        if last is None or last[0] != key:
            read = read_documents(documents) if last is None else last[1]
            images = read_vectors(image, documents, "image")
            texts = None if text is None else read_vectors(text, documents, "text")
            division = read_division(placed.division, read)
            last = key, read, inputs_of(read, images, texts, division, *prepare, run.words)
        return last[1].category_names, last[2]

    def task(placed: PlacedRun) -> Task:
        run = placed.run

        def fit_and_project(label: str, stop: Stop, made_from: Mapping[str, str]) -> Callable[[], None]:
            names, (train, validation, test) = inputs(placed)
            for where, given in ((image, train.images), (text or documents, train.texts)):
                if len(given) > 1 and np.abs(given - given[:1]).max() <= 1e-6 * np.abs(given[0]).max():
                    what = f"its vectors of the {len(given):,} training documents are all the same"
                    raise InputError(what, where=where, cure="make them again")
            with one_thread(), Bar(label, rounds(run.method, run.training)) as bar:
                fitted = fit(
                    *(run.method, train, validation, run.seed, run.training, names),
                    progress=lambda note: bar.advance(note=note),
                )
                vectors = _vectors(fitted.projectors, test)
            return lambda: _write(placed, fitted, vectors)

        files = {"the documents": documents, "the image vectors": image, "the division": placed.division}
        files |= {} if text is None else {"the text vectors": text}

        def made_from() -> dict[str, str]:
            return fingerprint(run, files, code_of_method(run.method), torch.device("cpu"), LIBRARIES)

        return Task(run, placed.folder, outputs_of_run(run), made_from, fit_and_project)

    train_tasks(map(task, runs), record)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, NumPy too where possible: results depend on inputs alone, and jobs share the cores."""
    with reproducible(1, torch.device("cpu")):
        if importlib.util.find_spec("threadpoolctl") is None:  # it comes with scikit-learn
            yield
        else:
            from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

            with threadpool_limits(1):
                yield


def _vectors(projectors: Mapping[Selection, Projector], test: Inputs) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    for selection in SELECTIONS:
        if selection in projectors:
            for modality, array in zip(("image", "text"), projectors[selection](test.images, test.texts), strict=True):
                if not np.isfinite(array).all():
                    raise InputError(f"the {modality} vectors of test documents are not finite ({selection} epoch).")
                found[f"{selection}_{modality}"] = np.ascontiguousarray(array, dtype=np.float32)
    return found


def _write(placed: PlacedRun, fitted: Fit, vectors: Mapping[str, Vectors]) -> None:
    folder = placed.folder
    write_json(folder / STATED, placed.run.plain, sealed=False)  # no program reads it
    with replacing(folder / VECTORS) as temporary:
        np.savez(temporary, **vectors)  # type: ignore[arg-type]
    _write_rows(folder / HISTORY, fitted.history, HISTORY_COLUMNS)
    if MARGINS in outputs_of_run(placed.run):
        _write_rows(folder / MARGINS, fitted.category_margins, CATEGORY_MARGINS[:-1])
    else:
        remove(folder / MARGINS)  # of an earlier run in this folder


def _write_rows(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write a CSV whose first columns are always there; a value that a row lacks is empty."""
    further = dict.fromkeys(key for row in rows for key in row if key not in columns)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *further], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
