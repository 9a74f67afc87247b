"""Several runs of category retrieval one after the other in one process, each with the same bits as alone."""

from __future__ import annotations

import csv
import importlib.util
import platform
import sys
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
from fivesentences.errors import InputError, InputErrors
from fivesentences.features.document_inputs import Inputs, Vectors, inputs_of
from fivesentences.models.subspaces.projection import Projector
from fivesentences.models.subspaces.specs import TripletNetwork
from fivesentences.storage import replacing, write_json
from fivesentences.study.runs import PlacedRun, SubspaceRun
from fivesentences.training.fingerprint import code_of, content_of
from fivesentences.training.finished import begin, finish, finished_outputs
from fivesentences.training.loop import reproducible
from fivesentences.training.stopping import stop_on_signals
from fivesentences.training.subspaces.fit import Fit, Row
from fivesentences.training.subspaces.fitting import fit, rounds

# Folders of the package whose code affects these runs, and of losses the one that they have.
ROOMS = ("corpus", "features", "metrics", "models/subspaces", "retrieval", "training/subspaces")
LOSS = tuple(f"fivesentences.losses.{name}" for name in ("scheduled_margin", "scheduled_margin_spec"))
LIBRARIES = ("fivesentences", "torch", "numpy", "scikit-learn", "cca-zoo")
SETTINGS, VECTORS, HISTORY, MARGINS = "settings.json", "vectors.npz", "history.csv", "category_margins.csv"
# The first columns of a history; methods may add others.
HISTORY_COLUMNS = ("epoch", "learning_rate", "loss", "validation_loss", "validation_map", "alpha", "mean_margin")


def outputs_of_run(run: SubspaceRun) -> tuple[str, ...]:
    """Names of the files that a run writes into its folder before ``finished.json``."""
    method = run.method
    scheduled = isinstance(method, TripletNetwork) and method.loss.toward != "nothing"
    return (SETTINGS, VECTORS, HISTORY, *([MARGINS] if scheduled else []))


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
        runs: In their order.
        documents: The parquet file of the documents.
        image: ``.npy``, ``[documents, dim]``.
        text: ``.npy`` likewise; None: texts are words.
        record: A JSON file that is written when all runs are finished: ``{"runs": {run: {output: sha256}}}``.

    Raises:
        InputError: If the documents or their vectors cannot be read.
        InputErrors: If runs failed, one sentence each; all the others have been trained by then.
        Stopped: If a signal asked to end.
    """
    shared = _Shared(documents, image, text)
    outputs: dict[str, dict[str, str]] = {}
    failed: list[InputError] = []
    with stop_on_signals() as stop:
        for number, placed in enumerate(runs, start=1):
            stop.check(f"{number - 1} of {len(runs)} runs are finished")
            label = f"run {number} of {len(runs)}"
            try:
                made_from = _fingerprint(placed, documents, image, text)
                finished = finished_outputs(placed.folder, made_from, outputs_of_run(placed.run))
                if finished is None:
                    print(f"{label}: {placed.run.name}", file=sys.stderr, flush=True)
                    finished = _train(placed, shared, made_from, label)
                else:
                    print(f"{label} was finished before: {placed.run.name}", file=sys.stderr, flush=True)
                outputs[placed.run.name] = finished
            except InputError as error:
                print(f"{label} failed: {error}", file=sys.stderr, flush=True)
                failed.append(error)
    if failed:
        raise InputErrors(failed)
    if record is not None:
        write_json(record, {"runs": dict(sorted(outputs.items()))})


def _fingerprint(placed: PlacedRun, documents: Path, image: Path, text: Path | None) -> dict[str, str]:
    """Settings, content of the input files, code and versions of a run; the keys are words for a sentence."""
    files = {"the documents": documents, "the image vectors": image, "the division": placed.division}
    if text is not None:
        files["the text vectors"] = text
    found = {what: content_of(path) for what, path in files.items()}
    found["the run's settings"] = placed.run.model_dump_json()
    found["the code of fivesentences"] = code_of(ROOMS, LOSS)
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


def _train(placed: PlacedRun, shared: _Shared, made_from: dict[str, str], label: str) -> dict[str, str]:
    run = placed.run
    train, validation, test = shared.inputs(placed)
    with _one_thread(), Bar(label, rounds(run.method, run.training)) as bar:
        fitted = fit(
            *(run.method, train, validation, run.seed, run.training, shared.read[0].category_names),
            progress=lambda note: bar.advance(note=note),
        )
        vectors = _vectors(fitted.projectors, test)
    begin(placed.folder)
    _write(placed, fitted, vectors)
    return finish(placed.folder, made_from, outputs_of_run(run))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Results depend on inputs alone; jobs share the cores. NumPy's libraries are limited where that is possible."""
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
    write_json(folder / SETTINGS, placed.run.plain)
    with replacing(folder / VECTORS) as temporary:
        np.savez(temporary, **vectors)  # type: ignore[arg-type]
    _write_rows(folder / HISTORY, fitted.history, HISTORY_COLUMNS)
    if MARGINS in outputs_of_run(placed.run):
        _write_rows(folder / MARGINS, fitted.category_margins, ("epoch", "anchor", "negative", "mean_margin", "pairs"))
    else:
        (folder / MARGINS).unlink(missing_ok=True)  # of an earlier run in this folder


def _write_rows(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """A CSV whose first columns are always there; a value that a row lacks is empty."""
    further = dict.fromkeys(key for row in rows for key in row if key not in columns)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *further], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
