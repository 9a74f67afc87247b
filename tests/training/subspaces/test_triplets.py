"""Training with triplets: against autograd and torch's optimiser, by seed, and what each setting does."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses.scheduled_margin import (
    centroid_term,
    centroids,
    different_category,
    distances,
    feature_limits,
    feature_term,
    unit,
)
from fivesentences.losses.scheduled_margin_spec import activation
from fivesentences.reproduction.categories.config import SubspaceTraining
from fivesentences.reproduction.categories.models.specs import TripletNetwork
from fivesentences.reproduction.categories.training.fit import EpochKeeper, Fit
from fivesentences.reproduction.categories.training.triplets import (
    Branch,
    dropout_mask,
    fit_triplets,
    initial_weights,
    layers_of,
    random_stream,
    shapes_of,
)

NAMES = ("animals", "music", "war")


def method(margins=None, rate=None, **loss) -> TripletNetwork:
    content = {"method": "triplets", "loss": loss, "margins": margins, "learning_rate": rate}
    return TripletNetwork.model_validate({key: value for key, value in content.items() if value is not None})


@pytest.fixture
def trained(make_inputs, tiny):
    train, validation = make_inputs(70, seed=1), make_inputs(30, seed=2)

    def run(spec: TripletNetwork, seed: int = 0, **changes) -> Fit:
        return fit_triplets(spec, train, validation, seed, tiny.model_copy(update=changes), NAMES)

    run.train, run.validation = train, validation
    return run


def vectors(fit: Fit, trained, selection="last") -> np.ndarray:
    return np.concatenate(fit.projectors[selection](trained.validation.images, trained.validation.texts))


def by_autograd(trained, training: SubspaceTraining, seed: int, share: float, start: float, k: float) -> np.ndarray:
    """The printed algorithm without dropout, in autograd and torch's SGD: all negatives, corpus maximum."""
    train = trained.train
    inputs = torch.from_numpy(train.images), torch.from_numpy(train.texts)
    categories = torch.from_numpy(train.categories)
    shapes = [shape for one in inputs for shape in shapes_of(one.shape[1], training.hidden, training.output)]
    weights = initial_weights(shapes, random_stream(seed, "weights")).requires_grad_()
    order = random_stream(seed, "order")
    sgd = torch.optim.SGD([weights], lr=training.learning_rate, momentum=training.momentum, nesterov=True)

    def outputs(side: int, rows) -> torch.Tensor:
        first, first_bias, second, second_bias = layers_of(weights, shapes)[4 * side : 4 * side + 4]
        return torch.tanh(torch.tanh(inputs[side][rows] @ first + first_bias) @ second + second_bias)

    image, text = distances(inputs[0]), distances(inputs[1])
    features = feature_term(image, text, feature_limits(image, text, "max", different_category(categories)))
    step = 0
    for epoch in range(training.epochs):
        alpha = activation(epoch, start, k, training.epochs)
        whole = [centroids(outputs(side, slice(None)).detach(), categories, 3) for side in (0, 1)]
        clusters = centroid_term(*whole)
        shuffled = torch.from_numpy(order.permutation(len(categories)))
        for rows in shuffled.split(training.batch_size):
            v, t = unit(outputs(0, rows)), unit(outputs(1, rows))
            loss = torch.zeros(())
            for a, anchor in enumerate(rows.tolist()):
                for n, negative in enumerate(rows.tolist()):
                    if categories[anchor] == categories[negative]:
                        continue
                    adaptive = share * features[anchor, negative]
                    adaptive = adaptive + (1 - share) * clusters[categories[anchor], categories[negative]]
                    margin = alpha * adaptive + (1 - alpha) * 1.0
                    loss = loss + torch.relu(margin - v[a] @ t[a] + v[a] @ t[n])
                    loss = loss + torch.relu(margin - t[a] @ v[a] + t[a] @ v[n])
            sgd.param_groups[0]["lr"] = training.learning_rate / (1 + training.decay * step)
            sgd.zero_grad()
            (loss / len(rows)).backward()
            sgd.step()
            step += 1
    validation = torch.from_numpy(trained.validation.images), torch.from_numpy(trained.validation.texts)
    inputs = validation
    return torch.cat([unit(outputs(side, slice(None))) for side in (0, 1)]).detach().numpy()


