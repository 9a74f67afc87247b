"""Every method of category retrieval, fitted by its settings; each brings its libraries when it is first used."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.documents import SubspaceTraining
from fivesentences.features.document_inputs import Inputs
from fivesentences.models.subspaces.specs import (
    Adversarial,
    AnyMethod,
    CorrelationAutoencoder,
    DeepCCA,
    OtherNetwork,
    TripletNetwork,
)
from fivesentences.training.subspaces.fit import Fit, Progress, silent


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
        seed: Of everything that is random.
        training: How networks are trained.
        category_names: Names of the categories 0 to C - 1.
        progress: Called as often as ``rounds`` says.

    Raises:
        InputError: If training diverges, or the documents do not fit the method.
    """
    if isinstance(spec, TripletNetwork):
        from fivesentences.training.subspaces.triplets import fit_triplets

        return fit_triplets(spec, train, validation, seed, training, category_names, progress)
    if isinstance(spec, DeepCCA):
        from fivesentences.training.subspaces.deep_cca import fit_deep_cca

        return fit_deep_cca(spec, train, validation, seed, training, progress)
    if isinstance(spec, CorrelationAutoencoder):
        from fivesentences.training.subspaces.correlation_autoencoder import fit_correlation_autoencoder

        return fit_correlation_autoencoder(spec, train, validation, seed, training, progress)
    if isinstance(spec, Adversarial):
        from fivesentences.training.subspaces.adversarial import fit_adversarial

        return fit_adversarial(spec, train, validation, seed, training, progress)
    from fivesentences.models.subspaces.closed_forms import fit_closed_form

    projector = fit_closed_form(spec, train, seed)
    progress("")
    return Fit({"last": projector})


def rounds(spec: AnyMethod, training: SubspaceTraining) -> int:
    """How often ``fit`` reports progress: after each epoch, or once."""
    if not spec.iterative:
        return 1
    if isinstance(spec, OtherNetwork):
        return spec.training(training).epochs
    margins = len(spec.margins or [None]) if isinstance(spec, TripletNetwork) else 1
    return training.epochs * margins
