from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from cca_zoo.deep.objectives import CCALoss
from scipy.linalg import subspace_angles

from fivesentences.reproduction.categories.config import SubspaceTraining
from fivesentences.reproduction.categories.inputs import Inputs
from fivesentences.reproduction.categories.models.specs import Adversarial, CorrelationAutoencoder, DeepCCA
from fivesentences.reproduction.categories.training.fit import Fit
from fivesentences.reproduction.categories.training.networks import (
    AdversarialNetworks,
    CorrelationAutoencoders,
    DeepCCANetworks,
    DocumentBatch,
    canonical_correlations,
    cosine_map,
    mean_triplet,
    reversed_gradient,
)
from fivesentences.reproduction.categories.training.run import fit
from fivesentences.training.loop import reproducible

TRAINING = SubspaceTraining(epochs=12, batch_size=60, hidden=24, output=6, validate_every=5)
NAMES = ["one", "two", "three", "four"]
DCCA = DeepCCA(method="dcca", dimensions=4, learning_rate=0.01)
METHODS: dict[str, DeepCCA | CorrelationAutoencoder | Adversarial] = {
    "DCCA": DCCA,
    "DCCAE": DCCA.model_copy(update={"reconstruct": 0.1}),
    "Corr-AE": CorrelationAutoencoder(method="corr_ae", learning_rate=0.01),
    "ACMR-like": Adversarial(method="acmr", learning_rate=0.01),
}


@pytest.fixture(autouse=True)
def same_arithmetic() -> Iterator[None]:
    with reproducible(1, torch.device("cpu")):
        yield


def planted(seed: int, documents: int) -> Inputs:
    """Both modalities are curved functions of a document's topic; its category is near its topic."""
    worlds, draw = np.random.default_rng(3), np.random.default_rng(seed)
    centres = 1.5 * worlds.standard_normal((4, 3))
    to_image, to_text = worlds.standard_normal((3, 10)), worlds.standard_normal((3, 7))
    of = draw.integers(4, size=documents)
    topic = centres[of] + 0.3 * draw.standard_normal((documents, 3))
    images = np.tanh(topic @ to_image) + 0.2 * draw.standard_normal((documents, 10))
    texts = np.tanh(topic @ to_text) + 0.2 * draw.standard_normal((documents, 7))
    return Inputs(images.astype(np.float32), texts.astype(np.float32), of)


TRAIN, VALIDATION, TEST = planted(0, 240), planted(1, 80), planted(2, 120)


def fitted(name: str, seed: int = 0, training: SubspaceTraining = TRAINING, train: Inputs = TRAIN) -> Fit:
    return fit(METHODS[name], train, VALIDATION, seed, training, NAMES)


