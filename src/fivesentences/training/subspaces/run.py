"""Runs of category retrieval, from files to files."""

from __future__ import annotations

import csv
import importlib.util
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch

from fivesentences.arrays import read_npy
from fivesentences.config.documents import SELECTIONS, Selection
from fivesentences.console import Bar
from fivesentences.corpus.divisions import read_division
from fivesentences.corpus.documents import Documents, read_documents
from fivesentences.errors import InputError
from fivesentences.features.document_inputs import Inputs, Vectors, inputs_of
from fivesentences.models.subspaces.projection import Projector
from fivesentences.models.subspaces.specs import TripletNetwork
from fivesentences.storage import replacing, write_json
from fivesentences.study.runs import PlacedRun, SubspaceRun
from fivesentences.training.fingerprint import SETTINGS, begin, code_of, content_of, finish, finished_outputs
from fivesentences.training.jobs import Hashes, Stop, Task, train_tasks
from fivesentences.training.loop import reproducible
from fivesentences.training.subspaces.fit import Fit, Row
from fivesentences.training.subspaces.fitting import fit, rounds

# Code that affects these runs.
CODE = (
    *("corpus", "features", "metrics", "models/subspaces", "retrieval", "training/subspaces"),
    *("losses/loss.py", "losses/scheduled_margin.py"),
)
LIBRARIES = ("fivesentences", "torch", "numpy", "scikit-learn", "cca-zoo")
STATED, VECTORS, HISTORY, MARGINS = "settings.json", "vectors.npz", "history.csv", "category_margins.csv"
# The first columns of a history; methods may add others.
HISTORY_COLUMNS = ("epoch", "learning_rate", "loss", "validation_loss", "validation_map", "alpha", "mean_margin")


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
    shared = _Shared(documents, image, text)

    def task(placed: PlacedRun) -> Task:
        run, folder, names = placed.run, placed.folder, outputs_of_run(placed.run)

        def made_from() -> dict[str, str]:
            return _fingerprint(placed, documents, image, text)

        def train(label: str, stop: Stop) -> Hashes:
            train, validation, test = shared.inputs(placed)
            with one_thread(), Bar(label, rounds(run.method, run.training)) as bar:
                fitted = fit(
                    *(run.method, train, validation, run.seed, run.training, shared.read[0].category_names),
                    progress=lambda note: bar.advance(note=note),
                )
                vectors = _vectors(fitted.projectors, test)
            begin(folder)
            _write(placed, fitted, vectors)
            return finish(folder, made_from(), names)

        return Task(run.name, folder, lambda: finished_outputs(folder, made_from(), names, SubspaceRun), train)

    train_tasks(map(task, runs), record)


def _fingerprint(placed: PlacedRun, documents: Path, image: Path, text: Path | None) -> dict[str, str]:
    """Collect settings, content of the input files, code and versions of a run; the keys are words for a sentence."""
    files = {"the documents": documents, "the image vectors": image, "the division": placed.division}
    if text is not None:
        files["the text vectors"] = text
    found = {what: content_of(path) for what, path in files.items()}
    found[SETTINGS] = placed.run.model_dump_json()
    found["the code of fivesentences"] = code_of(CODE)
    for library in LIBRARIES:
        try:
            found[f"the version of {library}"] = version(library)
        except PackageNotFoundError:  # an extra: what needs it says so
            found[f"the version of {library}"] = "not installed"
    found["the device"] = f"cpu {platform.machine()}"
    return found


class _Shared:
    """Documents, and the inputs of the last runs, which runs of the same division and settings share."""

    def __init__(self, documents: Path, image: Path, text: Path | None):
        self._files = documents, image, text
        self._read: tuple[Documents, Vectors, Vectors | None] | None = None
        self._last: tuple[object, tuple[Inputs, Inputs, Inputs]] | None = None

    @property
    def read(self) -> tuple[Documents, Vectors, Vectors | None]:
        """What the files hold; read when a run is not finished yet."""
        if self._read is None:
            documents, image, text = self._files
            self._read = read_documents(documents), read_npy(image), None if text is None else read_npy(text)
        return self._read

    def inputs(self, placed: PlacedRun) -> tuple[Inputs, Inputs, Inputs]:
        """Training, validation and test documents: the same objects for runs that read the same."""
        run = placed.run
        image, text = run.method.inputs or run.image, run.method.inputs or run.text
        key = placed.division, image, text, run.words
        if self._last is None or self._last[0] != key:
            documents, images, texts = self.read
            division = read_division(placed.division, documents)
            self._last = key, inputs_of(documents, images, texts, division, image, text, run.words)
        return self._last[1]


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
    write_json(folder / STATED, placed.run.plain)
    with replacing(folder / VECTORS) as temporary:
        np.savez(temporary, **vectors)  # type: ignore[arg-type]
    _write_rows(folder / HISTORY, fitted.history, HISTORY_COLUMNS)
    if MARGINS in outputs_of_run(placed.run):
        _write_rows(folder / MARGINS, fitted.category_margins, ("epoch", "anchor", "negative", "mean_margin", "pairs"))
    else:
        (folder / MARGINS).unlink(missing_ok=True)  # of an earlier run in this folder


def _write_rows(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write a CSV whose first columns are always there; a value that a row lacks is empty."""
    further = dict.fromkeys(key for row in rows for key in row if key not in columns)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *further], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
