"""Every method of category retrieval, fitted by its settings."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.documents import SubspaceTraining
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.closed_forms import fit_closed_form
from fivesentences.models.subspaces.specs import AnyMethod, OtherNetwork, TripletNetwork
from fivesentences.training.subspaces.autograd_training import seeded, train_module
from fivesentences.training.subspaces.baselines import networks_of
from fivesentences.training.subspaces.fit import Fit, Progress, silent
from fivesentences.training.subspaces.triplets import fit_triplets


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
    return Fit({"last": projector})


def rounds(spec: AnyMethod, training: SubspaceTraining) -> int:
    """Return how often ``fit`` reports progress: after each epoch, or once."""
    if not spec.iterative:
        return 1
    if isinstance(spec, OtherNetwork):
        return spec.training(training).epochs
    margins = len(spec.margins or [None]) if isinstance(spec, TripletNetwork) else 1
    return training.epochs * margins
