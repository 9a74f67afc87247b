"""What the loop decides while it trains."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from fivesentences.losses import LossSpec
from fivesentences.models import MODELS
from fivesentences.training import loop
from fivesentences.training.batches import training_order
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.data import RunData
from fivesentences.training.loop import Training

CPU = torch.device("cpu")


@pytest.fixture
def training_of(inputs_of, model_spec_of):
    def training(name: str, **changes) -> Training:
        spec = model_spec_of(name, **changes)
        return Training(spec, RunData.read(spec, *inputs_of(name)), CPU)

    return training


def train_batches(training: Training, count: int) -> list[bool]:
    """Train some batches of an epoch; after each, whether few pairs are expected to get a gradient."""
    batches = training.loader.batches(iter([range_of(training, number) for number in range(count)]))
    seen = []
    for batch in batches:
        training._train_batch(batch)
        seen.append(training.model.few_gradients)
    return seen


def range_of(training, number):
    size, train = training.settings.batch_size, training.data.train
    order = training_order(len(train.captions), 0, 0)
    return order[number * size : (number + 1) * size]


@pytest.mark.parametrize(
    ("loss", "few"),
    [
        (LossSpec(triplet="hardest"), True),
        (LossSpec(triplet="hardest", sam={"negatives": "random"}), True),
        (LossSpec(triplet="all"), False),
        (LossSpec(triplet="hardest", soft_rank={"temperature": 0.1}), False),
    ],
    ids=lambda value: value.folder if isinstance(value, LossSpec) else None,
)
def test_sgr_visits_single_pairs_where_the_loss_gives_few_a_gradient(training_of, loss, few):
    training = training_of("sgr", loss=loss)
    assert training.model.few_gradients is True
    assert train_batches(training, 2) == [few, few]
    again = training_of("sgr", loss=loss)
    again.restore(training.state())
    assert again.model.few_gradients is few


@pytest.mark.parametrize("name", MODELS)
def test_a_last_batch_of_one_pair_is_trained_on(name, training_of):
    training = training_of(name, loss=LossSpec(triplet="all"), batch_size=71)  # 72 captions
    train_batches(training, 2)
    assert all(parameter.isfinite().all() for parameter in training.model.parameters())


def test_a_temperature_that_the_loss_learns_is_trained_and_shows_in_the_history(training_of, tmp_path):
    training = training_of("vsepp", loss=LossSpec(triplet=None, info_nce={"learn_temperature": True}), epochs=2)
    training.train(ResumeFolder(tmp_path, {}), seconds_between_saves=1e9)
    temperatures = [row["temperature"] for row in training.history]
    assert len({0.07, *temperatures}) == 3
    # Adam moves its logarithm by at most about the learning rate in each batch, as it moves any weight.
    assert abs(math.log(temperatures[-1] / 0.07)) < 1.1 * 0.01 * 2 * training.batches
    state = training.state()
    again = training_of("vsepp", loss=training.spec.loss, epochs=2)
    again.restore(state)
    assert again.objective.learned() == training.objective.learned()
    assert "temperature" not in training_of("vsepp", loss=LossSpec()).objective.learned()


@pytest.mark.parametrize(("interval", "within_epochs"), [(0.0, 48), (1.0, 1), (1e9, 0)])
def test_to_save_the_state_takes_a_small_share_of_the_time(training_of, tmp_path, monkeypatch, interval, within_epochs):
    now, saves = [0.0], []

    class Slow(ResumeFolder):
        def save(self, state):
            saves.append(training.step)
            now[0] += 10.0  # so that 500 seconds pass before the next one

    def clock():
        now[0] += 1.0
        return now[0]

    training = training_of("vsepp", epochs=2, batch_size=3)
    assert training.batches == 24
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=clock))
    training.train(Slow(tmp_path, {}), seconds_between_saves=interval)
    assert len(saves) == within_epochs + 2


def rates(training: Training) -> list[float]:
    found = []
    for epoch in range(training.settings.epochs):
        training.epoch = epoch
        found.append(training.learning_rate())
    return found


def test_the_rate_falls_once_or_after_every_so_many_epochs(training_of):
    once = training_of("vsepp", epochs=6, learning_rate=0.5)
    assert rates(once) == pytest.approx([0.5] * 3 + [0.05] * 3)
    often = training_of("vsepp", epochs=6, learning_rate=0.5, drop_every=2)
    assert rates(often) == pytest.approx([0.5, 0.5, 0.05, 0.05, 0.005, 0.005])


def stepped_by_torch(training: Training, groups, listed) -> dict[str, torch.Tensor]:
    """Weights after one batch by torch's optimiser and clipping, which are given a list as the releases give theirs."""
    batch = next(training.loader.batches(iter([range_of(training, 0)])))
    training.model.train()
    torch.manual_seed(5)
    scores = training.model.training_scores(batch.images, batch.tokens, batch.lengths, **batch.extras)
    training.objective(scores, batch.rows).backward()
    torch.nn.utils.clip_grad_norm_(listed, training.settings.gradient_clip, foreach=False)
    torch.optim.Adam(groups, lr=training.learning_rate(), foreach=False).step()
    return {name: weight.detach().clone() for name, weight in training.model.named_parameters()}


def stepped_by_us(training: Training) -> dict[str, torch.Tensor]:
    torch.manual_seed(5)
    train_batches(training, 1)
    return {name: weight.detach().clone() for name, weight in training.model.named_parameters()}


def assert_close(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    for name, weight in ours.items():
        torch.testing.assert_close(
            weight, theirs[name], atol=1e-6, rtol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_a_captioner_that_the_optimiser_lists_twice_takes_two_steps_and_counts_twice_in_the_norm(training_of, small):
    spec = small("vsrn", captioner_steps=2)
    ours, theirs = (training_of("vsrn", model=spec, gradient_clip=0.5) for _ in range(2))
    twice = [*theirs.model.parameters(), *theirs.model.captioner.parameters()]
    assert_close(stepped_by_us(ours), stepped_by_torch(theirs, twice, twice))
    once = training_of("vsrn", gradient_clip=0.5)
    moved_once = stepped_by_us(once)["captioner.out.weight"]
    assert not torch.allclose(moved_once, ours.model.captioner.out.weight, atol=1e-4)


def test_the_concept_network_has_a_rate_of_its_own_and_is_not_clipped(training_of, small):
    spec = small("cvse", concept_drop=0.2, clip_concepts=False)
    changes = {"model": spec, "gradient_clip": 0.5, "epochs": 8, "drop_every": 2, "learning_rate": 0.1}
    ours, theirs = (training_of("cvse", **changes) for _ in range(2))
    ours.epoch = theirs.epoch = 4  # after two drops: 0.1 / 100 and 0.1 / 25
    concepts = list(theirs.model.concepts.parameters())
    others = [weight for weight in theirs.model.parameters() if id(weight) not in set(map(id, concepts))]
    groups = [{"params": others, "lr": 0.1 / 100}, {"params": concepts, "lr": 0.1 / 25}]
    assert_close(stepped_by_us(ours), stepped_by_torch(theirs, groups, others))