def numpy_correlations(images: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Cosines of the angles between the spaces that centred columns span."""
    return np.sort(np.cos(subspace_angles(images - images.mean(axis=0), texts - texts.mean(axis=0))))[::-1]


def test_correlations_of_a_batch_are_those_of_numpy_and_cca_zoo() -> None:
    draw = np.random.default_rng(0)
    shared = draw.standard_normal((50, 2))
    images = np.hstack([shared, draw.standard_normal((50, 2))]) @ draw.standard_normal((4, 4))
    texts = np.hstack([shared + 0.3 * draw.standard_normal((50, 2)), draw.standard_normal((50, 2))])
    pair = torch.from_numpy(images), torch.from_numpy(texts)
    ours = canonical_correlations(*pair, ridge=1e-9)
    np.testing.assert_allclose(ours.numpy(), numpy_correlations(images, texts), atol=1e-6)
    for ridge in (1e-6, 0.1):
        squares = canonical_correlations(*pair, ridge=ridge).square().sum()
        assert squares.item() == pytest.approx(-CCALoss(reg_covar=ridge)([*pair]).item(), rel=1e-9)


def test_gradients_of_correlations_are_right_and_finite_where_outputs_are_equal() -> None:
    draw = torch.Generator().manual_seed(0)
    images, texts = (torch.randn(20, 3, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda a, b: canonical_correlations(a, b, 0.1).sum(), (images, texts))
    flat = torch.ones(20, 3, dtype=torch.float64, requires_grad=True)
    canonical_correlations(flat, flat, 0.1).sum().backward()
    assert flat.grad is not None and flat.grad.isfinite().all()


def test_deep_cca_minimises_minus_the_sum_of_correlations_and_reconstruction_errors() -> None:
    spec = DCCA.model_copy(update={"ridge": 1e-9, "reconstruct": 0.7})
    module, batch = DeepCCANetworks(spec, (10, 7), 24), DocumentBatch.of(TRAIN)
    outputs = module.project(batch.images, batch.texts)
    again = module.to_image(outputs[0]).detach().numpy(), module.to_text(outputs[1]).detach().numpy()
    errors = np.mean((again[0] - TRAIN.images) ** 2) + np.mean((again[1] - TRAIN.texts) ** 2)
    correlations = numpy_correlations(*(one.detach().double().numpy() for one in outputs)).sum()
    assert module.loss(batch, 0.0).item() == pytest.approx(0.7 * errors - correlations, abs=1e-4)


def test_deep_cca_directions_are_canonical() -> None:
    """Vectors of the training documents are uncorrelated in a modality, and correlate as the outputs do."""
    images, texts = fitted("DCCA").projectors["last"](TRAIN.images, TRAIN.texts)
    np.testing.assert_allclose(np.cov(images.T), np.eye(4), atol=1e-5)
    across = np.corrcoef(images.T, texts.T)[:4, 4:]
    np.testing.assert_allclose(across, np.diag(numpy_correlations(images, texts)), atol=1e-5)


def test_correlation_autoencoders_by_hand() -> None:
    spec = CorrelationAutoencoder(method="corr_ae", share=0.3)
    module, batch = CorrelationAutoencoders(spec, (10, 7), 24, 6), DocumentBatch.of(TRAIN)
    codes = module.project(batch.images, batch.texts)
    numbers = [one.detach().numpy() for one in (*codes, module.to_image(codes[0]), module.to_text(codes[1]))]
    errors = ((numbers[2] - TRAIN.images) ** 2).sum() + ((numbers[3] - TRAIN.texts) ** 2).sum()
    agreement = ((numbers[0] - numbers[1]) ** 2).sum()
    assert module.loss(batch, 0.0).item() == pytest.approx((0.7 * errors + 0.3 * agreement) / len(TRAIN), rel=1e-5)


def test_triplets_of_a_batch_by_three_loops() -> None:
    draw = np.random.default_rng(0)
    images, texts = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in draw.standard_normal((2, 9, 4)))
    categories, hinges = np.array([0, 1, 2, 0, 1, 1, 2, 0, 0]), []
    for anchors, others in ((images, texts), (texts, images)):
        for a in range(9):
            for n in range(9):
                if categories[a] != categories[n]:
                    hinges.append(max(0.0, 0.4 - anchors[a] @ others[a] + anchors[a] @ others[n]))
    ours = mean_triplet(*map(torch.from_numpy, (images, texts, categories)), 0.4)
    assert ours.item() == pytest.approx(np.mean(hinges))
    assert mean_triplet(*map(torch.from_numpy, (images, texts, 0 * categories)), 0.4).item() == 0


def test_a_reversed_gradient_changes_its_sign_alone() -> None:
    inputs = torch.tensor([1.0, -2.0], requires_grad=True)
    same = reversed_gradient(inputs, 0.25)
    assert same.tolist() == inputs.tolist()
    (3 * same).sum().backward()
    assert inputs.grad is not None and inputs.grad.tolist() == [-0.75, -0.75]


def test_adversary_and_networks_want_opposite_things() -> None:
    """A step along the networks' gradient makes modalities harder to tell apart; along the adversary's, easier."""
    torch.manual_seed(0)
    module, batch = (
        AdversarialNetworks(Adversarial(method="acmr"), (10, 7), 4, TRAINING).eval(),
        DocumentBatch.of(TRAIN),
    )

    def cross_entropy() -> torch.Tensor:
        return module.of_modality(module.project(batch.images, batch.texts), 1.0)

    for part, sign in (("modality", -1), ("image", 1)):
        module.zero_grad()
        before = cross_entropy()
        before.backward()
        with torch.no_grad():
            for parameter in getattr(module, part).parameters():
                parameter -= 0.05 * parameter.grad
        assert sign * (cross_entropy() - before).item() > 0


@pytest.mark.parametrize("name", METHODS)
def test_training_lowers_the_loss_and_finds_the_topics(name: str) -> None:
    fit = fitted(name)
    losses = [row["loss"] for row in fit.history]
    assert losses[-1] < losses[0] and np.mean(losses[-3:]) < np.mean(losses[:3])
    chance = ((np.bincount(TEST.categories) / len(TEST)) ** 2).sum()
    for projector in fit.projectors.values():
        assert cosine_map(projector, TEST) > chance + 0.3


@pytest.mark.parametrize("name", METHODS)
def test_a_seed_gives_the_same_bits_whatever_was_drawn_before(name: str) -> None:
    short = TRAINING.model_copy(update={"epochs": 2})
    state = torch.random.get_rng_state()
    first = fitted(name, training=short)
    assert (torch.random.get_rng_state() == state).all()
    torch.rand(7)
    again, other = fitted(name, training=short), fitted(name, seed=1, training=short)
    assert first.history == again.history and first.history != other.history
    vectors = [fit.projectors["last"](TEST.images, TEST.texts) for fit in (first, again)]
    for one, two in zip(*vectors, strict=True):
        assert (one == two).all()