def test_training_is_the_printed_algorithm(trained, tiny):
    changes = {"dropout": 0.0, "epochs": 3, "decay": 0.01}
    ours = trained(method(feature_share=0.3, start=0.4, steepness=1.0), **changes)
    theirs = by_autograd(trained, tiny.model_copy(update=changes), 0, 0.3, 0.4, 1.0)
    np.testing.assert_allclose(vectors(ours, trained), theirs, rtol=0, atol=2e-4)
    # The same weights and batches with another margin end elsewhere: the comparison can fail.
    assert np.abs(vectors(trained(method(toward="nothing"), **changes), trained) - theirs).max() > 2e-3


def test_a_seed_gives_the_same_bits_and_another_seed_others(trained):
    spec = method(shuffled=True, negatives="one")
    first, again, other = trained(spec), trained(spec), trained(spec, seed=1)
    assert first.history == again.history and first.category_margins == again.category_margins
    for selection in first.projectors:
        np.testing.assert_array_equal(vectors(first, trained, selection), vectors(again, trained, selection))
    assert not np.array_equal(vectors(first, trained), vectors(other, trained))


def test_the_history_says_what_the_margins_were(trained):
    fit = trained(method(start=0.5, steepness=2.0, feature_share=0.4))
    assert [row["epoch"] for row in fit.history] == [1, 2, 3, 4, 5]
    assert [row["alpha"] for row in fit.history] == [activation(t, 0.5, 2.0, 5) for t in range(5)]
    margins = [row["mean_margin"] for row in fit.history]
    assert margins[0] > 0.99 > margins[2] > margins[4] > 0
    assert [row["epoch"] for row in fit.category_margins[::6]] == [2, 4, 5]
    for epoch in (2, 4, 5):
        rows = [row for row in fit.category_margins if row["epoch"] == epoch]
        total = sum(row["mean_margin"] * row["pairs"] for row in rows) / sum(row["pairs"] for row in rows)
        assert total == pytest.approx(fit.history[epoch - 1]["mean_margin"], abs=1e-12)
        assert {(row["anchor"], row["negative"]) for row in rows} == {(a, n) for a in NAMES for n in NAMES if a != n}
    counts = np.bincount(trained.train.categories)
    assert fit.category_margins[0]["pairs"] == counts[0] * counts[1]


def test_the_validation_loss_is_the_mean_hinge_with_the_current_margin(trained):
    fit = trained(method(start=0.0, steepness=1.0, feature_share=0.3))
    last = fit.history[-1]
    v, t = (
        torch.from_numpy(one) for one in fit.projectors["last"](trained.validation.images, trained.validation.texts)
    )
    documents = fit.projectors["last"](trained.train.images, trained.train.texts)
    clusters = centroid_term(
        *(centroids(torch.from_numpy(one), torch.from_numpy(trained.train.categories), 3) for one in documents)
    )
    limits = (
        distances(torch.from_numpy(trained.train.images)) + distances(torch.from_numpy(trained.train.texts))
    ).max()
    own = distances(torch.from_numpy(trained.validation.images)) + distances(torch.from_numpy(trained.validation.texts))
    labels, found = trained.validation.categories, []
    for a in range(len(labels)):
        for n in range(len(labels)):
            if labels[a] != labels[n]:
                adaptive = 0.3 * min(1.0, float(own[a, n] / limits)) + 0.7 * float(clusters[labels[a], labels[n]])
                margin = last["alpha"] * adaptive + 1 - last["alpha"]
                found.append(max(0.0, margin - float(v[a] @ t[a]) + float(v[a] @ t[n])))
                found.append(max(0.0, margin - float(t[a] @ v[a]) + float(t[a] @ v[n])))
    assert last["validation_loss"] == pytest.approx(np.mean(found), abs=1e-5)


