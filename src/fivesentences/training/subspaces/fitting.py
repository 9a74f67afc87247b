"""Every method of category retrieval, fitted by its settings; each brings its libraries when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from fivesentences.training.subspaces.autograd_training import SubspaceModule


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
    if isinstance(spec, OtherNetwork):
        from fivesentences.training.subspaces.autograd_training import seeded, train_module

        training = spec.training(training)
        with seeded(seed, 0):
            networks = networks_of(spec, train, validation, training)
        return train_module(networks, train, validation, seed, training, spec.learning_rate, progress)
    from fivesentences.models.subspaces.closed_forms import fit_closed_form

    projector = fit_closed_form(spec, train, seed)
    progress("")
    return Fit({"last": projector})


def networks_of(
    spec: DeepCCA | CorrelationAutoencoder | Adversarial,
    train: Inputs,
    validation: Inputs,
    training: SubspaceTraining,
) -> SubspaceModule:
    """The networks of a method before their training, with torch's random numbers as they are.

    Args:
        spec: The method.
        train: Training documents.
        validation: Validation documents.
        training: Widths and dropout.
    """
    widths = train.images.shape[1], train.texts.shape[1]
    if isinstance(spec, DeepCCA):
        from fivesentences.training.subspaces.deep_cca import DeepCCANetworks

        return DeepCCANetworks(spec, *widths, training.hidden)
    if isinstance(spec, CorrelationAutoencoder):
        from fivesentences.training.subspaces.correlation_autoencoder import CorrelationAutoencoders

        return CorrelationAutoencoders(spec, *widths, training.hidden, training.output)
    from fivesentences.training.subspaces.adversarial import AdversarialNetworks

    n_categories = 1 + int(max([*train.categories, *validation.categories], default=0))
    return AdversarialNetworks(spec, *widths, n_categories, training)


def rounds(spec: AnyMethod, training: SubspaceTraining) -> int:
    """How often ``fit`` reports progress: after each epoch, or once."""
    if not spec.iterative:
        return 1
    if isinstance(spec, OtherNetwork):
        return spec.training(training).epochs
    margins = len(spec.margins or [None]) if isinstance(spec, TripletNetwork) else 1
    return training.epochs * margins
