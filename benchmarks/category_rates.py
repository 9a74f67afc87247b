"""Rates of category retrieval, for ``bench_rates.py``: methods on made-up documents of the sizes that a scale has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from fivesentences.config.rates import SubspaceRate
from fivesentences.console import Bar
from fivesentences.evaluation.categories import subspace_scores
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.specs import OtherNetwork
from fivesentences.plan.document_sizes import DocumentSizes
from fivesentences.plan.subspace_costs import subspace_setting
from fivesentences.plan.subspace_runs import SubspaceRun
from fivesentences.training.subspaces.fitting import fit
from fivesentences.training.subspaces.run import _one_thread

CATEGORIES = 10
# The most training documents that are measured: methods with epochs take as long for each batch; of the others some
# have terms that grow faster with documents while these are few.
WITH_EPOCHS, WITHOUT = 1000, 2000
EPOCHS = 8  # that are measured, after a first one
TESTED = 1000
MILLION = 1e6


def made_up(documents: int, image: int, text: int) -> tuple[Inputs, Inputs]:
    """Documents whose vectors tell something of their category; an eighth as many for validation."""
    rng = np.random.default_rng(0)
    parts = []
    for count in (documents, max(2, documents // 8)):
        categories = rng.permutation(np.arange(count) % CATEGORIES).astype(np.int64)
        vectors = [
            (0.3 * np.random.default_rng(width).normal(size=(CATEGORIES, width))[categories] + noise).astype(np.float32)
            for width in (image, text)
            for noise in [rng.normal(size=(count, width))]
        ]
        parts.append(Inputs(vectors[0], vectors[1], categories))
    return parts[0], parts[1]


def timed(work: Callable[[], object]) -> float:
    """Seconds of this process, without child processes: finer than what counts these too."""
    start = time.process_time()
    work()
    return time.process_time() - start


def subspace_rates(found: Iterable[tuple[SubspaceRun, DocumentSizes]]) -> dict[str, SubspaceRate]:
    """A rate of every setting of some runs, each measured once."""
    settings: dict[str, tuple[SubspaceRun, DocumentSizes]] = {}
    for run, sizes in found:
        settings.setdefault(subspace_setting(run, sizes.image, sizes.text), (run, sizes))
    seen: set[str] = set()
    rates = {}
    with _one_thread(), Bar("methods", len(settings)) as bar:
        for setting, (run, sizes) in settings.items():
            if run.method.method not in seen:  # what it imports is not measured
                seconds_of_fit(run, 100, 20, 20, 1)
                seen.add(run.method.method)
            rates[setting] = subspace_rate(run, sizes)
            bar.advance(1, setting)
    return rates


def subspace_rate(run: SubspaceRun, sizes: DocumentSizes) -> SubspaceRate:
    """A run of one epoch and one of more; of a method without epochs one run."""
    documents = min(sizes.train, WITH_EPOCHS if run.method.iterative else WITHOUT)
    measure = partial(seconds_of_fit, run, documents, sizes.image, sizes.text)
    thousands = documents / 1000
    if not run.method.iterative:
        return SubspaceRate(documents=documents, start=digits(measure(1) / thousands), epoch=0.0)
    short = measure(1)
    epoch = max(0.0, (measure(1 + EPOCHS) - short) / EPOCHS)
    start = max(0.0, short - epoch)
    return SubspaceRate(documents=documents, start=digits(start / thousands), epoch=digits(epoch / thousands))


def seconds_of_fit(run: SubspaceRun, documents: int, image: int, text: int, epochs: int) -> float:
    """Seconds of fitting a run's method for some epochs, with one margin of those that it tries."""
    train, validation = made_up(documents, image, text)
    method, training = run.method, run.training.model_copy(update={"epochs": epochs})
    if isinstance(method, OtherNetwork):
        method = method.model_copy(update={"epochs": epochs})
    elif getattr(method, "margins", None):
        method = method.model_copy(update={"margins": method.margins[:1]})
    names = [str(number) for number in range(CATEGORIES)]
    return timed(lambda: fit(method, train, validation, run.seed, training, names))


def evaluation_rate(width: int) -> float:
    """Seconds per million pairs of test documents, of one selection."""
    test, _ = made_up(TESTED, width, width)
    work = partial(subspace_scores, test.images, test.texts, test.categories)
    work()
    return digits(timed(work) / TESTED**2 * MILLION)


def digits(seconds: float) -> float:
    """Three digits: more would pretend that a second run gives the same."""
    return float(f"{seconds:.3g}")