def test_of_several_margins_validation_chooses_one_for_each_selection(trained):
    margins = [0.05, 0.5, 1.0]
    several = trained(method(margins=margins, toward="nothing"))
    alone = {margin: trained(method(margin=margin, toward="nothing")) for margin in margins}
    assert len(several.history) == 15
    for selection in ("map", "loss", "last"):
        (row,) = [row for row in several.history if selection in row["selected"].split()]
        chosen = alone[row["margin"]]
        np.testing.assert_array_equal(vectors(several, trained, selection), vectors(chosen, trained, selection))
        reached = []
        for one in alone.values():
            (kept,) = [row for row in one.history if selection in row["selected"].split()]
            reached.append(kept["validation_map"])
        assert row["validation_map"] == max(reached)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_gradients_of_the_network_are_those_of_autograd(dropout):
    shapes = shapes_of(7, 11, 4)
    weights = initial_weights(shapes, np.random.default_rng(0))
    weights += 0.1 * torch.randn(len(weights), generator=torch.Generator().manual_seed(0))
    gradients = torch.zeros_like(weights)
    branch = Branch(weights, gradients, shapes)
    for rows in (9, 3):
        inputs, slope, plain = torch.randn(rows, 7), torch.randn(rows, 4), weights.clone().requires_grad_()
        mask = dropout_mask((rows, 11), dropout, np.random.default_rng(5)) if dropout else 1.0
        first, first_bias, second, second_bias = layers_of(plain, shapes)
        outputs = torch.tanh((torch.tanh(inputs @ first + first_bias) * mask) @ second + second_bias)
        expected = torch.nn.functional.normalize(outputs)
        (wanted,) = torch.autograd.grad(expected, plain, slope)
        torch.testing.assert_close(branch.forward(inputs, dropout, np.random.default_rng(5)), expected.detach())
        branch.backward(slope)
        torch.testing.assert_close(gradients, wanted, rtol=1e-4, atol=1e-5)


def test_weights_are_glorots_and_dropout_leaves_out_its_share():
    shapes = shapes_of(200, 300, 100)
    first, first_bias, second, second_bias = layers_of(initial_weights(shapes, np.random.default_rng(0)), shapes)
    for weights in (first, second):
        assert weights.std().item() == pytest.approx(math.sqrt(2 / sum(weights.shape)), rel=0.02)
    assert not first_bias.any() and not second_bias.any()
    mask = dropout_mask((1000, 1000), 0.1, np.random.default_rng(0))
    assert (mask == 0).float().mean().item() == pytest.approx(0.1, abs=0.001)
    assert mask[mask > 0].unique().numel() == 1 and mask.mean().item() == pytest.approx(1.0, abs=0.001)


def test_the_best_epochs_and_the_last_are_kept_and_the_first_of_equal_ones():
    keeper = EpochKeeper(SubspaceTraining(validate_every=1), lambda: "state")
    for epoch, (quality, loss) in enumerate([(0.2, 3.0), (0.4, 2.0), (0.4, 1.0), (0.3, 1.0)], start=1):
        assert keeper.end({"epoch": epoch, "loss": 9.0}, lambda: (loss, quality))  # noqa: B023 (called at once)
    assert {name: (kept.epoch, kept.map) for name, kept in keeper.kept.items()} == {
        **{"map": (2, 0.4), "loss": (3, 0.4), "last": (4, 0.3)}
    }
    with pytest.raises(InputError, match=r"mAP.*7"):
        keeper.end({"epoch": 7, "loss": 9.0}, lambda: (1.0, float("nan")))
